"""Effect sizes of association tests, and permutation tests: of words, of versions, of samples."""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pytest_bias.scoring import multiway, unsigned
from pytest_bias.scoring.drawing import alike_units, chunks
from pytest_bias.scoring.resampling import Sums, Unsigned, estimate, mean_sums, too_few, variance
from pytest_bias.scoring.statistics import Estimate, Floats, Sampling, Test


def effect_size(first: Floats, second: Floats) -> float | None:
    """Effect size d of WEAT (Caliskan et al. 2017; May et al. 2019).

    Difference of the means over the standard deviation of both samples together (ddof = 1).
    Ideal 0, within [-2, 2] for samples of equal size, wider for others; None when nothing
    varies.
    """
    both = np.concatenate([first, second])
    if len(first) == 0 or len(second) == 0 or np.ptp(both) == 0:
        return None
    return float((first.mean() - second.mean()) / both.std(ddof=1))


Targets: TypeAlias = tuple[Floats, Sequence[Hashable], NDArray[np.bool_]]
"""Association of each target, its source word, and whether it is in the first set."""


def effect_sums(values: Floats, clusters: Sequence[Hashable], in_first: NDArray[np.bool_]) -> Sums:
    """Return the sums of an effect size: words are the units, separately in either set."""
    samples = tuple(_moments(values, clusters, wanted) for wanted in (in_first, ~in_first))
    return Sums(samples, _effect, 1.0)


def mean_absolute_sums(tests: Sequence[Targets]) -> Sums:
    """Return the sums of the mean |d| over tests; a word is one unit wherever it occurs."""
    names = sorted({name for _, clusters, _ in tests for name in clusters}, key=repr)
    row = {name: i for i, name in enumerate(names)}
    rows: Floats = np.zeros((len(names), len(tests), 2, 3))
    for number, (values, clusters, in_first) in enumerate(tests):
        at = np.array([row[c] for c in clusters])
        powers = np.stack([values, values**2, np.ones(len(values))], axis=1)
        np.add.at(rows[:, number], (at, 1 - in_first.astype(np.int64)), powers)

    def signed(totals: Floats) -> Floats:
        by_test = totals.reshape(*totals.shape[:-1], len(tests), 2, 3)
        return _effect(by_test[..., 0, :], by_test[..., 1, :])

    size = Unsigned(signed, _mean_size)
    # A mean over tests is over all their words, however few one test has.
    counts = rows[:, :, :, 2].sum(axis=(1, 2))[:, None]
    return unsigned.unsigned_sums((rows.reshape(len(names), -1),), size, 1.0, counts)


def mean_absolute_effect(tests: Sequence[Targets], sampling: Sampling) -> Estimate | None:
    """Mean |d| over tests, with its value under shuffled labels; None if no test has a d."""
    values = [effect_size(v[in_first], v[~in_first]) for v, _, in_first in tests]
    known = [t for t, value in zip(tests, values, strict=True) if value is not None]
    floors = [f for t in known if (f := chance_effect(*t, sampling)) is not None]
    if not known:
        return None
    return replace(
        unsigned.estimate(mean_absolute_sums(known), sampling),
        value=float(np.mean([abs(value) for value in values if value is not None])),
        floor=float(np.mean(floors)),
        note=f"mean over {len(known)} tests",
    )


def _mean_size(effects: Floats) -> Floats:
    # A resample may lack a set of a test.
    there = np.isfinite(effects)
    found: Floats = np.where(there, np.abs(effects), 0.0).sum(-1) / there.sum(-1)
    return found


def _moments(values: Floats, clusters: Sequence[Hashable], wanted: NDArray[np.bool_]) -> Floats:
    """Return sum, sum of squares and number of the values of every word of one set."""
    words = [c for c, w in zip(clusters, wanted, strict=True) if w]
    sums, counts = mean_sums(values[wanted], words).samples[0].T
    squares = mean_sums(values[wanted] ** 2, words).samples[0][:, 0]
    return np.stack([sums, squares, counts], axis=1)


def _effect(x: Floats, y: Floats) -> Floats:
    both = x + y
    total, square, n = both[..., 0], both[..., 1], both[..., 2]
    variance = np.maximum(square - total**2 / n, np.finfo(float).tiny) / (n - 1)
    found: Floats = (x[..., 0] / x[..., 2] - y[..., 0] / y[..., 2]) / np.sqrt(variance)
    return found


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
        The source word of each target; words are permuted and resampled, not sentences.
    in_first : array of bool, shape (n,)
        Whether the target belongs to the first set.

    Returns
    -------
    Estimate
        `p_value` is one-sided (the first set is more associated with A), exact when at most
        100,000 partitions exist, else (k + 1) / (n + 1) over 100,000 random ones. `floor` is the
        mean |d| over the partitions: its expected value without any association.
    """
    value = effect_size(values[in_first], values[~in_first])
    if value is None:
        return Estimate(None, interval_reason="no target varies", note="no target varies")
    sums = effect_sums(values, clusters, in_first)
    most = sampling.draws.arrangements
    partitions = _Partitions.of(*sums.samples, sampling=sampling, n_permutations=most)
    return replace(
        estimate(sums, sampling),
        value=value,
        test=f"{partitions.how} of words",
        p_value=partitions.p_value(),
        floor=partitions.floor(values),
    )


def exchange_test(now: Sums, then: Sums, sampling: Sampling) -> Test:
    """Test whether two versions of the same units differ.

    Two-sided permutation test: under the null hypothesis the versions of a unit are exchangeable.
    The test is exact where at most 100,000 exchanges exist, else p is (k + 1) / (n + 1) over 9,999
    random ones (`Draws`).

    Parameters
    ----------
    now, then : Sums
        The same units in the same order. Where the hypothesis is that a mean is at its ideal, the
        values mirrored at the ideal serve as the other version.
    """
    if min(len(s) for s in now.samples) < 2:
        return Test(reason="fewer than two clusters")
    if now.crossing:
        return crossed_test(difference(now, then, np.subtract), 0)
    observed = float(now.at(*now.totals) - then.at(*then.totals))
    if not math.isfinite(observed):
        return Test(reason="no value")
    differences = [b - a for a, b in zip(now.samples, then.samples, strict=True)]
    moved = [np.flatnonzero((d != 0).any(axis=1)) for d in differences]
    n_moved = sum(map(len, moved))
    exact = n_moved < 64 and 2**n_moved <= sampling.draws.arrangements
    at_least = n = 0
    rows, counts = [d[m] for d, m in zip(differences, moved, strict=True)], np.ones(n_moved, int)
    if not exact and (alike := alike_units(rows)):
        # Of identical units only the number that is exchanged is drawn.
        rows, counts = [kind for kind, _ in alike], np.concatenate([count for _, count in alike])
    for flips in _exchanges(counts, sampling, exact=exact):
        first, second = [], []
        start = 0
        for a, b, d in zip(now.totals, then.totals, rows, strict=True):
            shift = np.einsum("bm,mk->bk", flips[:, start : start + len(d)], d)
            first.append(a + shift)
            second.append(b - shift)
            start += len(d)
        found = np.abs(now.at(*first) - then.at(*second))
        at_least += int((found >= abs(observed) * (1 - 1e-12)).sum())
        n += len(flips)
    if exact:
        return Test("exact permutation of versions", at_least / n)
    return Test(f"{n:,} permutations of versions", (at_least + 1) / (n + 1))


def crossed_test(sums: Sums, even: float) -> Test:
    """Test whether a statistic over crossed factors equals a value, two-sided."""
    if few := too_few(sums):
        return Test(reason=few)
    spread = variance(sums)
    if not spread or not math.isfinite(sums.value):
        return Test(reason="nothing varies" if spread == 0 else "no value")
    p_value = multiway.p_value(sums.value - even, spread, sums.degrees_of_freedom)
    return Test(multiway.TEST, p_value)


def difference(now: Sums, then: Sums, between: Callable[[Floats, Floats], Floats]) -> Sums:
    """Return the sums of a function of two statistics of the same units, such as a change."""
    widths = [s.shape[1] for s in now.samples]
    samples = tuple(
        np.concatenate(pair, axis=1) for pair in zip(now.samples, then.samples, strict=True)
    )

    def of_totals(*totals: Floats) -> Floats:
        first = [t[..., :w] for t, w in zip(totals, widths, strict=True)]
        second = [t[..., w:] for t, w in zip(totals, widths, strict=True)]
        return between(now.of_totals(*first), then.of_totals(*second))

    scale = max(now.scale, then.scale)
    return Sums(samples, of_totals, scale, sizes=now.sizes, crossing=now.crossing)


def _exchanges(counts: NDArray[np.int64], sampling: Sampling, *, exact: bool) -> Iterator[Floats]:
    """Yield how many units of each kind are exchanged, of shape (n, n_kinds)."""
    n = len(counts)
    if exact:
        yield np.array(list(product((0.0, 1.0), repeat=n))).reshape(2**n, n)
        return
    rng = sampling.rng
    for rows in chunks(sampling.draws.resamples, max(1, 2**22 // max(n, 1))):
        if (counts > 1).any():
            yield rng.binomial(counts, 0.5, size=(rows, n)).astype(np.float64)
        else:
            yield rng.integers(0, 2, size=(rows, n), dtype=np.int8).astype(np.float64)


def mean_test(
    values: Floats,
    clusters: Sequence[Hashable],
    ideal: float,
    sampling: Sampling,
    groups: Sequence[Hashable] | None = None,
    weights: Floats | None = None,
) -> Test:
    """Test whether a mean is at its ideal: values are mirrored there, cluster by cluster."""
    now, then = (mean_sums(v, clusters, groups, weights) for v in (values, 2 * ideal - values))
    test = exchange_test(now, then, sampling)
    return replace(test, how=test.how and test.how.replace("versions", "signs"))


def groups_test(sums: Sums, sampling: Sampling) -> Test:
    """Test whether two samples of units differ, two-sided.

    Parameters
    ----------
    sums : Sums
        Two samples; each unit is a sum and its divisor in the mean of its sample.
    """
    partitions = _of_groups(sums.samples, sampling)
    if partitions is None:
        return Test(reason="fewer than two clusters on a side")
    return Test(f"{partitions.how} of groups", partitions.two_sided())


def _of_groups(samples: Sequence[Floats], sampling: Sampling) -> "_Partitions | None":
    """Return the partitions of two samples; None if one has fewer than two units."""
    if min(map(len, samples)) < 2:
        return None
    # Sum, square, count: squares are not used here.
    first, second = (np.insert(sample, 1, 0.0, axis=1) for sample in samples)
    n = sampling.draws.resamples
    return _Partitions.of(first, second, sampling=sampling, n_permutations=n)


@dataclass(frozen=True, slots=True)
class Shift:
    """Distance between two samples, and the smallest distance that would be detected.

    `detectable` is the smallest true distance for which the test gives p <= 1 - level with the
    stated power, at the spread of these units: with D* the distance of a partition and c the
    quantile of its size at the level, it is c minus the quantile of D* at 1 - power.
    """

    value: float
    p_value: float
    test: str
    detectable: float


def shift_test(first: Floats, second: Floats, *, sampling: Sampling, power: float) -> Shift | None:
    """Test whether units that were assigned to two samples at random differ, two-sided.

    Parameters
    ----------
    first, second : array of shape (n_units, 2)
        Sum and number of items of each unit.
    sampling : Sampling
        Its level is that of the detectable distance.
    power : float
        How often the test is to detect that distance.

    Returns
    -------
    Shift or None
        First mean minus second; None with fewer than two units on a side.
    """
    partitions = _of_groups((first, second), sampling)
    if partitions is None:
        return None
    found = partitions.differences
    critical = float(np.quantile(np.abs(found), sampling.level))
    detectable = critical - float(np.quantile(found, 1 - power))
    return Shift(partitions.observed, partitions.two_sided(), partitions.how, detectable)


def chance_effect(
    values: Floats,
    clusters: Sequence[Hashable],
    in_first: NDArray[np.bool_],
    sampling: Sampling,
) -> float | None:
    """Mean |d| over partitions of the words: its expected value without any association."""
    if effect_size(values[in_first], values[~in_first]) is None:
        return None
    sums = effect_sums(values, clusters, in_first)
    n = sampling.draws.partitions
    return _Partitions.of(*sums.samples, sampling=sampling, n_permutations=n).floor(values)


@dataclass(frozen=True, slots=True)
class _Partitions:
    """Ways to split the words of two sets into two of the same sizes; the first is the observed."""

    first_sums: Floats
    first_counts: Floats
    total: float
    count: float
    observed: float
    exact: bool

    @classmethod
    def of(
        cls, first: Floats, second: Floats, *, sampling: Sampling, n_permutations: int
    ) -> "_Partitions":
        sums, _, counts = np.concatenate([first, second]).T
        n, size = len(sums), len(first)
        exact = math.comb(n, size) <= sampling.draws.arrangements
        if exact:
            splits: Iterable[NDArray[np.int64]] = [np.array(list(combinations(range(n), size)))]
        else:
            splits = (
                sampling.rng.permuted(np.tile(np.arange(n), (rows, 1)), axis=1)[:, :size]
                for rows in chunks(n_permutations, max(1, 2**21 // n))
            )
        found = [(sums[c].sum(1), counts[c].sum(1)) for c in splits]
        return cls(
            first_sums=np.concatenate([s for s, _ in found]),
            first_counts=np.concatenate([k for _, k in found]),
            total=float(sums.sum()),
            count=float(counts.sum()),
            observed=float(first[:, 0].sum() / first[:, 2].sum())
            - float(second[:, 0].sum() / second[:, 2].sum()),
            exact=exact,
        )

    @property
    def how(self) -> str:
        """Kind and number of permutations, without what was permuted."""
        return "exact permutation" if self.exact else f"{len(self.first_sums):,} permutations"

    @property
    def differences(self) -> Floats:
        """Mean of the first set minus that of the second, in every partition."""
        first = self.first_sums / self.first_counts
        second = (self.total - self.first_sums) / (self.count - self.first_counts)
        return first - second

    def p_value(self) -> float:
        return self._at_least(self.differences, self.observed)

    def two_sided(self) -> float:
        return self._at_least(np.abs(self.differences), abs(self.observed))

    def _at_least(self, found: Floats, observed: float) -> float:
        # The observed partition summed in another order must still count as a tie.
        slack = 1e-12 * max(1.0, float(np.abs(found).max()))
        at_least = int((found >= observed - slack).sum())
        n = len(found)
        return at_least / n if self.exact else (at_least + 1) / (n + 1)

    def floor(self, values: Floats) -> float:
        return float(np.abs(self.differences).mean() / values.std(ddof=1))
