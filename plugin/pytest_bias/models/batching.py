"""Batching such that results do not depend on the composition of batches.

The padded length of a row is a function of the row alone: the next multiple of 4, since the
smallest products of attention depend on the alignment of rows in memory; on a CPU the next multiple
of 2 for a masked row, of which a sentence has one per token. All rows of a batch have the same
padded length, and rows with padding are separated from rows without, for which attention may choose
another kernel. A batch has at least 256 tokens (32 rows of 8 tokens, the last one repeated), a head
at least 32 positions; the token budget only determines the number of rows beyond that. On a CPU,
matrix products of that size are bit-identical for any number of rows, so results do not depend on
the budget, the order or the number of threads. On a GPU the library chooses its kernel by the
number of rows, so the last bits depend on the batch (tests/parity/test_gpu.py bounds them); there
batches are fewer and larger, and mix rows with and without padding.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

MULTIPLE: Final = 4
MASKED_MULTIPLE: Final = {"cpu": 2}
"""Multiple to which masked rows are padded. On a GPU more and smaller batches would cost more."""

MIN_TOKENS: Final = 256
MIN_POSITIONS: Final = 32
MIN_ROWS: Final = 16
"""Minimum rows of a batch on a CPU for forwards of one token per row."""


class Batch(NamedTuple):
    """Rows of one padded length. `rows` may end in repeats; only the first `n` count."""

    rows: NDArray[np.int64]
    n: int
    length: int

    @property
    def n_tokens(self) -> int:
        """Tokens of the rows that count, padding included."""
        return self.n * self.length

    @property
    def n_positions(self) -> int:
        """Positions that go through a head."""
        return 0


def padded_length(
    length: ArrayLike, limit: int, multiple: ArrayLike = MULTIPLE
) -> NDArray[np.int64]:
    """Return the padded lengths of rows of `length` tokens, for a model limited to `limit`."""
    length = np.asarray(length, dtype=np.int64)
    multiple = np.asarray(multiple, dtype=np.int64)
    padded: NDArray[np.int64] = -(-length // multiple) * multiple
    return padded.clip(max=np.maximum(limit, length))


def batches(
    lengths: ArrayLike,
    *,
    limit: int,
    budget: int,
    multiple: ArrayLike = MULTIPLE,
    mixed: bool = False,
    positions: ArrayLike = 1,
    max_positions: int | None = None,
    left: NDArray[np.bool_] | None = None,
) -> Iterator[Batch]:
    """Group rows by padded length, longest first, within a budget of tokens.

    Parameters
    ----------
    lengths : array_like of int
        Number of tokens of each row.
    limit : int
        Maximum number of tokens of the model.
    budget : int
        Tokens of one batch, padding included; a batch has at least 256 in any case.
    multiple : array_like of int, optional
        Multiple to which each row is padded.
    mixed : bool
        Whether rows with padding may share a batch with rows without.
    positions : array_like of int, optional
        Number of positions of each row at which the head runs; by default one.
    max_positions : int, optional
        Maximum number of positions of one batch, to bound memory with a large vocabulary.
    left : array of bool, optional
        Which rows are still to be done; by default all.
    """
    lengths = np.asarray(lengths, dtype=np.int64)
    positions = np.broadcast_to(np.asarray(positions, dtype=np.int64), lengths.shape)
    padded = padded_length(lengths, limit, multiple)
    kinds = 2 * padded + (padded == lengths) * (not mixed)
    rows = np.flatnonzero(np.ones_like(lengths) if left is None else left)
    for group in _alike(kinds, rows):
        length = int(padded[group[0]])
        floor = -(-MIN_TOKENS // length)
        most = max(1, int(positions[group].max()))
        fits = max_positions // most if max_positions else len(group)
        size = max(floor, min(budget // length, fits))
        yield from _cut(group, length, floor, size)


def batches_without_padding(
    lengths: ArrayLike,
    *,
    room: int,
    budget: int,
    max_rows: int,
    floor: int,
    left: NDArray[np.bool_],
) -> Iterator[Batch]:
    """Group rows of equal length, longest first, for text generation.

    The usual padding on the left would shift the tokens of a row by an amount that depends on the
    other rows. Without padding each row is continued as if it were alone.

    Parameters
    ----------
    lengths : array_like of int
        Number of tokens of each row.
    room : int
        Maximum number of new tokens per row.
    budget : int
        Tokens of one batch, including the new ones.
    max_rows : int
        Maximum number of rows of one batch.
    floor : int
        Minimum number of rows of one batch, filled by repeating the last one.
    left : array of bool
        Which rows are still to be done.
    """
    lengths = np.asarray(lengths, dtype=np.int64)
    for group in _alike(lengths, np.flatnonzero(left)):
        length = int(lengths[group[0]])
        size = max(floor, 1, min(budget // (length + room), max_rows))
        yield from _cut(group, length, floor, size)


def _alike(kinds: NDArray[np.int64], rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield the rows of each kind, in order, the largest kind first."""
    rows = rows[np.argsort(-kinds[rows], kind="stable")]
    if len(rows):
        yield from np.split(rows, 1 + np.flatnonzero(np.diff(kinds[rows])))


def _cut(rows: NDArray[np.int64], length: int, floor: int, size: int) -> Iterator[Batch]:
    """Split rows of one length into batches of a size, filled up to a minimum."""
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        yield Batch(np.pad(part, (0, max(0, floor - len(part))), "edge"), len(part), length)
