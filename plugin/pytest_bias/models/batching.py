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

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

MULTIPLE: Final = 4
MIN_TOKENS: Final = 256
MIN_POSITIONS: Final = 32
TOKEN_BUDGET: Final = {"cpu": 4096, "cuda": 16384}
MAX_LOGITS: Final = 2**26
"""Largest number of logits of one batch: 256 MB in float32."""


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


def padded_length(length: int, limit: int) -> int:
    """Return the padded length of a row of `length` tokens in a model that takes `limit`."""
    return min(-(-length // MULTIPLE) * MULTIPLE, max(limit, length))


def batches(
    lengths: Sequence[int],
    *,
    limit: int,
    budget: int,
    max_rows: int | None = None,
    left: NDArray[np.bool_] | None = None,
) -> Iterator[Batch]:
    """Group rows by padded length, longest first, within a budget of tokens.

    Parameters
    ----------
    lengths : sequence of int
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
    groups: dict[tuple[int, bool], list[int]] = {}
    for row, length in enumerate(lengths):
        if left is not None and not left[row]:
            continue
        padded = padded_length(length, limit)
        groups.setdefault((padded, padded == length), []).append(row)
    for (length, _), rows in sorted(groups.items(), reverse=True):
        floor = -(-MIN_TOKENS // length)
        size = max(floor, min(budget // length, max_rows or len(rows)))
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            repeats = [part[-1]] * (floor - len(part))
            yield Batch(np.array(part + repeats, dtype=np.int64), len(part), length)
