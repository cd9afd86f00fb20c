"""Comparisons of groups: the gap between two, the widest gap of all, the mean distance.

Clusters are resampled whole, so that a sentence with one word for each group is its own control.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Final

import numpy as np

from pytest_bias.records.report import Record
from pytest_bias.records.score import FloorOf
from pytest_bias.scoring import (
    factors,
    multiway,
    permutation,
    resampling,
    sides,
    statistics,
    unsigned,
)
from pytest_bias.scoring.estimators import Additive, Place
from pytest_bias.scoring.relabelling import Places, relabelled
from pytest_bias.scoring.resampling import Sums, Unsigned
from pytest_bias.scoring.statistics import Estimate, Floats, Sampling, Test

FIRST, SECOND = 0, 1
SHUFFLED: Final[FloorOf] = "shuffled labels"
FEW_EVENTS: Final = 5
"""Fewest events on a side, and non-events, for which resamples show how much they vary."""

FEW: Final = f"fewer than {FEW_EVENTS} events on a side"


@dataclass(frozen=True)
class Gap(Additive):
    """Mean contribution of the records of one group minus that of another.

    Parameters
    ----------
    of : callable
        A record's contribution, None where the record is not part of the metric.
    over : str
        Key of `by` that names the group.
    first, second : str
        The groups; without `second`, all groups of the key but `first`. Without `first`, `against`
        has to set the group (`Metric.versus`).
    of_kinds : bool
        Whether the key gives the kind of an item, and not which of several texts it contains: a
        model may read items of two kinds alike.
    """

    over: str
    first: str = ""
    second: str = ""
    of_kinds: bool = field(default=False, kw_only=True)
    even: ClassVar[float] = 0
    """Its value where the groups do not differ."""

    @property
    def between(self) -> str:
        """Key of `by` whose groups are compared with one another."""
        return "" if self.of_kinds else self.over

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
        places = [self._side(r) for r in kept]
        for side, name in ((FIRST, self.first), (SECOND, self.second or "other groups")):
            if side not in places:
                return Estimate(None, interval_reason=f"nothing was scored of {name}")
        equal = "all values are equal" if np.ptp(values) == 0 else None
        sums = self.sums(records)
        if equal is None and (interval := self._rare(sums, values, np.array(places), sampling)):
            found = Estimate(sums.value, interval, method="newcombe", n_clusters=sums.n_units)
            return replace(found, p_reason=FEW) if sums.crossing else found
        return resampling.estimate(sums, sampling, equal=equal)

    def _rare(
        self, sums: Sums, values: Floats, places: Places, sampling: Sampling
    ) -> tuple[float, float] | None:
        """Return the interval of rates where one has only a few events, or only a few non-events.

        There resamples vary too little, or not at all. Clusters are trials: what the items of one
        have in common makes no difference between the sides, so the interval tends to be too wide;
        where factors cross, the levels of the factor with fewest are the trials.
        """
        if sums.sizes is None or resampling.too_few(sums):
            return None
        if sums.crossing:
            # A few events within one level give no information on the other levels.
            if sampling.bounds != (-100, 100) or self._n_least(values, places) >= FEW_EVENTS:
                return None
        elif not np.isin(values, (0, 100)).all():
            return None
        rates = [
            (float(values[places == side].mean()) / 100, float(n))
            for side, n in zip((FIRST, SECOND), sums.n_effective, strict=True)
        ]
        if not sums.crossing and min(n * min(p, 1 - p) for p, n in rates) >= FEW_EVENTS:
            return None
        low, high = statistics.newcombe(rates[FIRST], rates[SECOND], sampling.level)
        return 100 * low, 100 * high

    def _n_least(self, values: Floats, places: Places) -> float:
        """Return the fewest events or non-events of a side, for values in percent."""
        sides = [values[places == side] / 100 for side in (FIRST, SECOND)]
        return float(min(min(s.sum(), (1 - s).sum()) for s in sides))

    def sums(self, records: Sequence[Record]) -> Sums:
        """Return what is resampled: the clusters of the records of either side."""
        kept, values = self.contributing(records)
        sides = [self._side(r) for r in kept]
        return resampling.group_sums(values, self.units(kept), sides, _difference)

    def side_of(self, record: Record) -> Hashable:
        """Return which side of the gap a record is on."""
        return self._side(record)

    def test(self, records: Sequence[Record], ideal: float, sampling: Sampling) -> Test:
        """Test whether the group of a record makes a difference within its cluster.

        Clusters with records of one side only change sides as a whole, with as many of them on each
        side as observed (`sides.sides_test`).
        """
        if ideal != self.even:
            return Test(reason=f"no test for a gap of {ideal:g}")
        sums = self.sums(records)
        if sums.samples[0].shape[1] != 4:
            return Test(reason="one group only")
        if why := factors.inseparable(records, self.factors, self.side_of):
            return Test(reason=why)
        if sums.crossing:
            return permutation.crossed_test(sums, self.even)
        kept, values = self.contributing(records)
        counts = self.counts(kept)
        # The records of one group in a cluster change sides together.
        found: dict[str, dict[tuple[int, str], Floats]] = {}
        for record, value, count in zip(kept, values, counts, strict=True):
            side = self._side(record)
            own = found.setdefault(record.cluster, {})
            group = (SECOND if side is None else side, record.by.get(self.over, ""))
            own[group] = own.get(group, np.zeros(2)) + np.array([value * count, count])
        choices, alone = [], []
        for _, own in sorted(found.items()):
            groups = sorted(own)
            n_first = sum(side == FIRST for side, _ in groups)
            sums_of, counts_of = np.array([own[g] for g in groups]).T
            ways = sides.arrangements(sums_of, counts_of, n_first, sampling.rng)
            if 0 < n_first < len(groups):
                choices.append(ways)
            else:
                alone.append(ways[0])
        return sides.sides_test(sums, choices, np.array(alone).reshape(-1, 4), sampling)

    def place(self, record: Record) -> Place | None:
        """Return the side of a record."""
        side = self._side(record)
        return None if side is None else ("", side)

    def counts(self, records: Sequence[Record]) -> Floats:
        """Return how much each record counts in the mean of its side."""
        return np.ones(len(records))

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

    It is above zero by chance as well: its floor is the mean range when records change groups
    within their clusters, and clusters of one group as wholes (`relabelled`), and its test is that
    shuffle. Its interval is that of an unsigned statistic (`unsigned`).

    Parameters
    ----------
    of : callable
        A record's contribution, None where the record is not part of the metric.
    over : str
        Key of `by` that names the group.
    within : str
        Key of `by` within whose groups ranges are taken, such as ``axis``: the result is the mean
        of the ranges of those with at least two groups. Empty for one range over all groups.
    pooled : bool
        As in `multiway.Crossing`; else variances are those of distances from the mean of all.
    """

    over: str
    within: str = ""
    pooled: bool = field(default=True, kw_only=True)
    floor_of = SHUFFLED

    @property
    def between(self) -> str:
        """Key of `by` whose groups are compared with one another."""
        return self.over

    def apart(self, means: Floats) -> Floats:
        """Return how far apart the groups of a block are, from their means, (..., n_groups)."""
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
        within = [places[n][0] for n in number]
        # A factor whose levels each belong to one group carries the label.
        carrier = factors.nested(kept, self.factors, self.side_of)
        clusters = [carrier.levels(r) if carrier else r.cluster for r in kept]

        def means_of(group: Places) -> Floats:
            sums, n = (np.bincount(group, weights=w, minlength=len(places)) for w in (values, None))
            found: Floats = sums / n
            return found

        permute_within = relabelled(number, clusters, within, sampling)
        shuffled = (float(self._over(means_of(group), blocks)) for group in permute_within)
        means = means_of(number)
        widest = max(blocks, key=lambda b: float(np.ptp(means[b])))
        most, least = (places[widest[int(f(means[widest]))]][1] for f in (np.argmax, np.argmin))
        where = f"in {places[widest[0]][0]}, the widest: " if len(blocks) > 1 else ""
        found = null_estimate(sums, shuffled, "shuffles of groups", sampling)
        note = f"{where}greatest in {most}, least in {least}" if least != most else None
        if why := factors.inseparable(kept, self.factors, self.side_of):
            found = replace(found, test=None, p_value=None, p_reason=why)
        return replace(found, note=note)

    def side_of(self, record: Record) -> Hashable:
        """Return the group of a record, with the block that it is compared in."""
        return self._place(record)

    def sums(self, records: Sequence[Record]) -> Sums:
        """Return what is resampled: the clusters of the records."""
        kept, values = self.contributing(records)
        groups = [self._place(r) for r in kept]
        blocks = _blocks([block for block, _ in sorted(set(groups), key=repr)])
        found = size_of_means(values, self.units(kept), groups, partial(self._over, blocks=blocks))
        if found.crossing is None or found.unsigned is None or self.pooled:
            return found
        means_of = found.unsigned.signed
        parts = replace(found.unsigned, signed=lambda *totals: _centred(means_of(*totals)))
        return replace(found, unsigned=parts, crossing=replace(found.crossing, pooled=False))

    def _over(self, means: Floats, blocks: Sequence[Places]) -> Floats:
        """Return the mean over the blocks of how far apart their groups are."""
        if not blocks:
            return np.full(means.shape[:-1], np.nan)
        found: Floats = np.mean([self.apart(means[..., b]) for b in blocks], axis=0)
        return found

    def place(self, record: Record) -> Place | None:
        """Return the group of a record, and what it is compared within."""
        return self._place(record) if self.over in record.by else None

    def _place(self, record: Record) -> tuple[str, str]:
        return record.by.get(self.within, ""), record.by[self.over]


class Deviation(Range):
    """Mean absolute distance of the groups' mean contributions from the mean of these.

    Above zero by chance as well: floor and test as those of `Range`.
    """

    def apart(self, means: Floats) -> Floats:
        """Return how far groups are from the mean of their means, of shape (..., n_groups)."""
        found: Floats = np.abs(means - means.mean(-1, keepdims=True)).mean(-1)
        return found


def size_of_means(
    values: Floats,
    clusters: Sequence[Hashable],
    groups: Sequence[Hashable],
    size: Callable[[Floats], Floats],
) -> Sums:
    """Return the sums of an unsigned size of group means; see `resampling.group_sums`."""

    def as_they_are(means: Floats) -> Floats:
        return means

    means = resampling.group_sums(values, clusters, groups, as_they_are)
    made = Unsigned(means.of_totals, size)
    found = unsigned.unsigned_sums(means.samples, made, means.scale, means.sizes)
    return replace(found, crossing=means.crossing)


def null_estimate(sums: Sums, shuffled: Iterator[float], what: str, sampling: Sampling) -> Estimate:
    """Estimate an unsigned statistic, with its floor and p-value under the null hypothesis.

    Parameters
    ----------
    sums : Sums
        With `unsigned`.
    shuffled : iterator of float
        The statistic under the null hypothesis: its mean is the floor, and p is (k + 1) / (n + 1)
        for k of them at least as large as the observed one. Where factors cross, nothing is
        shuffled, since the variation is known from their levels.
    what : str
        Name of the shuffles, in the plural.
    """
    by_chance, test = unsigned.without_effect(sums, sampling), multiway.TEST
    if by_chance is None:
        by_chance = np.fromiter(shuffled, dtype=np.float64)
        test = f"{len(by_chance)} {what}"
    at_least = int((by_chance >= sums.value * (1 - 1e-12)).sum())
    return replace(
        unsigned.estimate(sums, sampling, by_chance),
        floor=float(by_chance.mean()),
        test=test,
        p_value=(at_least + 1) / (len(by_chance) + 1),
    )


def _centred(means: Floats) -> Floats:
    """Return means less the mean of all: no variance of these is below that over one factor."""
    found: Floats = means - means.mean(-1, keepdims=True)
    return found


def _difference(means: Floats) -> Floats:
    if means.shape[-1] < 2:
        return np.full(means.shape[:-1], np.nan)
    found: Floats = means[..., FIRST] - means[..., SECOND]
    return found


def _blocks(names: Sequence[str]) -> list[Places]:
    """Return the positions of the groups of each block that has at least two."""
    found: dict[str, list[int]] = {}
    for n, name in enumerate(names):
        found.setdefault(name, []).append(n)
    return [np.array(places) for places in found.values() if len(places) > 1]


def _groups(records: Sequence[Record], over: str) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records:
        if over in record.by:
            found.setdefault(record.by[over], []).append(record)
    return dict(sorted(found.items()))
