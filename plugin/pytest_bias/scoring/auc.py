"""How well a score ranks two classes: the area under the ROC curve, as a mean of placements.

The placement of a positive is the share of the negatives below it, that of a negative the share of
the positives above it. Means of placements add up, so that the bootstrap over clusters and the
paired comparison of two reports are those of every other metric. Their variance is that of DeLong,
DeLong and Clarke-Pearson (1988, Biometrics 44).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from pytest_bias.records.report import Record
from pytest_bias.scoring import resampling
from pytest_bias.scoring.estimators import Additive, Place
from pytest_bias.scoring.resampling import Sums
from pytest_bias.scoring.statistics import Estimate, Floats, Sampling, Test

Own: TypeAlias = Literal["both", "positives", "negatives"]

NEGATIVE, POSITIVE = 0, 1


@dataclass(frozen=True)
class Auc(Additive):
    """Probability that a positive record scores above a negative one; a tie counts one half.

    Parameters
    ----------
    of : callable
        A record's score, None where the record is not part of the metric.
    is_positive : callable
        Whether a record is of the positive class, which should score higher.
    over : str
        Key of `by` that names the group, for an AUC of one group against the others
        (`Metric.versus`).
    own : str
        Which class is taken from the group, and the other from all other groups: with ``negatives``
        it is the BPSN AUC of Borkan et al. (2019), with ``positives`` their BNSP AUC.
    group : str
        The group that is compared; empty until `against` sets it.
    """

    is_positive: Callable[[Record], bool]
    over: str = ""
    own: Own = "both"
    group: str = ""
    if_none: ClassVar[str] = "one of the two classes has no scored record"
    if_equal: ClassVar[str] = "all placements are equal"

    def against(self, group: str) -> "Auc":
        """Return the AUC between one class in a group and the other class in all other groups."""
        return replace(self, group=group)

    def compared(self, records: Sequence[Record]) -> Mapping[str, Sequence[Record]]:
        """Return the two classes, with their records."""
        sides = [self._side(r) for r in records]
        return {
            name: [r for r, s in zip(records, sides, strict=True) if s == side]
            for name, side in (("positives", POSITIVE), ("negatives", NEGATIVE))
        }

    def values(self, records: Sequence[Record]) -> Floats:
        """Return the placements of records, NaN where a record has none."""
        sides = [self._side(r) for r in records]
        scores = np.array(
            [np.nan if s is None else self.of(r) for r, s in zip(records, sides, strict=True)],
            dtype=np.float64,
        )
        side = np.array([-1 if s is None else s for s in sides])
        side[np.isnan(scores)] = -1
        found = np.full(len(records), np.nan)
        positive, negative = scores[side == POSITIVE], scores[side == NEGATIVE]
        if len(positive) and len(negative):
            found[side == POSITIVE] = _below(positive, negative)
            found[side == NEGATIVE] = 1 - _below(negative, positive)
        return found

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        found = super().__call__(records, sampling)
        if found.interval is None:
            return found
        # A sum of two means can leave the scale where the AUC is near its end.
        low, high = (min(1.0, max(0.0, end)) for end in found.interval)
        return replace(found, interval=(low, high))

    def sums(self, records: Sequence[Record]) -> Sums:
        """Return what is resampled: the clusters of the records.

        The mean placement of either class is the AUC. Half of it is subtracted from each, so that
        the sum of the two means is the AUC as well, and moves with a resample as the AUC does, to
        first order.
        """
        kept, values = self.contributing(records)
        sides = [self._side(r) for r in kept]
        half = float(values[[s == POSITIVE for s in sides]].mean()) / 2 if kept else np.nan
        clusters = [r.cluster for r in kept]
        return resampling.group_sums(values - half, clusters, sides, lambda means: means.sum(-1))

    def test(self, records: Sequence[Record], ideal: float, sampling: Sampling) -> Test:
        """Return no test, with the reason."""
        return Test(reason="no test for an area under a curve")

    def place(self, record: Record) -> Place | None:
        """Return the class of a record."""
        side = self._side(record)
        return None if side is None else ("", side)

    def _side(self, record: Record) -> int | None:
        positive = self.is_positive(record)
        if self.group:
            group = record.by.get(self.over)
            own = self.own == "both" or positive == (self.own == "positives")
            if group is None or own != (group == self.group):
                return None
        return POSITIVE if positive else NEGATIVE


def _below(scores: Floats, others: Floats) -> Floats:
    """Return for each score the share of the others that are below it; ties count one half."""
    ranked = np.sort(others)
    below = np.searchsorted(ranked, scores, "left") + np.searchsorted(ranked, scores, "right")
    found: Floats = below / (2 * len(others))
    return found
