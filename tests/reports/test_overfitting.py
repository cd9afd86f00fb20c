"""The test of over-fitting, held against what can be computed by hand and against simulations."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from pytest_bias.errors import MeasurementError
from pytest_bias.records.report import Record, SuiteResult
from pytest_bias.reports.overfitting import SplitTest, split_test
from pytest_bias.scoring.permutation import shift_test
from pytest_bias.scoring.statistics import Sampling
from pytest_bias.suites import find

pytestmark = pytest.mark.all_draws

SUITE = "crows_pairs"
MEASURE = find(SUITE).measures[0].name


def result(values: Sequence[float | None], name: str, clusters: int = 1) -> SuiteResult:
    """Return pairs with these preferences, so many in a cluster; null for an unscored one."""
    records = tuple(
        Record(f"{name}/{n}", f"{name}/{n // clusters}", "scored", value, {"bias_type": "age"})
        if value is not None
        else Record(f"{name}/{n}", f"{name}/{n // clusters}", "unscored")
        for n, value in enumerate(values)
    )
    return SuiteResult(
        SUITE, "en", "1", "intrinsic", "scored", measure=MEASURE, clusters="pairs", records=records
    )


def outcome(
    model: tuple[Sequence[float | None], Sequence[float | None]],
    reference: tuple[Sequence[float | None], Sequence[float | None]],
    clusters: int = 1,
) -> SplitTest:
    names = ("public", "hidden")
    of_model, of_reference = (
        tuple(result(v, n, clusters) for v, n in zip(values, names, strict=True))
        for values in (model, reference)
    )
    return split_test(of_model, of_reference)  # type: ignore[arg-type]


def test_difference_in_differences_by_hand() -> None:
    found = outcome(([0, 0, 100], [100, 100, 0, 100]), ([100, 0, 100], [100, 0, 0, 100]))
    assert found.public.model == pytest.approx(100 / 3)
    assert found.public.reference == pytest.approx(200 / 3)
    assert found.hidden.difference == pytest.approx(25)
    assert found.value == pytest.approx(-100 / 3 - 25)
    # Differences -100, 0, 0 of public and 0, 100, 0, 0 of hidden items, in all 35 splits.
    all_of_them = [-100, 0, 0, 0, 100, 0, 0]
    splits = [
        np.mean([all_of_them[i] for i in split])
        - np.mean([x for i, x in enumerate(all_of_them) if i not in split])
        for split in combinations(range(7), 3)
    ]
    at_least = np.mean(np.abs(splits) >= abs(found.value) - 1e-9)
    assert found.p_value == pytest.approx(at_least)
    assert found.test == "exact permutation of clusters"
    critical = np.quantile(np.abs(splits), 0.95)
    assert found.detectable == pytest.approx(critical - np.quantile(splits, 0.2))


def test_whole_clusters_are_exchanged() -> None:
    model = ([0, 0, 100, 100] * 3, [100, 100, 0, 100] * 3)
    reference = ([100, 0, 100, 0] * 3, [0, 0, 100, 100] * 3)
    alone, together = outcome(model, reference), outcome(model, reference, clusters=4)
    assert alone.value == pytest.approx(together.value)
    assert (alone.public.n_clusters, together.public.n_clusters) == (12, 3)
    # Three clusters of each part are alike: only the observed split and its mirror are as far.
    assert together.p_value == pytest.approx(2 / 20)
    assert alone.p_value != pytest.approx(together.p_value)


def test_items_that_one_model_cannot_score_count_for_neither() -> None:
    found = outcome(([0, None, 100, 0], [100, 0, 0]), ([100, 0, None, 100], [0, 0, 100]))
    assert found.public.n == 2
    assert (found.public.model, found.public.reference) == (0, 100)


@pytest.mark.nightly
@pytest.mark.parametrize("size", [20, 60])
def test_the_detectable_gap_is_found_as_often_as_stated(size: int) -> None:
    rng = np.random.default_rng(0)
    alarms = 0
    n_trials = 200
    for _ in range(n_trials):
        base = rng.normal(size=2 * size)
        zero = np.stack([base, np.ones(2 * size)], axis=1)
        said = shift_test(zero[:size], zero[size:], sampling=Sampling(rng), power=0.8)
        assert said is not None
        fresh = rng.normal(size=2 * size)
        fresh[:size] += said.detectable
        rows = np.stack([fresh, np.ones(2 * size)], axis=1)
        found = shift_test(rows[:size], rows[size:], sampling=Sampling(rng), power=0.8)
        assert found is not None
        alarms += found.p_value <= 0.05
    # Three standard errors of a share of 200.
    assert abs(alarms / n_trials - 0.8) < 3 * np.sqrt(0.8 * 0.2 / n_trials)


def test_what_cannot_be_tested_is_said() -> None:
    with pytest.raises(MeasurementError, match="score every item alike"):
        outcome(([0, 100], [100, 0]), ([0, 100], [100, 0]))
    with pytest.raises(MeasurementError, match="two clusters or more"):
        outcome(([0], [100, 0]), ([100], [0, 0]))
    one = result([0, 100], "public")
    failed = SuiteResult(SUITE, "en", "1", "intrinsic", "inconclusive", reason="of few items")
    with pytest.raises(MeasurementError, match="was not scored: of few items"):
        split_test((one, failed), (one, one))


def test_order_of_items_and_name_of_seed_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    values = [tuple(100.0 * rng.integers(2, size=40) for _ in range(2)) for _ in range(2)]
    found = outcome(*values)  # type: ignore[arg-type]
    model, reference = (
        tuple(result(v, n) for v, n in zip(vs, ("public", "hidden"), strict=True)) for vs in values
    )
    turned = tuple(replace(r, records=r.records[::-1]) for r in model)
    assert split_test(turned, reference) == found  # type: ignore[arg-type]
    other = split_test(model, reference, seed=7)  # type: ignore[arg-type]
    assert other.value == found.value
    assert other.p_value == pytest.approx(found.p_value, abs=0.03)
