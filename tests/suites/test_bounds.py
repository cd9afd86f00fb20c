"""Whatever a model answers to however many items: every score lies within its declared bounds.

Items are those of the cases, as many as may be, some of which could not be scored; answers are few
or many different ones, large or small.
"""

import math
import random
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cases import CASES
from hashed import Hashed
from measured_cases import every_case
from pytest_bias.records.report import Record
from pytest_bias.records.score import Score
from pytest_bias.scoring import statistics
from pytest_bias.scoring.scores import Context, score_records
from pytest_bias.scoring.statistics import Draws
from pytest_bias.suites import find
from pytest_bias.suites.measures import measure_items

FEWEST = Draws(resamples=29, arrangements=60, shuffles=19, partitions=19)
"""Bounds hold for every draw."""


@pytest.mark.parametrize("case", every_case())
@settings(
    max_examples=max(4, settings.default.max_examples // 6),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    n=st.integers(1, 40),
    seed=st.integers(0, 2**32),
    levels=st.sampled_from([1, 2, 3, 32]),
    scale=st.sampled_from([1.0, 1e-9, 1e4]),
    lost=st.sampled_from([0.0, 0.04]),
)
def test_every_score_is_within_its_bounds(case, n, seed, levels, scale, lost, monkeypatch):
    monkeypatch.setattr(statistics, "DRAWS", FEWEST)
    name, measure_name = case
    rng = random.Random(seed)
    items = CASES[name].items()
    # Of one half of the examples all items, of the other a few, whatever they are.
    items = items if seed % 2 else rng.sample(items, min(n, len(items)))
    suite = find(CASES[name].suite)
    measure = suite.measure_named(measure_name)
    model = Hashed(str(seed), levels, scale)
    records = [
        unscored(r) if rng.random() < lost else r for r in measure_items(measure, model, items)
    ]
    for score in score_records(records, measure.metrics, Context(suite.name, "x", seed)):
        check(score, f"{score.metric} {score.by}")


def unscored(record: Record) -> Record:
    return replace(record, status="unscored", value=None, detail={}, reason="too long")


def check(score: Score, about: str) -> None:
    low, high = (
        -math.inf if score.bounds[0] is None else score.bounds[0] - 1e-9,
        math.inf if score.bounds[1] is None else score.bounds[1] + 1e-9,
    )
    interval, floor = score.interval or (), score.floor
    for number in (score.value, *interval, floor):
        assert number is None or low <= number <= high, f"{about}: {number} of {score}"
        assert number is None or math.isfinite(number), f"{about}: {number} of {score}"
    assert list(interval) == sorted(interval), f"{about}: {score}"
    assert 0 <= score.n <= score.n + score.n_unscored, about
    for p in (score.p_value, score.p_adjusted):
        assert p is None or 0 < p <= 1, f"{about}: {score}"
    if score.value is None:
        assert score.note or score.interval_reason, about
        assert score.interval is None, about
    else:
        assert score.n > 0, about
        assert score.interval or score.interval_reason, about
