"""From records to scores: the five-percent rule, seeds, families, groups."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from draws import sampling
from made import record, result, score, unscored
from pytest_bias.records.report import Record
from pytest_bias.records.score import Score
from pytest_bias.scoring.estimators import MacroMean, Mean, Share
from pytest_bias.scoring.metric import Metric
from pytest_bias.scoring.scores import Context, score_records
from pytest_bias.scoring.statistics import Estimate, Sampling, benjamini_hochberg, holm
from pytest_bias.suites.measures import Measure
from pytest_bias.suites.results import scored
from pytest_bias.suites.suite import Suite

CONTEXT = Context("made", "en")


def value(r: Record) -> float | None:
    return r.value


def metric(name: str = "m", **more: Any) -> Metric:
    defaults: dict[str, Any] = {
        "estimate": Mean(value),
        "ideal": 0,
        "bounds": (None, None),
        "unit": "nats",
        "tolerance": 0.01,
        "headline": True,
    }
    return Metric(name, **defaults | more)


def suite(*metrics: Metric, name: str = "made") -> Suite:
    measure = Measure("measured", frozenset(), lambda model, items: [], metrics)
    return Suite(name, "1", "Made", "intrinsic", (), (measure,), {"validity": "contested"})


def some(n: int, n_unscored: int = 0, n_excluded: int = 0, **more: Any) -> list[Record]:
    """Return records with the values 0, 1, 2 ..., ids in the same order."""
    start = more.pop("start", 0)
    names = [f"{i + start:04d}" for i in range(n + n_unscored + n_excluded)]
    return [
        *(record(names[i], float(i), **more) for i in range(n)),
        *(unscored(names[n + i], **more) for i in range(n_unscored)),
        *(
            unscored(names[n + n_unscored + i], "two words", status="excluded", **more)
            for i in range(n_excluded)
        ),
    ]


def one(records: Sequence[Record], **more: Any) -> Score:
    (found,) = score_records(records, [metric(**more)], CONTEXT)
    return found


def test_a_score_says_how_it_came_about():
    found = one(some(30, 1, 4))
    assert found.value == 14.5
    assert found.interval[0] < 14.5 < found.interval[1]
    assert (found.n, found.n_unscored, found.n_excluded, found.n_clusters) == (30, 1, 4, 30)
    assert (found.metric, found.unit, found.ideal, found.level) == ("m", "nats", 0, 0.95)
    assert (found.method, found.headline, found.by) == ("bca", True, {})


@pytest.mark.parametrize(
    ("n", "n_unscored", "known"), [(19, 1, True), (18, 1, False), (95, 5, True), (94, 6, False)]
)
def test_five_percent_unscored_is_the_most_that_a_score_bears(n, n_unscored, known):
    found = one(some(n, n_unscored))
    assert (found.value is not None) is known
    assert (found.n, found.n_unscored) == (n, n_unscored)
    if not known:
        assert found.note == (
            f"{n_unscored} of {n + n_unscored} items could not be scored, more than 5%"
        )
        assert (found.interval, found.interval_reason) == (None, "no value")


def test_what_the_suite_itself_drops_does_not_count_as_unscored():
    found = one(some(19, 1, 500))
    assert found.value == 9
    assert (found.n_unscored, found.n_excluded) == (1, 500)


def test_an_error_counts_as_unscored():
    records = [*some(18), unscored("x", "RuntimeError", status="error")]
    assert one(records).value is None
    assert one(records).n_unscored == 1


def test_only_the_group_with_too_many_gaps_is_null():
    records = [
        *some(95, by={"g": "whole"}),
        *some(9, 1, by={"g": "gaps"}, start=200),
    ]
    whole, gaps, sound = score_records(records, [metric(by=(("g",),))], CONTEXT)
    assert whole.value is not None
    assert (gaps.by, gaps.value) == ({"g": "gaps"}, None)
    assert "1 of 10 items could not be scored" in gaps.note
    assert (sound.by, sound.value) == ({"g": "whole"}, 47.0)


def test_a_group_without_any_scored_record_says_so():
    found = one([unscored("a"), unscored("b", status="excluded")])
    assert (found.value, found.note, found.n, found.n_excluded) == (
        None,
        "nothing was scored",
        0,
        1,
    )


def test_groups_by_several_keys_take_the_records_that_have_them_all():
    records = [
        record("1", 1.0, by={"axis": "a", "group": "x"}),
        record("2", 2.0, by={"axis": "a", "group": "y"}),
        record("3", 3.0, by={"axis": "b", "group": "x"}),
        record("4", 4.0, by={"axis": "b"}),
    ]
    found = score_records(records, [metric(by=(("axis",), ("axis", "group")))], CONTEXT)
    assert {tuple(s.by.values()): s.value for s in found} == {
        (): 2.5,
        ("a",): 1.5,
        ("b",): 3.5,
        ("a", "x"): 1.0,
        ("a", "y"): 2.0,
        ("b", "x"): 3.0,
    }
    assert [s.headline for s in found] == [True, *[False] * 5]


def test_a_metric_only_sees_the_records_that_it_is_about():
    records = [record("1", 1.0, by={"part": "a"}), record("2", 5.0, by={"part": "b"})]
    found = one(records, where=lambda r: r.by["part"] == "b")
    assert (found.value, found.n) == (5.0, 1)


def test_a_metric_without_relevant_records_emits_nothing_and_a_headline_says_why():
    nowhere = metric(where=lambda r: False)
    assert score_records(some(5), [replace(nowhere, headline=False)], CONTEXT) == ()
    assert score_records([], [metric()], CONTEXT) == ()
    (found,) = score_records(some(5), [nowhere], CONTEXT)
    assert (found.headline, found.value, found.n) == (True, None, 0)
    assert found.note == "none of 5 items counts"
    silent = [replace(r, value=None) for r in some(5)]
    (found,) = score_records(silent, [nowhere], CONTEXT)
    assert found.note == "none of 5 items counts: 5 have no answer"


def test_a_metric_without_a_whole_reports_its_groups_alone():
    records = some(4, by={"g": "a"})
    (found,) = score_records(records, [metric(by=(("g",),), whole=False)], CONTEXT)
    assert (found.by, found.headline) == ({"g": "a"}, False)


def test_the_order_of_records_does_not_matter():
    records = [*some(40, 1, 3, by={"g": "a"}), *some(30, by={"g": "b"}, start=100)]
    metrics = [
        metric(by=(("g",),)),
        metric("s", estimate=Share(lambda r: 100.0 * ((r.value or 0) > 3))),
        metric("macro", estimate=MacroMean(value, "g")),
    ]
    shuffled = random.Random(0).sample(records, len(records))
    assert score_records(shuffled, metrics, CONTEXT) == score_records(records, metrics, CONTEXT)


def test_an_estimator_is_given_the_scored_records_sorted_by_item():
    seen: list[str] = []

    def estimate(records: Sequence[Record], sampling: Sampling) -> Estimate:
        seen.extend(r.item for r in records)
        return Estimate(0.0)

    shuffled = [record("b"), unscored("e", status="excluded"), record("c"), record("a")]
    one(shuffled, estimate=estimate)
    assert seen == ["a", "b", "c"]


def test_a_contribution_of_null_leaves_the_mean():
    found = one(some(10), estimate=Mean(lambda r: r.value if r.value != 9 else None))
    assert found.value == 4.0
    assert found.n_clusters == 9


def test_macro_mean_weighs_groups_alike():
    records = [*some(2, by={"pair": "a"}), *some(8, by={"pair": "b"}, start=10)]
    assert one(records, estimate=MacroMean(value, "pair")).value == (0.5 + 3.5) / 2


def test_records_that_count_more_in_the_mean_of_their_group():
    """By hand: (2 * 1 - 1 * 3) / 4 = -0.25 in the first group, 1 in the second."""
    records = [
        record(name, float(v), by={"g": g})
        for name, v, g in (("x", 2, "a"), ("y", -1, "a"), ("z", 1, "b"))
    ]
    estimate = MacroMean(value, "g", weight=lambda r: 3.0 if r.item == "y" else 1.0)
    assert one(records, estimate=estimate).value == (-0.25 + 1) / 2
    # With signs exchanged the first mean is 1.25 or 0.25 of either sign: 6 of 8 sums reach 0.75.
    assert estimate.test(records, 0, sampling()).p_value == 6 / 8
    alike = MacroMean(value, "g", weight=lambda r: 1.0)
    assert one(records, estimate=alike) == one(records, estimate=MacroMean(value, "g"))
    assert alike.test(records, 0, sampling()).p_value == 4 / 8


def test_a_group_in_which_nothing_counts_leaves_no_mean():
    records = [record(str(n), float(n), by={"g": g}) for n, g in enumerate("aabb")]
    of = lambda r: None if r.by["g"] == "b" else r.value  # noqa: E731
    found = one(records, estimate=MacroMean(of, "g", weight=lambda r: float(r.by["g"] == "a")))
    assert (found.value, found.interval_reason) == (None, "nothing was scored of b")
    assert one(records, estimate=MacroMean(of, "g")).value == 0.5


STABLE = 814620824


def test_seeds_are_stable_and_differ_by_what_is_scored():
    def draw(context: Context, name: str = "m", by: dict[str, str] | None = None) -> int:
        return int(context.sampling(name, by or {}).rng.integers(2**31))

    others = [
        draw(CONTEXT, "n"),
        draw(CONTEXT, by={"g": "a"}),
        draw(CONTEXT, by={"g": "b"}),
        draw(Context("made", "fr")),
        draw(Context("other", "en")),
        draw(Context("made", "en", seed=1)),
    ]
    # A change here changes the interval of every report that was ever written.
    assert draw(CONTEXT) == STABLE
    assert len({STABLE, *others}) == 7


def test_an_interval_does_not_depend_on_which_other_scores_there_are():
    records = some(30, by={"g": "a"})
    alone = score_records(records, [metric("m")], CONTEXT)
    among = score_records(records, [metric("k"), metric("m", by=(("g",),))], CONTEXT)
    assert alone[0] == next(s for s in among if s.metric == "m" and not s.by)


def with_p_value(records: Sequence[Record], sampling: Sampling) -> Estimate:
    """Estimate whose p-value is the first record's value, as a suite of tests would bring."""
    assert isinstance(sampling.rng, np.random.Generator)
    return Estimate(1.0, p_value=records[0].value)


@pytest.mark.parametrize("family", [True, False])
def test_a_family_of_tests_is_adjusted_together(family):
    p_values = [0.01, 0.04, 0.03]
    records = [record(str(i), p, by={"test": str(i)}) for i, p in enumerate(p_values)]
    records.append(unscored("3", by={"test": "3"}))
    tests = metric("d", estimate=with_p_value, by=(("test",),), whole=False, family=family)
    found = score_records(records, [tests], CONTEXT)
    assert [s.p_value for s in found] == [*p_values, None]
    adjust = holm if family else benjamini_hochberg
    assert [s.p_adjusted for s in found] == [*adjust(p_values), None]
    assert {s.family for s in found} == {"suite" if family else "exploratory"}


def status_of(records: Sequence[Record], name: str = "made") -> tuple[str, str | None]:
    made = result(name, records=records, measure="measured")
    found = scored(made, suite(metric(), name=name), seed=0)
    return found.status, found.reason


def test_a_suite_with_few_gaps_is_scored():
    assert status_of(some(95, 5)) == ("scored", None)


def test_a_suite_with_many_gaps_is_inconclusive_and_says_why():
    records = [*some(90, 6), unscored("y", "non-finite"), unscored("z", "empty text")]
    assert status_of(records) == (
        "inconclusive",
        "8 of 98 items could not be scored: empty text; non-finite",
    )


def test_a_suite_names_at_most_three_reasons():
    records = [*some(1), *(unscored(f"r{i}", f"reason {i}") for i in range(5))]
    assert status_of(records)[1] == (
        "5 of 6 items could not be scored: reason 0; reason 1; reason 2"
    )


@pytest.mark.parametrize("records", [[], some(0, 0, 3)], ids=["none", "all excluded"])
def test_a_suite_without_items_is_inconclusive(records):
    assert status_of(records) == ("inconclusive", "no item is left")


def test_a_failed_essential_check_makes_structure_inconclusive():
    good = record("round trip", 0.0, detail={"essential": False}, reason="7 of 8")
    bad = record("determinism", 0.0, detail={"essential": True}, reason="two calls differ")
    assert status_of([good], "structure") == ("scored", None)
    assert status_of([good, bad], "structure") == (
        "inconclusive",
        "structural checks failed: determinism (two calls differ)",
    )


def test_scoring_a_result_again_changes_nothing():
    made = result("made", records=some(40, 1), measure="measured")
    once = scored(made, suite(metric()), seed=3)
    assert once.headline.value == 19.5
    assert scored(once, suite(metric()), seed=3) == once
    assert scored(once, suite(metric()), seed=4).headline.interval != once.headline.interval


def test_the_distance_of_a_score_is_taken_from_its_ideal():
    assert score(value=40.0).distance == 10
    assert score(value=None).distance is None
