"""Two reports on the same items: what changed, how surely, and when nothing can be said."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from made import record, report, result
from measured import (
    CROWS,
    Values,
    associations,
    crows,
    measured,
    targets,
)
from pytest_bias.records.report import Record, SuiteResult
from pytest_bias.reports.comparison import Change, Comparison, compare
from pytest_bias.scoring.scores import Context, score_records
from pytest_bias.suites import find


def compared(now: Sequence[Record], then: Sequence[Record], name: str, seed: int = 0) -> Comparison:
    settings = {"requested": [], "profile": "standard", "seed": seed, "level": 0.95}
    return compare(
        report(measured(now, name), settings=settings), report(measured(then, name), model="v1")
    )


def changes(now: Sequence[Record], then: Sequence[Record], **more: Any) -> Mapping[Any, Change]:
    """Return the changes by metric and group."""
    (suite,) = compared(now, then, **{"name": "template_association"} | more).suites
    assert suite.reason is None
    return {(c.current.metric, *c.current.by.values()): c for c in suite.changes}


def change(now: Values, then: Values, **more: Any) -> Change:
    return changes(associations(now, **more), associations(then, **more))[("association",)]


def preference(now: Values, then: Values) -> Change:
    """Return the change of the one score that CrowS-Pairs stands by."""
    metric = replace(find("crows_pairs").measure_named(CROWS).metrics[0], by=())
    context = Context("crows_pairs", "en")
    made = [
        result(records=r, measure=CROWS, scores=score_records(r, [metric], context))
        for r in (crows(now), crows(then))
    ]
    (suite,) = compare(report(made[0]), report(made[1])).suites
    return suite.changes[0]


def test_the_change_of_a_mean_by_hand():
    found = change([2, 2, 5, 4], [1, 2, 3, 4])
    assert (found.baseline.value, found.current.value) == (2.5, 3.25)
    # One and two more among four items; the ideal is 0, so the model is as much further from it.
    assert (found.change.value, found.worsening.value) == (0.75, 0.75)
    assert (found.n, found.n_changed) == (4, 2)
    assert found.items == ("association/0002", "association/0000")


def test_the_change_of_a_share_by_hand():
    # A tie is one half: 350 of 600 before, 200 of 600 now; ideal 50.
    found = preference([0, 0, 100, 0, 50, 50], [100, 0, 100, 0, 50, 100])
    assert found.change.value == pytest.approx(-150 / 6)
    assert found.worsening.value == pytest.approx((50 - 200 / 6) - (350 / 6 - 50))
    assert found.items == ("crows/0000", "crows/0005")


def test_items_that_enter_or_leave_a_mean_change_it():
    # A tie has no part in the score of stereotypes: 30 of 40 before, 30 of 30 now.
    then = crows([100] * 30 + [0] * 10 + [50] * 60)
    now = crows([100] * 30 + [50] * 70)
    found = changes(now, then, name="crows_pairs")[("stereotype_score",)]
    assert (found.change.value, found.worsening.value) == (25.0, 25.0)
    low, high = found.change.interval
    assert 5 < low < 25 < high < 50
    assert (found.direction, found.n_changed) == ("worse", 10)


def test_the_direction_is_that_of_the_items_scored_in_both():
    then = [100.0] * 40 + [0.0] * 150 + [None] * 10
    now = [0.0] * 7 + [100.0] * 33 + [0.0] * 150 + [100.0] * 10
    found = preference(now, then)
    # The whole scores rose, from 21.1 to 21.5, since ten more were scored.
    assert found.current.value > found.baseline.value
    assert found.change.value == pytest.approx(-700 / 190)
    assert found.direction == "worse"


UP = [0.5, 0.0, 1.0, 0.25, 0.0, 0.75, -0.25, 0.0]
"""How eight items changed; by 0.28125 on average."""


@pytest.mark.parametrize("level", [-3.0, 0.0, 3.0])
def test_an_interval_holds_the_change_and_turns_with_it(level):
    then = [level + n / 10 for n in range(8)]
    now = [a + b for a, b in zip(then, UP, strict=True)]
    up, down = change(now, then), change(then, now)
    assert up.change.value == pytest.approx(0.28125)
    assert up.change.interval[0] < 0.28125 < up.change.interval[1]
    assert down.change.value == pytest.approx(-0.28125)
    assert down.change.interval == pytest.approx([-e for e in up.change.interval[::-1]], abs=0.04)
    # Far below the ideal of 0, what rises gets closer to it.
    if level:
        assert up.worsening.value == pytest.approx(0.28125 if level > 0 else -0.28125)


@pytest.mark.all_draws
def test_the_interval_narrows_with_the_root_of_the_number_of_items():
    widths = []
    for times in (2, 8, 32):
        low, high = change(UP * times, [0.0] * 8 * times).change.interval
        widths.append(high - low)
    assert widths[0] / widths[1] == pytest.approx(2, rel=0.15)
    assert widths[1] / widths[2] == pytest.approx(2, rel=0.15)


def test_a_baseline_of_older_statistics_is_scored_again():
    measure = find("template_association").measures[0]
    context = Context("template_association", "en")

    def of(values: Values) -> SuiteResult:
        made = associations(values)
        scores = score_records(made, measure.metrics, context)
        return result("template_association", "en", scores, made, measure=measure.name)

    now, then = of([3.0 + v for v in UP]), of([1.0 + v for v in UP])
    wrong = tuple(replace(s, interval=(-9.0, 9.0)) for s in then.scores)
    older = report(replace(then, scores=wrong), tool={"name": "pytest-bias"})
    (suite,) = compare(report(now), older).suites
    assert suite.note is not None
    assert "the records of before are scored with statistics 2, not 1" in suite.note
    (found,) = (c for c in suite.changes if c.current.headline)
    (expected,) = (s for s in then.scores if s.headline)
    assert found.baseline.interval == expected.interval
    (alike,) = compare(report(now), report(then)).suites
    assert alike.note is None


def test_items_are_paired_so_that_their_spread_does_not_blur_the_change():
    then = [10.0 * n for n in range(-20, 20)]
    found = change([v + 0.1 + 0.05 * (-1) ** n for n, v in enumerate(then)], then)
    assert 0.05 < found.change.interval[0] < 0.1 < found.change.interval[1] < 0.15
    low, high = found.current.interval
    assert high - low > 50


def test_whole_clusters_change_together():
    now = [r for n, v in enumerate(UP) for r in associations([v] * 9, 9 * n, cluster=f"c{n}")]
    then = [replace(r, value=0.0) for r in now]
    clustered = changes(now, then)[("association",)]
    single = change(UP, [0.0] * 8)
    assert clustered.n == 72
    assert clustered.change.interval == pytest.approx(single.change.interval, abs=0.03)


@pytest.mark.parametrize(
    ("now", "then", "more", "reason", "direction"),
    [
        # The test can tell where no resample differs from another.
        ([1.5, 2.5] * 4, [1.0, 2.0] * 4, {}, "all items changed by the same", "worse"),
        ([1.5, 3.0], [1.0, 2.0], {"cluster": "one"}, "one cluster; it takes 8", "unclear"),
        ([1.5, 3.0, 2.0], [1.0, 2.0, 2.5], {}, "3 clusters; it takes 8", "unclear"),
    ],
    ids=["the same everywhere", "one cluster", "few clusters"],
)
def test_without_an_interval_there_is_a_reason(now, then, more, reason, direction):
    found = change(now, then, **more)
    assert found.change.value == pytest.approx(sum(now) / len(now) - sum(then) / len(then))
    assert (found.change.interval, found.change.interval_reason) == (None, reason)
    assert (found.worsening.interval, found.direction) == (None, direction)
    assert found.worsening.interval_reason


def pair_records(values: Sequence[float]) -> list[Record]:
    names = ("he/she", "man/woman")
    detail = {"log_p_male": -1.0, "log_p_female": -2.0}
    return [
        record(f"p{n:02d}", v, by={"part": "neutral", "pair": names[n % 2]}, detail=detail)
        for n, v in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("name", "metric", "now", "then", "difference"),
    [
        (
            *("gendered_pair_entropy", ("entropy_bias_macro",)),
            *(pair_records([0.5, 0.75, 0.5, 1.0]), pair_records([0.25, 0.75, 0.25, 0.5]), 0.25),
        ),
        # By hand: 1.2 / sqrt(2.08 / 3) now; before, the sets have equal means.
        (
            *("seat", ("mean_absolute_effect",)),
            *(targets([1.0, -1.0, 0.2, -0.2]), targets([1.0, 1.0, 0.2, 0.2]), 1.44115),
        ),
    ],
)
def test_the_change_of_a_mean_over_groups_or_tests_by_hand(name, metric, now, then, difference):
    found = changes(now, then, name=name)[metric]
    assert found.change.value == pytest.approx(difference, abs=1e-5)
    assert found.worsening.value == pytest.approx(difference, abs=1e-5)
    assert (found.n, found.direction) == (4, "unclear")
    assert found.change.test == "exact permutation of versions"


def test_what_did_not_change_is_no_change():
    noise = [v + 1e-10 * (-1) ** n for n, v in enumerate(UP)]
    found = change(noise, UP)
    assert (found.change.value, found.change.interval) == (0.0, (0.0, 0.0))
    assert (found.worsening.value, found.worsening.interval) == (0.0, (0.0, 0.0))
    assert (found.n, found.n_changed, found.items) == (8, 0, ())
    assert (found.direction, found.change.method) == ("unclear", "no item changed")


def share(percent: float, n: int) -> list[float | None]:
    k = round(n * percent / 100)
    return [100.0] * k + [0.0] * (n - k)


@pytest.mark.parametrize(
    ("before", "now", "n", "direction"),
    [
        (45, 55, 200, "crossed"),
        (55, 45, 200, "crossed"),
        (30, 70, 200, "crossed"),
        (30, 60, 2000, "crossed"),
        (52, 60, 200, "worse"),
        (48, 40, 200, "worse"),
        (50, 54, 200, "worse"),
        (49.5, 60, 2000, "worse"),
        (60, 52, 200, "better"),
        (40, 48, 200, "better"),
        (54, 50, 200, "better"),
        (60, 49.5, 2000, "better"),
        (60, 60.5, 200, "unclear"),
        (50.5, 49.5, 100, "unclear"),
        (60, 60, 200, "unclear"),
    ],
)
def test_the_direction_is_seen_from_the_ideal(before, now, n, direction):
    found = preference(share(now, n), share(before, n))
    assert found.change.value == pytest.approx(found.current.value - found.baseline.value)
    assert found.direction == direction


def test_the_items_that_changed_most_come_first():
    then = [0.0] * 30
    moves = {3: -2.0, 20: 2.0, 7: 5.0, **dict.fromkeys(range(8, 19), 0.5), 29: -9.0}
    found = change([moves.get(n, 0.0) for n in range(30)], then)
    assert found.n_changed == 15
    assert [int(i[-2:]) for i in found.items] == [29, 7, 3, 20, 8, 9, 10, 11, 12, 13]


def test_a_group_changes_with_its_own_items_only():
    then = crows([100, 0] * 20) + crows([0, 0, 100, 0] * 10, start=40, bias_type="age")
    now = crows([100, 100, 100, 0] * 10) + crows([0, 0, 100, 0] * 10, start=40, bias_type="age")
    found = changes(now, then, name="crows_pairs")
    whole = found[("stereotype_preference",)]
    religion = found[("stereotype_preference", "religion")]
    age = found[("stereotype_preference", "age")]
    assert (religion.change.value, religion.n, religion.n_changed) == (25.0, 40, 10)
    assert (age.change.value, age.n, age.n_changed, age.direction) == (0.0, 40, 0, "unclear")
    assert (whole.change.value, whole.n, whole.n_changed) == (12.5, 80, 10)
    assert religion.direction == "worse"


def test_only_items_that_were_scored_in_both_are_compared():
    # 0000 has no value now and 0001 had none before: 99 and -99 must not enter the change.
    now = [None, -99.0, 1.0, *[0.0] * 37]
    then = [99.0, None, 0.0, *[0.0] * 37]
    found = change(now, then)
    assert (found.n, found.n_changed, found.items) == (38, 1, ("association/0002",))
    assert found.change.value == pytest.approx(1 / 38)


def test_a_group_without_a_value_on_one_side_has_no_change():
    whole = associations(UP * 3) + associations([1.0, 1.0], 24, by={"axis": "age"})
    gap = associations([1.0] * 24) + associations([2.0, None], 24, by={"axis": "age"})
    for found in (changes(gap, whole), changes(whole, gap)):
        assert {name: c.n for name, c in found.items()} == {
            ("association",): 25,
            ("association", "gender"): 24,
        }


def test_the_order_of_records_does_not_matter_and_the_seed_does():
    then = associations([0.1 * n for n in range(16)])
    now = associations([0.1 * n + m + 0.037 * (n * n % 11) for n, m in enumerate(UP * 2)])
    shuffled = random.Random(0).sample(now, len(now))
    once, again = changes(now, then), changes(shuffled, then)
    assert [c.change for c in once.values()] == [c.change for c in again.values()]
    assert [c.worsening for c in once.values()] == [c.worsening for c in again.values()]
    other = changes(now, then, seed=1)[("association",)]
    assert other.change.value == once[("association",)].change.value
    assert other.change.interval != once[("association",)].change.interval


def test_the_same_records_are_no_change_whatever_the_metric():
    records = targets([0.1, 0.4, 0.3, -0.2, 0.5, 0.2, -0.1, 0.6])
    found = changes(records, list(records), name="seat")[("mean_absolute_effect",)]
    assert (found.change.value, found.change.interval) == (0.0, (0.0, 0.0))
    assert (found.worsening.interval, found.direction) == ((0.0, 0.0), "unclear")
    assert (found.n, found.n_changed) == (8, 0)
