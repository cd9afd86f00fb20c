"""Paired change between two versions on the same items: of the value, and of its distance.

Clusters are resampled in both versions together, so that what they share cancels out.
"""

import math
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np

from pytest_bias.scoring import statistics, unsigned
from pytest_bias.scoring.finite import finite
from pytest_bias.scoring.permutation import difference, exchange_test
from pytest_bias.scoring.resampling import UNDEFINED, Sums, equal_units, estimate, too_few, variance
from pytest_bias.scoring.statistics import Estimate, Floats, Sampling

_estimate = partial(estimate, constant="all items changed by the same")


def change(now: Sums, then: Sums, sampling: Sampling) -> Estimate:
    """Estimate the current value minus the baseline's, with its paired interval and test.

    Parameters
    ----------
    now, then : Sums
        Of the same items; clusters are resampled in both together.
    sampling : Sampling
        Its bounds are those of the values.
    """
    if not math.isfinite(now.value - then.value):
        why = "nothing was scored in both"
        return Estimate(None, interval_reason=why, p_reason=why)
    found = _changed(now, then, sampling)
    test = exchange_test(now, then, sampling)
    return finite(replace(found, test=test.how, p_value=test.p_value, p_reason=test.reason))


def worsening(
    now: Sums,
    then: Sums,
    ideal: float,
    sampling: Sampling,
) -> Estimate:
    """Estimate how much further from the ideal the current value is, with its paired interval.

    A distance has a corner at the ideal, where its bootstrap has too little coverage. On either
    side it is linear, so the interval is made for the sides on which the two values are: for both
    sides of a value that may be on either, from the least to the greatest end of all. A distance
    never changes by more than the value does.
    """
    values = now.value - ideal, then.value - ideal
    if not all(map(math.isfinite, values)):
        return Estimate(None, interval_reason="nothing was scored in both")
    found = Estimate(abs(values[0]) - abs(values[1]), n_clusters=now.n_units)
    changed = _changed(now, then, sampling)
    if changed.interval is None:
        return replace(found, interval_reason=changed.interval_reason)
    most = max(map(abs, changed.interval))
    ends = []
    for side, was in product(*(_sides(s, ideal, sampling) for s in (now, then))):
        if side == was:
            ends += [side * end for end in changed.interval]
            continue

        def further(a: Floats, b: Floats, side: int = side) -> Floats:
            return side * (a + b - 2 * ideal)

        across = _estimate(difference(now, then, further), replace(sampling, bounds=(None, None)))
        ends += [max(-most, min(most, end)) for end in across.interval or (-most, most)]
    return finite(replace(found, method=changed.method, interval=(min(ends), max(ends))))


def _changed(now: Sums, then: Sums, sampling: Sampling) -> Estimate:
    low, high = sampling.bounds
    most = None if low is None or high is None else high - low
    of_change = replace(sampling, bounds=(most and -most, most))
    if now.unsigned and then.unsigned:
        return _size_changed(now, then, of_change)
    sums = difference(now, then, np.subtract)
    if not (now.independent and then.independent):
        return _estimate(sums, of_change)
    ours, theirs = (s.samples[0][:, 0] for s in (now, then))
    interval = statistics.paired_proportions(ours, theirs, sampling.level)
    found = Estimate(sums.value, n_clusters=sums.n_units)
    return replace(found, method="tango", interval=interval)


def _size_changed(now: Sums, then: Sums, sampling: Sampling) -> Estimate:
    """Estimate the change of an unsigned statistic.

    The error of either size is at most the size of the errors of its parts, and a size changes by
    at most the size of the changes of its parts. Each of the two bounds gets half of the error
    probability, and the interval is where both hold.
    """
    assert now.unsigned is not None
    assert then.unsigned is not None
    value, size = now.value - then.value, now.unsigned.size
    found = Estimate(value, n_clusters=now.n_units)
    if few := too_few(now):
        return replace(found, interval_reason=few)
    parts = [replace(s, of_totals=s.unsigned.signed) for s in (now, then) if s.unsigned]
    first, second, moved = (
        difference(parts[0], parts[1], between)
        for between in (lambda a, _: a, lambda _, b: b, np.subtract)
    )
    both = replace(moved, unsigned=now.unsigned)
    half = replace(sampling, level=(1 + sampling.level) / 2)
    apart = unsigned.reach(both, [first.of_totals, second.of_totals], half)
    together = unsigned.reach(both, [moved.of_totals], half)
    if apart is None or together is None:
        return replace(found, interval_reason=UNDEFINED)
    if together == 0:
        return equal_units(found, now, sampling, "all items changed by the same")
    rose, fell = (float(size(sign * moved.of_totals(*both.totals))) for sign in (1, -1))
    interval = max(value - apart, -fell - together), min(value + apart, rose + together)
    return replace(found, method=unsigned.METHOD, interval=interval)


def _sides(sums: Sums, ideal: float, sampling: Sampling) -> tuple[int, ...]:
    """Return the sides of the ideal on which a value may be, 1 above and -1 below.

    Both, unless the scale ends there or the value is so far away that the probability of the wrong
    side is at most a tenth of 1 - `level` (normal, with the standard error of the jackknife).
    """
    from scipy.special import ndtri

    if sums.unsigned:
        return (1,)
    if ideal in sampling.bounds:
        return (1,) if ideal == sampling.bounds[0] else (-1,)
    distance = sums.value - ideal
    spread = variance(sums)
    sure = float(ndtri(1 - (1 - sampling.level) / 20))
    if spread is not None and abs(distance) > sure * math.sqrt(spread):
        return (1,) if distance > 0 else (-1,)
    return (1, -1)
