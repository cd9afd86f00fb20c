"""Estimates, exact intervals and tests, and p-values adjusted for a family: thin, on scipy.stats.

Every function takes plain arrays and says in its result how the numbers were made. Where an
interval or a p-value cannot be had it is null with a reason, never zero.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

N_RESAMPLES: Final = 9_999

Floats = NDArray[np.float64]


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


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an interval is made: its level, and the generator that resampling draws from."""

    rng: np.random.Generator
    level: float = 0.95
    n_resamples: int = N_RESAMPLES


@dataclass(frozen=True, slots=True)
class Test:
    """A p-value and how it was made, or the reason why there is none."""

    how: str | None = None
    p_value: float | None = None
    reason: str | None = None


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
