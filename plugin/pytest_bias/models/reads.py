"""Which log-probabilities a measure needs, written down before any forward.

A *base* is a sequence of token ids; a *row* is a base with at most one position replaced by the
mask; a *read* is the log-probability of one token at one position of a row. Suites of reads are
short lists of integers, so that a whole suite is planned at once and nothing is computed twice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pytest_bias.models.batching import MIN_POSITIONS, batches, padded_length
from pytest_bias.records import canonical_json, sha256

UNMASKED: Final = -1

Ints = NDArray[np.int64]


class ReadBatch(NamedTuple):
    """One forward.

    `ids` and `attention` have shape (rows, length); `positions` has shape (2, n_positions): row and
    column of every position whose distribution is needed. Read ``reads[i]`` is token `targets[i]`
    of the distribution at position `at[i]`. `rows` says which rows of the plan these are; `ids` may
    hold repeats behind them.
    """

    rows: Ints
    ids: Ints
    attention: Ints
    positions: Ints
    reads: Ints
    at: Ints
    targets: Ints

    @property
    def n_tokens(self) -> int:
        """Tokens of the rows that count, padding included."""
        return len(self.rows) * int(self.ids.shape[1])

    @property
    def n_positions(self) -> int:
        """Positions that go through the head."""
        return int(self.positions.shape[1])


@dataclass
class Reads:
    """Collects reads and turns them into batches."""

    mask_id: int | None = None
    _bases: dict[tuple[int, ...], int] = field(default_factory=dict)
    _rows: dict[tuple[int, int], int] = field(default_factory=dict)
    _reads: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._reads)

    @property
    def n_rows(self) -> int:
        """Number of sequences that have to be forwarded."""
        return len(self._rows)

    def digest(self) -> str:
        """Return the digest of all that is asked, in its order."""
        asked = [self.mask_id, [*self._bases], [*self._rows], [*self._reads]]
        return sha256(canonical_json(asked))

    def rows_of(self, which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which rows have a read among those marked in `which`."""
        rows = np.zeros(self.n_rows, dtype=np.bool_)
        rows[[row for marked, (row, _, _) in zip(which, self._reads, strict=True) if marked]] = True
        return rows

    def add(self, ids: Sequence[int], position: int, target: int, *, mask: bool) -> int:
        """Ask for log P(`target`) at a position of a sequence; returns the read's index."""
        base = self._bases.setdefault(tuple(ids), len(self._bases))
        row = self._rows.setdefault((base, position if mask else UNMASKED), len(self._rows))
        return self._reads.setdefault((row, position, target), len(self._reads))

    def batches(
        self,
        *,
        pad_id: int,
        limit: int,
        budget: int,
        max_positions: int,
        left: NDArray[np.bool_] | None = None,
    ) -> Iterator[ReadBatch]:
        """Yield forwards that together answer every read once, of the rows that are `left`."""
        bases = list(self._bases)
        base_of, mask_at = np.array(list(self._rows), dtype=np.int64).reshape(-1, 2).T
        row_of, position, target = np.array(list(self._reads), dtype=np.int64).reshape(-1, 3).T
        order = np.argsort(row_of, kind="stable")
        first = np.searchsorted(row_of[order], np.arange(len(base_of) + 1))
        per_row = np.diff(first)
        lengths = [len(bases[b]) for b in base_of]
        max_rows = max_positions // max(1, int(per_row.max(initial=1)))
        matrix, matrix_length, local = np.empty((0, 0), dtype=np.int64), 0, np.empty(0, np.int64)
        for batch in batches(lengths, limit=limit, budget=budget, max_rows=max_rows, left=left):
            if batch.length != matrix_length:
                matrix_length = batch.length
                matrix, local = _matrix(bases, matrix_length, pad_id, limit)
            rows = batch.rows
            ids = matrix[local[base_of[rows]]]
            masked = np.flatnonzero(mask_at[rows] != UNMASKED)
            if self.mask_id is not None:
                ids[masked, mask_at[rows[masked]]] = self.mask_id
            size = np.array([lengths[r] for r in rows])
            attention = (np.arange(batch.length) < size[:, None]).astype(np.int64)
            reads = np.concatenate([order[first[r] : first[r + 1]] for r in rows])
            slot = np.repeat(np.arange(len(rows)), per_row[rows])
            keys = slot * batch.length + position[reads]
            unique, at = np.unique(keys, return_inverse=True)
            missing = max(0, MIN_POSITIONS - len(unique))
            positions = np.stack(np.divmod(np.pad(unique, (0, missing), "edge"), batch.length))
            yield ReadBatch(rows[: batch.n], ids, attention, positions, reads, at, target[reads])


def _matrix(
    bases: Sequence[tuple[int, ...]], length: int, pad_id: int, limit: int
) -> tuple[Ints, Ints]:
    """Pad the bases that go into rows of one length; also where each of them is."""
    local = np.full(len(bases), -1, dtype=np.int64)
    members = [b for b, ids in enumerate(bases) if padded_length(len(ids), limit) == length]
    matrix = np.full((len(members), length), pad_id, dtype=np.int64)
    for row, base in enumerate(members):
        local[base] = row
        matrix[row, : len(bases[base])] = bases[base]
    return matrix, local
