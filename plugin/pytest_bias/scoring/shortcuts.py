"""Shortcut gaps: how much better a model does on items that a shortcut solves than on the others.

A prediction shortcut is a pattern that is common in training data and does not hold everywhere. A
model that relies on it does better on the items that it solves than on the others. The two groups
can differ in other ways, so a gap is not reliance itself: compare it with other models or people.

Mikula, Štefánik, Petrovič and Sojka (EACL 2024) split by a threshold on a feature, search for the
threshold of the widest gap on the items that they report on, and report how far apart the bootstrap
intervals of both groups are. Ours is the difference of the means itself, with its interval over
clusters; a threshold that is searched for is found on one half of the clusters and used on the
other, since the widest of many gaps on the same items is wide by chance.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from pytest_bias.records.report import Record, sha256
from pytest_bias.records.score import Score
from pytest_bias.scoring import resampling
from pytest_bias.scoring.estimators import Additive, Contribution, Place, own_value
from pytest_bias.scoring.factors import Factor
from pytest_bias.scoring.gaps import SHUFFLED, Gap, null_estimate
from pytest_bias.scoring.metric import Metric
from pytest_bias.scoring.multiway import Crossing
from pytest_bias.scoring.relabelling import relabelled
from pytest_bias.scoring.resampling import Sums, Unsigned
from pytest_bias.scoring.scores import LEVEL, Context, score_records
from pytest_bias.scoring.statistics import Estimate, Floats, Sampling, Test
from pytest_bias.scoring.unsigned import unsigned_sums

SOLVABLE: Final = "solvable"
UNSOLVABLE: Final = "unsolvable"

SPLIT: Final = "split by the shortcut"
"""Key of `by` under which records are split during one estimate."""

LEAST: Final = 0.1
"""Smallest share of the records on either side of a chosen threshold."""

Solvable: TypeAlias = Mapping[str, bool] | Callable[[Record], bool | None]
"""Whether a shortcut solves an item: by its id, or from its record; None leaves it out."""


def shortcut_gap(
    records: Sequence[Record],
    solvable: Solvable,
    *,
    of: Contribution = own_value,
    bounds: tuple[float | None, float | None] = (-100, 100),
    unit: str = "points",
    level: float = LEVEL,
    seed: int = 0,
) -> Score:
    """Measure the mean over the items that a shortcut solves minus that over those it does not.

    Parameters
    ----------
    records : sequence of Record
        Of one suite or of your own; clusters are resampled whole.
    solvable : mapping of str to bool, or callable
        Item id, or record, to whether the shortcut gives the right answer. Items that the mapping
        lacks, or for which the function returns None, are left out.
    of : callable
        A record's contribution, None where it has none; by default its value, such as 100 for a
        right answer and 0 for a wrong one.
    bounds, unit : tuple, str
        Smallest and largest possible gap, and its unit.
    level : float
        Confidence level of the interval.
    seed : int
        Of the resamples.

    Returns
    -------
    Score
        The gap, ideal 0, with its BCa interval, and p of a test that exchanges the two sides within
        clusters. None, with a reason, where a side is empty or more than 5 % of it is unscored.

    References
    ----------
    Mikula et al. (EACL 2024), section 3.

    Examples
    --------
    A classifier that takes "not" for a contradiction is right where that is so, and wrong in every
    second of the other pairs:

    >>> from pytest_bias.records.report import Item
    >>> pairs = [Item(f"pair {n}", f"premise {n // 4}", {}) for n in range(40)]
    >>> records = [p.scored(0 if n % 4 == 3 else 100) for n, p in enumerate(pairs)]
    >>> said_not = {f"pair {n}": n % 4 < 2 for n in range(40)}
    >>> gap = shortcut_gap(records, said_not)
    >>> gap.value, gap.n, gap.n_clusters
    (50.0, 40, 10)

    A function of the record can take a feature of sentiment, paraphrase or question answering:

    >>> shortcut_gap(records, lambda r: r.item.endswith("3")).value < 0
    True
    """
    split = [r for r in _split(records, solvable) if SPLIT in r.by]
    metric = Metric("shortcut_gap", gap_by(SPLIT, of), 0, bounds, unit, 0, headline=True)
    scores = score_records(split, [metric], Context("shortcut", "", seed, level))
    if not scores:
        raise ValueError("`solvable` gives a value for none of the records.")
    return scores[0]


def gap_by(key: str, of: Contribution = own_value, factors: tuple[Factor, ...] = ()) -> Gap:
    """Return the estimator of the gap, for records whose `by` gives their side under a key.

    Parameters
    ----------
    key : str
        Name of the shortcut; its values are those of `side`.
    of : callable
        A record's contribution, None where it has none.
    """
    return Gap(of, key, SOLVABLE, UNSOLVABLE, factors=factors, of_kinds=True)


def side(solved: bool) -> str:
    """Return the value of `by` under a shortcut's key."""
    return SOLVABLE if solved else UNSOLVABLE


def _split(records: Sequence[Record], solvable: Solvable) -> list[Record]:
    """Return the records with their side in `by`; those left out have no entry there."""
    ask = (lambda r: solvable.get(r.item)) if isinstance(solvable, Mapping) else solvable
    told = [(r, ask(r)) for r in records]
    return [r if s is None else replace(r, by={**r.by, SPLIT: side(s)}) for r, s in told]


@dataclass(frozen=True)
class LargestGap(Additive):
    """Largest of the gaps of several shortcuts, each of which splits the same records.

    It is above zero by chance as well: its floor is its mean when records change sides within
    their clusters, and clusters on one side as wholes (`relabelling`), and its test is that
    shuffle. A gap below zero is no sign of the shortcut, so the largest is taken with its
    sign. Its interval is that of an unsigned statistic (`unsigned`).

    Parameters
    ----------
    of : callable
        A record's contribution, None where the record is not part of the metric.
    over : tuple of str
        Keys of `by`, one per shortcut; a record without either of the sides under a key is not part
        of that gap.
    """

    over: tuple[str, ...]
    floor_of = SHUFFLED

    def compared(self, records: Sequence[Record]) -> Mapping[str, Sequence[Record]]:
        """Return both sides of every shortcut, with their records."""
        sides = {f"{key} {s}": (key, s) for key in self.over for s in (SOLVABLE, UNSOLVABLE)}
        found = {n: [r for r in records if r.by.get(k) == s] for n, (k, s) in sides.items()}
        return {name: of for name, of in found.items() if of}

    def values(self, records: Sequence[Record]) -> Floats:
        """Return the contributions of the records on a side of any shortcut, NaN for others."""
        either = {SOLVABLE, UNSOLVABLE}
        there = [any(r.by.get(k) in either for k in self.over) for r in records]
        return np.array(
            [self.of(r) if t else np.nan for r, t in zip(records, there, strict=True)],
            dtype=np.float64,
        )

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        kept, values = self.contributing(records)
        sums = self.sums(records)
        if not np.isfinite(sums.value):
            return Estimate(None, interval_reason="no shortcut has records on both sides")
        sides = self._sides(kept)
        # Records on the same sides of all shortcuts are of one group.
        kinds, kind = np.unique(sides, axis=0, return_inverse=True)
        clusters, blocks = [r.cluster for r in kept], [""] * len(kept)
        with np.errstate(invalid="ignore"):
            # A side without records has no mean.
            shuffled = (
                float(_largest(_gaps(values @ kinds[new] / kinds[new].sum(0))))
                for new in relabelled(kind.ravel(), clusters, blocks, sampling)
            )
            gaps = _gaps(values @ sides / sides.sum(0))
            found = null_estimate(sums, shuffled, "shuffles of groups", sampling)
        which = self.over[int(np.nanargmax(gaps))]
        return replace(found, note=f"largest for {which}" if np.ptp(values) else None)

    def sums(self, records: Sequence[Record]) -> Sums:
        """Return what is resampled: the clusters of the records."""
        kept, values = self.contributing(records)
        sides = self._sides(kept)
        units = self.units(kept)
        each = sorted(set(units), key=repr)
        number = {unit: n for n, unit in enumerate(each)}
        rows = np.zeros((len(number), 2 * sides.shape[1]))
        columns = np.concatenate([sides * values[:, None], sides], axis=1)
        np.add.at(rows, [number[unit] for unit in units], columns)
        half = sides.shape[1]

        def signed(totals: Floats) -> Floats:
            return _gaps(totals[..., :half] / totals[..., half:])

        # A shortcut without records on a side has no gap.
        sizes = rows[:, half:][:, rows[:, half:].any(axis=0)]
        scale = float(np.abs(values).max(initial=0.0))
        found = unsigned_sums((rows,), Unsigned(signed, _largest), scale, sizes)
        return replace(found, crossing=Crossing.of(each))

    def place(self, record: Record) -> Place | None:
        """Return the side of each shortcut that a record is on."""
        sides = tuple(record.by.get(key) for key in self.over)
        return ("", sides) if {SOLVABLE, UNSOLVABLE} & set(sides) else None

    def _sides(self, records: Sequence[Record]) -> Floats:
        """Return the sides that records are on, 1 or 0, of shape (n_records, 2 per shortcut)."""
        names = [(key, s) for key in self.over for s in (SOLVABLE, UNSOLVABLE)]
        rows = [[float(r.by.get(key) == s) for key, s in names] for r in records]
        return np.array(rows, dtype=np.float64).reshape(len(records), len(names))


def _gaps(means: Floats) -> Floats:
    """Return the gap of each shortcut, from the means of its two sides in adjacent columns."""
    found: Floats = means[..., 0::2] - means[..., 1::2]
    return found


def _largest(gaps: Floats) -> Floats:
    """Return the largest gap, NaN where no shortcut has both sides."""
    most: Floats = np.where(np.isnan(gaps), -np.inf, gaps).max(-1)
    return np.where(np.isneginf(most), np.nan, most)


class Threshold(NamedTuple):
    """Where a feature was split: `at` is the last value of the lower side.

    `gap` is its value in the half where it was searched for, on `n` records of `n_clusters`
    clusters: the widest of many, so not an estimate of the gap.
    """

    at: float
    gap: float
    n: int
    n_clusters: int


@dataclass(frozen=True)
class ChosenSplit(Additive):
    """Gap at a threshold on a feature, chosen as the one with the widest gap in other clusters.

    A hash of its name puts every cluster into one of two halves, whatever the model. The first is
    searched for the threshold, among all values of the feature that leave `least` of its records
    on either side; the gap is measured on the second, so that its interval and its test are not
    affected by the search.

    Parameters
    ----------
    of : callable
        A record's contribution, None where the record is not part of the metric.
    feature : callable
        A record's number, such as a distance in words; None leaves the record out.
    high : bool
        Whether the shortcut solves the records with large numbers, instead of small ones.
    least : float
        Smallest share of the records on either side.
    """

    feature: Contribution
    high: bool = False
    least: float = LEAST

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        chosen = self.threshold(records)
        if chosen is None:
            why = f"no threshold leaves {self.least:.0%} of the records on either side"
            return Estimate(None, interval_reason=why)
        found = self._gap(self._measured(records, chosen), sampling)
        solves = "more than" if self.high else "at most"
        where = f"chosen on {chosen.n} items of {chosen.n_clusters} clusters, measured on others"
        return replace(found, note=f"{SOLVABLE} is {solves} {chosen.at:g}, {where}")

    def values(self, records: Sequence[Record]) -> Floats:
        """Return the contributions of the records that the gap is measured on, NaN for others."""
        chosen = self.threshold(records)
        if chosen is None:
            return np.full(len(records), np.nan)
        used = {r.item for r in self._measured(records, chosen)}
        return np.array([self.of(r) if r.item in used else np.nan for r in records], dtype=float)

    def sums(self, records: Sequence[Record]) -> Sums:
        """Return what is resampled: the clusters that the gap is measured on."""
        chosen = self.threshold(records)
        return self._gap.sums([] if chosen is None else self._measured(records, chosen))

    def threshold(self, records: Sequence[Record]) -> Threshold | None:
        """Return the threshold of the widest gap in the first half, None if there is none."""
        there = [r for r in records if not _is_second(r) and self._is_in(r)]
        numbers = np.array([self.feature(r) for r in there], dtype=np.float64)
        values = np.array([self.of(r) for r in there], dtype=np.float64)
        found: list[Threshold] = []
        for at in sorted(set(numbers)):
            low = numbers <= at
            if min(low.sum(), (~low).sum()) < max(1, self.least * len(there)):
                continue
            gap = float(values[low].mean() - values[~low].mean()) * (-1 if self.high else 1)
            n_clusters = len({r.cluster for r in there})
            found.append(Threshold(float(at), gap, len(there), n_clusters))
        return max(found, key=lambda t: (round(t.gap, resampling.DIGITS), -t.at), default=None)

    def test(self, records: Sequence[Record], ideal: float, sampling: Sampling) -> Test:
        """Test whether the side of a record makes a difference, in the second half."""
        chosen = self.threshold(records)
        measured = [] if chosen is None else self._measured(records, chosen)
        return self._gap.test(measured, ideal, sampling)

    def place(self, record: Record) -> Place:
        """Return a separate side per record: any two records of a cluster may be on either side."""
        return "", record.item

    @property
    def _gap(self) -> Gap:
        return gap_by(SPLIT, self.of, self.factors)

    def _is_in(self, record: Record) -> bool:
        return self.feature(record) is not None and self.of(record) is not None

    def _measured(self, records: Sequence[Record], chosen: Threshold) -> list[Record]:
        def solves(record: Record) -> bool | None:
            number = self.feature(record)
            return None if number is None else (number > chosen.at) == self.high

        return _split([r for r in records if _is_second(r) and self._is_in(r)], solves)


def _is_second(record: Record) -> bool:
    """Whether a cluster is one of those that the gap is measured on."""
    return int(sha256(record.cluster)[:8], 16) % 2 == 1
