"""Intervals and tests of whole suites, on their own items, where nothing is to be found.

A few data sets of what `benchmarks/coverage.py all` draws thousands of: enough to see an interval
that holds the truth in three cases of four, or a test that is wrong in one of five.
"""

import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import error_bars

N = 60
BUNDLED = "gendered_pair_entropy|template_association|structured_noise|general_quality|perturbation"


@cache
def rows() -> list[Any]:
    return error_bars.rows(Path("nowhere"), {}, only=f"^({BUNDLED})$", configurations={"en"})


@pytest.mark.by_day(suite=("template_association", "structured_noise"))
@pytest.mark.parametrize("suite", BUNDLED.split("|"))
def test_a_suite_finds_nothing_where_nothing_is(suite):
    found = [row for row in rows() if row.suite == suite][:4]
    n_intervals = 0
    for row in found:
        rate, shared = list(row.settings)[-1]
        outcomes = [error_bars.one(row, rate, shared, seed) for seed in range(N)]
        held = error_bars.Held.of(row, rate, outcomes)
        assert not held.fails, f"{row.metrics}: {held}"
        n_intervals += held.n
    assert n_intervals >= N


@pytest.mark.nightly
def test_an_interval_over_the_smaller_source_of_variation_is_found_out(monkeypatch):
    """Without their factors the intervals of Gendered pairs hold the truth too seldom."""
    row = next(r for r in rows() if r.suite == "gendered_pair_entropy" and r.factors)
    drawn = [error_bars.drawn(row, 50.0, 0.9, error_bars.generator(seed)) for seed in range(N)]
    over_all, over_clusters = row.estimator, error_bars.without_factors(row.estimator)
    covers = {}
    for name, estimator in (("all", over_all), ("clusters", over_clusters)):
        ends = [
            estimator(r, error_bars.sampling(row, seed)).interval for seed, r in enumerate(drawn)
        ]
        covers[name] = sum(low <= error_bars.truth(row, 50.0) <= high for low, high in ends) / N
    assert covers["all"] >= 0.88
    assert covers["clusters"] <= covers["all"] - 0.08
