"""Estimates, exact intervals and tests, and p-values adjusted for a family: thin, on scipy.stats.

Every function takes plain arrays and says in its result how the numbers were made. Where an
interval or a p-value cannot be had it is null with a reason, never zero.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

VERSION: Final = 2
"""Version of how intervals, tests and what chance gives are made, and of which records.

Values depend on it only where an item that is compared with others could not be scored.
"""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Draws:
    """How many random draws stand behind intervals, tests and what chance gives.

    Parameters
    ----------
    resamples : int
        Bootstrap resamples behind an interval, and permutations behind most p-values.
    arrangements : int
        Most arrangements that a permutation test goes through one by one; of more it draws a
        sample. Of the words of an association test it draws as many.
    shuffles : int
        Shuffles behind what an unsigned statistic comes to by chance.
    partitions : int
        Partitions of words behind what a mean of effect sizes comes to by chance.
    """

    resamples: int = 9_999
    arrangements: int = 100_000
    shuffles: int = 999
    partitions: int = 2_000


DRAWS = Draws()
"""What every score is made with."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with what is known about its uncertainty."""

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
    """Where there is no interval: a test rejects every smaller value, on this one side."""


Bounds = tuple[float | None, float | None]
"""Least and greatest value that a number can have; None where there is none."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How intervals and tests are made: level, generator, how often it is drawn from, and bounds.

    `bounds` are those of the number that is estimated: what has not been seen lies within them.
    """

    rng: np.random.Generator
    level: float = 0.95
    draws: Draws = field(default_factory=lambda: DRAWS)
    bounds: Bounds = (None, None)


@dataclass(frozen=True, slots=True)
class Test:
    """A p-value and how it was made, or the reason why there is none."""

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
    """Interval of a bounded mean, or difference of means, of which all units seen are alike.

    If n of n units are alike, at most a share s = 1 - (a / 2)^(1 / n) of those that they were drawn
    from is not, with a = 1 - `level`; what these give lies within the bounds.

    Parameters
    ----------
    value : float
        What every unit gives.
    bounds : tuple of float
        Least and greatest value that a unit can give.
    n : float
        Number of units; of units of unequal size the number of equal ones that tell as much.
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
    """Return how many standard errors to either side of the mean of n normal values it takes.

    Student's t with n - 1 degrees of freedom, for a standard error that divides by n, as that of a
    bootstrap does.

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
        # The likeliest share of those that fell, if the change is what it is said to be.
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
    """Test whether independent values lie above and below the ideal equally often; ties drop out.

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
    """Adjust p-values so that of what is found at most a share is false, in the order given.

    References
    ----------
    Benjamini and Hochberg (1995), Journal of the Royal Statistical Society B 57.
    """
    from scipy import stats

    if not p_values:
        return []
    return [float(p) for p in stats.false_discovery_control(p_values, method="bh")]
