"""Sums over clusters, their bootstrap, and tests that exchange versions or signs."""

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from draws import sampling
from pytest_bias.scoring import drawing, paired, resampling
from pytest_bias.scoring.permutation import exchange_test, mean_test
from pytest_bias.scoring.resampling import Sums, mean_sums
from pytest_bias.scoring.statistics import (
    Estimate,
    Sampling,
    benjamini_hochberg,
    paired_proportions,
    sign_test,
)

pytestmark = pytest.mark.all_draws

NOW = np.array([1.5, 0.25, -0.5, 2.0, 1.25, 0.75, -0.25, 1.0, 0.5, 3.0])
THEN = np.array([0.5, 0.75, -1.0, 1.0, 1.0, 0.0, -0.5, 1.5, 0.25, 1.0])


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def drawn(seed: int = 3, **how_often: int) -> Sampling:
    return sampling(seed, **how_often)


def sums(values: Any, clusters: Any = None) -> Sums:
    values = np.asarray(values, dtype=float)
    return mean_sums(values, range(len(values)) if clusters is None else clusters)


def test_an_exact_test_equals_scipys():
    found = exchange_test(sums(NOW), sums(THEN), drawn())
    expected = stats.permutation_test(
        (NOW, THEN),
        lambda a, b, axis: a.mean(axis) - b.mean(axis),
        permutation_type="samples",
        n_resamples=np.inf,
    )
    assert found.p_value == pytest.approx(expected.pvalue, abs=1e-12)
    assert found.how == "exact permutation of versions"


@pytest.mark.parametrize("clusters", ["aabbccddee", "aaaabbbccd", "abcdefghij"])
def test_an_exact_test_equals_an_enumeration_of_clusters(clusters):
    found = exchange_test(sums(NOW, clusters), sums(THEN, clusters), drawn())
    difference = NOW - THEN
    names = sorted(set(clusters))
    observed = abs(difference.mean())
    hits = 0
    for signs in product((1, -1), repeat=len(names)):
        sign = np.array([signs[names.index(c)] for c in clusters])
        hits += abs((sign * difference).mean()) >= observed - 1e-12
    assert found.p_value == pytest.approx(hits / 2 ** len(names), abs=1e-12)


def test_units_that_did_not_change_leave_the_p_value():
    same = np.linspace(-5, 5, 200)
    found = exchange_test(
        sums(np.concatenate([NOW, same])), sums(np.concatenate([THEN, same])), drawn()
    )
    assert found.how == "exact permutation of versions"
    assert found.p_value == exchange_test(sums(NOW), sums(THEN), drawn()).p_value


def test_many_units_are_sampled_and_never_give_nothing():
    shift = np.full(40, 1.0) + np.arange(40) / 100
    found = exchange_test(sums(shift), sums(np.zeros(40)), drawn())
    assert found.how == "9,999 permutations of versions"
    assert found.p_value == 1 / 10_000
    assert exchange_test(sums(shift), sums(np.zeros(40)), drawn()) == found


def test_a_sampled_test_is_near_the_exact_one():
    exact = exchange_test(sums(NOW), sums(THEN), drawn()).p_value
    some = [drawn(seed, arrangements=1) for seed in range(4)]
    sampled = [exchange_test(sums(NOW), sums(THEN), each).p_value for each in some]
    # Three standard errors of 9,999 draws.
    assert sampled == pytest.approx([exact] * 4, abs=3 * math.sqrt(exact * (1 - exact) / 9_999))
    assert len(set(sampled)) > 1


@pytest.mark.parametrize(
    ("now", "then", "clusters", "reason"),
    [
        ([1.0], [2.0], None, "fewer than two clusters"),
        ([1.0, 2.0], [2.0, 3.0], "aa", "fewer than two clusters"),
        ([math.nan, math.nan], [1.0, 2.0], None, "no value"),
    ],
)
def test_without_a_test_there_is_a_reason(now, then, clusters, reason):
    found = exchange_test(sums(now, clusters), sums(then, clusters), drawn())
    assert (found.p_value, found.reason) == (None, reason)


def test_versions_that_are_alike_have_a_p_value_of_one():
    assert exchange_test(sums(NOW), sums(NOW), drawn()).p_value == 1
    swapped = NOW[::-1]
    assert exchange_test(sums(NOW), sums(swapped), drawn()).p_value == 1


def test_a_mean_is_tested_by_the_signs_of_its_distances():
    found = mean_test(NOW, range(10), 0.5, drawn())
    expected = stats.permutation_test(
        (NOW - 0.5, 0.5 - NOW),
        lambda a, b, axis: a.mean(axis) - b.mean(axis),
        permutation_type="samples",
        n_resamples=np.inf,
    )
    assert found.p_value == pytest.approx(expected.pvalue, abs=1e-12)
    assert found.how == "exact permutation of signs"


@pytest.mark.parametrize(
    ("above", "below", "ties"), [(8, 2, 0), (8, 2, 5), (100, 80, 1), (3, 3, 0), (0, 6, 2)]
)
def test_the_sign_test_is_scipys_binomial_test_without_ties(above, below, ties):
    values = np.array([100.0] * above + [0.0] * below + [50.0] * ties)
    found = sign_test(values, 50)
    assert found.p_value == pytest.approx(stats.binomtest(above, above + below).pvalue, abs=1e-12)
    assert sign_test(100 - values, 50) == found


def test_a_share_without_any_preference_cannot_be_tested():
    assert sign_test(np.full(9, 50.0), 50).reason == "every value is at the ideal"


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_benjamini_hochberg_equals_its_definition(p_values):
    n = len(p_values)
    ordered = sorted(p_values)
    expected = [
        min(1.0, min(n / (k + 1) * ordered[k] for k in range(n) if ordered[k] >= p))
        for p in p_values
    ]
    assert benjamini_hochberg(p_values) == pytest.approx(expected, abs=1e-12)


def test_benjamini_hochberg_of_nothing():
    assert benjamini_hochberg([]) == []


@pytest.mark.parametrize("n", [2, 5, 30])
def test_what_is_left_out_equals_a_plain_jackknife(n):
    values, clusters = rng().normal(size=4 * n), [f"c{i % n}" for i in range(4 * n)]
    (found,) = sums(values, clusters).left_out()
    expected = [
        np.mean([v for v, c in zip(values, clusters, strict=True) if c != name])
        for name in sorted(set(clusters))
    ]
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("ideal", "side"), [(-9.0, 1), (50.0, -1)])
def test_change_and_worsening_equal_scipys_bca(ideal, side):
    def bootstrap(statistic: Any) -> tuple[float, float]:
        found = stats.bootstrap(
            (NOW, THEN),
            statistic,
            paired=True,
            vectorized=True,
            method="BCa",
            # As wide as Student's t of ten units (Hesterberg 2015).
            confidence_level=2 * stats.norm.cdf(stats.t.ppf(0.975, 9) * math.sqrt(10 / 9)) - 1,
            n_resamples=9_999,
            batch=500,
            rng=rng(),
        )
        return tuple(found.confidence_interval)

    changed = paired.change(sums(NOW), sums(THEN), drawn())
    expected = bootstrap(lambda a, b, axis: np.round(a.mean(axis) - b.mean(axis), 12))
    assert changed.interval == pytest.approx(expected, abs=1e-9)
    # Far on one side of the ideal, the distance changes by as much as the value.
    worse = paired.worsening(sums(NOW), sums(THEN), ideal, drawn())
    assert sorted(side * end for end in worse.interval) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("bounds", [(0, 9), (-9, 0)])
def test_the_end_of_a_scale_is_passed_on_no_side(bounds):
    sign = 1 if bounds[0] == 0 else -1
    now, then = (sums(sign * np.abs(v)) for v in (NOW, THEN))
    found = paired.worsening(now, then, 0, replace(drawn(), bounds=bounds))
    moved = paired.change(now, then, drawn())
    assert found.interval == tuple(sorted(sign * end for end in moved.interval))


def test_near_the_ideal_both_sides_count():
    # From 0.2 below to 0.2 above, with a standard error of 0.3: nobody knows which is further.
    noise = rng().normal(size=11)
    now = sums(0.2 + noise - noise.mean())
    then = sums(-0.2 + noise - noise.mean() + rng(1).normal(0, 0.01, 11))
    found = paired.worsening(now, then, 0, drawn())
    assert found.value == pytest.approx(0, abs=0.02)
    low, high = paired.change(now, then, drawn()).interval
    assert (found.interval[0], found.interval[1]) == pytest.approx((-high, high), abs=0.02)
    assert low > 0.38


def test_a_wider_level_draws_the_same_resamples():
    levels = (0.8, 0.95, 0.99, 0.999)
    found = [resampling.mean(NOW, range(10), sampling(3, level)).interval for level in levels]
    lows, highs = zip(*found, strict=True)
    assert list(lows) == sorted(lows, reverse=True)
    assert list(highs) == sorted(highs)


def test_a_mean_that_most_resamples_lack_has_no_interval():
    values = np.array([1.0, *[math.nan] * 30])
    found = resampling.bca(Estimate(1.0), sums(values), drawn())
    assert (found.interval, found.interval_reason) == (None, "too many resamples have no value")


def moved(rose: int, fell: int, n: int) -> tuple[float, float]:
    now = np.array([100.0] * rose + [0.0] * (n - rose))
    then = np.array([0.0] * rose + [100.0] * fell + [0.0] * (n - rose - fell))
    return paired_proportions(now, then)


def test_where_nothing_moved_the_interval_follows_from_the_number_alone():
    # By hand: the score is sqrt(n d / (1 - d)), which is z at d = z^2 / (n + z^2).
    z = stats.norm.ppf(0.975)
    for n in (1, 5, 100):
        end = 100 * z**2 / (n + z**2)
        assert moved(0, 0, n) == pytest.approx((-end, end), abs=1e-9)


@pytest.mark.parametrize(
    ("rose", "fell", "n"), [(12, 2, 50), (3, 1, 20), (9, 0, 10), (40, 41, 300)]
)
def test_the_ends_are_the_changes_that_a_score_test_just_does_not_reject(rose, fell, n):
    for end, z in zip(moved(rose, fell, n), (1.959964, -1.959964), strict=True):
        change = end / 100
        # The likeliest share that fell, given the change, by a search over all of them.
        shares = np.linspace(max(0, -change) + 1e-9, (1 - change) / 2 - 1e-9, 200_001)
        stayed = 1 - 2 * shares - change
        likelihood = rose * np.log(shares + change) + (n - rose - fell) * np.log(stayed)
        share = shares[np.argmax(likelihood + (fell * np.log(shares) if fell else 0))]
        score = (rose - fell - n * change) / math.sqrt(n * (2 * share + change * (1 - change)))
        assert score == pytest.approx(z, abs=2e-3)
    assert moved(fell, rose, n) == pytest.approx(tuple(-e for e in moved(rose, fell, n)[::-1]))


def test_a_change_of_all_ends_with_the_scale():
    assert moved(5, 0, 5)[1] == 100
    assert moved(0, 5, 5)[0] == -100


def test_independent_pairs_are_not_resampled():
    values = np.array([100.0, 0.0] * 10), np.array([100.0, 0.0, 0.0, 0.0] * 5)
    alone = [replace(sums(v), independent=True) for v in values]
    found = paired.change(*alone, drawn())
    assert (found.method, found.interval) == ("tango", paired_proportions(*values))
    assert found.value == pytest.approx(25)
    # On one side of the ideal the distance grows by as much.
    worse = paired.worsening(*alone, 0, replace(drawn(), bounds=(0, 100)))
    assert (worse.method, worse.interval) == ("tango", found.interval)


def two_groups(n: int) -> resampling.Sums:
    """Return the sums of the gap between two groups of trials, right in 60 and in 64 % of them."""
    right = np.where(np.arange(n) % 50 < np.where(np.arange(n) % 2, 30, 32), 100.0, 0.0)
    sides = ["one" if k % 2 else "other" for k in range(n)]
    return resampling.group_sums(right, range(n), sides, lambda m: m[..., 0] - m[..., 1])


@pytest.mark.nightly
def test_many_trials_that_are_alike_are_counted_instead_of_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sums = two_groups(6000)
    mirrored = replace(sums, samples=(sums.samples[0][:, [1, 0, 3, 2]],))
    found = {}
    for many in (drawing.MANY, 10**9):
        monkeypatch.setattr(drawing, "MANY", many)
        test = exchange_test(sums, mirrored, sampling(2))
        found[many] = resampling.estimate(sums, sampling(1, resamples=4999)).interval, test
    (counted, test), (drawn, other) = found.values()
    # An end moves by about 2 % of the width from seed to seed.
    assert counted == pytest.approx(drawn, abs=0.08 * (drawn[1] - drawn[0]))
    assert counted != drawn
    assert test.how == other.how
    assert test.p_value == pytest.approx(other.p_value, abs=0.006)


def test_units_that_differ_are_drawn_one_by_one_however_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = np.random.default_rng(0).normal(size=5200)
    sums = resampling.mean_sums(values, range(5200))
    found = []
    for many in (drawing.MANY, 10**9):
        monkeypatch.setattr(drawing, "MANY", many)
        found.append(resampling.estimate(sums, sampling(1, resamples=499)).interval)
    assert found[0] == found[1]


@pytest.mark.parametrize("level", [0.95, 0.999, 0.99999])
def test_an_interval_of_a_skewed_mean_has_its_ends_in_order_and_on_the_scale(level):
    values = np.array([0.0] * 7 + [100.0])
    found = resampling.mean(values, range(8), replace(drawn(), level=level, bounds=(0, 100)))
    assert found.interval
    assert 0 <= found.interval[0] <= found.value <= found.interval[1] <= 100


@pytest.mark.parametrize("sizes", [(7,), (40, 3), (3565,)], ids=str)
def test_resamples_are_those_of_scipy_to_the_bit(sizes):
    rng = np.random.default_rng(5)
    samples = [rng.normal(size=(n, 4)) for n in sizes]
    # Sums of groups that no unit shares, and a column of its own.
    for sample in samples:
        group = np.arange(len(sample)) % 3
        sample[group[:, None] != np.array([0, 1, 1, 2])] = 0

    def ratio(*totals):
        return sum((1 + n) * t @ np.arange(1.0, 5) for n, t in enumerate(totals))

    def of_drawn(*index, axis=-1):
        times = [
            np.stack([np.bincount(row, minlength=n) for row in i])
            for i, n in zip(index, sizes, strict=True)
        ]
        return ratio(
            *(np.einsum("bn,nk->bk", t * 1.0, s) for t, s in zip(times, samples, strict=True))
        )

    theirs = stats.bootstrap(
        [np.arange(n) for n in sizes],
        of_drawn,
        n_resamples=999,
        batch=500,
        vectorized=True,
        method="percentile",
        rng=sampling(3).rng,
    ).bootstrap_distribution
    ours = drawing.resampled(samples, ratio, sampling(3, resamples=999))
    assert ours.tolist() == theirs.tolist()
