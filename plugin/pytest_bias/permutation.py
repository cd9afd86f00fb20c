"""Effect sizes of association tests, and permutation tests over words."""

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pytest_bias.statistics import Estimate, Floats, Sampling, bca, by_cluster

EXACT_PARTITIONS: Final = 100_000
N_PERMUTATIONS: Final = 100_000


def effect_size(first: Floats, second: Floats) -> float | None:
    """Effect size d of WEAT (Caliskan et al. 2017; May et al. 2019).

    Difference of the means over the standard deviation of both samples together (ddof = 1).
    Ideal 0, within [-2, 2] for samples of one size; null when nothing varies.
    """
    both = np.concatenate([first, second])
    if len(first) == 0 or len(second) == 0 or np.ptp(both) == 0:
        return None
    return float((first.mean() - second.mean()) / both.std(ddof=1))


def association_test(
    values: Floats,
    clusters: Sequence[Hashable],
    in_first: NDArray[np.bool_],
    sampling: Sampling,
) -> Estimate:
    """Effect size d with its permutation p-value, interval and floor.

    Parameters
    ----------
    values : array of shape (n,)
        Association s(w, A, B) of each target.
    clusters : sequence of length n
        The word that a target was made from; words are permuted and resampled, not sentences.
    in_first : array of bool, shape (n,)
        Whether the target belongs to the first set.

    Returns
    -------
    Estimate
        `p_value` is one-sided (the first set is the more associated one), exact when at most
        100,000 partitions exist, else (k + 1) / (n + 1) over 100,000 random ones. `floor` is the
        mean |d| over the partitions: what |d| comes to without any association.
    """
    value = effect_size(values[in_first], values[~in_first])
    if value is None:
        return Estimate(None, interval_reason="no target varies", note="no target varies")
    first, second = _Words.of(values, clusters, in_first), _Words.of(values, clusters, ~in_first)
    partitions = _Partitions.of(first, second, sampling.rng, N_PERMUTATIONS)
    found = Estimate(
        value,
        n_clusters=len(first.sums) + len(second.sums),
        p_value=partitions.p_value(),
        floor=partitions.floor(values),
        note="exact permutation test" if partitions.exact else f"{N_PERMUTATIONS} permutations",
    )
    if min(len(first.sums), len(second.sums)) < 2:
        return replace(found, interval_reason="fewer than two words in a set")

    def d(i: NDArray[np.int64], j: NDArray[np.int64], axis: int = -1) -> Floats:
        x, y = first.resampled(i), second.resampled(j)
        total, square, n = x + y
        variance = np.maximum(square - total**2 / n, np.finfo(float).tiny) / (n - 1)
        result: Floats = (x[0] / x[2] - y[0] / y[2]) / np.sqrt(variance)
        return result

    data = (np.arange(len(first.sums)), np.arange(len(second.sums)))
    return bca(replace(found, method="bca"), data, d, sampling, 1.0, paired=False)


def chance_effect(
    values: Floats,
    clusters: Sequence[Hashable],
    in_first: NDArray[np.bool_],
    rng: np.random.Generator,
    n_permutations: int = 2_000,
) -> float | None:
    """Mean |d| over partitions of the words: what |d| comes to without any association."""
    if effect_size(values[in_first], values[~in_first]) is None:
        return None
    first, second = _Words.of(values, clusters, in_first), _Words.of(values, clusters, ~in_first)
    return _Partitions.of(first, second, rng, n_permutations).floor(values)


@dataclass(frozen=True, slots=True)
class _Words:
    """Sum, sum of squares and number of the values of every word of one set."""

    sums: Floats
    squares: Floats
    counts: Floats

    @classmethod
    def of(
        cls, values: Floats, clusters: Sequence[Hashable], wanted: NDArray[np.bool_]
    ) -> "_Words":
        words = [c for c, w in zip(clusters, wanted, strict=True) if w]
        sums, counts = by_cluster(values[wanted], words)
        return cls(sums, by_cluster(values[wanted] ** 2, words)[0], counts)

    def resampled(self, index: NDArray[np.int64]) -> Floats:
        """Return sum, sum of squares and number over resampled words."""
        return np.stack([a[index].sum(-1) for a in (self.sums, self.squares, self.counts)])


@dataclass(frozen=True, slots=True)
class _Partitions:
    """Ways to split the words of two sets into two of the same sizes; the first is as observed."""

    first_sums: Floats
    first_counts: Floats
    total: float
    count: float
    observed: float
    exact: bool

    @classmethod
    def of(
        cls, first: _Words, second: _Words, rng: np.random.Generator, n_permutations: int
    ) -> "_Partitions":
        sums = np.concatenate([first.sums, second.sums])
        counts = np.concatenate([first.counts, second.counts])
        n, size = len(sums), len(first.sums)
        exact = math.comb(n, size) <= EXACT_PARTITIONS
        if exact:
            chunks: Iterable[NDArray[np.int64]] = [np.array(list(combinations(range(n), size)))]
        else:
            # Chunked, so that memory does not grow with the number of words.
            chunks = (
                rng.permuted(np.tile(np.arange(n), (rows, 1)), axis=1)[:, :size]
                for rows in _parts(n_permutations, max(1, 2**21 // n))
            )
        found = [(sums[c].sum(1), counts[c].sum(1)) for c in chunks]
        return cls(
            first_sums=np.concatenate([s for s, _ in found]),
            first_counts=np.concatenate([k for _, k in found]),
            total=float(sums.sum()),
            count=float(counts.sum()),
            observed=float(first.sums.sum() / first.counts.sum())
            - float(second.sums.sum() / second.counts.sum()),
            exact=exact,
        )

    @property
    def differences(self) -> Floats:
        """Mean of the first set minus that of the second, in every partition."""
        first = self.first_sums / self.first_counts
        second = (self.total - self.first_sums) / (self.count - self.first_counts)
        return first - second

    def p_value(self) -> float:
        # The observed partition summed in another order must still count as a tie.
        slack = 1e-12 * max(1.0, float(np.abs(self.differences).max()))
        at_least = int((self.differences >= self.observed - slack).sum())
        n = len(self.first_sums)
        return at_least / n if self.exact else (at_least + 1) / (n + 1)

    def floor(self, values: Floats) -> float:
        return float(np.abs(self.differences).mean() / values.std(ddof=1))


def _parts(total: int, size: int) -> Iterator[int]:
    for start in range(0, total, size):
        yield min(size, total - start)
