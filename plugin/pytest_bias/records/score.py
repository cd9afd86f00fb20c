"""One number of a report, and all that has to be known to read it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

Family: TypeAlias = Literal["decision", "suite", "exploratory"]
"""The tests among which a p-value was adjusted: the headlines of a run (Holm), the tests of one
suite (Holm), or groups, which are looked at without a hypothesis (Benjamini-Hochberg)."""

NO_GROUP: Final = "(no group)"
"""What stands in place of a group for items without one: they are held against no group."""


FloorOf: TypeAlias = Literal["guessing", "shuffled labels", "wording alone", "other groups"]
"""What a floor is. What a model gets that guesses: every answer that it has is equally likely. What
noise alone gives to a size without a sign: its mean when labels are shuffled. What the scatter
between wordings of one sentence gives. What the same words get when other groups are asked about.
The first two are chance; the others are measured on the model itself."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How far a score differs between the templates that its items were made from.

    `sd` is the standard deviation (ddof = 1) of the scores of the single templates, `low` and
    `high` the least and the greatest of them, all in the unit of the score. An interval holds these
    templates fixed, so this is what it does not show.
    """

    over: str
    n: int
    sd: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Score:
    """One metric over many records.

    `interval` is the confidence interval at `level`, or null with `interval_reason`. `by` names the
    group, empty for the whole suite. `n` counts what the value is made of: scored records, or sets
    of them, without those that are compared with unscored ones. `n_unscored` counts records that
    could not be scored, `n_excluded` those that the suite's own rule dropped. `beside` says that
    the headline is shown with this score beside it. `floor` is what the score comes to without what
    it looks for, where that is not its ideal, and `floor_of` says how: `FloorOf`.
    `factors` are what the interval is over besides the clusters, such as pairs of words, with the
    number of their levels; `held_fixed` are those with too few levels for that.
    `seed`, in hexadecimal, is that of the generator that the interval was drawn from.

    `p_value` is that of the `test` of the hypothesis that the score is at its ideal, or null with
    `p_reason`; `p_adjusted` is the same among the tests of its `family`.
    """

    metric: str
    value: float | None
    ideal: float
    bounds: tuple[float | None, float | None]
    unit: str
    tolerance: float
    by: Mapping[str, str] = field(default_factory=dict)
    headline: bool = False
    beside: bool = False
    interval: tuple[float, float] | None = None
    interval_reason: str | None = None
    level: float = 0.95
    method: str | None = None
    seed: str | None = None
    floor: float | None = None
    floor_of: FloorOf | None = None
    spread: Spread | None = None
    n: int = 0
    n_unscored: int = 0
    n_excluded: int = 0
    n_clusters: int = 0
    factors: Mapping[str, int] = field(default_factory=dict)
    held_fixed: Mapping[str, int] = field(default_factory=dict)
    test: str | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    p_reason: str | None = None
    family: Family | None = None
    note: str | None = None

    @property
    def distance(self) -> float | None:
        """Distance of the value from the ideal, in the metric's unit."""
        return None if self.value is None else abs(self.value - self.ideal)
