"""Intervals, permutation tests and effect sizes: thin, on scipy.stats.

Every function takes plain arrays and says in its result how the numbers were made. Where an
interval or a p-value cannot be had it is null with a reason, never zero.
"""

import math
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

N_RESAMPLES: Final = 9_999
EXACT_PARTITIONS: Final = 100_000
N_PERMUTATIONS: Final = 100_000
DIGITS: Final = 12
"""Digits to which resampled statistics are rounded."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with what is known about its uncertainty."""

    value: float | None
    interval: tuple[float, float] | None = None
    interval_reason: str | None = None
    method: str | None = None
    n_clusters: int = 0
    p_value: float | None = None
    floor: float | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an interval is made: its level, and the generator that resampling draws from."""

    rng: np.random.Generator
    level: float = 0.95
    n_resamples: int = N_RESAMPLES


def wilson(successes: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson score interval of a proportion.

    Parameters
    ----------
    successes : float
        Number of successes; a tie may count one half.
    n : int
        Number of independent trials, at least 1.
    level : float
        Confidence level.

    Returns
    -------
    tuple of float
        Lower and upper end, within [0, 1].

    References
    ----------
    Wilson (1927), Journal of the American Statistical Association 22.
    """
    from scipy.special import ndtri

    if n < 1:
        raise ValueError("`n` must be at least 1.")
    z = float(ndtri(0.5 + level / 2))
    p = successes / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low = 0.0 if successes <= 0 else max(0.0, centre - half)
    high = 1.0 if successes >= n else min(1.0, centre + half)
    return low, high


def share(values: Floats, clusters: Sequence[Hashable], sampling: Sampling) -> Estimate:
    """Proportion of independent trials, in percent, with its Wilson interval.

    `values` are 0, 100, or 50 for a tie. If several values share a cluster the trials are not
    independent, and the interval is that of `mean`.
    """
    if len(set(clusters)) < len(values):
        return mean(values, clusters, sampling)
    if len(values) == 0:
        return Estimate(None, interval_reason="nothing was scored")
    low, high = wilson(float(values.sum()) / 100, len(values), sampling.level)
    return Estimate(
        float(values.mean()), (100 * low, 100 * high), method="wilson", n_clusters=len(values)
    )


def mean(values: Floats, clusters: Sequence[Hashable], sampling: Sampling) -> Estimate:
    """Mean with the BCa bootstrap interval over clusters.

    Whole clusters are resampled, so values made from one template or one word stay together.

    References
    ----------
    Efron and Tibshirani (1993), An Introduction to the Bootstrap, section 14.3.
    """
    if len(values) == 0:
        return Estimate(None, interval_reason="nothing was scored")
    sums, counts = _by_cluster(values, clusters)
    found = Estimate(float(values.mean()), method="bca", n_clusters=len(sums))
    if len(sums) < 2:
        return replace(found, method=None, interval_reason=_too_few(len(values), len(sums)))
    if np.ptp(values) == 0:
        return replace(found, method=None, interval_reason="all values are equal")

    def ratio(sums: Floats, counts: Floats, axis: int = -1) -> Floats:
        quotient: Floats = sums.sum(axis) / counts.sum(axis)
        return quotient

    return _bca(found, (sums, counts), ratio, sampling, float(np.abs(values).max()))


def difference_of_means(first: Floats, second: Floats, sampling: Sampling) -> Estimate:
    """Mean of the first sample minus that of the second, with its BCa bootstrap interval."""
    if len(first) == 0 or len(second) == 0:
        return Estimate(None, interval_reason="a sample is empty")
    found = Estimate(
        float(first.mean() - second.mean()), method="bca", n_clusters=len(first) + len(second)
    )
    if min(len(first), len(second)) < 2:
        return replace(found, method=None, interval_reason="a sample holds one value")
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        return replace(found, method=None, interval_reason="all values of a sample are equal")

    def gap(x: Floats, y: Floats, axis: int = -1) -> Floats:
        result: Floats = x.mean(axis) - y.mean(axis)
        return result

    # Sorted, so that the order in which the values came does not matter.
    samples = (np.sort(first), np.sort(second))
    scale = float(np.abs(np.concatenate(samples)).max())
    return _bca(found, samples, gap, sampling, scale, paired=False)


def worsening(
    current: Floats,
    baseline: Floats,
    clusters: Sequence[Hashable],
    ideal: float,
    sampling: Sampling,
) -> Estimate:
    """How much further from the ideal the current mean is, with its paired BCa interval.

    Parameters
    ----------
    current, baseline : array of shape (n,)
        Values of the same items in the same order; clusters are resampled in both together.
    ideal : float
        Value from which distances are taken.
    """
    if len(current) == 0:
        return Estimate(None, interval_reason="nothing was scored in both")
    now, counts = _by_cluster(current - ideal, clusters)
    then, _ = _by_cluster(baseline - ideal, clusters)

    def further(now: Floats, then: Floats, counts: Floats, axis: int = -1) -> Floats:
        n = counts.sum(axis)
        result: Floats = np.abs(now.sum(axis) / n) - np.abs(then.sum(axis) / n)
        return result

    found = Estimate(float(further(now, then, counts)), method="bca", n_clusters=len(now))
    if len(now) < 2:
        return replace(found, method=None, interval_reason=_too_few(len(current), len(now)))
    if np.ptp(current - baseline) == 0:
        return replace(found, method=None, interval_reason="all items changed by the same")
    scale = float(np.abs(np.concatenate([now, then])).max())
    return _bca(found, (now, then, counts), further, sampling, scale)


def macro_mean(
    values: Floats, clusters: Sequence[Hashable], groups: Sequence[Hashable], sampling: Sampling
) -> Estimate:
    """Unweighted mean over groups of the mean within each group, resampled over clusters."""
    if len(values) == 0:
        return Estimate(None, interval_reason="nothing was scored")
    names = sorted(set(groups), key=repr)
    cluster_names = sorted(set(clusters), key=repr)
    row = {c: i for i, c in enumerate(cluster_names)}
    column = {g: i for i, g in enumerate(names)}
    sums = np.zeros((len(cluster_names), len(names)))
    counts = np.zeros_like(sums)
    for value, cluster, group in zip(values, clusters, groups, strict=True):
        sums[row[cluster], column[group]] += value
        counts[row[cluster], column[group]] += 1
    found = Estimate(
        float((sums.sum(0) / counts.sum(0)).mean()), method="bca", n_clusters=len(cluster_names)
    )
    if len(cluster_names) < 2:
        return replace(
            found, method=None, interval_reason=_too_few(len(values), len(cluster_names))
        )
    if np.ptp(values) == 0:
        return replace(found, method=None, interval_reason="all values are equal")

    def macro(index: NDArray[np.int64], axis: int = -1) -> Floats:
        # Resampled indices arrive with the clusters along `axis`, always the last one here.
        with np.errstate(invalid="ignore"):
            ratios = sums[index].sum(-2) / counts[index].sum(-2)
        result: Floats = np.nanmean(ratios, axis=-1)
        return result

    scale = float(np.abs(values).max())
    return _bca(found, (np.arange(len(cluster_names)),), macro, sampling, scale)


def effect_size(first: Floats, second: Floats) -> float | None:
    """Effect size d of WEAT (Caliskan et al. 2017; May et al. 2019).

    Difference of the means over the standard deviation of both samples together (ddof = 1).
    Ideal 0, within [-2, 2] for samples of one size; null when nothing varies.
    """
    both = np.concatenate([first, second])
    if len(first) == 0 or len(second) == 0 or np.ptp(both) == 0:
        return None
    return float((first.mean() - second.mean()) / both.std(ddof=1))


def association_test(
    values: Floats,
    clusters: Sequence[Hashable],
    in_first: NDArray[np.bool_],
    sampling: Sampling,
) -> Estimate:
    """Effect size d with its permutation p-value, interval and floor.

    Parameters
    ----------
    values : array of shape (n,)
        Association s(w, A, B) of each target.
    clusters : sequence of length n
        The word that a target was made from; words are permuted and resampled, not sentences.
    in_first : array of bool, shape (n,)
        Whether the target belongs to the first set.

    Returns
    -------
    Estimate
        `p_value` is one-sided (the first set is the more associated one), exact when at most
        100,000 partitions exist, else (k + 1) / (n + 1) over 100,000 random ones. `floor` is the
        mean |d| over the partitions: what |d| comes to without any association.
    """
    value = effect_size(values[in_first], values[~in_first])
    if value is None:
        return Estimate(None, interval_reason="no target varies", note="no target varies")
    first, second = _Words.of(values, clusters, in_first), _Words.of(values, clusters, ~in_first)
    partitions = _Partitions.of(first, second, sampling.rng, N_PERMUTATIONS)
    found = Estimate(
        value,
        n_clusters=len(first.sums) + len(second.sums),
        p_value=partitions.p_value(),
        floor=partitions.floor(values),
        note="exact permutation test" if partitions.exact else f"{N_PERMUTATIONS} permutations",
    )
    if min(len(first.sums), len(second.sums)) < 2:
        return replace(found, interval_reason="fewer than two words in a set")

    def d(i: NDArray[np.int64], j: NDArray[np.int64], axis: int = -1) -> Floats:
        x, y = first.resampled(i), second.resampled(j)
        total, square, n = x + y
        variance = np.maximum(square - total**2 / n, np.finfo(float).tiny) / (n - 1)
        result: Floats = (x[0] / x[2] - y[0] / y[2]) / np.sqrt(variance)
        return result

    data = (np.arange(len(first.sums)), np.arange(len(second.sums)))
    return _bca(replace(found, method="bca"), data, d, sampling, 1.0, paired=False)


def chance_effect(
    values: Floats,
    clusters: Sequence[Hashable],
    in_first: NDArray[np.bool_],
    rng: np.random.Generator,
    n_permutations: int = 2_000,
) -> float | None:
    """Mean |d| over partitions of the words: what |d| comes to without any association."""
    if effect_size(values[in_first], values[~in_first]) is None:
        return None
    first, second = _Words.of(values, clusters, in_first), _Words.of(values, clusters, ~in_first)
    return _Partitions.of(first, second, rng, n_permutations).floor(values)


@dataclass(frozen=True, slots=True)
class _Words:
    """Sum, sum of squares and number of the values of every word of one set."""

    sums: Floats
    squares: Floats
    counts: Floats

    @classmethod
    def of(
        cls, values: Floats, clusters: Sequence[Hashable], wanted: NDArray[np.bool_]
    ) -> "_Words":
        words = [c for c, w in zip(clusters, wanted, strict=True) if w]
        sums, counts = _by_cluster(values[wanted], words)
        return cls(sums, _by_cluster(values[wanted] ** 2, words)[0], counts)

    def resampled(self, index: NDArray[np.int64]) -> Floats:
        """Return sum, sum of squares and number over resampled words."""
        return np.stack([a[index].sum(-1) for a in (self.sums, self.squares, self.counts)])


@dataclass(frozen=True, slots=True)
class _Partitions:
    """Ways to split the words of two sets into two of the same sizes; the first is as observed."""

    first_sums: Floats
    first_counts: Floats
    total: float
    count: float
    observed: float
    exact: bool

    @classmethod
    def of(
        cls, first: _Words, second: _Words, rng: np.random.Generator, n_permutations: int
    ) -> "_Partitions":
        sums = np.concatenate([first.sums, second.sums])
        counts = np.concatenate([first.counts, second.counts])
        n, size = len(sums), len(first.sums)
        exact = math.comb(n, size) <= EXACT_PARTITIONS
        if exact:
            chunks: Iterable[NDArray[np.int64]] = [np.array(list(combinations(range(n), size)))]
        else:
            # Chunked, so that memory does not grow with the number of words.
            chunks = (
                rng.permuted(np.tile(np.arange(n), (rows, 1)), axis=1)[:, :size]
                for rows in _parts(n_permutations, max(1, 2**21 // n))
            )
        found = [(sums[c].sum(1), counts[c].sum(1)) for c in chunks]
        return cls(
            first_sums=np.concatenate([s for s, _ in found]),
            first_counts=np.concatenate([k for _, k in found]),
            total=float(sums.sum()),
            count=float(counts.sum()),
            observed=float(first.sums.sum() / first.counts.sum())
            - float(second.sums.sum() / second.counts.sum()),
            exact=exact,
        )

    @property
    def differences(self) -> Floats:
        """Mean of the first set minus that of the second, in every partition."""
        first = self.first_sums / self.first_counts
        second = (self.total - self.first_sums) / (self.count - self.first_counts)
        return first - second

    def p_value(self) -> float:
        # The observed partition summed in another order must still count as a tie.
        slack = 1e-12 * max(1.0, float(np.abs(self.differences).max()))
        at_least = int((self.differences >= self.observed - slack).sum())
        n = len(self.first_sums)
        return at_least / n if self.exact else (at_least + 1) / (n + 1)

    def floor(self, values: Floats) -> float:
        return float(np.abs(self.differences).mean() / values.std(ddof=1))


def _parts(total: int, size: int) -> Iterator[int]:
    for start in range(0, total, size):
        yield min(size, total - start)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for a family of tests by Holm's step-down method, in the order given."""
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(len(p_values))
    running = 0.0
    for rank, index in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = running
    return [float(p) for p in adjusted]


def _bca(
    found: Estimate,
    data: tuple[NDArray[Any], ...],
    statistic: Callable[..., Floats],
    sampling: Sampling,
    scale: float,
    *,
    paired: bool = True,
) -> Estimate:
    """Add the BCa interval; `scale` is the size of the numbers that the statistic is made of."""
    from scipy import stats

    # BCa counts the resamples below the estimate, so those that equal it must do so exactly, in
    # whatever order they were summed.
    decimals = DIGITS - math.floor(math.log10(scale)) if scale > 0 else DIGITS

    def rounded(*samples: NDArray[Any], axis: int = -1) -> Floats:
        return np.round(statistic(*samples, axis=axis), decimals)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = stats.bootstrap(
            data,
            rounded,
            n_resamples=sampling.n_resamples,
            batch=500,
            vectorized=True,
            paired=paired,
            confidence_level=sampling.level,
            method="BCa",
            rng=sampling.rng,
        )
    low, high = (float(end) for end in result.confidence_interval)
    if not (math.isfinite(low) and math.isfinite(high)):
        return replace(found, method=None, interval_reason="the resamples do not vary")
    return replace(found, interval=(low, high))


def _by_cluster(values: Floats, clusters: Sequence[Hashable]) -> tuple[Floats, Floats]:
    """Sum and count of the values of each cluster, clusters in the order of their names."""
    names = sorted(set(clusters), key=repr)
    row = {name: i for i, name in enumerate(names)}
    index = np.array([row[c] for c in clusters], dtype=np.int64)
    sums: Floats = np.bincount(index, weights=values, minlength=len(names)).astype(np.float64)
    counts: Floats = np.bincount(index, minlength=len(names)).astype(np.float64)
    return sums, counts


def _too_few(n: int, n_clusters: int) -> str:
    return "one value" if n == 1 else f"{n_clusters} cluster of {n} values"
