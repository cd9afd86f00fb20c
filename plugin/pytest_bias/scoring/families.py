"""P-values adjusted per family: a suite's tests, its groups, a run's headlines."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from pytest_bias.records.report import SuiteResult
from pytest_bias.records.score import Family, Score
from pytest_bias.scoring import statistics

ADJUSTMENTS: Final[dict[Family, Callable[[Sequence[float]], list[float]]]] = {
    "suite": statistics.holm,
    "exploratory": statistics.benjamini_hochberg,
}
"""Adjustment of p-values within one suite; adjusting those of headlines needs the whole run."""


def with_decision_family(suites: Sequence[SuiteResult]) -> tuple[SuiteResult, ...]:
    """Return the results of a run with the p-values of the headlines adjusted for one another.

    Controls check a suite and are not part of the family.
    """
    scores = [s for suite in suites if suite.control_of is None for s in suite.scores]
    found = iter(adjusted(scores, "decision", statistics.holm))
    return tuple(
        suite
        if suite.control_of is not None
        else replace(suite, scores=tuple(next(found) for _ in suite.scores))
        for suite in suites
    )


def adjusted(
    scores: Sequence[Score], family: Family, adjust: Callable[[Sequence[float]], list[float]]
) -> list[Score]:
    """Adjust the p-values of one family for one another."""
    p_values = [s.p_value for s in scores if s.family == family and s.p_value is not None]
    found = iter(adjust(p_values))
    return [
        replace(s, p_adjusted=next(found)) if s.family == family and s.p_value is not None else s
        for s in scores
    ]
