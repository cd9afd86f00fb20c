"""Intervals and adjusted p-values: thin, on scipy.stats.

Every function takes plain arrays and says in its result how the numbers were made. Where an
interval or a p-value cannot be had it is null with a reason, never zero.
"""

import math
import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

N_RESAMPLES: Final = 9_999
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
    sums, counts = by_cluster(values, clusters)
    found = Estimate(float(values.mean()), method="bca", n_clusters=len(sums))
    if len(sums) < 2:
        return replace(found, method=None, interval_reason=_too_few(len(values), len(sums)))
    if np.ptp(values) == 0:
        return replace(found, method=None, interval_reason="all values are equal")

    def ratio(sums: Floats, counts: Floats, axis: int = -1) -> Floats:
        quotient: Floats = sums.sum(axis) / counts.sum(axis)
        return quotient

    return bca(found, (sums, counts), ratio, sampling, float(np.abs(values).max()))


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
    return bca(found, samples, gap, sampling, scale, paired=False)


def change(
    current: Floats, baseline: Floats, clusters: Sequence[Hashable], sampling: Sampling
) -> Estimate:
    """Current mean minus the baseline's, with its paired BCa interval.

    Parameters
    ----------
    current, baseline : array of shape (n,)
        Values of the same items in the same order; clusters are resampled in both together. NaN
        where an item does not enter the mean, such as a tie that a rule leaves out.
    """
    return _paired(current, baseline, clusters, sampling, np.subtract)


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
        As in `change`.
    ideal : float
        Value from which distances are taken.
    """

    def further(now: Floats, then: Floats) -> Floats:
        result: Floats = np.abs(now) - np.abs(then)
        return result

    return _paired(current - ideal, baseline - ideal, clusters, sampling, further)


def _paired(
    current: Floats,
    baseline: Floats,
    clusters: Sequence[Hashable],
    sampling: Sampling,
    between: Callable[[Floats, Floats], Floats],
) -> Estimate:
    """Estimate a function of two means over the same items, both resampled together."""
    if np.isnan(current).all() or np.isnan(baseline).all():
        return Estimate(None, interval_reason="nothing was scored in both")
    there = [~np.isnan(values) for values in (current, baseline)]
    parts = [by_cluster(np.nan_to_num(values), clusters)[0] for values in (current, baseline)]
    counts = [by_cluster(mask.astype(np.float64), clusters)[0] for mask in there]

    def statistic(
        now: Floats, n_now: Floats, then: Floats, n_then: Floats, axis: int = -1
    ) -> Floats:
        with np.errstate(invalid="ignore"):
            return between(now.sum(axis) / n_now.sum(axis), then.sum(axis) / n_then.sum(axis))

    data = (parts[0], counts[0], parts[1], counts[1])
    found = Estimate(float(statistic(*data)), method="bca", n_clusters=len(parts[0]))
    if len(parts[0]) < 2:
        return replace(found, method=None, interval_reason=_too_few(len(current), len(parts[0])))
    if np.ptp(current - baseline) == 0:
        return replace(found, method=None, interval_reason="all items changed by the same")
    scale = float(np.abs(np.concatenate(parts)).max())
    return bca(found, data, statistic, sampling, scale)


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
    return bca(found, (np.arange(len(cluster_names)),), macro, sampling, scale)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for a family of tests by Holm's step-down method, in the order given."""
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(len(p_values))
    running = 0.0
    for rank, index in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = running
    return [float(p) for p in adjusted]


def bca(
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


def by_cluster(values: Floats, clusters: Sequence[Hashable]) -> tuple[Floats, Floats]:
    """Return sum and count of the values of each cluster, clusters in the order of their names."""
    names = sorted(set(clusters), key=repr)
    row = {name: i for i, name in enumerate(names)}
    index = np.array([row[c] for c in clusters], dtype=np.int64)
    sums: Floats = np.bincount(index, weights=values, minlength=len(names)).astype(np.float64)
    counts: Floats = np.bincount(index, minlength=len(names)).astype(np.float64)
    return sums, counts


def _too_few(n: int, n_clusters: int) -> str:
    return "one value" if n == 1 else f"{n_clusters} cluster of {n} values"
