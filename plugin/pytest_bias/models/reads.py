"""Plans of log-probabilities that a measure needs, made before any forward.

A *base* is a sequence of token ids, or several that begin alike, in one; a *row* is a base with at
most one position replaced by the mask; a *read* is the log-probability of one token at one position
of a row. Reads are short lists of integers, so that a whole suite is planned at once and nothing is
computed twice.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pytest_bias.models.batching import MIN_POSITIONS, MULTIPLE, batches
from pytest_bias.records.report import canonical_json, sha256

UNMASKED: Final = -1

Ints = NDArray[np.int64]


class Branches(NamedTuple):
    """Sequences that begin alike, as one row: the beginning once, then the rest of each.

    Parameters
    ----------
    ids : tuple of int
        Token ids of the row.
    lengths : tuple of int
        Tokens of the beginning, and of each rest.
    """

    ids: tuple[int, ...]
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, sequences: Sequence[list[int]]) -> "Branches":
        """Join sequences, so that each keeps at least one token of its own."""
        least = min(map(len, sequences)) - 1
        ends = zip(min(sequences), max(sequences), strict=False)
        n = next((at for at, (a, b) in enumerate(ends) if a != b or at == least), least)
        rests = [ids[n:] for ids in sequences]
        return cls((*sequences[0][:n], *chain.from_iterable(rests)), (n, *map(len, rests)))

    @property
    def ends(self) -> tuple[int, ...]:
        """Position of the last token of each sequence."""
        return tuple(n - 1 for n in accumulate(self.lengths))[1:]

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence."""
        return self.lengths[0] + max(self.lengths[1:])

    def columns(self, length: int) -> tuple[Ints, Ints]:
        """Return the number and the position of the sequence of each token, 0 in the beginning.

        Padding is a sequence of its own.
        """
        parts = (*self.lengths, length - len(self.ids))
        shared = self.lengths[0]
        starts = (0, *(shared,) * (len(parts) - 1))
        which = np.repeat(np.arange(len(parts)), parts)
        places = [np.arange(s, s + n) for s, n in zip(starts, parts, strict=True)]
        return which, np.concatenate(places).clip(max=self.longest - 1)


class ReadBatch(NamedTuple):
    """One forward.

    `ids` and `attention` have shape (rows, length); `positions` has shape (2, n_positions): row and
    column of every position whose distribution is needed. Read ``reads[i]`` is token `targets[i]`
    of the distribution at position `at[i]`. `rows` are the numbers of these rows in the plan; `ids`
    may have repeated rows after them. Where rows have branches, `branches` and `places`, of shape
    (rows, length), are the number of each token's branch and its position in it.
    """

    rows: Ints
    ids: Ints
    attention: Ints
    positions: Ints
    reads: Ints
    at: Ints
    targets: Ints
    branches: Ints | None = None
    places: Ints | None = None

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
    _bases: dict[tuple[int, ...] | Branches, int] = field(default_factory=dict)
    _rows: dict[tuple[int, int], int] = field(default_factory=dict)
    _reads: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._reads)

    @property
    def n_rows(self) -> int:
        """Number of sequences to forward."""
        return len(self._rows)

    def digest(self) -> str:
        """Return the digest of all reads, in order."""
        asked = [self.mask_id, [*self._bases], [*self._rows], [*self._reads]]
        return sha256(canonical_json(asked))

    def rows_of(self, which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which rows have one of the reads marked in `which`."""
        rows = np.zeros(self.n_rows, dtype=np.bool_)
        rows[[row for marked, (row, _, _) in zip(which, self._reads, strict=True) if marked]] = True
        return rows

    def add(self, ids: Sequence[int], position: int, target: int, *, mask: bool) -> int:
        """Add a read of log P(`target`) at a position of a sequence; returns its index."""
        return self.add_to(self.base(ids), position, target, mask=mask)

    def base(self, ids: Sequence[int] | Branches) -> int:
        """Return the number of a sequence, for `add_to`."""
        key = ids if isinstance(ids, Branches) else tuple(ids)
        return self._bases.setdefault(key, len(self._bases))

    def add_to(self, base: int, position: int, target: int, *, mask: bool) -> int:
        """Add a read of a known sequence; with long ones this is faster than `add`."""
        row = self._rows.setdefault((base, position if mask else UNMASKED), len(self._rows))
        return self._reads.setdefault((row, position, target), len(self._reads))

    def batches(
        self,
        *,
        pad_id: int,
        limit: int,
        budget: int,
        max_positions: int,
        masked_multiple: int = MULTIPLE,
        mixed: bool = False,
        left: NDArray[np.bool_] | None = None,
    ) -> Iterator[ReadBatch]:
        """Yield forwards that cover every read once, for the rows that are `left`.

        Rows with a mask are padded to a multiple of `masked_multiple`; `mixed` as in `batches`.
        """
        joined = [base if isinstance(base, Branches) else None for base in self._bases]
        bases = [base.ids if isinstance(base, Branches) else base for base in self._bases]
        base_lengths = np.fromiter(map(len, bases), np.int64, len(bases))
        base_of, mask_at = _columns(self._rows, 2)
        row_of, position, target = _columns(self._reads, 3)
        order = np.argsort(row_of, kind="stable")
        first = np.searchsorted(row_of[order], np.arange(len(base_of) + 1))
        per_row = np.diff(first)
        lengths = base_lengths[base_of]
        branching = np.array([base is not None for base in joined], dtype=np.bool_)[base_of]
        left = np.ones(len(base_of), dtype=np.bool_) if left is None else left
        grouped = chain.from_iterable(
            batches(
                lengths,
                limit=limit,
                budget=budget,
                multiple=np.where(mask_at == UNMASKED, MULTIPLE, masked_multiple),
                mixed=mixed,
                positions=per_row,
                max_positions=max_positions,
                left=left & (branching == apart),
            )
            for apart in (False, True)
        )
        for batch in grouped:
            rows = batch.rows
            here, which = np.unique(base_of[rows], return_inverse=True)
            ids = padded_matrix([bases[b] for b in here], batch.length, pad_id)[which]
            masked = np.flatnonzero(mask_at[rows] != UNMASKED)
            if self.mask_id is not None:
                ids[masked, mask_at[rows[masked]]] = self.mask_id
            attention = (np.arange(batch.length) < lengths[rows, None]).astype(np.int64)
            # Repeats are forwarded but not read. Reads of one row are adjacent in `order`.
            rows = rows[: batch.n]
            slot = np.repeat(np.arange(len(rows)), per_row[rows])
            behind = np.cumsum(per_row[rows])
            reads = order[np.arange(len(slot)) + np.repeat(first[rows + 1] - behind, per_row[rows])]
            keys = slot * batch.length + position[reads]
            unique, at = np.unique(keys, return_inverse=True)
            missing = max(0, MIN_POSITIONS - len(unique))
            positions = np.stack(np.divmod(np.pad(unique, (0, missing), "edge"), batch.length))
            found = ReadBatch(rows, ids, attention, positions, reads, at, target[reads])
            if branches := [base for b in here if (base := joined[b])]:
                columns = [np.stack(base.columns(batch.length)) for base in branches]
                found = found._replace(
                    **dict(zip(("branches", "places"), np.stack(columns, 1)[:, which], strict=True))
                )
            yield found


def padded_matrix(sequences: Sequence[Sequence[int]], length: int, pad_id: int) -> Ints:
    """Return sequences of token ids as the rows of a matrix, padded on the right."""
    matrix = np.full((len(sequences), length), pad_id, dtype=np.int64)
    for row, ids in enumerate(sequences):
        matrix[row, : len(ids)] = ids
    return matrix


def _columns(keys: Collection[tuple[int, ...]], n: int) -> Ints:
    """Return tuples of `n` integers as `n` rows of a matrix."""
    flat = np.fromiter(chain.from_iterable(keys), np.int64, n * len(keys))
    return flat.reshape(-1, n).T
