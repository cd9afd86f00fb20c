"""Intervals, effect sizes and permutation tests against hand-made and textbook numbers."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import draws
from pytest_bias.pytest_plugin.testing import difference_of_means
from pytest_bias.scoring import paired, permutation, resampling
from pytest_bias.scoring.resampling import mean_sums
from pytest_bias.scoring.statistics import Estimate, Sampling, holm, wilson

pytestmark = pytest.mark.all_draws

# Sums of these are exact in binary: resamples that tie with the observed mean stay tied, whatever
# the order of addition, and with them the bias correction of BCa.
VALUES = np.array([0.25, 1.5, -0.25, 1.0, 2.25, 0.5, 1.25, -1.0, 0.75, 3.0, 0.0, 0.5])
NAMES = [f"c{i:02d}" for i in range(len(VALUES))]
"""As many clusters as values, in the order of their names."""


def sampling(seed: int = 7, **more: Any) -> Sampling:
    return draws.sampling(seed, **more)


def expanded(n: int, level: float = 0.95) -> float:
    """Return the level at which a bootstrap of n units is as wide as Student's t (Hesterberg)."""
    reach = stats.t.ppf(0.5 + level / 2, n - 1) * math.sqrt(n / (n - 1))
    return float(2 * stats.norm.cdf(reach) - 1)


def scipy_bootstrap(data: tuple[Any, ...], statistic: Any, **more: Any) -> tuple[float, float]:
    defaults = {"n_resamples": 9_999, "batch": 500, "vectorized": True, "method": "BCa"}
    defaults["confidence_level"] = expanded(min(map(len, data)))
    found = stats.bootstrap(data, statistic, rng=np.random.default_rng(7), **defaults | more)
    return tuple(found.confidence_interval)


# Newcombe (1998), Statistics in Medicine 17, table I, method 3.
@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_the_textbook_values(successes, n, low, high):
    assert wilson(successes, n) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("n", [1, 2, 7, 50, 1508])
def test_wilson_equals_scipy_for_whole_numbers(n, level):
    for k in sorted({0, 1, n // 3, n // 2, n - 1, n}):
        expected = stats.binomtest(k, n).proportion_ci(level, method="wilson")
        assert wilson(k, n, level) == pytest.approx(tuple(expected), abs=1e-12)


def test_wilson_counts_a_tie_as_one_half():
    # By hand, with z = 1.959964: centre 0.563763, half a width 0.344336.
    assert wilson(2.5, 4) == pytest.approx((0.219427, 0.908099), abs=2e-6)
    low, high = wilson(50.5, 101)
    assert low + high == pytest.approx(1)
    assert wilson(50, 101)[0] < low < wilson(51, 101)[0]


def test_wilson_ends_exactly_at_nothing_and_everything():
    assert [wilson(0, n)[0] for n in range(1, 100)] == [0.0] * 99
    assert [wilson(n, n)[1] for n in range(1, 100)] == [1.0] * 99


@given(st.integers(1, 500), st.data())
def test_wilson_holds_the_share_and_mirrors(n, data):
    k = data.draw(st.integers(0, 2 * n)) / 2
    low, high = wilson(k, n)
    assert 0 <= low <= high <= 1
    assert low - 1e-12 <= k / n <= high + 1e-12
    assert wilson(n - k, n) == pytest.approx((1 - high, 1 - low), abs=1e-12)
    wide = wilson(k, n, 0.99)
    assert wide[0] <= low + 1e-12
    assert wide[1] >= high - 1e-12


def test_wilson_covers_as_often_as_it_says():
    # Exact: the probability of every outcome, not a simulation.
    for n in (20, 50, 200):
        ends = np.array([wilson(k, n) for k in range(n + 1)])
        coverage = [
            stats.binom.pmf(np.arange(n + 1), n, p)[(ends[:, 0] <= p) & (p <= ends[:, 1])].sum()
            for p in np.linspace(0.02, 0.98, 97)
        ]
        assert np.mean(coverage) == pytest.approx(0.95, abs=0.01)
        assert min(coverage) > 0.85


def test_wilson_refuses_no_trials():
    with pytest.raises(ValueError, match="at least 1"):
        wilson(0, 0)


def test_share_is_wilson_in_percent_for_independent_items():
    found = resampling.share(np.array([100.0, 100.0, 50.0, 0.0]), ["a", "b", "c", "d"], sampling())
    assert found.value == 62.5
    assert found.interval == pytest.approx((21.9427, 90.8099), abs=2e-4)
    assert (found.method, found.n_clusters) == ("wilson", 4)


def test_share_resamples_clusters_where_items_are_not_independent():
    values, clusters = np.array([100.0, 0.0] * 5), list("aabbcdefgh")
    found = resampling.share(values, clusters, sampling())
    assert found == resampling.mean(values, clusters, sampling())
    assert (found.method, found.n_clusters) == ("bca", 8)


def mean_of(values: Sequence[float], clusters: Sequence[str]) -> Estimate:
    return resampling.mean(np.array(values, dtype=float), clusters, sampling())


@pytest.mark.parametrize(
    ("values", "clusters", "value", "reason"),
    [
        ([], [], None, "nothing was scored"),
        ([3.0], ["a"], 3.0, "all values are equal"),
        ([1.0, 2.0], ["a", "a"], 1.5, "one cluster; it takes 8"),
        ([1.0, 2.0, 3.0], ["a", "a", "b"], 2.0, "2 clusters; it takes 8"),
        (list(range(7)), list("abcdefg"), 3.0, "7 clusters; it takes 8"),
        ([2.0, 2.0, 2.0], ["a", "b", "c"], 2.0, "all values are equal"),
        ([1.0, 3.0] * 8, [c for c in "abcdefgh" for _ in "12"], 2.0, "the resamples do not vary"),
    ],
)
def test_without_variation_there_is_a_value_but_no_interval(values, clusters, value, reason):
    groups = ["g"] * len(values)
    macro = resampling.mean(np.array(values), clusters, sampling(), groups)
    for found in (mean_of(values, clusters), macro):
        assert found.value == value
        assert found.interval is None
        assert found.method is None
        assert found.interval_reason == reason


def test_share_of_nothing_has_no_value():
    found = resampling.share(np.array([]), [], sampling())
    assert (found.value, found.interval_reason) == (None, "nothing was scored")


@pytest.mark.parametrize(
    ("first", "second", "value", "reason"),
    [
        ([], [1.0, 2.0], None, "a sample is empty"),
        ([1.0, 2.0], [], None, "a sample is empty"),
        ([5.0], [1.0, 2.0], 3.5, "one cluster on a side; it takes 8"),
        ([5.0] * 9, [1.0] * 8, 4.0, "all values of a sample are equal"),
    ],
)
def test_degenerate_differences_have_no_interval(first, second, value, reason):
    found = difference_of_means(np.array(first), np.array(second), sampling())
    assert (found.value, found.interval, found.interval_reason) == (value, None, reason)


def test_a_difference_against_a_constant_has_an_interval():
    found = difference_of_means(VALUES, np.zeros(8), sampling())
    assert found.value == pytest.approx(VALUES.mean())
    assert found.interval is not None
    assert found.interval[0] < found.value < found.interval[1]


def test_mean_equals_scipy():
    found = resampling.mean(VALUES, NAMES, sampling())
    assert found.value == pytest.approx(9.75 / 12)
    assert found.interval == pytest.approx(scipy_bootstrap((VALUES,), np.mean), abs=1e-12)


def test_clustered_mean_equals_scipy():
    clusters = [f"c{i % 8}" for i in range(12)]
    clusters[0] = "c7"
    sums, counts = np.zeros(8), np.zeros(8)
    for cluster, value in zip(clusters, VALUES, strict=True):
        sums[int(cluster[1])] += value
        counts[int(cluster[1])] += 1
    expected = scipy_bootstrap(
        (sums, counts), lambda s, n, axis=-1: s.sum(axis) / n.sum(axis), paired=True
    )
    found = resampling.mean(VALUES, clusters, sampling())
    assert found.value == pytest.approx(9.75 / 12)
    assert found.n_clusters == 8
    assert found.interval == pytest.approx(expected, abs=1e-12)


def test_difference_of_means_equals_scipy():
    first, second = VALUES[:8], VALUES[4:]
    found = difference_of_means(first, second, sampling())
    assert found.value == pytest.approx((5.5 - 7.25) / 8)
    expected = scipy_bootstrap(
        (np.sort(first), np.sort(second)), lambda x, y, axis=-1: x.mean(axis) - y.mean(axis)
    )
    assert found.interval == pytest.approx(expected, abs=1e-12)


def test_macro_mean_counts_every_group_alike():
    groups = list("ggggggggghhh")
    found = resampling.mean(VALUES, NAMES, sampling(resamples=299), groups)
    # The first nine values sum to 6.25, the last three to 3.5.
    assert found.value == pytest.approx((6.25 / 9 + 3.5 / 3) / 2)

    def macro(index: Any) -> float:
        kept = [(VALUES[i], groups[i]) for i in index]
        means = [[v for v, g in kept if g == name] for name in "gh"]
        return float(np.mean([np.mean(m) for m in means if m]))

    expected = scipy_bootstrap((np.arange(12),), macro, n_resamples=299, vectorized=False)
    assert found.interval == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("times", [2, 3])
def test_repeating_every_item_leaves_a_clustered_interval_unchanged(times):
    once = resampling.mean(VALUES, NAMES, sampling())
    again = resampling.mean(np.tile(VALUES, times), NAMES * times, sampling())
    assert again.interval == pytest.approx(once.interval, abs=1e-12)
    assert again.n_clusters == once.n_clusters == 12
    groups = [n[-1] for n in NAMES]
    once = resampling.mean(VALUES, NAMES, sampling(), groups)
    again = resampling.mean(np.tile(VALUES, times), NAMES * times, sampling(), groups * times)
    assert again.interval == pytest.approx(once.interval, abs=1e-12)


def test_the_order_of_items_does_not_matter():
    order = np.random.default_rng(1).permutation(12)
    clusters = [f"c{i % 9}" for i in range(12)]
    groups = list("xyxyxyxyxyxy")
    shuffled = [clusters[i] for i in order]
    assert resampling.mean(VALUES[order], shuffled, sampling()).interval == pytest.approx(
        resampling.mean(VALUES, clusters, sampling()).interval, abs=1e-12
    )
    regrouped = [groups[i] for i in order]
    assert resampling.mean(
        VALUES[order], shuffled, sampling(), regrouped
    ).interval == pytest.approx(
        resampling.mean(VALUES, clusters, sampling(), groups).interval, abs=1e-12
    )


@pytest.mark.parametrize(
    "values",
    [(0.1, 0.2, 0.4, 0.7, 0.1, 0.3, 0.5, 0.9), (0.3, -1.1, 0.45, 2.07, 0.9, 0.35, 1.2, 0.7, 0.1)],
    ids=str,
)
@pytest.mark.parametrize("times", [3])
def test_a_change_of_unit_only_changes_the_unit_of_an_interval(values, times):
    once = mean_of(values, NAMES[: len(values)])
    scaled = mean_of([times * v for v in values], NAMES[: len(values)])
    assert np.array(scaled.interval) / times == pytest.approx(once.interval, abs=1e-9)


def worse(now: Sequence[float], then: Sequence[float], ideal: float = 50) -> Estimate:
    both = (mean_sums(np.array(v, dtype=float), NAMES[: len(now)]) for v in (now, then))
    return paired.worsening(*both, ideal, sampling())


def test_worsening_is_how_much_further_from_the_ideal_the_mean_is():
    # Means 60 and 45: ten away now, five away then.
    assert worse([70, 50, 60], [40, 45, 50]).value == pytest.approx(5)
    assert worse([40, 45, 50], [70, 50, 60]).value == pytest.approx(-5)
    # Moving to the other side at the same distance is no worsening.
    assert worse([60, 60], [40, 40]).value == 0
    assert worse([70, 50, 60], [40, 45, 50], ideal=0).value == pytest.approx(15)


def test_worsening_without_variation_has_no_interval():
    assert worse([], []).value is None
    assert worse([60], [50]).interval is None
    same = worse([60, 70] * 4, [50, 60] * 4)
    assert (same.value, same.interval) == (10, None)
    assert same.interval_reason


def test_worsening_is_paired():
    # Every item moves by nearly the same: the interval is far narrower than the items' own spread.
    then = 80 + 16 * VALUES
    now = then + 4 + VALUES / 8
    found = worse(now, then)
    assert found.interval[0] < found.value < found.interval[1]
    assert found.interval[1] - found.interval[0] < 1
    expected = scipy_bootstrap((now - then,), lambda d, axis=-1: np.round(d.mean(axis), 9))
    assert found.interval == pytest.approx(expected, abs=1e-9)


def test_an_interval_follows_from_its_seed_and_level():
    def of(seed: int, **more: Any) -> Estimate:
        return resampling.mean(VALUES, NAMES, sampling(seed, resamples=299, **more))

    assert of(1) == of(1)
    assert len({of(seed).interval for seed in range(5)}) > 1
    assert of(1, level=0.8).interval[1] < of(1).interval[1] < of(1, level=0.99).interval[1]


def test_effect_size_by_hand():
    # Means 2 and 5; the six values have mean 3.5 and squares 17.5, so the deviation is sqrt(3.5).
    first, second = np.array([1.0, 2, 3]), np.array([4.0, 5, 6])
    assert permutation.effect_size(first, second) == pytest.approx(-3 / math.sqrt(3.5))
    assert permutation.effect_size(second, first) == pytest.approx(3 / math.sqrt(3.5))


@pytest.mark.parametrize(
    ("first", "second"), [([], [1.0, 2.0]), ([1.0], []), ([2.0, 2.0], [2.0])], ids=str
)
def test_effect_size_of_nothing_is_null(first, second):
    assert permutation.effect_size(np.array(first), np.array(second)) is None


NUMBERS = st.lists(st.floats(-1, 1), min_size=2, max_size=12)


@given(NUMBERS, st.floats(0.1, 5), st.floats(-3, 3))
def test_effect_size_is_free_of_scale_and_within_two(values, scale, shift):
    both = np.round(np.array(values + values[::-1]), 3)
    both[0] += 0.5
    first, second = np.split(both, 2)
    d = permutation.effect_size(first, second)
    assert -2 <= d <= 2
    assert permutation.effect_size(scale * first + shift, scale * second + shift) == pytest.approx(
        d, abs=1e-9
    )


def brute_force(words: dict[str, list[float]], first: Sequence[str]) -> tuple[float, float]:
    """Enumerate every partition of the words in exact arithmetic: p-value and mean |d|."""
    exact = {w: [Fraction(v).limit_denominator(10**6) for v in vs] for w, vs in words.items()}
    values = [v for vs in words.values() for v in vs]
    deviation = np.std(values, ddof=1)

    def total(chosen: Sequence[str]) -> Fraction:
        return sum((sum(exact[w]) for w in chosen), Fraction(0))

    observed, at_least, effects = total(first), 0, []
    for chosen in combinations(words, len(first)):
        at_least += total(chosen) >= observed
        mine = [v for w in chosen for v in words[w]]
        others = [v for w in words if w not in chosen for v in words[w]]
        effects.append(abs(np.mean(mine) - np.mean(others)) / deviation)
    return at_least / len(effects), float(np.mean(effects))


def association(words: dict[str, list[float]], first: Sequence[str], **more: Any) -> Estimate:
    flat = [(w, v) for w, vs in words.items() for v in vs]
    in_first = np.array([w in first for w, _ in flat])
    values = np.array([v for _, v in flat])
    return permutation.association_test(values, [w for w, _ in flat], in_first, sampling(**more))


@pytest.mark.parametrize("n", [3, 4, 5])
@pytest.mark.parametrize("sentences", [1, 3])
def test_the_permutation_test_equals_an_enumeration(n, sentences):
    rng = np.random.default_rng(n)
    # One decimal only, so that ties come up.
    words = {
        f"{side}{i}": list(np.round(rng.normal(0.1 * (side == "x"), 0.2, sentences), 1))
        for side in "xy"
        for i in range(n)
    }
    first = [w for w in words if w[0] == "x"]
    p_value, floor = brute_force(words, first)
    found = association(words, first)
    assert found.p_value == pytest.approx(p_value, abs=1e-12)
    assert found.floor == pytest.approx(floor, abs=1e-12)
    assert found.test == "exact permutation of words"
    assert found.n_clusters == 2 * n


def test_ties_count_against_the_finding():
    # Three ones among six words: ten of twenty partitions hold two or more of them.
    words = {"x0": [1.0], "x1": [1.0], "x2": [0.0], "y0": [1.0], "y1": [0.0], "y2": [0.0]}
    assert association(words, ["x0", "x1", "x2"]).p_value == 0.5


def test_a_tie_in_another_order_of_addition_is_still_a_tie():
    words = {"x0": [0.1], "x1": [0.2], "x2": [0.3], "y0": [0.3], "y1": [0.2], "y2": [0.1]}
    first = ["x0", "x1", "x2"]
    assert association(words, first).p_value == brute_force(words, first)[0]


@pytest.mark.parametrize(("n", "least"), [(3, 1 / 20), (5, 1 / 252), (12, 1 / 100_001)])
def test_a_p_value_is_never_zero(n, least):
    words = {f"{side}{i}": [i / 100 + 9 * (side == "x")] for side in "xy" for i in range(n)}
    found = association(words, [w for w in words if w[0] == "x"])
    assert found.p_value >= least
    assert found.p_value == pytest.approx(least, rel=2)
    reverse = association(words, [w for w in words if w[0] == "y"])
    assert reverse.p_value == 1
    assert reverse.value == pytest.approx(-found.value)


def test_many_words_are_permuted_at_random_and_say_so():
    rng = np.random.default_rng(0)
    words = {f"{side}{i:02d}": [float(rng.normal())] for side in "xy" for i in range(12)}
    found = association(words, [w for w in words if w[0] == "x"])
    assert found.test == "100,000 permutations of words"
    # Two-sample t is nearly the same test at this size.
    values = [v for (v,) in words.values()]
    expected = stats.ttest_ind(values[:12], values[12:], alternative="greater").pvalue
    assert found.p_value == pytest.approx(expected, abs=0.02)
    assert found.floor == pytest.approx(math.sqrt(2 / math.pi) * math.sqrt(2 / 12), abs=0.03)


def test_the_chance_effect_alone_is_the_floor_of_the_test():
    words = {f"{side}{i}": [0.1 * i + (side == "x")] for side in "xy" for i in range(4)}
    values = np.array([v for (v,) in words.values()])
    in_first = np.array([w[0] == "x" for w in words])
    floor = permutation.chance_effect(values, list(words), in_first, sampling())
    assert floor == pytest.approx(brute_force(words, [w for w in words if w[0] == "x"])[1])
    assert permutation.chance_effect(np.ones(8), list(words), in_first, sampling()) is None


def test_the_interval_of_d_equals_a_plain_bootstrap_of_words():
    words = {f"{side}{i}": [0.3 * i, 0.2 * i - (side == "y")] for side in "xy" for i in range(8)}
    first = [w for w in words if w[0] == "x"]
    found = association(words, first, resamples=299)

    def d(i: Any, j: Any) -> float:
        x = np.concatenate([words[f"x{k}"] for k in i])
        y = np.concatenate([words[f"y{k}"] for k in j])
        return permutation.effect_size(x, y)

    rng = np.random.default_rng(7)
    expected = stats.bootstrap(
        (np.arange(8), np.arange(8)),
        d,
        n_resamples=299,
        batch=500,
        vectorized=False,
        confidence_level=expanded(8),
        rng=rng,
    ).confidence_interval
    assert found.interval == pytest.approx(tuple(expected), abs=1e-9)


def test_targets_that_do_not_vary_have_no_effect():
    found = association({"x0": [1.0], "x1": [1.0], "y0": [1.0], "y1": [1.0]}, ["x0", "x1"])
    assert (found.value, found.p_value, found.note) == (None, None, "no target varies")


def test_one_word_a_set_has_an_effect_but_no_interval():
    found = association({"x0": [1.0, 2.0], "y0": [0.0]}, ["x0"])
    assert found.value == pytest.approx(1.5)
    assert found.interval_reason == "one cluster on a side; it takes 8"


@pytest.mark.parametrize(
    ("given_", "adjusted"),
    [
        ([], []),
        ([0.04], [0.04]),
        # Sorted .01 .02 .03 .04: times 4 3 2 1 and never falling.
        ([0.04, 0.01, 0.03, 0.02], [0.06, 0.04, 0.06, 0.06]),
        ([0.5, 0.6, 0.9], [1.0, 1.0, 1.0]),
        ([0.01, 0.01, 0.2], [0.03, 0.03, 0.2]),
    ],
)
def test_holm_by_hand(given_, adjusted):
    assert holm(given_) == pytest.approx(adjusted)


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_never_lowers_a_p_value_and_keeps_the_order(p_values):
    adjusted = holm(p_values)
    assert all(p <= a <= 1 for p, a in zip(p_values, adjusted, strict=True))
    order = np.argsort(p_values, kind="stable")
    assert np.all(np.diff([adjusted[i] for i in order]) >= 0)
