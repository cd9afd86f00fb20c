"""Sizes without a sign: their intervals hold what is true, near zero above all."""

from collections.abc import Callable

import numpy as np
import pytest

from draws import sampling
from pytest_bias.scoring import gaps, paired, permutation, relabelling, unsigned
from pytest_bias.scoring.estimators import own_value
from pytest_bias.scoring.resampling import Sums, Unsigned
from pytest_bias.scoring.statistics import Floats, Sampling, small_sample

pytestmark = pytest.mark.all_draws


widest, mean_distance = (kind(own_value, "group").apart for kind in (gaps.Range, gaps.Deviation))


def sums_of(table: Floats, size: Callable[[Floats], Floats] = widest) -> Sums:
    """Return the sums of a table with a row for each cluster and a column for each group."""
    n, n_groups = table.shape
    clusters = np.repeat(np.arange(n), n_groups).tolist()
    groups = np.tile(np.arange(n_groups), n).tolist()
    return gaps.size_of_means(table.ravel(), clusters, groups, size)


def percent(n: int = 199, **more: object) -> Sampling:
    return sampling(1, resamples=n, **more)  # type: ignore[arg-type]


def test_the_reach_is_the_quantile_of_what_resamples_are_off_by() -> None:
    table = np.random.default_rng(0).normal([0, 1, 3], 2, (40, 3))
    found = unsigned.estimate(sums_of(table), percent(9_999))
    means = table.mean(0)
    assert found.value == pytest.approx(np.ptp(means))
    rng = np.random.default_rng(5)
    off = [np.ptp(table[rng.integers(0, 40, 40)].mean(0) - means) for _ in range(4_000)]
    reach = np.quantile(off, 0.95) * small_sample(40, 0.95) / 1.959964
    assert found.interval == pytest.approx((found.value - reach, found.value + reach), abs=0.06)
    assert (found.method, found.n_clusters) == (unsigned.METHOD, 40)


@pytest.mark.by_day("none-apart1", "one of six-apart0")
@pytest.mark.parametrize("size", [widest, mean_distance])
@pytest.mark.parametrize(
    "levels",
    [[50] * 6, [50, 50, 50, 50, 50, 20], [1] * 12, [1] * 11 + [40]],
    ids=["none", "one of six", "none, rare", "one, others rare"],
)
def test_an_interval_covers_what_is_true(size, levels):
    truth = float(size(np.array(levels, dtype=float)))
    held = 0
    for seed in range(80):
        rng = np.random.default_rng([seed, 11])
        table = 100.0 * (rng.random((60, len(levels))) < np.array(levels) / 100)
        sums = sums_of(table, size)
        clusters = np.repeat(np.arange(60), len(levels)).tolist()
        groups = np.tile(np.arange(len(levels)), 60)
        drawn = relabelling.relabelled(
            groups, clusters, [""] * len(groups), sampling(seed, shuffles=99)
        )
        chance = np.array([size(np.bincount(new, weights=table.ravel()) / 60) for new in drawn])
        found = unsigned.estimate(sums, percent(), chance)
        held += found.interval is None or found.interval[0] <= truth <= found.interval[1]
    # 95 % of 80, less three standard errors.
    assert held >= 70


def test_without_a_difference_a_change_of_a_size_is_found_as_seldom_as_it_says():
    held = found = 0
    for seed in range(80):
        rng = np.random.default_rng([seed, 12])
        before = rng.normal(0, 1, (60, 5))
        now, then = before + rng.normal(0, 0.5, before.shape), before
        change = paired.change(sums_of(now), sums_of(then), percent())
        held += change.interval[0] <= 0 <= change.interval[1]
        moved = now + np.array([3, 0, 0, 0, 0])
        change = paired.change(sums_of(moved), sums_of(then), percent())
        found += change.interval[0] > 0
        assert change.interval[0] <= 3 <= change.interval[1]
    assert held >= 76
    assert found == 80


def test_no_size_changes_by_more_than_its_parts():
    table = np.random.default_rng(3).normal(0, 10, (50, 4))
    noise = np.random.default_rng(4).normal(0, 0.01, table.shape)
    found = paired.change(sums_of(table + noise), sums_of(table), percent())
    # Either size is known to within some units, what changed to within hundredths.
    assert found.interval[1] - found.interval[0] < 0.1


def test_a_size_that_every_cluster_changed_alike_has_the_bounds_of_a_change():
    now, then = np.tile([20.0, 0.0], (40, 1)), np.tile([50.0, 0.0], (40, 1))
    found = paired.change(sums_of(now), sums_of(then), percent(bounds=(0, 100)))
    other = 1 - 0.025 ** (1 / 40)
    assert found.value == -30
    assert found.interval == pytest.approx((-30 - 70 * other, -30 + 130 * other))


def test_the_largest_gap_knows_its_sign():
    def largest(gaps: Floats) -> Floats:
        found: Floats = gaps.max(-1)
        return found

    rows = np.random.default_rng(0).normal([-3.0, -2.0], 1, (30, 2))

    def signed(totals: Floats) -> Floats:
        return totals / 30

    sums = unsigned.unsigned_sums((rows,), Unsigned(signed, largest), 3.0)
    found = unsigned.estimate(sums, percent())
    assert found.value == pytest.approx(rows[:, 1].mean())
    assert found.interval[0] < -2 < found.interval[1] < 0


def test_all_clusters_alike_give_the_interval_of_their_number():
    table = np.tile([100.0, 0.0], (40, 1))
    found = unsigned.estimate(sums_of(table), percent(bounds=(0, 100)))
    other = 100 * (1 - 0.025 ** (1 / 40))
    assert found.interval == pytest.approx((100 - other, 100))
    assert found.method == "clopper-pearson"
    few = unsigned.estimate(sums_of(table[:9]), percent(bounds=(0, 100)))
    assert few.interval is None
    assert few.interval_reason == "the resamples do not vary; it takes 10 clusters"


def test_a_mean_of_effect_sizes_is_the_mean_of_each_without_its_sign():
    rng = np.random.default_rng(2)
    tests, sizes = [], []
    for number, shift in enumerate((1.5, -1.0, 0.2)):
        values = np.concatenate([rng.normal(shift, 1, 10), rng.normal(0, 1, 10)])
        names = [f"{number}{side}{n}" for side in "xy" for n in range(10)]
        tests.append((values, names, np.arange(20) < 10))
        sizes.append(abs(permutation.effect_size(values[:10], values[10:])))
    sums = permutation.mean_absolute_sums(tests)
    found = unsigned.estimate(sums, percent(bounds=(0, 2)))
    assert found.value == pytest.approx(np.mean(sizes))
    assert 0 < found.interval[0] < found.value < found.interval[1] <= 2
    assert sums.n_least == 60
