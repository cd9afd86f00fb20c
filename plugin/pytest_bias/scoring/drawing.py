"""Bootstrap resampling of units; where many units are identical, only their counts are drawn."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pytest_bias.scoring.statistics import Floats, Sampling

MANY: Final = 5_000
"""Fewest units for which identical ones are counted instead of drawn one by one."""
ALIKE: Final = 50
"""Average number of units per kind that this requires."""


def resampled(
    samples: Sequence[Floats], statistic: Callable[..., Floats], sampling: Sampling
) -> Floats:
    """Return a statistic of the totals of resamples, of shape (n_resamples, ...).

    Where units are many and few of them differ, such as trials that are right or wrong, how often
    each kind is drawn has a multinomial distribution, and no unit has to be drawn individually.
    """
    if kinds := alike_units(samples):
        totals = []
        for rows, counts in kinds:
            n, share = counts.sum(), counts / counts.sum()
            times = sampling.rng.multinomial(n, share, size=sampling.draws.resamples)
            totals.append(np.einsum("bk,kj->bj", times.astype(np.float64), rows))
        return statistic(*totals)
    from scipy import stats

    def of_drawn(*index: NDArray[np.int64], axis: int = -1) -> Floats:
        return statistic(*(_drawn(s, i) for s, i in zip(samples, index, strict=True)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: Floats = stats.bootstrap(
            tuple(np.arange(len(s)) for s in samples),
            of_drawn,
            n_resamples=sampling.draws.resamples,
            batch=500,
            vectorized=True,
            confidence_level=sampling.level,
            method="percentile",
            rng=sampling.rng,
        ).bootstrap_distribution
    return found


def alike_units(samples: Sequence[Floats]) -> list[tuple[Floats, NDArray[np.int64]]]:
    """Return the distinct units of each sample, and the count of each.

    Empty where there are few units, or few of them are identical.
    """
    n_units = sum(map(len, samples))
    if n_units < MANY or min(map(len, samples)) == 0:
        return []
    found = [np.unique(sample, axis=0, return_counts=True) for sample in samples]
    return found if ALIKE * sum(len(rows) for rows, _ in found) <= n_units else []


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
