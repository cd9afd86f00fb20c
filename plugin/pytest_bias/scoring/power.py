"""Power analysis: the difference that a suite can detect with its items, before any measurement.

Everything here is the normal approximation. It shows what to expect and decides nothing: the
intervals of a report are made from its records.
"""

import math
from collections.abc import Sequence
from typing import Final

LEVEL: Final = 0.95
POWER: Final = 0.80


def half_width_of_share(n: int, level: float = LEVEL) -> float:
    """Half-width of the Wilson interval of a percentage of 50.

    At p = 1/2 the interval (Wilson 1927) is symmetric: z / (2 sqrt(n + z^2)).

    Parameters
    ----------
    n : int
        Number of independent items, at least 1.
    level : float
        Confidence level.

    Returns
    -------
    float
        Percentage points, below 50.
    """
    z = _quantile(0.5 + level / 2)
    return 100 * z / (2 * math.sqrt(_positive(n) + z * z))


def smallest_change_of_share(
    n: int, changed: float, level: float = LEVEL, power: float = POWER
) -> float | None:
    """Smallest true change of a percentage, on the same items, that is detected with this power.

    Between two versions of a model each item changes sides with probability `changed`, more often
    in one direction than in the other; the net change is d. Its estimate has the variance
    (changed - d^2) / n, and it is detected where its interval excludes zero. So
    d = K sqrt((changed - d^2) / n), with K = z(level) + z(power), which gives
    d = K sqrt(changed / (n + K^2)) (paired proportions, as Connor 1987, with the variance of the
    interval).

    Parameters
    ----------
    n : int
        Number of independent items, at least 1.
    changed : float
        Share of the items that change sides, in (0, 1].
    level, power : float
        Confidence level of the interval, and probability of detecting the change.

    Returns
    -------
    float or None
        Percentage points; None where even changes in one direction only would not be enough.
    """
    if not 0 < changed <= 1:
        raise ValueError("`changed` must be above 0 and at most 1.")
    k = _quantile(0.5 + level / 2) + _quantile(power)
    change = k * math.sqrt(changed / (_positive(n) + k * k))
    return 100 * change if change <= changed else None


def half_width_of_mean(sizes: Sequence[int], level: float = LEVEL) -> float:
    """Half-width of the interval of a mean over clustered items, in cluster standard deviations.

    Clusters have a standard deviation of one, and items within a cluster do not vary. A cluster is
    weighted by its number of items, so the standard error is
    sqrt(sum of squared sizes) / sum of sizes (Kish 1965).

    Parameters
    ----------
    sizes : sequence of int
        Number of items in each cluster, at least one cluster.
    level : float
        Confidence level.
    """
    return _quantile(0.5 + level / 2) * _error(sizes)


def smallest_change_of_mean(
    sizes: Sequence[int], level: float = LEVEL, power: float = POWER
) -> float:
    """Smallest true change of a mean that is detected, in standard deviations of cluster changes.

    It is detected where the interval of the change, over the same clusters, excludes zero; `sizes`
    are as in `half_width_of_mean`.
    """
    return (_quantile(0.5 + level / 2) + _quantile(power)) * _error(sizes)


def _error(sizes: Sequence[int]) -> float:
    if not sizes or min(sizes) < 1:
        raise ValueError("`sizes` must hold at least one cluster, and none that is empty.")
    return math.sqrt(sum(n * n for n in sizes)) / sum(sizes)


def _quantile(probability: float) -> float:
    if not 0 < probability < 1:
        raise ValueError("`level` and `power` must be between 0 and 1.")
    from scipy.special import ndtri

    return float(ndtri(probability))


def _positive(n: int) -> int:
    if n < 1:
        raise ValueError("`n` must be at least 1.")
    return n
