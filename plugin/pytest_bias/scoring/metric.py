"""Metrics: one number from many records, with its estimator, ideal, bounds, unit and groups."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from pytest_bias.records.report import Record
from pytest_bias.records.score import FloorOf
from pytest_bias.scoring.statistics import Estimate, Sampling

ALIKE: Final = "the model reads both sides alike"
"""Reason of an item whose sides have the same tokens, so that the model sees no difference."""


class Estimator(Protocol):
    """Turns scored records into a value with its uncertainty."""

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Return the estimate; `records` are scored, sorted by item, and may be empty."""


def every(record: Record) -> bool:
    """Select all records."""
    return True


def own_cluster(record: Record) -> str:
    """Return the cluster of a record."""
    return record.cluster


@dataclass(frozen=True)
class Floor:
    """Value of a metric, on given records, without the effect that it measures.

    Parameters
    ----------
    of : str
        Where the floor comes from, as in `records.score.FloorOf`.
    at : callable
        Maps the scored records to the value; None where they have none.
    """

    of: FloorOf
    at: Callable[[Sequence[Record]], float | None]


@dataclass(frozen=True)
class Metric:
    """One number computed from many records.

    Parameters
    ----------
    name : str
        Name in the report; the field's standard term.
    estimate : Estimator
        Computes the value from records alone.
    ideal : float
        Value of a model without the bias in question. Direction is distance to it.
    bounds : tuple of float or None
        Smallest and largest possible value; None where there is none.
    unit : str
        ``%``, ``points`` for a difference of percentages, ``valence points`` (of a scale from 0 to
        100), ``nats``, ``nats/char`` (for each character), ``bits``, ``d``, or empty for a pure
        number.
    tolerance : float
        Largest difference, in the unit, that a re-run on another machine may show.
    by : tuple of tuple of str
        Groups that are reported beside the overall score, each a tuple of `Item.by` keys.
    where : callable
        Selects the records that the metric is about, scored or not.
    headline : bool
        Whether this number represents the suite; exactly one per measure.
    beside : bool
        Whether it is shown beside the headline everywhere, because the headline cannot be
        interpreted without it.
    whole : bool
        Whether the score over all groups together is reported.
    family : bool
        Whether the groups are hypothesis tests, whose p-values are adjusted for one another by
        Holm's method; otherwise they are exploratory.
    floor : Floor, optional
        Value without the effect that it measures, where its estimator does not give it.
    spread : str
        Key of the records' `detail` that names the template of an item, so that the score gives how
        far it differs between templates; empty where there are none.
    spread_within : str
        `by` key within which templates can be compared, such as ``axis``; empty for all of them.
    without_interval : str
        Why it never has an interval, so that no limit on it can be decided; empty where it
        can.
    versus : str
        `by` key along which a group is compared with the others: its score uses the records of all
        groups of the key, with the estimator `estimate.against` that group. Empty where a group's
        score uses its own records only.
    block : callable
        Within what sides are compared: a record whose partner there is unscored is left out with
        it (`unscored`). By default the cluster; stated where a cluster has several pairs.
    alike : bool
        Whether items count whose sides the model reads alike, as they do in a published script.
    rest : frozenset of str
        `by` keys whose items without a group get a score of their own beside the groups
        (`records.score.NO_GROUP`): for user data, which may lack a group.
    ideal_label : str
        Word before the number of the ideal, such as ``even`` in ``even 50``, as in the suite's
        badge; empty for ``ideal``.
    """

    name: str
    estimate: Estimator
    ideal: float
    bounds: tuple[float | None, float | None]
    unit: str
    tolerance: float
    by: tuple[tuple[str, ...], ...] = ()
    where: Callable[[Record], bool] = every
    headline: bool = False
    beside: bool = False
    whole: bool = True
    family: bool = False
    floor: Floor | None = None
    spread: str = ""
    spread_within: str = ""
    versus: str = ""
    block: Callable[[Record], Hashable] = own_cluster
    without_interval: str = ""
    alike: bool = False
    rest: frozenset[str] = frozenset()
    ideal_label: str = ""

    @property
    def floor_of(self) -> FloorOf | None:
        """Kind of the floor of its scores; None where they have none."""
        return self.floor.of if self.floor else getattr(self.estimate, "floor_of", None)

    def counts(self, record: Record) -> bool:
        """Whether a record has a number for this metric."""
        unseen = self.alike and record.reason == ALIKE and bool(record.detail)
        return record.status == "scored" or unseen
