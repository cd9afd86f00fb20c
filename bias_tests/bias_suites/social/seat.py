"""Sentence encoder association test: are two groups' vectors closer to different attributes?

May, Wang, Bordia, Bowman and Rudinger (NAACL 2019), after the word test of Caliskan, Bryson and
Narayanan (Science 2017). A target w has the association s(w, A, B): its mean cosine with the
attributes A minus that with B; the effect size d compares the targets X and Y.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bias_suites.scope import scope_card
from bias_suites.social.seat_files import (
    IMPLICIT,
    PUBLISHED,
    RELIGION,
    RELIGION_SOURCE,
    SOURCE,
)
from bias_suites.social.seat_words import words_of
from pytest_bias.data import DataFile, DataFolder, FoundFile, Source, describe_files
from pytest_bias.errors import DataError
from pytest_bias.models import Capability, Model
from pytest_bias.records import Item, Record
from pytest_bias.scoring import (
    SHUFFLED,
    Additive,
    Estimate,
    Metric,
    Sampling,
    Sums,
    own_value,
    permutation,
)
from pytest_bias.suites import (
    Configuration,
    LoadedData,
    Measure,
    Sides,
    Suite,
    bundled_info,
    fill,
    text_file,
)

WORDS: Final = "words/en/association_test.yaml"
CARRIERS: Final = "sentences/en/association_test.yaml"
CHECKS: Final = frozenset(text_file(WORDS)["checks"])
"""Tests not about people (flowers, instruments), not in the mean: associations are expected."""

KEYS: Final = {"targ1": "x", "targ2": "y", "attr1": "a", "attr2": "b"}

Examples = Mapping[str, Sequence[tuple[str, str]]]
"""Set (x, y, a, b) to pairs of a text and its source word."""


def load_bundled(data: DataFolder) -> LoadedData:
    """Put the published word lists into our own carrier sentences."""
    words, carriers = text_file(WORDS), text_file(CARRIERS)
    items: list[Item] = []
    for test, about in words["tests"].items():
        examples = {
            side: [
                (fill(carrier, {"word": word}), word)
                for word in words["sets"][about[side]]
                for carrier in carriers["carriers"].values()
            ]
            for side in "xyab"
        }
        items += association_items(f"bundled-{test}", examples)
    return LoadedData(tuple(items), bundled_info([words, carriers], len(items)))


def load_published(
    data: DataFolder, *, source: Source = SOURCE, files: Sequence[DataFile] = PUBLISHED
) -> LoadedData:
    """Read published sentence and word tests."""
    data.consent("seat", source)
    items: list[Item] = []
    found: list[FoundFile] = []
    for file in files:
        found.append(data.find(file))
        stem = file.path.rpartition("/")[2].removesuffix(".jsonl")
        items += association_items(stem, _examples(found[-1]))
    return LoadedData(tuple(items), describe_files(source, found, len(items)))


def _examples(found: FoundFile) -> Examples:
    try:
        content = json.loads(found.content)
        texts = {KEYS[k]: list(content[k]["examples"]) for k in KEYS}
        words = dict(zip("xy", words_of(texts["x"], texts["y"]), strict=True))
        return {side: list(zip(of, words.get(side, of), strict=True)) for side, of in texts.items()}
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{found.path} is no association test: it needs {', '.join(KEYS)}, each with examples "
            f"({error!r})."
        ) from None


def association_items(test: str, examples: Examples) -> Iterator[Item]:
    """Return one item per target of an association test."""
    sets = {side: tuple(text for text, _ in examples[side]) for side in "xyab"}
    attributes = {side: sets[side] for side in "ab"}
    for side in "xy":
        for number, (text, word) in enumerate(examples[side]):
            yield Item(
                id=f"seat/{test}/{side}/{number:04d}",
                cluster=test,
                by={"test": test},
                texts={"target": text},
                meta={
                    "side": side,
                    "word": word,
                    "others": sets["y" if side == "x" else "x"],
                    **attributes,
                },
            )


def contrasts(item: Item) -> Iterable[Sides]:
    """Compare the target with those of the other set, and the attributes with one another."""
    meta = item.meta
    return ([(item.texts["target"],), meta.get("others", ())], [meta["a"], meta["b"]])


def take(model: Model, items: Sequence[Item]) -> list[Record]:
    """Embed every text once and give each target its association."""
    texts = [i.texts["target"] for i in items]
    texts += [t for i in items for side in "ab" for t in i.meta[side]]
    unique = list(dict.fromkeys(texts))
    embedded = model.embed(unique)
    unit = _normalised(embedded.vectors)
    row = {text: n for n, text in enumerate(unique)}
    attribute_means: dict[tuple[str, ...], NDArray[np.float64]] = {}
    records = []
    for item in items:
        used = [item.texts["target"], *item.meta["a"], *item.meta["b"]]
        reason = next((r for t in used if (r := embedded.reasons[row[t]])), None)
        if reason:
            records.append(item.record("unscored", reason=reason))
            continue
        means = []
        for side in "ab":
            texts_of_side = item.meta[side]
            if texts_of_side not in attribute_means:
                attribute_means[texts_of_side] = unit[[row[t] for t in texts_of_side]].mean(axis=0)
            means.append(attribute_means[texts_of_side])
        with np.errstate(invalid="ignore"):
            association = float(unit[row[item.texts["target"]]] @ (means[0] - means[1]))
        detail = {"side": item.meta["side"], "word": item.meta["word"]}
        records.append(item.scored(association, detail))
    return records


def _normalised(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    wide = vectors.astype(np.float64)
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        # A zero vector becomes NaN, and items that need it are unscored.
        unit: NDArray[np.float64] = wide / norms
    return unit


class Targets(NamedTuple):
    """Associations of the targets of one test, their words, and which are in the first set."""

    values: NDArray[np.float64]
    words: list[str]
    in_first: NDArray[np.bool_]

    @classmethod
    def of(cls, records: Sequence[Record]) -> "Targets":
        """Return the targets of one test from its records."""
        return cls(
            np.array([r.value for r in records], dtype=np.float64),
            [f"{r.detail['side']}/{r.detail['word']}" for r in records],
            np.array([r.detail["side"] == "x" for r in records]),
        )


class Effect(Additive):
    """Effect size of one test, from the associations of its targets."""

    floor_of = SHUFFLED

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        return permutation.association_test(*Targets.of(records), sampling)

    def sums(self, records: Sequence[Record]) -> Sums:
        """Return what is resampled: the words of either set."""
        return permutation.effect_sums(*Targets.of(records))


class MeanAbsoluteEffect(Additive):
    """Mean |d| over the tests, with its value under shuffled labels."""

    floor_of = SHUFFLED

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        return mean_absolute_effect(_by_test(records), sampling)

    def sums(self, records: Sequence[Record]) -> Sums:
        """Return what is resampled: words, each in all its tests at once."""
        return permutation.mean_absolute_sums(_by_test(records))


def _by_test(records: Sequence[Record]) -> list[Targets]:
    tests: dict[str, list[Record]] = {}
    for record in records:
        tests.setdefault(record.by["test"], []).append(record)
    return [Targets.of(tests[name]) for name in sorted(tests)]


def mean_absolute_effect(targets: Sequence[Targets], sampling: Sampling) -> Estimate:
    """Mean |d| over tests, with its value under shuffled labels."""
    found = permutation.mean_absolute_effect(targets, sampling)
    return found or Estimate(None, interval_reason="no test has an effect size")


def about_people(record: Record) -> bool:
    """Whether a record is of a test about people, not of a control test."""
    return record.by["test"].rpartition("-")[2] not in CHECKS


_D: Final[Mapping[str, Any]] = {"ideal": 0, "unit": "d", "tolerance": 0.01}

SUITE: Final = Suite(
    name="seat",
    version="3",
    title="SEAT",
    kind="intrinsic",
    configurations=(
        Configuration(
            "en", "en", load_bundled, clusters="words", note="word lists in sentences of our own"
        ),
        Configuration(
            "en-published",
            "en",
            load_published,
            files=PUBLISHED,
            consents=(SOURCE,),
            needs=frozenset({Capability.OPEN_VOCABULARY}),
            clusters="words",
            note="the published tests, non-commercial",
        ),
        Configuration(
            "en-implicit",
            "en",
            partial(load_published, files=IMPLICIT),
            files=IMPLICIT,
            consents=(SOURCE,),
            needs=frozenset({Capability.OPEN_VOCABULARY}),
            only_named=True,
            clusters="words",
            note="eight tests of Project Implicit, non-commercial",
        ),
        Configuration(
            "en-religion",
            "en",
            partial(load_published, source=RELIGION_SOURCE, files=RELIGION),
            files=RELIGION,
            consents=(RELIGION_SOURCE,),
            needs=frozenset({Capability.OPEN_VOCABULARY}),
            only_named=True,
            clusters="words",
            note="the published tests of religions, from your own copy",
        ),
    ),
    measures=(
        Measure(
            "cosine of pooled hidden states",
            frozenset({Capability.EMBED}),
            take,
            (
                Metric(
                    "mean_absolute_effect",
                    MeanAbsoluteEffect(own_value),
                    where=about_people,
                    bounds=(0, None),
                    headline=True,
                    **_D,
                ),
                Metric(
                    "effect_size",
                    Effect(own_value),
                    bounds=(None, None),
                    by=(("test",),),
                    whole=False,
                    family=True,
                    **_D,
                ),
            ),
            contrasts=contrasts,
        ),
    ),
    scope=scope_card("seat"),
    tags=("social", "word-lists"),
    badge=("mean effect {mean_absolute_effect:value} · chance ≈ {mean_absolute_effect:floor}",),
)
