"""A sequence of checkpoints: values side by side, what was carried forward, and 80 columns."""

from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from made import HOSTILE, record, report, result, unscored
from pytest_bias.emit import trajectory as emit
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.reports.comparison import compare
from pytest_bias.reports.trajectory import Carried, Trajectory, trajectory
from pytest_bias.scoring.scores import Context, score_records
from pytest_bias.suites import find

Values = Sequence[float | None]


def suite(name: str, values: Values, groups: Sequence[str] = ("gender",)) -> SuiteResult:
    """Return a suite with these values of its items, and its headline with groups."""
    found = find(name)
    measure = found.measures[0]
    key = {"crows_pairs": "bias_type", "template_association": "axis"}.get(name, "test")
    records = []
    for number, value in enumerate(values):
        more = {"by": {key: groups[number % len(groups)]}, "text_sha256": f"{number:04x}"}
        item = f"item/{number:04d}"
        records.append(unscored(item, **more) if value is None else record(item, value, **more))
    headline = next(m for m in measure.metrics if m.headline)
    scores = [] if name == "seat" else score_records(records, [headline], Context(name, "en"))
    return result(
        name, scores=scores, records=records, measure=measure.name, title=found.title, data=None
    )


def crows(values: Values, **more: Any) -> SuiteResult:
    return suite("crows_pairs", values, **more)


def association(values: Values, **more: Any) -> SuiteResult:
    return suite("template_association", values, **more)


def steps(*suites: SuiteResult | tuple[SuiteResult, ...]) -> Trajectory:
    """Return checkpoints step0, step1, …, given from the oldest to the newest."""
    made = [
        report(*(s if isinstance(s, tuple) else (s,)), model=f"step{n}")
        for n, s in enumerate(suites)
    ]
    return trajectory(made[-1], made[-2::-1])


def kept(now: SuiteResult, then: SuiteResult) -> Carried:
    (found,) = steps(then, now).carried
    return found


# What was carried forward


def test_outcomes_that_are_the_same() -> None:
    then = [100, 100, 100, 0, 0, 50, 100, None, 0, 0]
    now = [100, 100, 0, 0, 100, 50, 50, 100, None, 0]
    found = kept(crows(now), crows(then))
    # Scored in both are the first seven and the last: 8 items.
    assert (found.n, found.n_same, found.correlation) == (8, 5, None)
    # Then 4 x 100, 3 x 0, 1 x 50; now 3 x 100, 3 x 0, 2 x 50.
    assert found.n_by_chance == pytest.approx((4 * 3 + 3 * 3 + 1 * 2) / 8)
    assert found.reason is None


def test_outcomes_of_a_checkpoint_that_always_does_the_same() -> None:
    found = kept(crows([100] * 6), crows([100, 0, 100, 0, 100, 0]))
    assert (found.n_same, found.n_by_chance) == (3, 3.0)


@pytest.mark.parametrize(
    ("now", "then", "r"),
    [
        ([2.0, 4.0, 6.0, 9.0], [1.0, 2.0, 3.0, 4.5], 1.0),
        ([-1.0, -2.0, -3.0], [1.0, 2.0, 3.0], -1.0),
        # By hand: deviations (-1.5, -.5, .5, 1.5) and (-1, 1, -1, 1): 2 / sqrt(5 * 4).
        ([1.0, 2.0, 3.0, 4.0], [0.5, 2.5, 0.5, 2.5], 2 / 20**0.5),
        # An item that one of them could not score has no part in it.
        ([2.0, 4.0, 6.0, None], [1.0, 2.0, 3.0, -9.0], 1.0),
    ],
)
def test_values_correlate(now: Values, then: Values, r: float) -> None:
    found = kept(association(now), association(then))
    assert found.correlation == pytest.approx(r, abs=1e-12)
    assert found.n == sum(v is not None for v in now)
    assert (found.n_same, found.n_by_chance) == (None, None)


def test_a_suite_without_values_to_average_is_told_by_its_items() -> None:
    found = kept(suite("seat", [0.1, 0.2, 0.4, 0.1]), suite("seat", [0.2, 0.4, 0.8, 0.2]))
    assert found.correlation == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("now", "then", "reason"),
    [
        ([0.5, 0.25], [0.1, 0.2], "2 items are scored in both"),
        ([0.5, None, None], [0.1, 0.2, 0.3], "1 items are scored in both"),
        ([0.5, 0.5, 0.5], [0.1, 0.2, 0.3], "the same value"),
        ([0.1, 0.2, 0.3], [1.5, 1.5, 1.5], "the same value"),
    ],
)
def test_where_nothing_can_be_said_of_it(now: Values, then: Values, reason: str) -> None:
    found = kept(association(now), association(then))
    assert (found.correlation, found.n_same) == (None, None)
    assert reason in (found.reason or "")


# Values side by side


RISING = [
    association([i % 4 / 5 + v * (1 + i % 3 / 3) for i in range(24)]) for v in (0.0, 0.1, 0.2, 0.9)
]
"""Means 3/10 + 4/3 v: not all items change by the same."""


def test_the_oldest_comes_first() -> None:
    found = steps(*RISING)
    assert [r.model.reference for r in found.checkpoints] == ["step0", "step1", "step2", "step3"]
    (only,) = found.suites
    (headline, *_) = only.changes
    values = [s and s.value for s in found.values(only.entry, headline.current)]
    assert values == pytest.approx([3 / 10 + 4 / 3 * v for v in (0.0, 0.1, 0.2, 0.9)])
    assert headline.change.value == pytest.approx(1.2)
    assert found.reasons == ({}, {}, {}, {})


def test_the_change_is_that_of_the_comparison_with_the_oldest() -> None:
    found = steps(*RISING)
    assert found.overall == compare(found.checkpoints[-1], found.checkpoints[0])


def test_what_cannot_be_compared_is_a_dash_with_its_reason() -> None:
    other = replace(RISING[1], version="0")
    lacking = report(model="step2")
    newest = report(RISING[3], model="step3")
    found = trajectory(newest, [lacking, report(other, model="step1"), report(RISING[0])])
    (only,) = found.suites
    values = found.values(only.entry, only.changes[0].current)
    assert [s is None for s in values] == [False, True, True, False]
    assert [len(r) for r in found.reasons] == [0, 1, 1, 0]
    text = printed(found)
    assert "template_association[en] of 2 cannot be compared with 4: another version" in text
    assert "template_association[en] of 3 cannot be compared with 4: the baseline did not" in text
    assert text.count("nats 0.30 – – 1.50 +1.20 worse") == 1


def test_where_the_oldest_cannot_be_compared_the_others_are_shown() -> None:
    found = steps(replace(RISING[0], version="0"), RISING[1], RISING[2])
    assert found.carried == ()
    assert "Template association en, nats – 0.43 0.57 –" in printed(found)


def test_what_only_older_checkpoints_measured_is_told_and_has_no_row() -> None:
    found = steps((RISING[0], crows([100, 0])), (RISING[1],), (RISING[2],))
    text = printed(found)
    assert "crows_pairs[en] of 1 cannot be compared with 3: only the baseline measured it" in text
    assert "CrowS-Pairs" not in text


def test_nothing_in_common() -> None:
    found = steps(crows([100, 0]), crows([100, 0]), association([0.5]))
    assert list(found.suites) == []
    assert found.carried == ()
    assert "of 1, 2 cannot be compared with 3" in printed(found)


def test_an_older_group_that_is_missing_is_a_dash() -> None:
    groups = ("gender", "age")
    newest = association([1.0, 2.05, 1.1, 2.15] * 6, groups=groups)
    oldest = association([0.1, 0.2] * 12, groups=groups)
    between = replace(oldest, scores=tuple(s for s in oldest.scores if s.by != {"axis": "age"}))
    text = printed(steps(oldest, between, newest))
    assert "age ° 0.20 – 2.10 +1.90 worse" in text
    assert "gender ° 0.10 0.10 1.05 +0.95 worse" in text


# On a terminal


def printed(found: Trajectory, width: int = 200) -> str:
    """Return what is printed, without the spaces between columns."""
    return " ".join(raw(found, width).split())


def raw(found: Trajectory, width: int) -> str:
    stream = StringIO()
    Console(file=stream, width=width).print(emit.render(found))
    return stream.getvalue()


def test_it_says_of_what_it_speaks() -> None:
    text = printed(steps(*RISING))
    assert text.endswith("This compares these checkpoints, not ways to train.")
    assert "exploratory: a group that was looked at" in text
    assert "the oldest first 1 step0 2 step1 3 step2 4 step3" in text


def test_what_was_carried_is_one_line_a_suite() -> None:
    then, now = [100.0, 0.0] * 600, [100.0, 0.0, 0.0] * 400
    found = steps((crows(then), RISING[0]), (crows(now), RISING[1]))
    text = printed(found)
    assert (
        "CrowS-Pairs en: 600 of 1,200 outcomes are those of the oldest checkpoint; "
        "by chance it would be about 600." in text
    )
    assert (
        "Template association en: the values of 24 items correlate with those of the oldest "
        "checkpoint by r = 0.99." in text
    )


@pytest.mark.parametrize("n", [2, 3, 6, 7, 30])
def test_80_columns_are_enough(n: int) -> None:
    groups = ("socioeconomic", "race-color", "sexual-orientation")
    suites = [
        (
            crows([100 if (i * 7) % 10 < 3 + k % 5 else 0 for i in range(150)], groups=groups),
            association([-12.5 - k - (i % 5) / 4 for i in range(40)], groups=groups),
        )
        for k in range(n)
    ]
    text = raw(steps(*suites), 80)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    line = next(line for line in text.splitlines() if line.startswith("Template"))
    # No number is cut or wrapped: all of them and the change stand on one line.
    numbers = [w for w in line.split() if w.startswith("-")]
    assert len(numbers) == min(n, 6) + 1
    if n > 6:
        assert f"6 of the {n} have a column: 1, " in text
        assert f"{n} step{n - 1}" in text


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (2, [0, 1]),
        (6, [0, 1, 2, 3, 4, 5]),
        (7, [0, 1, 2, 4, 5, 6]),
        (11, [0, 2, 4, 6, 8, 10]),
    ],
)
def test_columns_are_evenly_chosen(n: int, expected: list[int]) -> None:
    assert emit.columns(n) == expected


def of_weights(made: Report, weights: str) -> Report:
    model = replace(made.model, reference="checkpoint", weights_sha256=weights * 64)
    return replace(made, model=model)


def test_checkpoints_of_one_name_are_told_apart() -> None:
    reports = [of_weights(report(s), w) for s, w in zip(RISING, "abcd", strict=True)]
    text = printed(trajectory(reports[-1], reports[-2::-1]))
    assert "1 checkpoint (weights aaaaaaa) 2 checkpoint (weights bbbbbbb)" in text


@pytest.mark.parametrize("name", HOSTILE)
def test_names_stay_text(name: str) -> None:
    older = report(RISING[0], model=HOSTILE[name])
    text = raw(trajectory(report(RISING[1]), [older, older]), 80)
    assert not set(text) & set("\x00\x1b\x08\x7f\u202e\u2066")
    assert max(map(len, text.splitlines())) <= 80
