"""Limits on every metric of every suite: accepted where an interval can decide, else refused."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from cases import CASES
from hashed import Hashed
from pytest_bias.errors import UsageError
from pytest_bias.records.report import Record
from pytest_bias.reports.limits import read_limits
from pytest_bias.scoring.estimators import Additive
from pytest_bias.scoring.metric import Metric
from pytest_bias.scoring.scores import Context, score_records
from pytest_bias.suites import find
from pytest_bias.suites.catalogue import installed
from pytest_bias.suites.measures import measure_items

MANY: Final = 12
"""How often the items of a case are there, in clusters of their own: the data are never too few."""
UNITS: Final = ("word", "frame")
"""Details that name what is resampled, where that is no cluster."""

Known = set[tuple[str, str]]
RULES: Final[dict[str, Any]] = {"max_distance": 1, "max_regression": {"points": 1}}


def metrics() -> dict[tuple[str, str], list[Metric]]:
    """Return the metrics of every suite by their names, one a way to measure."""
    found: dict[tuple[str, str], list[Metric]] = {}
    for suite in installed():
        for measure in suite.measures:
            for metric in measure.metrics:
                found.setdefault((suite.name, metric.name), []).append(metric)
    return found


EVERY: Final = metrics()


@pytest.fixture(scope="module")
def with_interval() -> Known:
    """Return suite and name of every metric that has an interval for some score."""
    found: Known = set()
    for case in CASES.values():
        suite, context = find(case.suite), Context(case.suite, case.config)
        for measure in suite.measures:
            records: list[Record] = []
            for times in (1, MANY):
                left = [m for m in measure.metrics if (suite.name, m.name) not in found]
                if left:
                    records = records or list(measure_items(measure, Hashed(), case.items()))
                    scores = score_records(repeated(records, times), left, context)
                    found |= {(suite.name, s.metric) for s in scores if s.interval}
    return found


def repeated(records: Sequence[Record], times: int) -> list[Record]:
    return [
        replace(
            record,
            item=f"{record.item}#{n}",
            cluster=f"{record.cluster}#{n}",
            detail={k: f"{v}#{n}" if k in UNITS else v for k, v in record.detail.items()},
        )
        for record in records
        for n in range(times)
    ]


def test_an_interval_is_declared_impossible_exactly_where_there_is_none(with_interval: Known):
    without = {key for key, named in EVERY.items() if all(m.without_interval for m in named)}
    assert without == EVERY.keys() - with_interval


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("key", EVERY, ids=".".join)
def test_a_limit_is_refused_exactly_where_nothing_can_decide(key: tuple[str, str], rule: str):
    named = EVERY[key]
    group = (
        "" if any(m.whole for m in named) else f"[{', '.join(f'{k}=x' for k in named[0].by[0])}]"
    )
    limits = {f"{'.'.join(key)}{group}": {rule: RULES[rule]}}
    is_decidable = not all(m.without_interval for m in named)
    if rule == "max_regression":
        is_decidable &= any(isinstance(m.estimate, Additive) for m in named)
    if is_decidable:
        assert read_limits(limits)
        return
    with pytest.raises(UsageError, match="can never be decided") as refused:
        read_limits(limits)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        ("perturbation.worst_class", "What can: max_regression on perturbation.flip_rate."),
        ("structure.checks_passed", None),
    ],
)
def test_the_score_that_would_do_is_one_of_the_same_models(limit: str, told: str | None):
    with pytest.raises(UsageError) as refused:
        read_limits({limit: {"max_regression": {"points": 2}}})
    assert refused.value.hint == told


@pytest.mark.parametrize(
    "key", [key for key, named in EVERY.items() if not any(m.whole for m in named)], ids=".".join
)
def test_what_is_of_groups_only_is_limited_by_its_group(key: tuple[str, str]):
    with pytest.raises(UsageError, match="is of groups only") as refused:
        read_limits({".".join(key): {"max_distance": 1}})
    assert f"{'.'.join(key)}[" in str(refused.value.hint)
