"""Rates, which are one sum over another, such as nats per word; and perplexities, made of them.

The mean of each text's nats per word would weight a short text like a long one; here a record is
weighted by its number of words.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

import numpy as np

from pytest_bias.records.report import Record
from pytest_bias.scoring import permutation, resampling
from pytest_bias.scoring.estimators import Additive, Contribution
from pytest_bias.scoring.gaps import FIRST, SECOND, Gap
from pytest_bias.scoring.resampling import Sums
from pytest_bias.scoring.statistics import Estimate, Floats, Sampling, Test

TOO_LARGE: Final = "too large for a number: the texts have few spaces; see nats per character"


@dataclass(frozen=True)
class Rate(Additive):
    """Mean contribution of the records, each with its weight.

    Parameters
    ----------
    of : callable
        A record's rate, such as its nats per word; None where it is not part of the metric.
    weight : callable
        The denominator of the rate, such as the number of words.
    """

    weight: Contribution

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        return without_overflow(super().__call__(records, sampling))

    def sums(self, records: Sequence[Record]) -> Sums:
        """Return what is resampled: the clusters of the records."""
        kept, values = self.contributing(records)
        clusters, weights = self.units(kept), _weights(self.weight, kept)
        return _scaled(
            resampling.group_sums(values, clusters, [""] * len(kept), self.of_rates, weights)
        )

    def of_rates(self, rates: Floats) -> Floats:
        """Return the statistic of rates of shape (..., 1)."""
        return rates[..., 0]


class Perplexity(Rate):
    """The exponential of a rate of nats: the inverse geometric mean of P(word), token or character.

    Without a value above about 709 nats, where a float overflows.
    """

    def of_rates(self, rates: Floats) -> Floats:
        """Return the perplexity of rates of shape (..., 1)."""
        return exp(rates[..., 0])


@dataclass(frozen=True)
class RateGap(Gap):
    """The rate of one group minus that of another, each a ratio of sums.

    Parameters
    ----------
    of : callable
        A record's rate, None where it is not part of the metric.
    over, first, second : str
        The groups of two versions of the same texts, which share clusters. Without `second` they
        are different texts: those that have the key (all of them, or the group `first`) against
        those that do not, such as texts out of domain against texts in domain. The sides are then
        resampled separately, and the test asks whether the side of a cluster makes a difference.
    weight : callable
        As in `Rate`.
    """

    weight: Contribution = lambda record: 1.0

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        return without_overflow(super().__call__(records, sampling))

    @property
    def between(self) -> str:
        """No key: noise that leaves the tokens unchanged is a valid result, not a tie to drop."""
        return ""

    def against(self, group: str) -> "RateGap":
        """Return the gap between one group and the texts that have no group."""
        return replace(self, first=group)

    def compared(self, records: Sequence[Record]) -> Mapping[str, Sequence[Record]]:
        """Return the groups that the gap is between, with their records."""
        others = [r for r in records if self.over not in r.by]
        return {**super().compared(records), **({} if self.second else {"the others": others})}

    def sums(self, records: Sequence[Record]) -> Sums:
        """Return what is resampled: the clusters of the records of either side."""
        kept, values = self.contributing(records)
        sides = [self._side(r) for r in kept]
        if self.second:
            clusters, weights = self.units(kept), _weights(self.weight, kept)
            return _scaled(resampling.group_sums(values, clusters, sides, self.of_rates, weights))
        rate = Rate(self.of, self.weight)
        apart = [
            rate.sums([r for r, at in zip(kept, sides, strict=True) if at == side])
            for side in (FIRST, SECOND)
        ]

        def of_totals(first: Floats, second: Floats) -> Floats:
            rates = [total[..., 0] / total[..., 1] for total in (first, second)]
            return self.of_rates(np.stack(np.broadcast_arrays(*rates), axis=-1))

        samples = tuple(side.samples[0] for side in apart)
        return _scaled(Sums(samples, of_totals, max(side.scale for side in apart)))

    def counts(self, records: Sequence[Record]) -> Floats:
        """Return the weight of each record in the rate of its side."""
        return _weights(self.weight, records)

    def of_rates(self, rates: Floats) -> Floats:
        """Return the statistic of the rates of both sides, shape (..., 2)."""
        if rates.shape[-1] < 2:
            return np.full(rates.shape[:-1], np.nan)
        found: Floats = rates[..., FIRST] - rates[..., SECOND]
        return found

    def test(self, records: Sequence[Record], ideal: float, sampling: Sampling) -> Test:
        """Test whether the group of a record makes a difference."""
        if self.second or ideal != self.even:
            return super().test(records, ideal, sampling)
        return permutation.groups_test(self.sums(records), sampling)

    def _side(self, record: Record) -> int | None:
        if self.second:
            return super()._side(record)
        group = record.by.get(self.over)
        if group is None:
            return SECOND
        return FIRST if self.first in ("", group) else None


class PerplexityRatio(RateGap):
    """The perplexity of one group over that of another: the exponential of the gap in nats."""

    even: ClassVar[float] = 1

    def of_rates(self, rates: Floats) -> Floats:
        """Return the ratio of two perplexities, of the rates of both, shape (..., 2)."""
        return exp(super().of_rates(rates))


def without_overflow(found: Estimate, why: str = TOO_LARGE) -> Estimate:
    """Return an estimate, without its value and with the reason where that overflows."""
    if found.value is None or math.isfinite(found.value):
        return found
    return Estimate(None, interval_reason="no value", n_clusters=found.n_clusters, note=why)


def exp(nats: Floats) -> Floats:
    """Return the exponential of nats, NaN where it overflows."""
    with np.errstate(over="ignore"):
        found: Floats = np.exp(nats)
    return np.where(np.isinf(found), np.nan, found)


def _weights(weight: Contribution, records: Sequence[Record]) -> Floats:
    return np.array([weight(r) for r in records], dtype=np.float64)


def _scaled(sums: Sums) -> Sums:
    """Return sums whose scale, for rounding, is at least their statistic."""
    value = abs(sums.value)
    return replace(sums, scale=max(sums.scale, value)) if np.isfinite(value) else sums
