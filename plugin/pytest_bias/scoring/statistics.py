"""Estimates, exact intervals and tests, and family-adjusted p-values: a thin layer over scipy.

Every function takes plain arrays, and its result states the method. Where there is no interval or
p-value it is None, with a reason, never zero.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

VERSION: Final = 2
"""Version of how intervals, tests and floors are computed, and from which records.

Values depend on it only where an item that is compared with others could not be scored.
"""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Draws:
    """Numbers of random draws behind intervals, tests and floors.

    Parameters
    ----------
    resamples : int
        Bootstrap resamples behind an interval, and permutations behind most p-values.
    arrangements : int
        Most arrangements that a permutation test enumerates; of more it draws a
        sample. Of the words of an association test it draws this many.
    shuffles : int
        Shuffles behind the floor and test of an unsigned statistic.
    partitions : int
        Partitions of words behind the floor of a mean of effect sizes.
    """

    resamples: int = 9_999
    arrangements: int = 100_000
    shuffles: int = 999
    partitions: int = 2_000


DRAWS = Draws()
"""The draws of every score."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval, test and floor, or the reasons why these are missing."""

    value: float | None
    interval: tuple[float, float] | None = None
    interval_reason: str | None = None
    method: str | None = None
    n_clusters: int = 0
    test: str | None = None
    p_value: float | None = None
    p_reason: str | None = None
    floor: float | None = None
    note: str | None = None
    at_least: float | None = None
    """Where there is no interval: one-sided lower bound; a test rejects every smaller value."""


Bounds = tuple[float | None, float | None]
"""Smallest and largest possible value; None where there is none."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How intervals and tests are made: generator, level, numbers of draws, and bounds.

    `bounds` are those of the estimated number: values that were not observed are within them.
    """

    rng: np.random.Generator
    level: float = 0.95
    draws: Draws = field(default_factory=lambda: DRAWS)
    bounds: Bounds = (None, None)


@dataclass(frozen=True, slots=True)
class Test:
    """A p-value and its method, or the reason why there is none."""

    how: str | None = None
    p_value: float | None = None
    reason: str | None = None


def wilson(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson score interval of a proportion.

    Parameters
    ----------
    successes : float
        Number of successes; a tie may count one half.
    n : float
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


def newcombe(
    first: tuple[float, float], second: tuple[float, float], level: float = 0.95
) -> tuple[float, float]:
    """Interval of the difference of two proportions, from the score interval of either.

    Parameters
    ----------
    first, second : tuple of float
        Proportion and number of independent trials of either side, which need not be whole.
    level : float
        Confidence level.

    Returns
    -------
    tuple of float
        Lower and upper end, within [-1, 1].

    References
    ----------
    Newcombe (1998), Statistics in Medicine 17, method 10.
    """
    (p, n), (q, m) = first, second
    (low, high), (least, most) = wilson(p * n, n, level), wilson(q * m, m, level)
    down = math.hypot(p - low, most - q)
    up = math.hypot(high - p, q - least)
    return p - q - down, p - q + up


def of_equal_units(
    value: float, bounds: tuple[float, float], n: float, level: float = 0.95
) -> tuple[float, float]:
    """Interval of a bounded mean, or difference of means, where all observed units are alike.

    If n of n units are alike, at most a share s = 1 - (a / 2)^(1 / n) of the population is not,
    with a = 1 - `level`; the values of these are within the bounds.

    Parameters
    ----------
    value : float
        Value of every unit.
    bounds : tuple of float
        Smallest and largest possible value of a unit.
    n : float
        Number of units; for units of unequal size, their effective number.
    level : float
        Confidence level.

    Returns
    -------
    tuple of float
        Lower and upper end, within the bounds.

    References
    ----------
    Clopper and Pearson (1934), Biometrika 26.
    """
    other = 1 - ((1 - level) / 2) ** (1 / n)
    low, high = bounds
    return value - other * (value - low), value + other * (high - value)


def small_sample(n: int, level: float) -> float:
    """Return the half-width of the interval of a mean of n normal values, in standard errors.

    Student's t with n - 1 degrees of freedom, for a standard error with divisor n, like that of a
    bootstrap.

    References
    ----------
    Hesterberg (2015), The American Statistician 69, section 4.
    """
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, 0.5 + level / 2)) * math.sqrt(n / (n - 1))


def paired_proportions(now: Floats, then: Floats, level: float = 0.95) -> tuple[float, float]:
    """Interval of the change of a proportion, in percent, on the same independent trials.

    Parameters
    ----------
    now, then : array of shape (n,)
        0, 100, or 50 for a tie, of the same trials in the same order.
    level : float
        Confidence level.

    Returns
    -------
    tuple of float
        Lower and upper end, within [-100, 100]: the changes that a score test does not reject.

    References
    ----------
    Tango (1998), Statistics in Medicine 17, equation 7.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtri

    moved = (now - then) / 100
    n = len(moved)
    rose, fell = (float(np.maximum(m, 0).sum()) for m in (moved, -moved))
    z = float(ndtri(0.5 + level / 2))

    def score(change: float) -> float:
        # The maximum-likelihood share of those that fell, given the change.
        b = (2 * n - rose + fell) * change - rose - fell
        c = -fell * change * (1 - change)
        share = (math.sqrt(max(0.0, b * b - 8 * n * c)) - b) / (4 * n)
        variance = n * (2 * share + change * (1 - change))
        return (rose - fell - n * change) / math.sqrt(max(variance, 1e-300))

    at, edge = (rose - fell) / n, 1 - 1e-12
    low = brentq(lambda c: score(c) - z, -edge, at) if -edge < at and score(-edge) > z else -1.0
    high = brentq(lambda c: score(c) + z, at, edge) if at < edge and score(edge) < -z else 1.0
    return 100 * float(low), 100 * float(high)


def sign_test(values: Floats, ideal: float) -> Test:
    """Test whether independent values are above and below the ideal equally often, without ties.

    References
    ----------
    Conover (1999), Practical Nonparametric Statistics, section 3.4; scipy's exact binomial test.
    """
    from scipy import stats

    above, below = int((values > ideal).sum()), int((values < ideal).sum())
    if above + below == 0:
        return Test(reason="every value is at the ideal")
    return Test("exact sign test", float(stats.binomtest(above, above + below).pvalue))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for a family of tests by Holm's step-down method, in the order given."""
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(len(p_values))
    running = 0.0
    for rank, index in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = running
    return [float(p) for p in adjusted]


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values to control the false discovery rate, in the order given.

    References
    ----------
    Benjamini and Hochberg (1995), Journal of the Royal Statistical Society B 57.
    """
    from scipy import stats

    if not p_values:
        return []
    return [float(p) for p in stats.false_discovery_control(p_values, method="bh")]
