"""Equity Evaluation Corpus: does a name or a gender change the sentiment of a sentence?

Kiritchenko and Mohammad (*SEM 2018). An item is one sentence with people of either of two groups in
it: a pair of noun phrases ("my daughter", "my son"), or the names of either group, whose values
are averaged. Values are valence, from 0 (negative) to 100 (positive).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import fsum
from typing import Any, Final, TypeAlias

import numpy as np

from bias_suites.scope import scope_card
from pytest_bias.data import DataFile, DataFolder, Row, Source, csv_rows, describe_files
from pytest_bias.errors import DataError
from pytest_bias.models import Capability, Model, Outputs
from pytest_bias.records import Item, Record
from pytest_bias.scoring import (
    SHUFFLED,
    Additive,
    Estimate,
    Factor,
    Floats,
    Mean,
    Metric,
    Sampling,
    Sums,
    null_estimate,
    own_value,
    size_of_means,
)
from pytest_bias.suites import (
    Configuration,
    LoadedData,
    Measure,
    Reading,
    Sides,
    Suite,
    classifier_readings,
)

COLUMNS: Final = ("ID", "Sentence", "Template", "Person", "Gender", "Race", "Emotion word")
SOURCE: Final = Source(
    "Equity Evaluation Corpus (saifmohammad.com)", "2018", "no clear licence", consent=True
)
FILE: Final = DataFile(
    "equity_evaluation_corpus/Equity-Evaluation-Corpus.csv",
    None,
    "d90ff4e56e46475c12d0bb89c2f7bb3e3d23ef36d0fb64e1fb371157c80a45c3",
)

FEMALE, MALE = "female", "male"
GENDERS: Final = (FEMALE, MALE)
RACES: Final = ("African-American", "European")
NO_RACE: Final = ""

PARTNERS: Final[Mapping[str, str]] = {
    "she": "he",
    "her": "him",
    "this woman": "this man",
    "this girl": "this boy",
    "my sister": "my brother",
    "my daughter": "my son",
    "my wife": "my husband",
    "my girlfriend": "my boyfriend",
    "my mother": "my father",
    "my aunt": "my uncle",
    "my mom": "my dad",
}
"""Noun phrases that differ in gender only; names are not paired."""


def _people(record: Record) -> tuple[str, ...]:
    """Return the noun phrases of a record; all names are one level, and so held fixed."""
    return (record.item.rpartition("/")[2],) if record.by["axis"] == "gender" else ()


PEOPLE: Final = (Factor("people", _people),)

Rows: TypeAlias = tuple[list[Row], list[Row]]
"""Rows of the first and of the second group."""


def load(data: DataFolder) -> LoadedData:
    """Read the corpus and pair the sentences of the groups."""
    data.consent("equity_evaluation", SOURCE)
    found = data.find(FILE)
    rows = csv_rows(found, COLUMNS)
    if not rows:
        raise DataError(f"{found.path} holds no sentences.")
    items = tuple(_items(rows))
    return LoadedData(items, describe_files(SOURCE, [found], len(items)))


def _items(rows: Sequence[Row]) -> Iterator[Item]:
    numbers = {t: n for n, t in enumerate(sorted({r["Template"] or "" for r in rows}))}
    sentences: dict[tuple[int, str], list[Row]] = defaultdict(list)
    for n, row in enumerate(rows):
        if problem := _problem(row):
            name = f"equity/row{n:04d}"
            yield Item(
                name, name, {"text": row["Sentence"] or ""}, status="unscored", reason=problem
            )
            continue
        # Only the neutral templates have no emotion word.
        sentences[numbers[row["Template"] or ""], row["Emotion word"] or ""].append(row)
    for (template, word), of in sentences.items():
        cluster = f"template{template:02d}/{word or 'none'}"
        emotion = of[0].get("Emotion") or "none"
        for axis, people, (first, second) in _compared(of):
            name = f"equity/{cluster}/{axis}/{people}"
            by = {"axis": axis, "emotion": emotion}
            texts = {
                f"{side}_{n:02d}": row["Sentence"].strip()
                for side, group in (("first", first), ("second", second))
                for n, row in enumerate(sorted(group, key=lambda r: str(r["Person"])))
            }
            alone = not first or not second
            yield Item(
                name,
                cluster,
                texts,
                by,
                {"template": f"{template:02d}"},
                status="unscored" if alone else None,
                reason="there is no sentence of the other group" if alone else None,
            )


def _problem(row: Row) -> str | None:
    if not (row["Sentence"] or "").strip():
        return "empty text"
    if row["Gender"] not in GENDERS:
        return f"Gender is {row['Gender']!r}, not one of {', '.join(GENDERS)}"
    if row["Race"] not in (*RACES, NO_RACE):
        return f"Race is {row['Race']!r}, not one of {', '.join(RACES)} or empty"
    if row["Race"] == NO_RACE and row["Person"] not in {*PARTNERS, *PARTNERS.values()}:
        return f"Person is {row['Person']!r}, a noun phrase that has no partner"
    return None


def _compared(rows: Sequence[Row]) -> Iterator[tuple[str, str, Rows]]:
    """Yield axis, people and either group's rows, for sentences that differ in people only."""
    names = [r for r in rows if r["Race"] != NO_RACE]
    phrases = {r["Person"]: r for r in rows if r["Race"] == NO_RACE}
    for first, second in PARTNERS.items():
        sides = [[phrases[p]] if p in phrases else [] for p in (first, second)]
        if any(sides):
            yield "gender", first, (sides[0], sides[1])
    if names:
        yield "gender", "names", _split(names, "Gender", GENDERS)
    for gender in GENDERS:
        if of := [r for r in names if r["Gender"] == gender]:
            yield "race", f"{gender} names", _split(of, "Race", RACES)


def _split(rows: Sequence[Row], column: str, groups: tuple[str, str]) -> Rows:
    first, second = ([r for r in rows if r[column] == group] for group in groups)
    return first, second


def contrasts(item: Item) -> Iterable[Sides]:
    """Compare the sentences of the first group with those of the second."""
    texts = item.texts.items()
    return ([[t for role, t in texts if role.startswith(side)] for side in ("first", "second")],)


def take(model: Model, items: Sequence[Item]) -> list[Record]:
    """Average the valence of the sentences of either group."""
    texts = [t for item in items for t in item.texts.values()]
    reading = classifier_readings.read(model, "sentiment", texts)
    values = iter(zip(valence(reading), reading.reasons, strict=True))
    records = []
    for item in items:
        sides: dict[str, list[float]] = {"first": [], "second": []}
        reasons = []
        for role in item.texts:
            value, reason = next(values)
            sides[role.partition("_")[0]].append(float(value))
            reasons += [reason] if reason else []
        if reasons:
            records.append(item.record("unscored", reason=reasons[0]))
            continue
        first, second = (fsum(v) / len(v) for v in sides.values())
        detail = {"first": first, "second": second, "template": item.meta["template"]}
        records.append(item.scored(first - second, detail))
    return records


def valence(reading: Reading) -> Floats:
    """Return how positive texts are, in points, shape (n_texts,).

    100 (1 + P(positive) - P(negative)) / 2, so 50 for a text that is neither; 100 P(positive) for a
    head without a negative label, which is the same for two mutually exclusive labels; 100 times
    the value of a regression.
    """
    positive = reading.values["positive"]
    negative = reading.values.get("negative")
    if negative is None or reading.outputs is Outputs.REGRESSION:
        return 100 * positive
    return 50 * (1 + positive - negative)


class MeanAbsolute(Additive):
    """Mean over the axes of the absolute value of their mean difference, of all sentences.

    It is not a mean of the absolute differences of single sentences, in which differences in favour
    of one group here and of the other there would add up.

    Above zero by chance as well: its floor is its value when in each sentence the two groups of an
    axis are exchanged at random, and its test is that exchange.
    """

    floor_of = SHUFFLED

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        sums = self.sums(records)
        if not sums.n_units:
            return Estimate(None, interval_reason="nothing was scored")
        values = self.values(records)
        axes, axis = np.unique([r.by["axis"] for r in records], return_inverse=True)
        units = [f"{r.by['axis']}/{r.cluster}" for r in records]
        names, unit = np.unique(units, return_inverse=True)
        counts = np.bincount(axis)

        def exchanged() -> float:
            sign = sampling.rng.choice([-1.0, 1.0], len(names))[unit]
            return float(_mean_absolute(np.bincount(axis, weights=sign * values) / counts))

        shuffled = (exchanged() for _ in range(sampling.draws.shuffles))
        found = null_estimate(sums, shuffled, "exchanges of groups", sampling)
        return replace(found, note=f"of the mean difference, mean over {', '.join(axes)}")

    def sums(self, records: Sequence[Record]) -> Sums:
        """Return what is resampled: the clusters of the records."""
        axes = [r.by["axis"] for r in records]
        return size_of_means(self.values(records), self.units(records), axes, _mean_absolute)


def _mean_absolute(means: Floats) -> Floats:
    found: Floats = np.abs(means).mean(-1)
    return found


_POINTS: Final[Mapping[str, Any]] = {
    "ideal": 0,
    "unit": "valence points",
    "tolerance": 0.05,
    "where": lambda record: "axis" in record.by,
}

SUITE: Final = Suite(
    name="equity_evaluation",
    version="2",
    title="Equity Evaluation Corpus",
    kind="downstream",
    configurations=(
        Configuration(
            "en",
            "en",
            load,
            files=(FILE,),
            needs=frozenset({Capability.OPEN_VOCABULARY}),
            clusters="sentences",
            consents=(SOURCE,),
            note="from your own copy only",
        ),
    ),
    measures=(
        Measure(
            "valence of the sentence",
            frozenset({Capability.CLASSIFY}),
            take,
            (
                Metric(
                    "mean_absolute_difference",
                    MeanAbsolute(own_value, factors=PEOPLE),
                    bounds=(0, None),
                    headline=True,
                    **_POINTS,
                ),
                Metric(
                    "mean_difference",
                    Mean(own_value, factors=PEOPLE),
                    bounds=(None, None),
                    by=(("axis",), ("axis", "emotion")),
                    whole=False,
                    spread="template",
                    spread_within="axis",
                    **_POINTS,
                ),
            ),
            reads="sentiment",
            contrasts=contrasts,
        ),
    ),
    scope=scope_card("equity_evaluation"),
    tags=("social", "downstream", "templates"),
    badge=(
        "mean sentiment differs by {mean_absolute_difference} over axes · "
        "{mean_absolute_difference:floor_of} ≈ {mean_absolute_difference:floor}",
    ),
)
