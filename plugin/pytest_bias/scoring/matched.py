"""Matched differences: a group against a reference, with everything else in the data equal.

A question about people who differ in several attributes is asked about every combination. Two
records of one cluster that have all other attributes in common are a pair, so that what a question
is about, and its other attributes, cancel out. A record without its counterpart counts nowhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pytest_bias.records.report import Record
from pytest_bias.scoring.estimators import Additive
from pytest_bias.scoring.gaps import SHUFFLED, null_estimate, size_of_means
from pytest_bias.scoring.resampling import Sums
from pytest_bias.scoring.statistics import Estimate, Floats, Sampling


@dataclass(frozen=True)
class Matched(Additive):
    """Mean difference of a group's records from those of a reference group that match them.

    Parameters
    ----------
    of : callable
        A record's contribution, None where the record has none.
    over : str
        Key of `by` that names the group.
    reference : str
        The group that the others are compared with.
    matched : tuple of str
        Keys of `by` that two records have in common, beside their cluster.
    first : str
        The group; set by `against` (`Metric.versus`), which reports one score for each group.
    """

    over: str
    reference: str
    matched: tuple[str, ...]
    first: str = ""
    if_none = "no record has a counterpart in the reference group"

    @property
    def between(self) -> str:
        """Key of `by` whose groups are compared with one another."""
        return self.over

    def against(self, group: str) -> "Matched":
        """Return the difference of a group from the reference."""
        return replace(self, first=group)

    def compared(self, records: Sequence[Record]) -> Mapping[str, Sequence[Record]]:
        """Return the two groups, with their records."""
        found = {
            group: [r for r in records if r.by.get(self.over) == group]
            for group in (self.first, self.reference)
        }
        return {group: own for group, own in found.items() if own}

    def values(self, records: Sequence[Record]) -> Floats:
        """Return each record's difference from its counterparts, NaN without one, (n_records,)."""
        theirs: dict[tuple[str | None, ...], list[float]] = {}
        for record in records:
            if record.by.get(self.over) == self.reference:
                value = self.of(record)
                if value is not None:
                    theirs.setdefault(self._set(record), []).append(value)
        means = {at: sum(values) / len(values) for at, values in theirs.items()}
        found = np.full(len(records), np.nan)
        for n, record in enumerate(records):
            if record.by.get(self.over) == self.first and (at := self._set(record)) in means:
                value = self.of(record)
                found[n] = np.nan if value is None else value - means[at]
        return found

    def _set(self, record: Record) -> tuple[str | None, ...]:
        return record.cluster, *(record.by.get(key) for key in self.matched)


@dataclass(frozen=True)
class Axis:
    """Groups of one attribute, compared with a reference group.

    Parameters
    ----------
    over, reference : str
        Key of `by`, and its group that the others are compared with.
    groups : tuple of str
        The others.
    matched : tuple of str
        Keys that two records of a pair have in common.
    """

    over: str
    reference: str
    groups: tuple[str, ...]
    matched: tuple[str, ...]


@dataclass(frozen=True)
class MatchedSize(Additive):
    """Mean over axes of the mean absolute value of the `Matched` differences of their groups.

    It is a mean of absolute means, not of absolute differences of single pairs, in which noise
    would add up. Above zero by chance as well: its floor is its mean when the groups of an axis
    change places at random, cluster by cluster, and its test is that shuffle. Its interval is that
    of an unsigned statistic (`unsigned`).

    Parameters
    ----------
    of : callable
        A record's contribution, None where the record has none.
    axes : tuple of Axis
        Those without a record of a group that is compared are left out.
    """

    axes: tuple[Axis, ...]
    floor_of = SHUFFLED

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        sums = self.sums(records)
        if not np.isfinite(sums.value):
            return Estimate(None, interval_reason=f"no pair of {self._without(records)}")
        found = null_estimate(
            sums, self._shuffled(records, sampling), "shuffles of groups", sampling
        )
        axes = ", ".join(axis.over for axis, _ in self._there(records))
        return replace(found, note=f"of mean differences, mean over {axes}")

    def sums(self, records: Sequence[Record]) -> Sums:
        """Return what is resampled: the clusters of the records."""
        weights, values = [], []
        there = self._there(records)
        for axis, groups in there:
            for group in groups:
                weights.append(1 / (len(there) * len(groups)))
                values.append(self._matched(axis, group).values(records))
        names = [f"{n:03d}" for n in range(len(values)) for _ in records]
        clusters = [r.cluster for r in records] * len(values)
        weight = np.array(weights)

        def size(means: Floats) -> Floats:
            found: Floats = (np.abs(means) * weight).sum(-1)
            return found if len(weight) else np.full(means.shape[:-1], np.nan)

        return size_of_means(np.concatenate([*values, np.empty(0)]), clusters, names, size)

    def _there(self, records: Sequence[Record]) -> list[tuple[Axis, list[str]]]:
        """Return the axes with their groups of which there are records."""
        seen = {(axis.over, r.by.get(axis.over)) for axis in self.axes for r in records}
        found = [(a, [g for g in a.groups if (a.over, g) in seen]) for a in self.axes]
        return [(a, groups) for a, groups in found if groups and (a.over, a.reference) in seen]

    def _matched(self, axis: Axis, group: str) -> Matched:
        return Matched(self.of, axis.over, axis.reference, axis.matched, group)

    def _without(self, records: Sequence[Record]) -> str:
        """Return the groups of which no record has a counterpart."""
        pairs = [(a, g) for a, groups in self._there(records) for g in groups]
        without = [
            f"{a.over} {g} and {a.reference}"
            for a, g in pairs
            if np.isnan(self._matched(a, g).values(records)).all()
        ]
        return "; ".join(without) or "two groups"

    def _shuffled(self, records: Sequence[Record], sampling: Sampling) -> Iterator[float]:
        """Yield the size when the groups of every axis change places within clusters."""
        n = sampling.draws.shuffles
        there = self._there(records)
        total = np.zeros(n)
        for axis, groups in there:
            sums, counts = self._pairs(records, axis, [axis.reference, *groups])
            places = sampling.rng.random((n, *sums.shape[:2])).argsort(-1)
            at = np.arange(len(sums))[None, :, None], places[..., 1:], places[..., :1]
            with np.errstate(invalid="ignore", divide="ignore"):
                means = sums[at].sum(1) / counts[at].sum(1)
            total += np.abs(means).mean(-1) / len(there)
        yield from np.nan_to_num(total).tolist()

    def _pairs(
        self, records: Sequence[Record], axis: Axis, groups: Sequence[str]
    ) -> tuple[Floats, Floats]:
        """Return sums and numbers of the differences of all pairs of groups.

        Of shape (n_clusters, n_groups, n_groups), the first group minus the second.
        """
        numbers = {group: n for n, group in enumerate(groups)}
        clusters = {name: n for n, name in enumerate(sorted({r.cluster for r in records}))}
        sets: dict[tuple[str | None, ...], list[list[float]]] = {}
        for record in records:
            group, value = record.by.get(axis.over), self.of(record)
            if group in numbers and value is not None:
                at = record.cluster, *(record.by.get(key) for key in axis.matched)
                sets.setdefault(at, [[] for _ in groups])[numbers[group]].append(value)
        sums = np.zeros((len(clusters), len(groups), len(groups)))
        counts = np.zeros_like(sums)
        for (cluster, *_), own in sets.items():
            means = np.array([np.mean(v) if v else np.nan for v in own])
            apart = means[:, None] - means[None, :]
            sums[clusters[str(cluster)]] += np.nan_to_num(apart)
            counts[clusters[str(cluster)]] += ~np.isnan(apart)
        return sums, counts
