"""One number of a report, with all that is needed to interpret it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

Family: TypeAlias = Literal["decision", "suite", "exploratory"]
"""Family of tests for which a p-value was adjusted: the headlines of a run (Holm), the tests of
one suite (Holm), or groups, which are exploratory (Benjamini-Hochberg)."""

NO_GROUP: Final = "(no group)"
"""Placeholder for the group of items without one, which are compared with no group."""


FloorOf: TypeAlias = Literal["guessing", "shuffled labels", "wording alone", "other groups"]
"""Kind of a floor: the score of a model that guesses, with all answers equally likely; the mean of
an unsigned effect size when labels are shuffled, which is due to noise alone; the score due to the
variation between wordings of one sentence; the score of the same words for other groups. The first
two are chance levels; the others are measured on the model itself."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Variation of a score between the templates from which its items were made.

    `sd` is the standard deviation (ddof = 1) of the scores of the single templates, `low` and
    `high` their minimum and maximum, all in the unit of the score. Intervals treat these templates
    as fixed, so they do not include this variation.
    """

    over: str
    n: int
    sd: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Score:
    """Value of one metric over many records.

    `interval` is the confidence interval at `level`, or None with `interval_reason`. `by` names the
    group, empty for the whole suite. `n` counts the units of the value: scored records, or sets of
    them, without those that are compared with unscored ones. `n_unscored` counts records that
    could not be scored, `n_excluded` those that the suite's own rule dropped. `beside` means that
    the headline is shown with this score beside it. `floor` is the expected score in the absence
    of the effect, where that is not the ideal, and `floor_of` its kind (`FloorOf`).
    `factors` are the random factors of the interval besides the clusters, such as pairs of words,
    with their numbers of levels; `held_fixed` are those with too few levels for that.
    `seed`, in hexadecimal, is the seed of the interval's random generator.

    `p_value` is that of the `test` of the null hypothesis that the score is at its ideal, or None
    with `p_reason`; `p_adjusted` is the same adjusted for the tests of its `family`.
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
