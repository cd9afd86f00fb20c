"""Groups held against one another: a gap between two, the widest of all, the mean distance.

Clusters are resampled whole, so that a sentence with one word for each group is its own control.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pytest_bias import permutation, resampling
from pytest_bias.records import Record
from pytest_bias.resampling import Sums
from pytest_bias.scoring import Additive
from pytest_bias.statistics import Estimate, Floats, Sampling, Test

"""Shuffles of the groups that say how wide a range is by chance."""

FIRST, SECOND = 0, 1

Places: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Gap(Additive):
    """Mean contribution of the records of one group minus that of another.

    Parameters
    ----------
    of : callable
        A record's contribution, null where the record is not part of the metric.
    over : str
        Key of `by` that names the group.
    first, second : str
        The groups; without `second` all groups of the key but `first`. Without `first` it is to be
        asked for a group (`Metric.versus`).
    """

    over: str
    first: str = ""
    second: str = ""
    even: ClassVar[float] = 0
    """Its value where the groups do not differ."""

    def against(self, group: str) -> "Gap":
        """Return the gap between a group and all the others."""
        return replace(self, first=group, second="")

    def compared(self, records: Sequence[Record]) -> Mapping[str, Sequence[Record]]:
        """Return the groups that the gap is between, with their records."""
        return _groups([r for r in records if self._side(r) is not None], self.over)

    def values(self, records: Sequence[Record]) -> Floats:
        """Return the contributions of the records of either side, NaN for others."""
        return np.array(
            [np.nan if self._side(r) is None else self.of(r) for r in records], dtype=np.float64
        )

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        kept, values = self.contributing(records)
        sides = [self._side(r) for r in kept]
        for side, name in ((FIRST, self.first), (SECOND, self.second or "other groups")):
            if side not in sides:
                return Estimate(None, interval_reason=f"nothing was scored of {name}")
        equal = "all values are equal" if np.ptp(values) == 0 else None
        return resampling.estimate(self.sums(records), sampling, len(values), equal=equal)

    def sums(self, records: Sequence[Record]) -> Sums:
        """Return what is resampled: the clusters of the records of either side."""
        kept, values = self.contributing(records)
        clusters = [r.cluster for r in kept]
        return resampling.group_sums(values, clusters, [self._side(r) for r in kept], _difference)

    def test(self, records: Sequence[Record], ideal: float, sampling: Sampling) -> Test:
        """Test whether it makes a difference which group a record belongs to, within its cluster.

        Clusters that have records of one side only change sides as a whole, as many of them on each
        side as there are (`permutation.sides_test`).
        """
        if ideal != self.even:
            return Test(reason=f"no test for a gap of {ideal:g}")
        now = self.sums(records)
        if now.samples[0].shape[1] != 4:
            return Test(reason="one group only")
        return permutation.sides_test(now, _exchanged(now.samples[0]), sampling)

    def _side(self, record: Record) -> int | None:
        group = record.by.get(self.over)
        if group is None:
            return None
        if group == self.first:
            return FIRST
        return SECOND if self.second in ("", group) else None


@dataclass(frozen=True)
class Range(Additive):
    """Greatest mean contribution of a group of a key minus the least.

    It is above zero by chance as well, so it has no interval; its floor is the mean range when
    contributions change places within their clusters (within all records where no cluster has
    several groups), and its test is that shuffle.

    Parameters
    ----------
    of : callable
        A record's contribution, null where the record is not part of the metric.
    over : str
        Key of `by` that names the group.
    within : str
        Key of `by` whose groups hold the ones to be compared, such as ``axis``: the mean over them
        of the range in each, of those with two groups at least. Empty for one range of all.
    """

    over: str
    within: str = ""
    biased: ClassVar[str] = "a largest difference: compare it with chance"

    def apart(self, means: Floats) -> Floats:
        """Return how far apart the groups of a block are, of their means, (..., n_groups)."""
        found: Floats = means.max(-1) - means.min(-1)
        return found

    def compared(self, records: Sequence[Record]) -> Mapping[str, Sequence[Record]]:
        """Return all groups of the key, with their records."""
        found: dict[str, list[Record]] = {}
        for record in records:
            if self.over in record.by:
                found.setdefault(" ".join(filter(None, self._place(record))), []).append(record)
        return dict(sorted(found.items()))

    def values(self, records: Sequence[Record]) -> Floats:
        """Return the contributions of the records that belong to a group, NaN for others."""
        return np.array(
            [self.of(r) if self.over in r.by else np.nan for r in records], dtype=np.float64
        )

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        kept, values = self.contributing(records)
        sums = self.sums(records)
        # In the order in which `sums` numbers them.
        places = sorted({self._place(r) for r in kept}, key=repr)
        blocks = _blocks([block for block, _ in places])
        if not blocks:
            return Estimate(None, interval_reason="fewer than two groups were scored")
        number = np.array([places.index(self._place(r)) for r in kept])
        homes = _homes(
            [(places[n][0], r.cluster) for n, r in zip(number, kept, strict=True)], number
        )
        counts = np.bincount(number, minlength=len(places))
        shuffled = np.array(
            [
                self._over(np.bincount(number, weights=moved) / counts, blocks)
                for moved in shuffles(values, homes, sampling)
            ]
        )
        means = np.bincount(number, weights=values) / counts
        widest = max(blocks, key=lambda b: float(np.ptp(means[b])))
        most, least = (places[widest[int(f(means[widest]))]][1] for f in (np.argmax, np.argmin))
        where = f"in {places[widest[0]][0]}, the widest: " if len(blocks) > 1 else ""
        found = beside_chance(sums, shuffled, f"{len(shuffled)} shuffles of groups")
        note = f"{where}greatest in {most}, least in {least}" if least != most else None
        return replace(found, note=note)

    def sums(self, records: Sequence[Record]) -> Sums:
        """Return what is resampled: the clusters of the records."""
        kept, values = self.contributing(records)
        groups = [self._place(r) for r in kept]
        blocks = _blocks([block for block, _ in sorted(set(groups), key=repr)])
        clusters = [r.cluster for r in kept]
        of_means = partial(self._over, blocks=blocks)
        return replace(
            resampling.group_sums(values, clusters, groups, of_means), biased=self.biased
        )

    def _over(self, means: Floats, blocks: Sequence[Places]) -> Floats:
        """Return the mean over the blocks of how far apart their groups are."""
        if not blocks:
            return np.full(means.shape[:-1], np.nan)
        found: Floats = np.mean([self.apart(means[..., b]) for b in blocks], axis=0)
        return found

    def _place(self, record: Record) -> tuple[str, str]:
        return record.by.get(self.within, ""), record.by[self.over]


class Deviation(Range):
    """Mean distance of the groups' mean contributions from the mean of these, without its sign.

    Above zero by chance as well: floor and test as those of `Range`.
    """

    biased: ClassVar[str] = "a mean distance: compare it with chance"

    def apart(self, means: Floats) -> Floats:
        """Return how far groups are from their mean, of their means, shape (..., n_groups)."""
        found: Floats = np.abs(means - means.mean(-1, keepdims=True)).mean(-1)
        return found


def shuffles(values: Floats, homes: Places, sampling: Sampling) -> Iterator[Floats]:
    """Yield the values as often as there are shuffles; they change places within their homes.

    Parameters
    ----------
    values, homes : array of shape (n,)
        Numbers, and the number of the home of each.
    """
    home = np.argsort(homes, kind="stable")
    for _ in range(sampling.draws.shuffles):
        moved = np.empty_like(values)
        moved[home] = values[np.lexsort((sampling.rng.random(len(values)), homes))]
        yield moved


def beside_chance(sums: Sums, by_chance: Floats, test: str) -> Estimate:
    """Estimate an unsigned statistic, with what it comes to by chance instead of an interval.

    Parameters
    ----------
    sums : Sums
        They say why a bootstrap would be biased.
    by_chance : array of shape (n,)
        The statistic where chance alone decides: its mean is the floor, and p is (k + 1) / (n + 1)
        for k of them at least as large as the observed one.
    test : str
        How these were drawn.
    """
    at_least = int((by_chance >= sums.value * (1 - 1e-12)).sum())
    return Estimate(
        sums.value,
        interval_reason=sums.biased,
        n_clusters=sums.n_units,
        floor=float(by_chance.mean()),
        test=test,
        p_value=(at_least + 1) / (len(by_chance) + 1),
    )


def _difference(means: Floats) -> Floats:
    if means.shape[-1] < 2:
        return np.full(means.shape[:-1], np.nan)
    found: Floats = means[..., FIRST] - means[..., SECOND]
    return found


def _blocks(names: Sequence[str]) -> list[Places]:
    """Return where the groups of each block stand, of blocks with two groups at least."""
    found: dict[str, list[int]] = {}
    for n, name in enumerate(names):
        found.setdefault(name, []).append(n)
    return [np.array(places) for places in found.values() if len(places) > 1]


def _homes(clusters: Sequence[tuple[str, str]], group: Places) -> Places:
    """Number within what contributions may change places: a cluster, in its block.

    Where no cluster of a block has several groups it is the whole block.
    """
    groups: dict[tuple[str, str], set[int]] = {}
    for cluster, n in zip(clusters, group, strict=True):
        groups.setdefault(cluster, set()).add(int(n))
    shared = {block for (block, _), found in groups.items() if len(found) > 1}
    homes = [(block, cluster if block in shared else "") for block, cluster in clusters]
    number = {home: n for n, home in enumerate(sorted(set(homes)))}
    return np.array([number[home] for home in homes])


def _exchanged(rows: Floats) -> Floats:
    """Return the sums of clusters with the means of their two sides exchanged."""
    sums, counts = rows[:, :2], rows[:, 2:]
    with np.errstate(invalid="ignore", divide="ignore"):
        there = (sums / counts)[:, ::-1] * counts
    both = (counts > 0).all(axis=1, keepdims=True)
    return np.concatenate(
        [np.where(both, there, sums[:, ::-1]), np.where(both, counts, counts[:, ::-1])], axis=1
    )


def _groups(records: Sequence[Record], over: str) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records:
        if over in record.by:
            found.setdefault(record.by[over], []).append(record)
    return dict(sorted(found.items()))
