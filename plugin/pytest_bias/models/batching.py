"""Batches whose results do not depend on the batch.

The padded length of a row is a function of the row alone: the next multiple of 4, since the
smallest products of attention depend on how rows are aligned in memory; on a CPU the next multiple
of 2 for a masked row, of which a sentence has as many as tokens. A batch holds one padded
length, rows with padding apart from rows without, for which attention may choose another kernel. It
has never fewer than 256 tokens (32 rows of 8 tokens, the last one repeated), a head never fewer
than 32 positions, and the token budget only decides how many rows above that. Matrix products of
that size give the same bits on a CPU whatever their number of rows, so every number is bit-equal
there whatever the budget, the order or the number of threads. A GPU's library chooses its kernel by
the number of rows: there the last bits depend on the batch (tests/parity/test_gpu.py bounds them),
so fewer and larger ones are made, in which rows with padding stand beside rows without.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

MULTIPLE: Final = 4
MASKED_MULTIPLE: Final = {"cpu": 2}
"""What rows with a mask are padded to. On a GPU more and smaller batches would cost more."""

MIN_TOKENS: Final = 256
MIN_POSITIONS: Final = 32
MIN_ROWS: Final = 16
"""Fewest rows of a batch on a CPU that forwards one token a row at a time."""


class Batch(NamedTuple):
    """Rows of one padded length. `rows` may end in repeats; the first `n` of them count."""

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
    """Return the padded lengths of rows of `length` tokens in a model that takes `limit`."""
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
        Largest number of tokens that the model takes.
    budget : int
        Tokens of one batch, padding included; a batch has at least 256 in any case.
    multiple : array_like of int, optional
        What each row is padded to a multiple of.
    mixed : bool
        Whether rows with padding may share a batch with rows without.
    positions : array_like of int, optional
        Number of positions of each row that go through the head; by default one.
    max_positions : int, optional
        Largest number of positions of one batch, for the sake of a large vocabulary.
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
    """Group rows of one exact length, longest first, for texts that are continued.

    Padding on the left, as generation has it, would move every token of a row by an amount that
    its neighbours decide. Without it a row is continued as if it were alone.

    Parameters
    ----------
    lengths : array_like of int
        Number of tokens of each row.
    room : int
        Number of tokens that each row may grow by.
    budget : int
        Tokens of one batch at its end.
    max_rows : int
        Largest number of rows of one batch.
    floor : int
        Smallest number of rows of one batch, the last one repeated.
    left : array of bool
        Which rows are still to be done.
    """
    lengths = np.asarray(lengths, dtype=np.int64)
    for group in _alike(lengths, np.flatnonzero(left)):
        length = int(lengths[group[0]])
        size = max(floor, 1, min(budget // (length + room), max_rows))
        yield from _cut(group, length, floor, size)


def _alike(kinds: NDArray[np.int64], rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield the rows of each kind, in their order, the largest kind first."""
    rows = rows[np.argsort(-kinds[rows], kind="stable")]
    if len(rows):
        yield from np.split(rows, 1 + np.flatnonzero(np.diff(kinds[rows])))


def _cut(rows: NDArray[np.int64], length: int, floor: int, size: int) -> Iterator[Batch]:
    """Cut rows of one length into batches of a size, filled up to a floor."""
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        yield Batch(np.pad(part, (0, max(0, floor - len(part))), "edge"), len(part), length)
