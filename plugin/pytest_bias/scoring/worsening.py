"""Lower bound on how much a score worsened, by a test, where its change has no interval."""

import math
from typing import Final

import numpy as np

from pytest_bias.scoring.drawing import chunks
from pytest_bias.scoring.resampling import FEWEST_ALIKE, Sums
from pytest_bias.scoring.statistics import Floats, Sampling

CELLS: Final = 1_000_000
"""Numbers that are drawn at once, so that memory does not grow with the number of clusters."""


def worsened_at_least(now: Sums, then: Sums, ideal: float, sampling: Sampling) -> float | None:
    """Return a lower bound on how much further from the ideal the value is, by a test.

    For a change without an interval, such as one that is the same in all clusters. With few
    clusters, two samples, or crossed factors, there is no such test. The baseline may be on either
    side of the ideal, so the test has to reject for both. The contribution of each cluster is
    computed from the values without it.

    Parameters
    ----------
    now, then : Sums
        Of the same items.
    """
    if len(now.samples) > 1 or now.crossing or now.n_least < FEWEST_ALIKE:
        return None
    side = 1 if now.value > ideal else -1
    (ours,), (theirs,) = now.left_out(), then.left_out()
    found = []
    for was in (1, -1):
        whole = side * (now.value - ideal) - was * (then.value - ideal)
        without = side * (ours - ideal) - was * (theirs - ideal)
        added = whole + (len(without) - 1) * (whole - without)
        found.append(typical_least(added, sampling))
    known = [least for least in found if least is not None]
    return min(known) if len(known) == len(found) and np.isfinite(known).all() else None


def typical_least(values: Floats, sampling: Sampling) -> float | None:
    """Return a one-sided lower confidence bound on the mean of independent values.

    It is the greatest number such that a test rejects a mean of at most that number. The test
    exchanges the signs of the deviations of the values from the number, which assumes that they are
    symmetric about their mean. It rejects where too few random subsets have a mean that is no
    larger, so that the number is a quantile of these means (Hartigan's typical values).

    Parameters
    ----------
    values : array of shape (n,)
        One value per independent unit.
    sampling : Sampling
        The test is one-sided, at half of 1 - `level`.

    Returns
    -------
    float or None
        None where there are too few values to reject anything.

    References
    ----------
    Hartigan (1969), Journal of the American Statistical Association 64.
    """
    n_drawn, means = sampling.draws.resamples, np.empty(0)
    for size in chunks(n_drawn, max(1, CELLS // len(values))):
        chosen = sampling.rng.random((size, len(values))) < 0.5
        with np.errstate(invalid="ignore"):
            means = np.append(means, chosen @ values / chosen.sum(axis=1))
    # The mean of an empty subset, for which no sign is exchanged, counts as large as observed.
    means = np.sort(np.where(np.isnan(means), -np.inf, means))
    at = math.floor((1 - sampling.level) / 2 * (n_drawn + 1)) - 1
    return float(means[at]) if at >= 0 and math.isfinite(means[at]) else None
