"""A number that many records give: its estimator, ideal, bounds, unit and groups."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from pytest_bias.records.report import Record
from pytest_bias.records.score import FloorOf
from pytest_bias.scoring.statistics import Estimate, Sampling

ALIKE: Final = "the model reads both sides alike"
"""Reason of an item whose difference the model is not shown: its tokens are the same."""


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
    """What a metric comes to, on given records, without what it looks for.

    Parameters
    ----------
    of : str
        What makes it so, in the words of `scores.FloorOf`.
    at : callable
        From the scored records to the value; null where they have none.
    """

    of: FloorOf
    at: Callable[[Sequence[Record]], float | None]


@dataclass(frozen=True)
class Metric:
    """One number that many records give.

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
        Groups that are reported beside the whole, each a tuple of `Item.by` keys.
    where : callable
        Selects the records that the metric is about, scored or not.
    headline : bool
        Whether this is the number that stands for the suite; exactly one a measure.
    beside : bool
        Whether it stands beside the headline wherever that is shown, because this cannot be read
        without it.
    whole : bool
        Whether the score over all groups together is reported.
    family : bool
        Whether the groups are tests of hypotheses, whose p-values are adjusted for one another by
        Holm's method; otherwise they are exploratory.
    floor : Floor, optional
        What the metric comes to without what it looks for, where its estimator does not say it.
    spread : str
        Key of the records' `detail` that names the template of an item, so that the score says how
        far it differs between templates; empty where there are none.
    spread_within : str
        `by` key within which templates can be compared, such as ``axis``; empty for all of them.
    without_interval : str
        Why it can never have an interval, so that no limit on it can be decided; empty where it
        can.
    versus : str
        `by` key along which a group is held against the others: its score is of the records of all
        groups of the key, and `estimate` is asked for ``against`` that group. Empty where a group's
        score is of its own records.
    block : callable
        What the sides of a comparison are compared within: a record whose partner there is unscored
        leaves with it (`blocks`). By default the cluster; it is named where one has several pairs.
    alike : bool
        Whether items count whose sides the model reads alike, as they do in a published script.
    rest : frozenset of str
        `by` keys of which items without a group have a score of their own beside the groups
        (`scores.NO_GROUP`): where data of a user's own may lack one.
    ideal_label : str
        Word for the ideal in front of its number, such as ``even`` in ``even 50``, as the badge of
        the suite says it; empty for ``ideal``.
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
        """What the floor is that its scores have; null where they have none."""
        return self.floor.of if self.floor else getattr(self.estimate, "floor_of", None)

    def counts(self, record: Record) -> bool:
        """Whether a record has a number for this metric."""
        unseen = self.alike and record.reason == ALIKE and bool(record.detail)
        return record.status == "scored" or unseen
