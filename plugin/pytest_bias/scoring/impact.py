"""Impact ratios: the rate of a group over that of the group with the highest rate."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from pytest_bias.records.report import Record
from pytest_bias.scoring import factors, multiway, resampling
from pytest_bias.scoring.estimators import Additive, Mean, Place
from pytest_bias.scoring.gaps import FEW_EVENTS
from pytest_bias.scoring.resampling import Sums
from pytest_bias.scoring.statistics import Estimate, Floats, Sampling, of_equal_units, wilson

METHOD: Final = "jackknife of log ratios, with the highest rate unknown"
NONE_SELECTED: Final = "the rate of every group is 0"
TINY: Final = 1e-9

Ends = tuple[float, float]


@dataclass(frozen=True)
class ImpactRatio(Additive):
    """Rate of one group over the highest rate of all groups, from 0 to 1; ideal 1.

    The highest of several rates is too high by chance, so that ratios to it are below 1 without any
    difference. The interval takes that into account: it is for the ratio to the group whose true
    rate is the highest, whichever that is. This is the least of the ratios to all groups, so its
    lower end is the least of their lower ends, and its upper end the least of their upper ends,
    each of which has its share of the error probability (Bonferroni), as in multiple comparisons
    with the best.

    Parameters
    ----------
    of : callable
        A record's contribution in percent, such as 100 where it is selected; None where it is not
        part of the metric.
    over : str
        Key of `by` that names the group.
    first : str
        The group; without it, the lowest ratio of all groups. `against` sets it.
    above_median : bool
        Whether the rate is that of contributions above the median of all records.

    References
    ----------
    New York City, Rules on automated employment decision tools (Local Law 144 of 2021), section
    5-301, for the ratio; Hsu (1984), Annals of Statistics 12, for comparisons with the best;
    Donner and Zou (2012), Statistical Methods in Medical Research 21, for the ratio of two rates of
    few events.
    """

    over: str
    first: str = ""
    above_median: bool = False

    @property
    def between(self) -> str:
        """Key of `by` whose groups are compared with one another."""
        return self.over

    def against(self, group: str) -> "ImpactRatio":
        """Return the ratio of one group."""
        return replace(self, first=group)

    def compared(self, records: Sequence[Record]) -> Mapping[str, Sequence[Record]]:
        """Return all groups of the key, with their records."""
        found: dict[str, list[Record]] = {}
        for record in records:
            if self.over in record.by:
                found.setdefault(record.by[self.over], []).append(record)
        return dict(sorted(found.items()))

    def values(self, records: Sequence[Record]) -> Floats:
        """Return the contributions of the records that belong to a group, NaN for others."""
        found = np.array(
            [self.of(r) if self.over in r.by else np.nan for r in records], dtype=np.float64
        )
        return above_median(found) if self.above_median else found

    def side_of(self, record: Record) -> Hashable:
        """Return the group of a record."""
        return record.by.get(self.over)

    def place(self, record: Record) -> Place | None:
        """Return the group of a record, None where it has none."""
        group = record.by.get(self.over)
        return None if group is None else ("", group)

    def sums(self, records: Sequence[Record]) -> Sums:
        """Return what is resampled: the clusters of the records of all groups."""
        kept, values = self.contributing(records)
        groups = [r.by[self.over] for r in kept]
        names = sorted(set(groups), key=repr)

        def ratio(rates: Floats) -> Floats:
            low = rates[..., names.index(self.first)] if self.first in names else rates.min(-1)
            found: Floats = low / rates.max(-1)
            return found

        return resampling.group_sums(values, self.units(kept), groups, ratio)

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        kept, values = self.contributing(records)
        groups = np.array([r.by[self.over] for r in kept])
        names = sorted(set(groups.tolist()))
        if len(names) < 2:
            return Estimate(None, interval_reason="fewer than two groups were scored")
        if self.first and self.first not in names:
            return Estimate(None, interval_reason=f"nothing was scored of {self.first}")
        rates = {name: float(values[groups == name].mean()) for name in names}
        highest = max(names, key=lambda name: rates[name])
        if rates[highest] == 0:
            return Estimate(None, interval_reason=NONE_SELECTED)
        low = self.first or min(names, key=lambda name: rates[name])
        found = Estimate(rates[low] / rates[highest], n_clusters=len({r.cluster for r in kept}))
        told = f"highest in {highest}" if self.first else f"lowest in {low}, highest in {highest}"
        found = replace(found, note=told)
        numerators = [self.first] if self.first else names
        pairs = [(a, b) for a in numerators for b in names if a != b]
        below, above = [1.0], [1.0]
        for a, b in pairs:
            own = [(r, v) for r, v, g in zip(kept, values, groups, strict=True) if g in (a, b)]
            ratio = _Ratio([r for r, _ in own], np.array([v for _, v in own]), (a, b), self)
            if why := resampling.too_few(ratio.sums):
                return replace(found, interval_reason=why)
            # Whichever pair has the true ratio, only its own lower end can be too high.
            below.append(ratio.ends(sampling.level)[0])
            above.append(ratio.ends(1 - (1 - sampling.level) / len(pairs))[1])
        return replace(found, method=METHOD, interval=(min(below), min(above)))


@dataclass(frozen=True)
class AboveMedian(Mean):
    """Percentage of contributions that are above the median of those of all records.

    `against` a group it is that of the group's own, "scoring rate" in Local Law 144, 5-301.
    The median counts as known, although it is that of the sample.
    """

    over: str
    first: str = ""

    def against(self, group: str) -> "AboveMedian":
        """Return the percentage of one group."""
        return replace(self, first=group)

    def values(self, records: Sequence[Record]) -> Floats:
        """Return 100 or 0 for the records of the group, NaN for others."""
        found = above_median(super().values(records))
        own = [not self.first or r.by.get(self.over) == self.first for r in records]
        return np.where(own, found, np.nan)


def above_median(values: Floats) -> Floats:
    """Return 100 for each value above the median, 0 for others, NaN where there is no value."""
    there = ~np.isnan(values)
    if not there.any():
        return values
    return np.where(there, 100.0 * (values > np.median(values[there])), np.nan)


class _Ratio:
    """The rate of one group over that of another, of the same prompts."""

    def __init__(
        self, records: Sequence[Record], values: Floats, pair: tuple[str, str], of: ImpactRatio
    ) -> None:
        sides = [pair.index(r.by[of.over]) for r in records]
        units = factors.units(records, of.factors, of.side_of)
        self.sums = resampling.group_sums(values, units, sides, _log_ratio)
        side = np.array(sides)
        self.rates = [float(values[side == n].mean()) / 100 for n in (0, 1)]
        self.n = [float(n) for n in self.sums.n_effective]
        self.events = [self._events(values[side == n], self.n[n]) for n in (0, 1)]
        self.n_apart = _n_apart([r.cluster for r in records], values, sides)

    def _events(self, values: Floats, n: float) -> float:
        """Return how many events or non-events there are, whichever are fewer."""
        rate = float(values.mean()) / 100
        # A few events within one level give no information on the other levels.
        return min(rate, 1 - rate) * (len(values) if self.sums.crossing else n)

    def ends(self, level: float) -> Ends:
        """Return both ends of the interval of the ratio."""
        if min(self.events) < FEW_EVENTS:
            return self._few(level)
        spread = resampling.variance(self.sums)
        if spread is None or not math.isfinite(spread):
            return self._few(level)
        crossing = self.sums.crossing
        df = self.sums.degrees_of_freedom if crossing else self.sums.n_units - 1
        low, high = multiway.interval(self.sums.value, spread, df, (None, None), level)
        # Where the groups differ in a few prompts only, these vary too little: at most this share
        # of prompts may differ if none of so many does.
        apart = of_equal_units(0.0, (-1.0, 1.0), min(self.n), level)[1] / self.rates[1]
        ratio = math.exp(self.sums.value)
        least, most = max(ratio - apart, 0.0), ratio + apart
        if self.n_apart >= FEW_EVENTS:
            return math.exp(low), math.exp(high)
        return min(math.exp(low), least), max(math.exp(high), most)

    def _few(self, level: float) -> Ends:
        """Return the interval of a ratio of rates of independent trials (MOVER-R)."""
        (p, q), (n, m) = self.rates, self.n
        (l1, u1), (l2, u2) = wilson(p * n, n, level), wilson(q * m, m, level)
        # Rounding may leave a square just below zero.
        down = math.sqrt(max((p * q) ** 2 - l1 * u2 * (2 * p - l1) * (2 * q - u2), 0.0))
        up = math.sqrt(max((p * q) ** 2 - u1 * l2 * (2 * p - u1) * (2 * q - l2), 0.0))
        over, under = p * q + down, l2 * (2 * q - l2)
        low = l1 * (2 * p - l1) / over if over else 0.0
        high = (p * q + up) / under if under > 0 else math.inf
        return low, high


def _n_apart(clusters: Sequence[str], values: Floats, sides: Sequence[int]) -> int:
    """Return how many clusters have another mean on one side than on the other."""
    means: dict[str, tuple[list[float], list[float]]] = {}
    for cluster, value, side in zip(clusters, values, sides, strict=True):
        means.setdefault(cluster, ([], []))[side].append(float(value))
    paired = [[sum(own) / len(own) for own in both] for both in means.values() if all(both)]
    return sum(abs(one - other) > TINY for one, other in paired)


def _log_ratio(rates: Floats) -> Floats:
    if rates.shape[-1] < 2:
        return np.full(rates.shape[:-1], np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.log(rates[..., 0]) - np.log(rates[..., 1])
    return found
