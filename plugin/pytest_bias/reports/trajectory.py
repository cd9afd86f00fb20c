"""A sequence of checkpoints: how scores moved from the oldest to the newest, and what persisted.

A model in continued training may keep what it learned early, so besides the change of every score
this counts how many outcomes of the oldest checkpoint are still those of the newest.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.reports.comparison import Comparison, SuiteComparison, compare
from pytest_bias.scoring.estimators import Additive, own_value
from pytest_bias.scoring.scores import members
from pytest_bias.suites.catalogue import INSTALLED, Catalogue

OUTCOMES: Final = frozenset({0.0, 50.0, 100.0})
"""Values of items that have an outcome: one side, the other, or a tie."""

FEWEST: Final = 3
"""Smallest number of items for a correlation; with two items it is always 1 or -1."""


@dataclass(frozen=True, slots=True)
class Carried:
    """How much of one suite's oldest outcomes the newest checkpoint still has.

    Parameters
    ----------
    entry : str
        The suite in its configuration.
    n : int
        Items that are scored in both checkpoints.
    n_same : int, optional
        Items whose outcome is the same; None where items have values instead of outcomes.
    n_by_chance : float, optional
        How many would be expected if the outcomes of each checkpoint were permuted at random, as in
        Cohen's kappa (1960).
    correlation : float, optional
        Pearson's r of the items' values in both, from -1 to 1; None where items have outcomes.
    reason : str, optional
        Why there is neither a count nor a correlation.
    """

    entry: str
    n: int
    n_same: int | None = None
    n_by_chance: float | None = None
    correlation: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Checkpoints of one model, the oldest first.

    Parameters
    ----------
    checkpoints : tuple of Report
        The oldest first.
    overall : Comparison
        The newest against the oldest.
    reasons : tuple of mapping
        One per checkpoint: entry to the reason why its scores are not comparable with the newest.
    carried : tuple of Carried
        One for every suite in which the oldest and the newest checkpoint can be compared.
    """

    checkpoints: tuple[Report, ...]
    overall: Comparison
    reasons: tuple[Mapping[str, str], ...]
    carried: tuple[Carried, ...]

    @property
    def suites(self) -> Iterator[SuiteComparison]:
        """Suites of the newest checkpoint that can be compared with at least one other."""
        scored = {s.entry for s in self.checkpoints[-1].suites if s.status == "scored"}
        for suite in self.overall.suites:
            if suite.entry in scored and any(
                suite.entry not in reasons for reasons in self.reasons[:-1]
            ):
                yield suite

    def values(self, entry: str, score: Score) -> tuple[Score | None, ...]:
        """Return a score of the newest checkpoint in all, None where it cannot be compared."""
        found: list[Score | None] = []
        for report, reasons in zip(self.checkpoints, self.reasons, strict=True):
            suite = next((s for s in report.suites if s.entry == entry), None)
            try:
                comparable = suite is not None and entry not in reasons
                found.append(
                    suite.score(score.metric, **score.by) if suite and comparable else None
                )
            except KeyError:
                found.append(None)
        return tuple(found)


def trajectory(
    newest: Report, older: Sequence[Report], catalogue: Catalogue = INSTALLED
) -> Trajectory:
    """Compare a checkpoint with older ones.

    Parameters
    ----------
    newest : Report
        The checkpoint that the others are compared with.
    older : sequence of Report
        The others, the oldest last; at least one.
    """
    overall = compare(newest, older[-1], catalogue=catalogue)
    bare = _without_scores(newest)
    between = [
        compare(bare, _without_scores(report), catalogue=catalogue) for report in older[-2::-1]
    ]
    reasons = tuple(_reasons(found) for found in (overall, *between))
    carried = tuple(
        _carried(newest.suite(*_name(suite)), older[-1].suite(*_name(suite)), catalogue)
        for suite in overall.suites
        if suite.reason is None
    )
    return Trajectory((*reversed(older), newest), overall, (*reasons, {}), carried)


def _without_scores(report: Report) -> Report:
    """Return a report that serves only to check comparability: nothing is resampled."""
    return replace(report, suites=tuple(replace(s, scores=()) for s in report.suites))


def _reasons(comparison: Comparison) -> Mapping[str, str]:
    return {s.entry: s.reason for s in comparison.suites if s.reason}


def _name(suite: SuiteComparison) -> tuple[str, str]:
    name, _, config = suite.entry.rstrip("]").partition("[")
    return name, config


def _carried(newest: SuiteResult, oldest: SuiteResult, catalogue: Catalogue) -> Carried:
    """Compare two comparable results of a suite by their items' contributions to the headline."""
    now, then = _pairs(newest, oldest, catalogue)
    empty = Carried(newest.entry, len(now))
    if OUTCOMES.issuperset(now) and OUTCOMES.issuperset(then) and len(now):
        shares = ((then == outcome).mean() * (now == outcome).sum() for outcome in OUTCOMES)
        return replace(empty, n_same=int((now == then).sum()), n_by_chance=float(sum(shares)))
    if len(now) < FEWEST:
        return replace(empty, reason=f"{len(now)} items are scored in both")
    if np.ptp(now) == 0 or np.ptp(then) == 0:
        return replace(empty, reason="all items of a checkpoint have the same value")
    return replace(empty, correlation=float(np.corrcoef(now, then)[0, 1]))


def _pairs(
    newest: SuiteResult, oldest: SuiteResult, catalogue: Catalogue
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the values of the items that are scored in both, each of shape (n_items,)."""
    measure = catalogue.find(newest.name).measure_named(newest.measure or "")
    headline = next(m for m in measure.metrics if m.headline)
    new, old = (
        {r.item: r for r in members(s.records, headline, {}) if r.status == "scored"}
        for s in (newest, oldest)
    )
    both = [(record, old[item]) for item, record in new.items() if item in old]
    estimator = headline.estimate
    items = estimator if isinstance(estimator, Additive) else Additive(own_value)
    now, then = (items.values([pair[side] for pair in both]) for side in (0, 1))
    there = ~(np.isnan(now) | np.isnan(then))
    return now[there], then[there]
