"""Bootstrap intervals and permutation tests over units whose numbers add up.

Units are clusters of items. A mean is a sum over a count, and a macro mean and an effect size are
functions of totals as well: `Sums` holds the numbers, so that one bootstrap and one test serve
every metric, of one model and of the change between two.
"""

import math
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pytest_bias.statistics import (
    Estimate,
    Floats,
    Sampling,
    of_equal_units,
    small_sample,
    wilson,
)

MAX_UNDEFINED: Final = 0.05
"""Share of resamples that may be without a value, such as a mean of no item."""
UNDEFINED: Final = "too many resamples have no value"
DIGITS: Final = 12
"""Digits to which resampled statistics are rounded."""
FEWEST: Final = 8
"""Units on a side from which on a bootstrap of them gives an interval."""
FEWEST_ALIKE: Final = 10
"""Units from which on those that are all alike give an interval."""
MANY: Final = 5_000
"""Units from which on those that are alike are counted instead of drawn one by one."""
ALIKE: Final = 50
"""Units a kind that there have to be on average for that."""


@dataclass(frozen=True, slots=True)
class Unsigned:
    """What a size without a sign is the size of, such as the widest of several gaps.

    Parameters
    ----------
    signed : callable
        Totals of each sample, of shape (..., k), to numbers with a sign, of shape (..., m).
    size : callable
        These to their size, of shape (...): no more for a sum than for its parts together.
    """

    signed: Callable[..., Floats]
    size: Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class Sums:
    """Numbers of the units of one or more samples that add up, and what their totals give.

    Parameters
    ----------
    samples : tuple of array, each of shape (n_units, k)
        One array for each sample that is drawn on its own.
    of_totals : callable
        Totals, an array of shape (..., k) for each sample, to the statistic, of shape (...).
    scale : float
        Size of the numbers that the statistic is made of, for rounding.
    independent : bool
        Whether every unit is one trial, whose outcome in percent is its first number.
    sizes : array of shape (n_units, n_sides)
        How much each unit counts on each of the sides that are held against one another, such as
        the number of its items; by default each sample is a side, and its units are alike.
    unsigned : Unsigned, optional
        How the statistic, which is a size without a sign, is made; its interval follows from what
        it is the size of.
    """

    samples: tuple[Floats, ...]
    of_totals: Callable[..., Floats]
    scale: float = 1.0
    independent: bool = False
    sizes: Floats | None = None
    unsigned: Unsigned | None = None

    @property
    def n_units(self) -> int:
        """Number of units in all samples."""
        return sum(map(len, self.samples))

    @property
    def n_least(self) -> int:
        """Number of units of the side that has the fewest."""
        if self.sizes is None:
            return min(map(len, self.samples))
        return int((self.sizes > 0).sum(axis=0).min(initial=self.n_units))

    @property
    def n_effective(self) -> Floats:
        """Number of units of one size that tell as much, of each side (Kish)."""
        if self.sizes is None:
            return np.array([len(sample) for sample in self.samples], dtype=np.float64)
        with np.errstate(invalid="ignore"):
            found: Floats = self.sizes.sum(axis=0) ** 2 / (self.sizes**2).sum(axis=0)
        return found

    def at(self, *totals: Floats) -> Floats:
        """Return the statistic of totals, rounded.

        Resamples that equal the estimate must do so exactly, in whatever order they were summed:
        both the bias correction of BCa and a permutation test count them.
        """
        decimals = DIGITS - math.floor(math.log10(self.scale)) if self.scale > 0 else DIGITS
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Floats = np.round(self.of_totals(*totals), decimals)
        return found

    @property
    def totals(self) -> tuple[Floats, ...]:
        """Totals of each sample, of shape (k,)."""
        return tuple(s.sum(0) for s in self.samples)

    @property
    def value(self) -> float:
        """The statistic of all units, NaN where it is not defined."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(self.of_totals(*self.totals))

    def left_out(self) -> list[Floats]:
        """Return for each sample the statistic without each of its units, of shape (n_units,)."""
        found = []
        for number, sample in enumerate(self.samples):
            totals = list(self.totals)
            totals[number] = totals[number] - sample
            found.append(self.at(*totals))
        return found


def mean_sums(
    values: Floats, clusters: Sequence[Hashable], groups: Sequence[Hashable] | None = None
) -> Sums:
    """Return the sums of a mean, or of the unweighted mean over groups of the mean in each.

    Parameters
    ----------
    values : array of shape (n,)
        NaN where an item does not enter the mean, such as a tie that a rule leaves out.
    clusters, groups : sequence of length n
        Clusters are the units.
    """

    def unweighted(means: Floats) -> Floats:
        if means.shape[-1] == 1:
            return means[..., 0]
        # A resample may lack a group.
        there = ~np.isnan(means)
        found: Floats = np.where(there, means, 0.0).sum(-1) / there.sum(-1)
        return found

    found = group_sums(values, clusters, groups or [""] * len(values), unweighted)
    (rows,) = found.samples
    # Groups are averaged, not held against one another: a unit may be of one group only.
    return replace(found, sizes=rows[:, rows.shape[1] // 2 :].sum(axis=1, keepdims=True))


def group_sums(
    values: Floats,
    clusters: Sequence[Hashable],
    groups: Sequence[Hashable],
    of_means: Callable[[Floats], Floats],
    weights: Floats | None = None,
) -> Sums:
    """Return the sums of a number that the means of groups give.

    Parameters
    ----------
    values : array of shape (n,)
        NaN where an item does not enter the mean of its group.
    clusters, groups : sequence of length n
        Clusters are the units.
    of_means : callable
        Means, of shape (..., n_groups) in the order of the groups' names, to the statistic, of
        shape (...). The mean of a group that a resample lacks is NaN.
    weights : array of shape (n,), optional
        How much each value counts in the mean of its group; by default all alike.
    """
    unit, group = _numbered(clusters), _numbered(groups)
    n_groups = int(group.max(initial=0)) + 1
    shape = (int(unit.max(initial=-1)) + 1, n_groups)
    counted = ~np.isnan(values)
    each = np.where(counted, 1.0 if weights is None else weights, 0.0)
    columns = [
        np.bincount(unit * n_groups + group, weights=added, minlength=shape[0] * n_groups)
        for added in (np.where(counted, values, 0.0) * each, each)
    ]
    rows = np.concatenate([c.reshape(shape) for c in columns], axis=1)

    def of_totals(totals: Floats) -> Floats:
        return of_means(totals[..., :n_groups] / totals[..., n_groups:])

    scale = float(np.abs(values[counted]).max(initial=0.0))
    return Sums((rows,), of_totals, scale, sizes=rows[:, n_groups:])


def bca(
    found: Estimate, sums: Sums, sampling: Sampling, constant: str = "all values are equal"
) -> Estimate:
    """Add the bias-corrected and accelerated bootstrap interval over the units of each sample.

    scipy draws the resamples; what the jackknife leaves out is subtracted from the totals, which
    takes as many steps as there are units, not their square.

    Parameters
    ----------
    constant : str
        What to say where no resample differs from another.

    References
    ----------
    Efron and Tibshirani (1993), An Introduction to the Bootstrap, section 14.3.
    """
    from scipy.special import ndtr, ndtri

    drawn = distribution(sums, sampling)
    if drawn is None:
        return replace(found, method=None, interval_reason=UNDEFINED)
    if np.ptp(drawn) == 0:
        return equal_units(found, sums, sampling, constant)
    at = float(sums.at(*sums.totals))
    bias = float(ndtri(((drawn < at).mean() + (drawn <= at).mean()) / 2))
    if not math.isfinite(bias):
        why = "the value lies outside its resamples"
        return replace(found, method=None, interval_reason=why)
    cubes = squares = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for values in sums.left_out():
            lean = (len(values) - 1) / len(values) * (values.mean() - values)
            cubes += float((lean**3).sum())
            squares += float((lean**2).sum())
    if not math.isfinite(cubes) or not math.isfinite(squares):
        return replace(found, method=None, interval_reason=UNDEFINED)
    acceleration = cubes / (6 * squares**1.5) if squares > 0 else 0.0
    z = bias + small_sample(sums.n_least, sampling.level) * np.array([-1, 1])
    low, high = np.percentile(drawn, 100 * ndtr(bias + z / (1 - acceleration * z)))
    return replace(found, method="bca", interval=(float(low), float(high)))


def distribution(sums: Sums, sampling: Sampling) -> Floats | None:
    """Return the statistic of the resamples that have one; None if too many have none."""
    drawn = _resampled(sums, sampling)
    drawn = drawn[np.isfinite(drawn)]
    return drawn if len(drawn) >= (1 - MAX_UNDEFINED) * sampling.draws.resamples else None


def _resampled(sums: Sums, sampling: Sampling) -> Floats:
    """Return the statistic of resamples, of shape (n_resamples,).

    Where units are many and few of them differ, as trials do that are right or wrong, how often
    each kind is drawn has a multinomial distribution, and no unit has to be drawn by itself.
    """
    if kinds := alike_units(sums.samples):
        totals = []
        for rows, counts in kinds:
            n, share = counts.sum(), counts / counts.sum()
            times = sampling.rng.multinomial(n, share, size=sampling.draws.resamples)
            totals.append(np.einsum("bk,kj->bj", times.astype(np.float64), rows))
        return sums.at(*totals)
    from scipy import stats

    def resampled(*index: NDArray[np.int64], axis: int = -1) -> Floats:
        return sums.at(*(_drawn(s, i) for s, i in zip(sums.samples, index, strict=True)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: Floats = stats.bootstrap(
            tuple(np.arange(len(s)) for s in sums.samples),
            resampled,
            n_resamples=sampling.draws.resamples,
            batch=500,
            vectorized=True,
            confidence_level=sampling.level,
            method="percentile",
            rng=sampling.rng,
        ).bootstrap_distribution
    return found


def alike_units(samples: Sequence[Floats]) -> list[tuple[Floats, NDArray[np.int64]]]:
    """Return the different units of each sample, and how many there are of each.

    Nothing where there are few units, or they are not alike.
    """
    n_units = sum(map(len, samples))
    if n_units < MANY or min(map(len, samples)) == 0:
        return []
    found = [np.unique(sample, axis=0, return_counts=True) for sample in samples]
    return found if ALIKE * sum(len(rows) for rows, _ in found) <= n_units else []


def estimate(
    sums: Sums,
    sampling: Sampling,
    *,
    equal: str | None = None,
    constant: str = "the resamples do not vary",
) -> Estimate:
    """Estimate the statistic of sums, with its BCa interval or the reason why it has none.

    Parameters
    ----------
    equal : str, optional
        What to say of values that are all the same, so that nothing has to be drawn.
    constant : str
        What to say where no resample differs from another.
    """
    found = Estimate(sums.value, n_clusters=sums.n_units)
    if not math.isfinite(sums.value):
        return found
    if equal:
        return equal_units(found, sums, sampling, equal)
    if few := too_few(sums):
        return replace(found, interval_reason=few)
    return bca(found, sums, sampling, constant)


def equal_units(found: Estimate, sums: Sums, sampling: Sampling, why: str) -> Estimate:
    """Add the interval of a bounded statistic that every unit agrees on, or `why` it has none."""
    low, high = sampling.bounds
    n = float(sums.n_effective.min())
    if low is None or high is None or not n >= FEWEST_ALIKE:
        few = f"; it takes {FEWEST_ALIKE} clusters" if low is not None and high is not None else ""
        return replace(found, method=None, interval_reason=f"{why}{few}")
    interval = of_equal_units(found.value or 0.0, (low, high), n, sampling.level)
    return replace(found, method="clopper-pearson", interval=interval)


def too_few(sums: Sums) -> str | None:
    """Say that a side has too few units for an interval, and how many it takes."""
    if sums.n_least >= FEWEST:
        return None
    what = "one cluster" if sums.n_least == 1 else f"{sums.n_least} clusters"
    side = " on a side" if sums.n_least < sums.n_units else ""
    return f"{what}{side}; it takes {FEWEST}"


def _drawn(sample: Floats, index: NDArray[np.int64]) -> Floats:
    """Return the totals of resamples, given which units were drawn, of shape (..., n)."""
    n = len(sample)
    rows = index.reshape(-1, n)
    times = np.bincount((rows + n * np.arange(len(rows))[:, None]).ravel(), minlength=rows.size)
    # einsum adds up in one order, whatever the number of threads.
    totals: Floats = np.einsum("bn,nk->bk", times.reshape(rows.shape).astype(np.float64), sample)
    return totals.reshape(*index.shape[:-1], -1)


def chunks(total: int, size: int) -> Iterator[int]:
    """Yield the sizes of chunks, so that memory does not grow with the number of units."""
    for start in range(0, total, size):
        yield min(size, total - start)


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


def mean(
    values: Floats,
    clusters: Sequence[Hashable],
    sampling: Sampling,
    groups: Sequence[Hashable] | None = None,
) -> Estimate:
    """Mean, or unweighted mean over `groups` of theirs, with the BCa interval over clusters.

    Whole clusters are resampled, so values made from one template or one word stay together.
    """
    if len(values) == 0:
        return Estimate(None, interval_reason="nothing was scored")
    sums = mean_sums(values, clusters, groups)
    equal = "all values are equal" if np.ptp(values) == 0 else None
    found = estimate(sums, sampling, equal=equal)
    return replace(found, value=float(values.mean())) if groups is None else found


def difference_of_means(first: Floats, second: Floats, sampling: Sampling) -> Estimate:
    """Mean of the first sample minus that of the second, with its BCa bootstrap interval."""
    if len(first) == 0 or len(second) == 0:
        return Estimate(None, interval_reason="a sample is empty")
    # Sorted, so that the order in which the values came does not matter.
    parts = [mean_sums(np.sort(v), range(len(v))) for v in (first, second)]

    def gap(x: Floats, y: Floats) -> Floats:
        return parts[0].of_totals(x) - parts[1].of_totals(y)

    samples = (parts[0].samples[0], parts[1].samples[0])
    sums = Sums(samples, gap, max(p.scale for p in parts))
    return estimate(sums, sampling, constant="all values of a sample are equal")


def _numbered(names: Sequence[Hashable]) -> NDArray[np.int64]:
    """Number names in their own order, whatever the order in which they come."""
    number = {name: i for i, name in enumerate(sorted(set(names), key=repr))}
    return np.array([number[name] for name in names], dtype=np.int64)
