"""Bootstrap resampling of units; where many units are identical, only their counts are drawn."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pytest_bias.scoring.statistics import Floats, Sampling

BATCH: Final = 500
"""Resamples that are drawn at a time; the draws of several samples take turns."""
AT_A_TIME: Final = 2**16
"""Counts of drawn units that are held at a time, so that they stay in the processor's cache."""
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
    parts = [_apart(sample) for sample in samples]
    found = []
    for size in chunks(sampling.draws.resamples, BATCH):
        drawn = (_drawn(s, p, size, sampling) for s, p in zip(samples, parts, strict=True))
        found.append(statistic(*drawn))
    return np.concatenate(found)


def alike_units(samples: Sequence[Floats]) -> list[tuple[Floats, NDArray[np.int64]]]:
    """Return the distinct units of each sample, and the count of each.

    Empty where there are few units, or few of them are identical.
    """
    n_units = sum(map(len, samples))
    if n_units < MANY or min(map(len, samples)) == 0:
        return []
    found = [np.unique(sample, axis=0, return_counts=True) for sample in samples]
    return found if ALIKE * sum(len(rows) for rows, _ in found) <= n_units else []


@dataclass(frozen=True, slots=True)
class _Part:
    """Columns of a sample, and the rows that are not zero in all of them."""

    columns: NDArray[np.int64]
    rows: NDArray[np.int64]
    values: Floats


def _apart(sample: Floats) -> list[_Part]:
    """Split a sample into columns that no row shares, such as the sums of groups of units."""
    is_used = sample != 0
    shared = (is_used.T.astype(np.float64) @ is_used.astype(np.float64)) > 0
    found, left = [], set(range(sample.shape[1]))
    while left:
        columns = reached = {min(left)}
        while reached:
            reached = {int(c) for c in np.flatnonzero(shared[list(reached)].any(axis=0))} - columns
            columns = columns | reached
        left -= columns
        at = np.array(sorted(columns))
        rows = np.flatnonzero(is_used[:, at].any(axis=1))
        found.append(_Part(at, rows, np.ascontiguousarray(sample[np.ix_(rows, at)])))
    return found


def _drawn(sample: Floats, parts: Sequence[_Part], size: int, sampling: Sampling) -> Floats:
    """Return the totals of `size` resamples of the rows of a sample, of shape (size, n_columns)."""
    n = len(sample)
    drawn = sampling.rng.integers(0, n, (size, n))
    totals = np.empty((size, sample.shape[1]))
    step = max(1, AT_A_TIME // n)
    times = np.empty((step, n))
    for start in range(0, size, step):
        end = min(size, start + step)
        for number in range(start, end):
            times[number - start] = np.bincount(drawn[number], minlength=n)
        here = times[: end - start]
        for part in parts:
            counts = here if len(part.rows) == n else here[:, part.rows]
            # einsum adds up in the order of the rows, whatever the number of threads.
            totals[start:end, part.columns] = np.einsum("bn,nk->bk", counts, part.values)
    return totals


def chunks(total: int, size: int) -> Iterator[int]:
    """Yield the sizes of chunks, so that memory does not grow with the number of units."""
    for start in range(0, total, size):
        yield min(size, total - start)
