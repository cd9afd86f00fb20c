"""Batches whose results do not depend on the batch.

The padded length of a row is a function of the row alone: the next multiple of 4, since the
smallest products of attention depend on how rows are aligned in memory. A batch holds one padded
length, rows with padding apart from rows without, for which attention may choose another kernel. It
has never fewer than 256 tokens (32 rows of 8 tokens, the last one repeated), a head never fewer
than 32 positions, and the token budget only decides how many rows above that. Matrix products of
that size give the same bits on a CPU whatever their number of rows, so every number is bit-equal
there whatever the budget, the order or the number of threads. A GPU's library chooses its kernel by
the number of rows: there the last bits depend on the batch (tests/parity/test_gpu.py bounds them).
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

MULTIPLE: Final = 4
MIN_TOKENS: Final = 256
MIN_POSITIONS: Final = 32


class Batch(NamedTuple):
    """Rows of one padded length. `rows` may end in repeats; the first `n` of them count."""

    rows: NDArray[np.int64]
    n: int
    length: int


def padded_length(length: ArrayLike, limit: int) -> NDArray[np.int64]:
    """Return the padded lengths of rows of `length` tokens in a model that takes `limit`."""
    length = np.asarray(length, dtype=np.int64)
    padded: NDArray[np.int64] = -(-length // MULTIPLE) * MULTIPLE
    return padded.clip(max=np.maximum(limit, length))


def batches(
    lengths: ArrayLike,
    *,
    limit: int,
    budget: int,
    max_rows: int | None = None,
    left: NDArray[np.bool_] | None = None,
) -> Iterator[Batch]:
    """Group rows by padded length, longest first, within a budget of tokens.

    Parameters
    ----------
    lengths : array_like of int
        Number of tokens of each row.
    limit : int
        Largest number of tokens that the model takes.
    budget : int
        Tokens of one batch, padding included; a batch has at least 256 in any case.
    max_rows : int, optional
        Largest number of rows of one batch, for instance for the sake of a large vocabulary.
    left : array of bool, optional
        Which rows are still to be done; by default all.
    """
    lengths = np.asarray(lengths, dtype=np.int64)
    padded = padded_length(lengths, limit)
    kinds = 2 * padded + (padded == lengths)
    rows = np.flatnonzero(np.ones_like(lengths) if left is None else left)
    rows = rows[np.argsort(-kinds[rows], kind="stable")]
    for group in np.split(rows, 1 + np.flatnonzero(np.diff(kinds[rows]))):
        if not len(group):
            continue
        length = int(padded[group[0]])
        floor = -(-MIN_TOKENS // length)
        size = max(floor, min(budget // length, max_rows or len(group)))
        for start in range(0, len(group), size):
            part = group[start : start + size]
            yield Batch(np.pad(part, (0, max(0, floor - len(part))), "edge"), len(part), length)
