"""Unsigned statistics: a mean |d|, the widest of several gaps.

A bootstrap of an unsigned size is biased, near zero most of all: noise alone makes it larger. The
signed numbers that it is made of are not biased. A size is subadditive, so its error is at most the
size of the errors of these numbers, and that is resampled.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from pytest_bias.scoring.resampling import (
    UNDEFINED,
    Sums,
    Unsigned,
    distribution,
    equal_units,
    too_few,
)
from pytest_bias.scoring.statistics import Estimate, Floats, Sampling, small_sample

METHOD: Final = "bootstrap of signed parts"


def unsigned_sums(
    samples: tuple[Floats, ...], unsigned: Unsigned, scale: float, sizes: Floats | None = None
) -> Sums:
    """Return the sums of an unsigned statistic; the arguments are those of `Sums`."""

    def of_totals(*totals: Floats) -> Floats:
        return unsigned.size(unsigned.signed(*totals))

    return Sums(samples, of_totals, scale, sizes=sizes, unsigned=unsigned)


def estimate(sums: Sums, sampling: Sampling, by_chance: Floats | None = None) -> Estimate:
    """Estimate an unsigned size, with an interval whose coverage is at least its level.

    Parameters
    ----------
    sums : Sums
        With `unsigned`.
    by_chance : array of shape (n,), optional
        The size under shuffled labels. Where outcomes are rare, a group without any does not vary
        in resamples and seems to be known exactly; shuffles give a wider bound.

    Returns
    -------
    Estimate
        The interval is the value, plus and minus the quantile of the size of the resampling errors,
        or of the size by chance if that is larger, within the bounds of the statistic.
    """
    found = Estimate(sums.value, n_clusters=sums.n_units)
    if few := too_few(sums):
        return replace(found, interval_reason=few)
    assert sums.unsigned is not None
    off_by = reach(sums, [sums.unsigned.signed], sampling)
    if off_by is None:
        return replace(found, interval_reason=UNDEFINED)
    if off_by == 0:
        return equal_units(found, sums, sampling, "the resamples do not vary")
    if by_chance is not None:
        off_by = max(off_by, float(np.quantile(by_chance, sampling.level)))
    low, high = sampling.bounds
    ends = (
        max(sums.value - off_by, -np.inf if low is None else low),
        min(sums.value + off_by, np.inf if high is None else high),
    )
    return replace(found, method=METHOD, interval=ends)


def reach(sums: Sums, parts: Sequence[Callable[..., Floats]], sampling: Sampling) -> float | None:
    """Return the quantile of the size of the resampling errors, added up over the parts."""
    from scipy.special import ndtri

    assert sums.unsigned is not None
    size = sums.unsigned.size
    with np.errstate(invalid="ignore", divide="ignore"):
        seen = [(signed, signed(*sums.totals)) for signed in parts]

    def size_of(apart: Sequence[Floats]) -> Floats:
        # A size may depend on the sign, such as the largest of several gaps.
        found: Floats = np.sum([np.maximum(size(b), size(-b)) for b in apart], axis=0)
        return found

    def off(*totals: Floats) -> Floats:
        return size_of([signed(*totals) - value for signed, value in seen])

    if sums.crossing:
        noise = _noise(sums, parts, sampling)
        drawn = None if noise is None else size_of(np.split(noise, len(parts), axis=-1))
    else:
        drawn = distribution(replace(sums, of_totals=off), sampling)
    if drawn is None:
        return None
    factor = small_sample(sums.n_least, sampling.level) / float(ndtri(0.5 + sampling.level / 2))
    return factor * float(np.quantile(drawn, sampling.level))


def without_effect(sums: Sums, sampling: Sampling) -> Floats | None:
    """Return sizes under the null hypothesis of no effect, over factors that cross.

    Multivariate t with the covariance of the units and its degrees of freedom; None where no
    factors cross, or the covariance is not defined.
    """
    if sums.crossing is None:
        return None
    assert sums.unsigned is not None
    noise = _noise(sums, [sums.unsigned.signed], sampling)
    if noise is None:
        return None
    df = sums.degrees_of_freedom
    return sums.unsigned.size(noise * np.sqrt(df / sampling.rng.chisquare(df, (len(noise), 1))))


def _noise(sums: Sums, parts: Sequence[Callable[..., Floats]], sampling: Sampling) -> Floats | None:
    """Draw the errors of the signed parts, in adjacent columns, normal with their covariance."""
    assert sums.crossing is not None
    (rows,) = sums.samples
    found = sums.crossing.covariance(
        rows, lambda totals: np.concatenate([signed(totals) for signed in parts], axis=-1)
    )
    if found is None:
        return None
    values, vectors = np.linalg.eigh(found)
    drawn = sampling.rng.standard_normal((sampling.draws.resamples, len(values)))
    noise: Floats = drawn * np.sqrt(np.maximum(values, 0)) @ vectors.T
    return noise
