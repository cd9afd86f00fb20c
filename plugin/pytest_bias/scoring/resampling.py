"""Bootstrap intervals over units whose numbers add up.

Units are clusters of items. A mean is a sum over a count, and a macro mean and an effect size are
functions of totals as well: `Sums` holds the numbers, so that one bootstrap and one permutation
test serve every metric, of one model and of the change between two.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pytest_bias.scoring import multiway
from pytest_bias.scoring.drawing import resampled
from pytest_bias.scoring.multiway import Cell, Crossing
from pytest_bias.scoring.statistics import (
    Estimate,
    Floats,
    Sampling,
    of_equal_units,
    small_sample,
    wilson,
)

MAX_UNDEFINED: Final = 0.05
"""Largest share of resamples without a value, such as a mean of no item."""
UNDEFINED: Final = "too many resamples have no value"
DIGITS: Final = 12
"""Digits to which resampled statistics are rounded."""
FEWEST: Final = 8
"""Fewest units on a side for a bootstrap interval."""
FEWEST_ALIKE: Final = 10
"""Fewest units for an interval where all are alike."""


@dataclass(frozen=True, slots=True)
class Unsigned:
    """Signed parts of an unsigned statistic, such as the several gaps of which it is the widest.

    Parameters
    ----------
    signed : callable
        Maps totals of each sample, of shape (..., k), to signed numbers, of shape (..., m).
    size : callable
        Maps these to their size, of shape (...), which is subadditive.
    """

    signed: Callable[..., Floats]
    size: Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class Sums:
    """Additive numbers of the units of one or more samples, and the statistic of their totals.

    Parameters
    ----------
    samples : tuple of array, each of shape (n_units, k)
        One array for each sample that is drawn on its own.
    of_totals : callable
        Maps totals, an array of shape (..., k) for each sample, to the statistic, of shape (...).
    scale : float
        Magnitude of the numbers that the statistic is made of, for rounding.
    independent : bool
        Whether every unit is one trial, with its outcome in percent as its first number.
    sizes : array of shape (n_units, n_sides)
        Weight of each unit on each of the sides that are compared with one another, such as
        the number of its items; by default each sample is a side, with units of equal weight.
    unsigned : Unsigned, optional
        How an unsigned statistic is made; its interval follows from its signed parts.
    crossing : Crossing, optional
        Levels of the units of the one sample, where they share levels of several factors.
    """

    samples: tuple[Floats, ...]
    of_totals: Callable[..., Floats]
    scale: float = 1.0
    independent: bool = False
    sizes: Floats | None = None
    unsigned: Unsigned | None = None
    crossing: Crossing | None = None

    @property
    def n_units(self) -> int:
        """Number of units in all samples."""
        return sum(map(len, self.samples))

    @property
    def n_least(self) -> int:
        """Number of units, or of levels of one factor, on the side that has the fewest."""
        if self.crossing is None:
            return int(min((s > 0).sum(axis=0).min(initial=len(s)) for s in self._sizes))
        clusters = [
            s for s, name in zip(self._sizes, self.crossing.factors, strict=True) if not name
        ]
        least = [int((s > 0).sum(axis=0).min()) for s in clusters]
        return min([self.degrees_of_freedom + 1, *least])

    @property
    def degrees_of_freedom(self) -> int:
        """Degrees of freedom of the variance over several factors."""
        assert self.crossing is not None
        assert self.sizes is not None
        return self.crossing.degrees_of_freedom(self.sizes)

    @property
    def n_effective(self) -> Floats:
        """Effective sample size of each side: the equivalent number of equal units (Kish)."""
        with np.errstate(invalid="ignore"):
            found = [s.sum(axis=0) ** 2 / (s**2).sum(axis=0) for s in self._sizes]
        return np.concatenate(found) if self.sizes is None else np.min(found, axis=0)

    @property
    def _sizes(self) -> list[Floats]:
        """Sizes of units, or of the levels of each factor, of shape (n, n_sides)."""
        if self.sizes is None:
            return [np.ones((len(sample), 1)) for sample in self.samples]
        return self.crossing.by_level(self.sizes) if self.crossing else [self.sizes]

    def at(self, *totals: Floats) -> Floats:
        """Return the statistic of totals, rounded.

        Resamples that equal the estimate must do so exactly, whatever the order of summation:
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
    values: Floats,
    clusters: Sequence[Hashable],
    groups: Sequence[Hashable] | None = None,
    weights: Floats | None = None,
) -> Sums:
    """Return the sums of a mean, or of the unweighted mean over groups of the mean in each.

    Parameters
    ----------
    values : array of shape (n,)
        NaN where an item is not part of the mean, such as a tie that a rule leaves out.
    clusters, groups, weights : sequence of length n
        Clusters are the units; weights are as in `group_sums`.
    """

    def unweighted(means: Floats) -> Floats:
        if means.shape[-1] == 1:
            return means[..., 0]
        # A resample may lack a group.
        there = ~np.isnan(means)
        found: Floats = np.where(there, means, 0.0).sum(-1) / there.sum(-1)
        return found

    found = group_sums(values, clusters, groups or [""] * len(values), unweighted, weights)
    (rows,) = found.samples
    # Groups are averaged, not compared with one another: a unit may be of one group only.
    return replace(found, sizes=rows[:, rows.shape[1] // 2 :].sum(axis=1, keepdims=True))


def group_sums(
    values: Floats,
    clusters: Sequence[Hashable],
    groups: Sequence[Hashable],
    of_means: Callable[[Floats], Floats],
    weights: Floats | None = None,
) -> Sums:
    """Return the sums of a statistic of the means of groups.

    Parameters
    ----------
    values : array of shape (n,)
        NaN where an item is not part of the mean of its group.
    clusters, groups : sequence of length n
        Clusters are the units.
    of_means : callable
        Maps means, of shape (..., n_groups) in the order of the groups' names, to the statistic, of
        shape (...). The mean of a group that a resample lacks is NaN.
    weights : array of shape (n,), optional
        Weight of each value in the mean of its group; by default all are equal.
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
    crossing = Crossing.of(sorted(set(clusters), key=repr))
    return Sums((rows,), of_totals, scale, sizes=rows[:, n_groups:], crossing=crossing)


def bca(
    found: Estimate, sums: Sums, sampling: Sampling, constant: str = "all values are equal"
) -> Estimate:
    """Add the bias-corrected and accelerated bootstrap interval over the units of each sample.

    scipy draws the resamples; the units that the jackknife leaves out are subtracted from the
    totals, which is linear in the number of units, not quadratic.

    Parameters
    ----------
    constant : str
        The reason where no resample differs from another.

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
    acceleration = _acceleration(sums)
    if not math.isfinite(acceleration):
        return replace(found, method=None, interval_reason=UNDEFINED)
    z = bias + small_sample(sums.n_least, sampling.level) * np.array([-1, 1])
    # Far out on a skewed side there is no such quantile; the last one is used.
    stretched = z / np.maximum(1 - acceleration * z, np.finfo(float).eps)
    # Resamples were rounded, and their statistic may be a sum outside the bounds.
    least, most = sampling.bounds
    low, high = np.clip(
        np.percentile(drawn, 100 * ndtr(bias + stretched)),
        -np.inf if least is None else least,
        np.inf if most is None else most,
    )
    return replace(found, method="bca", interval=(float(low), float(high)))


def _acceleration(sums: Sums) -> float:
    """Return the acceleration of the standard error: the skewness of the jackknife."""
    with np.errstate(invalid="ignore"):
        leans = [(len(v) - 1) / len(v) * (v.mean() - v) for v in sums.left_out()]
    # Scaled, so that powers of large or small values stay finite.
    largest = max(float(np.abs(lean).max()) for lean in leans)
    if largest == 0 or not math.isfinite(largest):
        return largest
    cubes, squares = (sum(float(((x / largest) ** k).sum()) for x in leans) for k in (3, 2))
    return float(cubes / (6 * squares**1.5))


def distribution(sums: Sums, sampling: Sampling) -> Floats | None:
    """Return the finite statistics of the resamples; None if too many are undefined."""
    drawn = resampled(sums.samples, sums.at, sampling)
    drawn = drawn[np.isfinite(drawn)]
    return drawn if len(drawn) >= (1 - MAX_UNDEFINED) * sampling.draws.resamples else None


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
        The reason where all values are the same, so that nothing has to be drawn.
    constant : str
        The reason where no resample differs from another.
    """
    found = Estimate(sums.value, n_clusters=sums.n_units)
    if not math.isfinite(sums.value):
        return found
    if sums.crossing:
        return crossed(found, sums, sampling, equal or constant)
    if equal:
        return equal_units(found, sums, sampling, equal)
    if few := too_few(sums):
        return replace(found, interval_reason=few)
    return bca(found, sums, sampling, constant)


def crossed(found: Estimate, sums: Sums, sampling: Sampling, constant: str) -> Estimate:
    """Add the interval over crossed factors (`multiway`), or the reason why there is none."""
    if few := too_few(sums):
        return replace(found, interval_reason=few)
    spread = variance(sums)
    if spread is None:
        return replace(found, interval_reason=UNDEFINED)
    if spread == 0:
        return equal_units(found, sums, sampling, constant)
    interval = multiway.interval(
        sums.value, spread, sums.degrees_of_freedom, sampling.bounds, sampling.level
    )
    return replace(found, method=multiway.INTERVAL, interval=interval)


def variance(sums: Sums) -> float | None:
    """Return the variance of a statistic by the jackknife; None where it is not defined."""
    if sums.crossing:
        (rows,) = sums.samples
        found = sums.crossing.covariance(rows, lambda totals: sums.at(totals)[..., None])
        return None if found is None else float(found[0, 0])
    return sum((len(v) - 1) / len(v) * float(((v - v.mean()) ** 2).sum()) for v in sums.left_out())


def equal_units(found: Estimate, sums: Sums, sampling: Sampling, why: str) -> Estimate:
    """Add the interval of a bounded statistic that is equal in all units, or `why` it has none."""
    low, high = sampling.bounds
    n = float(sums.n_effective.min())
    if low is None or high is None or not n >= FEWEST_ALIKE:
        few = f"; it takes {FEWEST_ALIKE} clusters" if low is not None and high is not None else ""
        return replace(found, method=None, interval_reason=f"{why}{few}")
    interval = of_equal_units(found.value or 0.0, (low, high), n, sampling.level)
    return replace(found, method="clopper-pearson", interval=interval)


def too_few(sums: Sums) -> str | None:
    """Return the reason if a side has too few units for an interval, with the number required."""
    if sums.n_least >= FEWEST:
        return None
    what = "one cluster" if sums.n_least == 1 else f"{sums.n_least} clusters"
    side = " on a side" if sums.crossing is None and sums.n_least < sums.n_units else ""
    return f"{what}{side}; it takes {FEWEST}"


def share(values: Floats, clusters: Sequence[Hashable], sampling: Sampling) -> Estimate:
    """Proportion of independent trials, in percent, with its Wilson interval.

    `values` are 0, 100, or 50 for a tie. If several values share a cluster the trials are not
    independent, and the interval is that of `mean`.
    """
    if len(set(clusters)) < len(values) or any(isinstance(c, Cell) for c in clusters):
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
    weights: Floats | None = None,
) -> Estimate:
    """Mean, or unweighted mean over `groups` of theirs, with the BCa interval over clusters.

    Whole clusters are resampled, so values made from one template or one word stay together.
    """
    if len(values) == 0:
        return Estimate(None, interval_reason="nothing was scored")
    sums = mean_sums(values, clusters, groups, weights)
    equal = "all values are equal" if np.ptp(values) == 0 else None
    found = estimate(sums, sampling, equal=equal)
    return replace(found, value=float(values.mean())) if groups is None else found


def _numbered(names: Sequence[Hashable]) -> NDArray[np.int64]:
    """Number names in sorted order, whatever the order of the input."""
    number = {name: i for i, name in enumerate(sorted(set(names), key=repr))}
    return np.array([number[name] for name in names], dtype=np.int64)
