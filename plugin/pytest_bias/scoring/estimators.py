"""Estimators that average one number per record: means, shares, means of means."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, TypeAlias

import numpy as np

from pytest_bias.records.report import Record
from pytest_bias.records.score import FloorOf
from pytest_bias.scoring import factors, permutation, resampling, statistics
from pytest_bias.scoring.factors import Factor
from pytest_bias.scoring.resampling import Sums
from pytest_bias.scoring.statistics import Estimate, Floats, Sampling, Test

EVEN: Final = 50.0
"""Percentage that independent records reach by chance."""

Contribution = Callable[[Record], float | None]

Place: TypeAlias = tuple[Hashable, Hashable]
"""Part of a block, and side within it: records of one part are compared if their sides differ."""


def own_value(record: Record) -> float | None:
    """Return the value of a record, which the headline of most suites averages."""
    return record.value


@dataclass(frozen=True)
class Additive:
    """An estimator that averages one number per record, so that two reports can be paired.

    A subclass defines how in `sums`.

    `of` is a record's contribution, None where the record is not part of the metric; `floor_of`
    names the kind of floor of its estimates, if they have one. `factors` are what the records are a
    sample of besides their clusters.
    """

    of: Contribution
    factors: tuple[Factor, ...] = field(default=(), kw_only=True)
    floor_of: ClassVar[FloorOf | None] = None
    if_none: ClassVar[str] = "nothing was scored"
    """Why there is no value where no record is part of the metric."""
    if_equal: ClassVar[str] = "all values are equal"
    """Why there is no bootstrap interval where contributions do not differ."""

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records, with an interval over what `sums` resamples."""
        kept, values = self.contributing(records)
        if not kept:
            return Estimate(None, interval_reason=self.if_none)
        equal = self.if_equal if np.ptp(values) == 0 else None
        return resampling.estimate(self.sums(records), sampling, equal=equal)

    def values(self, records: Sequence[Record]) -> Floats:
        """Return the contributions of records, NaN where a record has none."""
        return np.array([self.of(r) for r in records], dtype=np.float64)

    def groups(self, records: Sequence[Record]) -> Sequence[str] | None:
        """Return the groups whose means are averaged, or None where there are none."""
        return None

    def weights(self, records: Sequence[Record]) -> Floats | None:
        """Return how much each record counts in its mean, or None where all count alike."""
        return None

    @property
    def between(self) -> str:
        """Key of `by` whose groups are compared with one another; empty where none are."""
        return ""

    def compared(self, records: Sequence[Record]) -> Mapping[str, Sequence[Record]]:
        """Return the groups that are compared with one another, with their records."""
        return {}

    def place(self, record: Record) -> Place | None:
        """Return a record's place in a comparison within a block, None where it is in none."""
        return None

    def against(self, group: str) -> "Additive":
        """Return the estimator of one group against the others, if it exists."""
        raise TypeError(f"{type(self).__name__} does not compare groups")

    def side_of(self, record: Record) -> Hashable:
        """Return which of the compared sides a record is on."""
        return None

    def units(self, records: Sequence[Record]) -> Sequence[Hashable]:
        """Return the resampling unit of each record: its cluster, or a cell of crossed factors."""
        return factors.units(records, self.factors, self.side_of)

    def sums(self, records: Sequence[Record]) -> Sums:
        """Return what is resampled: the clusters of the records."""
        return resampling.mean_sums(
            self.values(records),
            self.units(records),
            self.groups(records),
            self.weights(records),
        )

    def test(self, records: Sequence[Record], ideal: float, sampling: Sampling) -> Test:
        """Test whether the value is at its ideal."""
        kept, values = self.contributing(records)
        return permutation.mean_test(
            values, self.units(kept), ideal, sampling, self.groups(kept), self.weights(kept)
        )

    def contributing(self, records: Sequence[Record]) -> tuple[list[Record], Floats]:
        """Return the records that are part of the metric, with their contributions."""
        values = self.values(records)
        kept = ~np.isnan(values)
        return [r for r, k in zip(records, kept, strict=True) if k], values[kept]


class Mean(Additive):
    """Mean contribution of the records, resampled over clusters."""

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        kept, values = self.contributing(records)
        return resampling.mean(values, self.units(kept), sampling)


class Share(Additive):
    """Percentage of independent records; `of` gives 0, 100, or 50 for a tie."""

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        kept, values = self.contributing(records)
        return resampling.share(values, self.units(kept), sampling)

    def sums(self, records: Sequence[Record]) -> Sums:
        """Return what is resampled, marked where every record is an independent trial."""
        found = super().sums(records)
        alone = found.n_units == len(records) and not np.isnan(self.values(records)).any()
        return replace(found, independent=alone and found.crossing is None)

    def test(self, records: Sequence[Record], ideal: float, sampling: Sampling) -> Test:
        """Test whether the share is even; exact for independent records."""
        kept, values = self.contributing(records)
        if ideal != EVEN:
            return Test(reason=f"no test for an ideal of {ideal:g} %")
        units = self.units(kept)
        if len(set(units)) == len(kept) and not factors.sampled(kept, self.factors):
            return statistics.sign_test(values, ideal)
        return super().test(records, ideal, sampling)


@dataclass(frozen=True)
class MacroMean(Additive):
    """Unweighted mean over the groups of a `by` key of the mean contribution in each.

    Parameters
    ----------
    of : callable
        A record's contribution, None where the record is not part of the metric.
    over : str
        Key of `by` that names the groups.
    weight : callable, optional
        How much a record counts in the mean of its group, such as the share of its answers that can
        be read. Then a group without a contribution has no mean, and the whole has none.
    """

    over: str
    weight: Contribution | None = None
    fewest: ClassVar[int] = 5
    """Fewest clusters of a group for which resamples show how much its mean varies."""

    def groups(self, records: Sequence[Record]) -> Sequence[str]:
        """Return the groups whose means are averaged."""
        return [r.by[self.over] for r in records]

    def weights(self, records: Sequence[Record]) -> Floats | None:
        """Return how much each record counts in the mean of its group."""
        weight = self.weight
        return None if weight is None else np.array([weight(r) for r in records], dtype=np.float64)

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        kept, values = self.contributing(records)
        without = sorted(set(self.groups(records)) - set(self.groups(kept))) if self.weight else []
        if kept and without:
            return Estimate(None, interval_reason=f"{self.if_none} of {', '.join(without)}")
        found = resampling.mean(
            values, self.units(kept), sampling, self.groups(kept), self.weights(kept)
        )
        clusters: dict[str, set[str]] = {}
        for record in kept:
            clusters.setdefault(record.by[self.over], set()).add(record.cluster)
        if not clusters or min(map(len, clusters.values())) >= self.fewest:
            return found
        least = min(clusters, key=lambda name: (len(clusters[name]), name))
        few = f"{len(clusters[least])} clusters of {least}; it takes {self.fewest}"
        return replace(found, interval=None, method=None, interval_reason=few)
