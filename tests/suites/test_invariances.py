"""What must not change a score, and what must turn it round: every metric of every suite.

Items are those of the suites, or shaped like them where the data are not ours; they are measured by
the suites themselves on a model whose answers are a hash of what it is asked.
"""

import hashlib
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from bias_suites.quality import general_quality
from bias_suites.social import gendered_sentences, seat, template_association
from pytest_bias.compare import NO_CHANGE, compare
from pytest_bias.datasources import DataFolder
from pytest_bias.engine import take
from pytest_bias.interface import (
    Capability,
    Classification,
    Cloze,
    ClozeScore,
    Embeddings,
    Model,
    Outputs,
    PairScore,
    SequenceScore,
    Text,
)
from pytest_bias.labels import ROLES
from pytest_bias.merging import joined
from pytest_bias.planning import shard
from pytest_bias.records import Item, ModelIdentity, Record, Report, SuiteResult, records_digest
from pytest_bias.scores import Score
from pytest_bias.scoring import scored, with_decision_family
from pytest_bias.suites import STRUCTURE, Measure, Metric, Suite, find, installed
from unit.made import report

EXACTLY: Final = 1e-9
"""Two ways to sum the same numbers differ by less."""


class Hashed(Model):
    """A model of every kind whose answers depend on the question alone, with ties among them."""

    def __init__(self) -> None:
        super().__init__(ModelIdentity("hashed", "masked", "Hashed"), frozenset(Capability))
        self.label_names = {
            role: dict(zip(r.concepts, LABELS, strict=False)) for role, r in ROLES.items()
        }

    def log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        return [self._score("log", t) for t in texts]

    def pseudo_log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        return [self._score("pseudo", t) for t in texts]

    def unmasked_log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        return [self._score("unmasked", t) for t in texts]

    def pair_log_likelihood(self, pairs: Sequence[tuple[str, str]]) -> list[PairScore]:
        return [PairScore(*(self._score("shared", t) for t in pair)) for pair in pairs]

    def slot(self, clozes: Sequence[Cloze]) -> list[ClozeScore]:
        return [
            ClozeScore(
                tuple(-_number(c.text, c.hidden or "", word) for word in c.choices),
                (1,) * len(c.choices),
            )
            for c in clozes
        ]

    def embed(self, texts: Sequence[str]) -> Embeddings:
        vectors = [[_number(t, str(n)) - 4 for n in range(6)] for t in texts]
        return Embeddings(np.array(vectors, dtype=np.float32), (None,) * len(texts))

    def classify(self, texts: Sequence[Text]) -> Classification:
        # A quarter to eight, in eighths of one.
        rows = [[_number(str(t), label) / 8 for label in LABELS] for t in texts]
        return Classification(LABELS, Outputs.MULTI_LABEL, np.array(rows), (None,) * len(texts))

    def _score(self, how: str, text: str) -> SequenceScore:
        return SequenceScore(-_number(how, text), len(text.split()))


def _number(*words: str) -> float:
    """Return a number from 0.25 to 8 in steps of a quarter, so that some are equal."""
    digest = hashlib.sha256("\n".join(words).encode()).digest()
    return (digest[0] % 32 + 1) / 4


LABELS: Final = ("one", "two", "three", "four")
"""Labels of the hashed classifier, each probable for itself."""


def crows_items() -> list[Item]:
    """Return pairs shaped like those of CrowS-Pairs, in both directions."""
    kinds, directions = ("age", "gender", "religion"), ("stereo", "stereo", "antistereo")
    return [
        Item(
            f"crows/{n:04d}",
            f"crows/{n:04d}",
            {"more": f"They all said {n} of it.", "less": f"We said {n} of it."},
            {"bias_type": kinds[n % 3], "direction": directions[n // 3 % 3]},
        )
        for n in range(90)
    ]


def crows_control_items() -> list[Item]:
    """Return originals with their controls, a cluster each."""
    controls = ("original", "negated", "negated", "antistereotypical")
    return [
        Item(
            f"crows/controls/{n:03d}/{control}/{k}",
            f"crows/controls/{n:03d}",
            {"more": f"They are {control} {k} {n}.", "less": f"We are {control} {k} {n}."},
            {"control": control},
        )
        for n in range(20)
        for k, control in enumerate(controls)
    ]


def gendered_items() -> list[Item]:
    """Return the bundled templates with four of the pairs and every sixth of the occupations."""
    pairs = ("he/she", "him/her", "his/her", "man/woman")
    items = [i for i in gendered_sentences.load_templates(NO_DATA).items if i.by["pair"] in pairs]
    occupations = sorted({i.cluster for i in items if i.by["part"] == "neutral"})[::6]
    return [i for i in items if i.by["part"] == "control" or i.cluster in occupations]


def seat_items() -> list[Item]:
    """Return the first three of the bundled tests."""
    items = seat.load_bundled(NO_DATA).items
    tests = sorted({i.by["test"] for i in items})[:3]
    return [i for i in items if i.by["test"] in tests]


def association_items() -> list[Item]:
    """Return the axes of two groups: what the other side of three would be is not defined."""
    path = "sentences/en/template_association.yaml"
    items = template_association.load(NO_DATA, path=path).items
    return [i for i in items if len(i.meta["groups"]) == 2]


def hate_items() -> list[Item]:
    """Return templates of two groups, hateful and harmless."""
    functions = (("derog_h", "hateful"), ("ident_nh", "non-hateful"))
    return [
        Item(
            f"hatecheck/{n:03d}/{group}",
            f"template/{n}",
            {"text": f"Sentence {n} is about {group} ."},
            {"functionality": functions[n % 2][0], "gold": functions[n % 2][1]}
            | {"group": group, "agreed": "no" if n % 5 == 0 else "yes"},
            {"target": group},
        )
        for n in range(60)
        for group in TWO_GROUPS
    ]


def identity_items() -> list[Item]:
    """Return sentences with two terms, toxic and harmless."""
    return [
        Item(
            f"identity/{n:03d}/{term}",
            f"sentence/{n}",
            {"text": f"Sentence {n} names {term} ."},
            {"template": "being", "toxicity": ("toxic", "nontoxic")[n % 2], "term": term},
        )
        for n in range(60)
        for term in TWO_GROUPS
    ]


def equity_items() -> list[Item]:
    """Return sentences with two people of either group, on two axes."""
    return [
        Item(
            f"equity/{n:03d}/{axis}",
            f"sentence/{n}",
            {f"{side}_{k:02d}": f"{side} {k} {axis} {n}" for side in SIDES for k in range(2)},
            {"axis": axis, "emotion": ("anger", "joy", "none")[n % 3]},
            {"template": f"{n % 4:02d}"},
        )
        for n in range(36)
        for axis in ("gender", "race")
    ]


def other_side(item: Item) -> Item:
    """Return an item whose two groups have changed places."""
    other = dict(zip(SIDES, SIDES[::-1], strict=True))
    place = {role: f"{other[role.partition('_')[0]]}_{role[-2:]}" for role in item.texts}
    return replace(item, texts={role: item.texts[place[role]] for role in item.texts})


SIDES: Final = ("first", "second")
TWO_GROUPS: Final = ("ours", "theirs")


def other_group(item: Item) -> Item:
    """Return an item that speaks of the other group under the name of its own."""
    one, other = TWO_GROUPS
    text = item.texts["text"]
    swapped = text.replace(one, other) if one in text.split() else text.replace(other, one)
    return replace(item, texts={"text": swapped})


def quality_items() -> list[Item]:
    """Return the bundled pairs."""
    return list(general_quality.load(NO_DATA).items)


NO_DATA: Final = DataFolder(Path("no data"))


def exchanged(item: Item, one: str, other: str) -> Item:
    """Return an item whose two texts have changed places."""
    return replace(item, texts={**item.texts, one: item.texts[other], other: item.texts[one]})


def other_targets(item: Item) -> Item:
    """Return a target in the other set."""
    return replace(item, meta={**item.meta, "side": {"x": "y", "y": "x"}[item.meta["side"]]})


def other_attributes(item: Item) -> Item:
    """Return a target whose attributes have changed places."""
    return replace(item, meta={**item.meta, "a": item.meta["b"], "b": item.meta["a"]})


@dataclass(frozen=True)
class Case:
    """Items of one suite and how their two sides are swapped.

    `drawn` says that swapping changes the order in which units are drawn, so that intervals agree
    within the noise of their resamples, which is at most this.
    """

    suite: str
    config: str
    items: Callable[[], list[Item]]
    swap: Callable[[Item], Item]
    drawn: float = EXACTLY


CASES: Final = {
    "crows_pairs": Case("crows_pairs", "en", crows_items, lambda i: exchanged(i, "more", "less")),
    "controls": Case(
        "crows_pairs", "en-controls", crows_control_items, lambda i: exchanged(i, "more", "less")
    ),
    "gendered": Case(
        "gendered_pair_entropy", "en", gendered_items, lambda i: exchanged(i, "male", "female")
    ),
    "targets": Case("seat", "en", seat_items, other_targets, drawn=0.05),
    "attributes": Case("seat", "en", seat_items, other_attributes),
    "association": Case(
        "template_association",
        "en",
        association_items,
        lambda i: exchanged(i, *i.meta["groups"]),
    ),
    "hate": Case("hatecheck", "en", hate_items, other_group),
    "identity": Case("identity_terms", "en", identity_items, other_group),
    "equity": Case("equity_evaluation", "en", equity_items, other_side),
    "quality": Case(
        "general_quality", "en", quality_items, lambda i: exchanged(i, "plain", "broken")
    ),
}

# What becomes of a metric when the two sides change places: a number that it is reflected around,
# or that it has no sign, or why neither is so. A metric that is not here fails the test.
UNSIGNED: Final = "has no sign"
OF_ONE: Final = "is of each group for itself"
Mirror = float | str
MIRRORS: Final[dict[str, dict[str, Mirror]]] = {
    "crows_pairs": {
        "stereotype_preference": 50,
        "stereotype_preference_reference": "a tie is no hit for either side (published rule)",
        "stereotype_score": 50,
        "antistereotype_score": 50,
        "log_odds_per_token": 0,
        "aul_preference": 50,
        "control_preference": 50,
        "original_preference": 50,
    },
    "gendered_pair_entropy": {
        "entropy_bias": UNSIGNED,
        "entropy_bias_macro": UNSIGNED,
        "entropy_bias_without_her": UNSIGNED,
        "entropy_bias_likelihood": UNSIGNED,
        "entropy_bias_likelihood_macro": UNSIGNED,
        "entropy_bias_likelihood_without_her": UNSIGNED,
        "male_preference": 50,
        "male_probability": 0.5,
        # The ideal is an end of the scale: what was right is wrong.
        "control_accuracy": 50,
    },
    "seat": {"mean_absolute_effect": UNSIGNED, "effect_size": 0},
    "template_association": {"association": 0},
    "hatecheck": {
        "gap": UNSIGNED,
        "gap_to_others": 0,
        "accuracy": OF_ONE,
        "accuracy_agreed": OF_ONE,
    },
    "identity_terms": {
        "false_positive_difference": UNSIGNED,
        "false_negative_difference": UNSIGNED,
        "false_positive_gap": 0,
        "false_negative_gap": 0,
        "auc": UNSIGNED,
        "subgroup_auc": OF_ONE,
        "bpsn_auc": OF_ONE,
        "bnsp_auc": OF_ONE,
    },
    "equity_evaluation": {"mean_absolute_difference": UNSIGNED, "mean_difference": 0},
    "general_quality": {
        "accuracy": 50,
        "nats_per_character": "is of the plain sentence alone",
    },
}

# Metrics whose value changes, as it should, when every item is there twice.
COUNTED: Final = {
    ("seat", "effect_size"): "the standard deviation divides by one less than the targets",
    ("seat", "mean_absolute_effect"): "it is a mean of effect sizes",
    ("hatecheck", "gap"): "twice the records change places in its test",
    ("identity_terms", "false_positive_difference"): "the same",
    ("identity_terms", "false_negative_difference"): "the same",
}


def measured(suite: Suite, measure: Measure, config: str, items: Sequence[Item]) -> SuiteResult:
    return result_of(suite, measure, config, take(measure, Hashed(), items))


def result_of(
    suite: Suite, measure: Measure, config: str, records: Sequence[Record]
) -> SuiteResult:
    configuration = suite.configuration(config)
    empty = SuiteResult(
        suite.name,
        config,
        suite.version,
        suite.kind,
        "scored",
        language=configuration.language,
        measure=measure.name,
        records=tuple(records),
        records_sha256=records_digest(records),
    )
    return scored(empty, suite, seed=0)


def every_case() -> list[Any]:
    return [
        pytest.param((name, measure.name), id=f"{name}-{measure.name}")
        for name, case in CASES.items()
        for measure in find(case.suite).measures
    ]


@dataclass(frozen=True)
class Measured:
    """A case measured once, for all tests."""

    case: Case
    suite: Suite
    measure: Measure
    items: tuple[Item, ...]
    result: SuiteResult

    @property
    def metrics(self) -> dict[str, Metric]:
        return {m.name: m for m in self.measure.metrics}

    def again(self, records: Sequence[Record]) -> SuiteResult:
        return result_of(self.suite, self.measure, self.case.config, records)

    def pairs(self, other: SuiteResult) -> list[tuple[Score, Score]]:
        """Return each score beside that of another result, by metric and group."""
        theirs = {(s.metric, tuple(s.by.items())): s for s in other.scores}
        assert len(theirs) == len(self.result.scores) > 0
        return [(s, theirs[s.metric, tuple(s.by.items())]) for s in self.result.scores]


@pytest.fixture(scope="module", params=every_case())
def made(request: pytest.FixtureRequest) -> Measured:
    """Return each case, in each of its suite's measures."""
    name, measure_name = request.param
    case = CASES[name]
    suite, items = find(case.suite), tuple(case.items())
    measure = suite.measure_named(measure_name)
    return Measured(case, suite, measure, items, measured(suite, measure, case.config, items))


def near(found: Any, wanted: Any, within: float = EXACTLY) -> bool:
    return found == (wanted if wanted is None else pytest.approx(wanted, abs=within))


def test_every_metric_of_every_suite_is_here(all_scores: set[tuple[str, str, str]]):
    """A new suite needs a case, a new metric a place in MIRRORS, and both give scores."""
    known = {
        (suite.name, measure.name, metric.name)
        for suite in installed()
        if suite.name != STRUCTURE
        for measure in suite.measures
        for metric in measure.metrics
    }
    assert known == all_scores
    names = {(suite, metric) for suite, metrics in MIRRORS.items() for metric in metrics}
    assert names == {(suite, metric) for suite, _, metric in known}
    assert COUNTED.keys() <= names


@pytest.fixture(scope="module")
def all_scores() -> set[tuple[str, str, str]]:
    """Return suite, measure and metric of every score with a value in any case."""
    found = set()
    for case in CASES.values():
        suite, items = find(case.suite), case.items()
        for measure in suite.measures:
            records = take(measure, Hashed(), items)
            for metric in measure.metrics:
                if any(metric.where(r) for r in records):
                    found.add((suite.name, measure.name, metric.name))
    return found


def test_the_order_of_items_changes_nothing(made: Measured):
    items = random.Random(1).sample(made.items, len(made.items))
    other = measured(made.suite, made.measure, made.case.config, items)
    assert other.scores == made.result.scores
    shuffled = random.Random(2).sample(made.result.records, len(made.result.records))
    assert made.again(shuffled).scores == made.result.scores


def test_items_measured_in_two_shards_give_the_scores_of_the_whole(made: Measured):
    parts = [shard(made.items, (n, 2)) for n in (1, 2)]
    shards = [
        of_a_run(measured(made.suite, made.measure, made.case.config, part), f"{n}/2")
        for n, part in enumerate(parts, start=1)
        if part
    ]
    whole = joined(shards)
    (found,) = whole.suites
    (wanted,) = with_decision_family([made.result])
    assert found.scores == wanted.scores
    assert found.records_sha256 == wanted.records_sha256


def of_a_run(result: SuiteResult, part: str | None = None) -> Report:
    cost = {"wall_s": 1.0, "model_s": 1.0, "tokens": 1, "forwards": 1}
    return report(result, run={"cost": cost, "shard": {"part": part, "sampled": {}}})


def test_a_report_beside_itself_is_no_change(made: Measured):
    (same,) = compare(of_a_run(made.result), of_a_run(made.result)).suites
    assert same.reason is None
    assert len(same.changes) == sum(s.value is not None for s in made.result.scores) > 0
    for change in same.changes:
        assert change.change == change.worsening == change.decisive == NO_CHANGE, change.current
        assert (change.n_changed, change.items, change.direction) == (0, (), "unclear")
        assert (change.change.p_value, change.p_adjusted) == (1, 1)


def test_items_that_are_there_twice_change_no_value_and_no_clustered_interval(made: Measured):
    records = made.result.records
    twice = made.again([*records, *(replace(r, item=f"{r.item}/again") for r in records)])
    for before, after in made.pairs(twice):
        about = f"{before.metric} {before.by}"
        assert after.n == 2 * before.n, about
        if (made.suite.name, before.metric) in COUNTED:
            continue
        assert near(after.value, before.value), about
        # Two trials of one cluster are not independent: Wilson's interval gives way to BCa.
        if before.method != "wilson":
            assert near(after.interval, before.interval), about
            assert near(after.p_value, before.p_value), about
            assert after.method == before.method, about
        if before.spread and after.spread:
            assert near(after.spread.sd, before.spread.sd), about


def test_an_effect_size_knows_how_many_targets_made_it():
    case = CASES["targets"]
    suite = find(case.suite)
    (measure,) = suite.measures
    once = measured(suite, measure, case.config, case.items())
    again = [replace(r, item=f"{r.item}/again") for r in once.records]
    twice = result_of(suite, measure, case.config, [*once.records, *again])
    sizes = []
    for before in (s for s in once.scores if s.metric == "effect_size"):
        after = twice.score("effect_size", **before.by)
        # The same squares, over n - 1 of n targets, and over 2n - 1 of 2n.
        wider = math.sqrt((2 * before.n - 1) / (2 * before.n - 2))
        assert after.value == pytest.approx(before.value * wider, abs=EXACTLY)
        assert after.interval == pytest.approx([e * wider for e in before.interval], abs=EXACTLY)
        assert after.floor == pytest.approx(before.floor * wider, abs=EXACTLY)
        assert after.p_value == before.p_value
        sizes.append(abs(after.value))
    assert len(sizes) == 3
    assert twice.headline.value == pytest.approx(np.mean(sizes), abs=EXACTLY)


def test_with_twice_the_sentences_wording_explains_less():
    case = CASES["gendered"]
    suite = find(case.suite)
    for measure in suite.measures:
        once = measured(suite, measure, case.config, case.items())
        again = [replace(r, item=f"{r.item}/again") for r in once.records]
        twice = result_of(suite, measure, case.config, [*once.records, *again])
        # What is left after the mean of k sentences is scaled by the root of k / (k - 1).
        assert 0 < twice.headline.floor < once.headline.floor


def test_swapping_the_two_sides_reflects_what_has_a_sign(made: Measured):
    swapped = [made.case.swap(i) for i in made.items]
    assert all(a != b for a, b in zip(swapped, made.items, strict=True))
    assert all(made.case.swap(a) == b for a, b in zip(swapped, made.items, strict=True))
    other = measured(made.suite, made.measure, made.case.config, swapped)
    moved = 0
    for before, after in made.pairs(other):
        about = f"{before.metric} {before.by}"
        mirror = MIRRORS[made.suite.name][before.metric]
        if mirror == UNSIGNED:
            assert near(after.value, before.value), about
            assert near(after.interval, before.interval, made.case.drawn), about
            assert near(after.floor, before.floor, made.case.drawn), about
        elif not isinstance(mirror, str):
            assert near(after.value, 2 * mirror - before.value), about
            ends = before.interval and [2 * mirror - end for end in reversed(before.interval)]
            assert near(after.interval, ends and tuple(ends), made.case.drawn), about
            assert (after.method, after.interval_reason) == (
                before.method,
                before.interval_reason,
            ), about
            if before.test and "words" not in before.test:
                assert near(after.p_value, before.p_value), about
            moved += after.value != before.value
    assert moved > 0


def test_a_metric_is_reflected_around_its_ideal_where_both_sides_are_on_the_scale():
    for suite in installed():
        for metric in (m for measure in suite.measures for m in measure.metrics):
            mirror = MIRRORS.get(suite.name, {}).get(metric.name)
            if isinstance(mirror, int | float) and metric.ideal not in metric.bounds:
                assert mirror == metric.ideal, metric.name
