"""Comparison of two reports on the same items: what changed, and what cannot be compared.

The primary quantity is the paired signed change of a score; the change of its distance to the ideal
is secondary. A comparison is about these two checkpoints, not about two training procedures.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np

from pytest_bias.engine.isolation import told
from pytest_bias.records.report import Record, Report, SuiteResult
from pytest_bias.records.score import Family, Score
from pytest_bias.reports.comparability import not_known, note_on, why_not
from pytest_bias.scoring import paired, statistics
from pytest_bias.scoring.estimators import Additive
from pytest_bias.scoring.metric import Metric
from pytest_bias.scoring.scores import (
    LEVEL,
    Context,
    estimator_for,
    leaving,
    members,
    statistics_of,
)
from pytest_bias.scoring.statistics import Estimate, Sampling
from pytest_bias.scoring.worsening import worsened_at_least
from pytest_bias.suites.catalogue import INSTALLED, Catalogue
from pytest_bias.suites.results import scored

Direction: TypeAlias = Literal["better", "worse", "crossed", "unclear"]

SHOWN_ITEMS: Final = 10
NO_CHANGE: Final = Estimate(
    0.0, (0.0, 0.0), method="no item changed", test="no item changed", p_value=1.0
)
UNCHANGED: Final = 1e-9
"""Contributions that differ by no more than this are unchanged."""

Named: TypeAlias = Callable[[SuiteResult, Score], bool]
"""Whether a project has named a score in advance, so that it belongs to the decision family."""


@dataclass(frozen=True, slots=True)
class Change:
    """One score in two reports.

    `change` is the current value minus the baseline's, `worsening` how much further from the ideal
    the current value is; each has the interval of a bootstrap over the same items in both.
    `decisive` is the worsening again, at the level at which a project's limits are decided.
    `change.p_value` tests that the two versions of an item can be exchanged, and `p_adjusted` is
    the same within the `family`: headlines and scores that a project limits are decided on (Holm),
    all others are exploratory (Benjamini-Hochberg within their suite).
    """

    current: Score
    baseline: Score
    change: Estimate
    worsening: Estimate
    decisive: Estimate
    direction: Direction = "unclear"
    n: int = 0
    n_changed: int = 0
    items: tuple[str, ...] = ()
    family: Family = "exploratory"
    p_adjusted: float | None = None


@dataclass(frozen=True, slots=True)
class SuiteComparison:
    """One suite in two reports; `reason` says why it cannot be compared."""

    entry: str
    title: str
    changes: tuple[Change, ...] = ()
    reason: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two reports side by side."""

    current: Report
    baseline: Report
    suites: tuple[SuiteComparison, ...]

    def change(self, entry: str, score: Score) -> Change | None:
        """Return the change of one score, or None if there is none."""
        for suite in self.suites:
            for change in suite.changes if suite.entry == entry else ():
                if (change.current.metric, dict(change.current.by)) == (
                    score.metric,
                    dict(score.by),
                ):
                    return change
        return None

    def reason(self, entry: str) -> str:
        """Return why an entry cannot be compared."""
        for suite in self.suites:
            if suite.entry == entry and suite.reason:
                return suite.reason
        return "the baseline has no such score"


def _no_score(suite: SuiteResult, score: Score) -> bool:
    return False


def compare(
    current: Report,
    baseline: Report,
    named: Named = _no_score,
    level: float = LEVEL,
    catalogue: Catalogue = INSTALLED,
) -> Comparison:
    """Compare every suite that both reports measured in the same way.

    Parameters
    ----------
    named : callable, optional
        Selects the scores besides the headlines that belong to the decision family: those that a
        limit names.
    level : float
        Confidence level of the intervals that decide on those limits.
    catalogue : Catalogue
        Catalogue with the suites of the reports.
    """
    policy = _Policy(named, level, int(current.settings["seed"]), catalogue)
    now, then = (
        {s.entry: _with_todays_statistics(s, r, catalogue) for s in r.suites}
        for r in (current, baseline)
    )
    suites = []
    for entry in [*now, *(e for e in then if e not in now)]:
        suite, other = now.get(entry), then.get(entry)
        either = suite or other
        known = [s for s in (suite, other) if s and s.status == "scored"]
        if either is None or not known or either.kind == "structure":
            continue
        reason = why_not(suite, other, current, baseline, catalogue)
        if reason or suite is None or other is None:
            suites.append(SuiteComparison(entry, either.title, reason=reason))
            continue
        try:
            changes = _changes(suite, other, policy)
        except Exception as error:
            why = type(error).__name__ if suite.is_hidden else told(error)
            suites.append(SuiteComparison(entry, suite.title, reason=why))
            continue
        note = note_on(suite, other, current, baseline)
        suites.append(SuiteComparison(entry, suite.title, changes, note=note))
    return Comparison(current, baseline, _decided(suites))


def _with_todays_statistics(
    suite: SuiteResult, report: Report, catalogue: Catalogue
) -> SuiteResult:
    """Score records again if their intervals are of another version of the statistics."""
    if statistics_of(report) == statistics.VERSION or not suite.records:
        return suite
    if suite.status != "scored" or not_known(suite, catalogue):
        return suite
    return scored(suite, catalogue.find(suite.name), int(report.settings["seed"]))


@dataclass(frozen=True, slots=True)
class _Policy:
    """Scores that a project decides on, the level, the seed for resampling, and the suites."""

    named: Named
    level: float
    seed: int
    catalogue: Catalogue


def _changes(suite: SuiteResult, other: SuiteResult, policy: _Policy) -> tuple[Change, ...]:
    measure = policy.catalogue.find(suite.name).measure_named(suite.measure or "")
    metrics = {m.name: m for m in measure.metrics}
    theirs = {(s.metric, tuple(sorted(s.by.items()))): s for s in other.scores}
    context = Context(suite.name, suite.config, policy.seed)
    found = []
    for score in suite.scores:
        before = theirs.get((score.metric, tuple(sorted(score.by.items()))))
        if before is None or before.value is None or score.value is None:
            continue
        named = policy.named(suite, score)
        level = policy.level if named else context.level
        change = _change(score, before, metrics[score.metric], suite, other, context, level)
        decides = named or (score.headline and suite.control_of is None)
        found.append(replace(change, family="decision" if decides else "exploratory"))
    return tuple(_adjusted(found, "exploratory", statistics.benjamini_hochberg))


def _change(
    score: Score,
    before: Score,
    metric: Metric,
    suite: SuiteResult,
    other: SuiteResult,
    context: Context,
    level: float,
) -> Change:
    estimator = estimator_for(metric, score.by)
    if not isinstance(estimator, Additive):
        return _without_items(score, before, suite.records == other.records)
    records = _in_both(suite, other, metric, score)
    now, then = (estimator.values(r) for r in records)
    # An item that entered or left the mean has changed, but by less than one that changed sides.
    entered = np.isnan(now) != np.isnan(then)
    moved = np.where(entered, 2 * UNCHANGED, np.nan_to_num(np.abs(now - then)))
    items = [r.item for r in records[0]]
    order = sorted(range(len(items)), key=lambda i: (-moved[i], items[i]))
    changed = [i for i in order if moved[i] > UNCHANGED]
    change = worsening = decisive = NO_CHANGE
    if changed:
        sums = estimator.sums(records[0]), estimator.sums(records[1])

        def drawn(what: str, level: float) -> Sampling:
            at_level = replace(context, level=level)
            return at_level.sampling(f"{what} of {metric.name}", score.by, metric.bounds)

        def worse(level: float) -> Estimate:
            found = paired.worsening(*sums, metric.ideal, drawn("worsening", level))
            if found.value is None or found.interval:
                return found
            at_least = worsened_at_least(*sums, metric.ideal, drawn("test of worsening", level))
            return replace(found, at_least=at_least)

        change = paired.change(sums[0], sums[1], drawn("change", context.level))
        worsening = worse(context.level)
        decisive = worsening if level == context.level else worse(level)
    named = () if suite.is_hidden else changed[:SHOWN_ITEMS]
    return Change(
        current=score,
        baseline=before,
        change=change,
        worsening=worsening,
        decisive=decisive,
        n=int((~np.isnan(now) | ~np.isnan(then)).sum()),
        n_changed=len(changed),
        items=tuple(items[i] for i in named),
    )


def _in_both(
    suite: SuiteResult, other: SuiteResult, metric: Metric, score: Score
) -> tuple[list[Record], list[Record]]:
    """Return the records of the items that contribute to a score in both results.

    An item that is unscored in one result is dropped from both, with the items it is compared with.
    """
    now, then = (
        {r.item: r for r in members(s.records, metric, dict(score.by))} for s in (suite, other)
    )
    # An item can be excluded from the score because of the answer of one of the models.
    complete = {
        item: (now[item], then[item])
        for item in now
        if item in then and not now[item].status == then[item].status == "excluded"
    }
    lost = {i for i, pair in complete.items() if not all(map(metric.counts, pair))}
    lost |= leaving([a for a, _ in complete.values()], lost, metric, score.by)
    kept = [pair for i, pair in complete.items() if i not in lost]
    return [a for a, _ in kept], [b for _, b in kept]


def _without_items(score: Score, before: Score, same: bool) -> Change:
    """Compare two values of a metric that has no value for single items."""
    if same:
        return Change(score, before, NO_CHANGE, NO_CHANGE, NO_CHANGE, n=score.n)
    why = "this metric has no value for single items"
    difference = (score.value or 0) - (before.value or 0)
    further = (score.distance or 0) - (before.distance or 0)
    change = Estimate(difference, interval_reason=why, p_reason=why)
    worsening = Estimate(further, interval_reason=why)
    return Change(score, before, change, worsening, worsening)


def _decided(suites: Sequence[SuiteComparison]) -> tuple[SuiteComparison, ...]:
    """Adjust the decision family over the whole comparison, then set each change's direction."""
    flat = [c for suite in suites for c in suite.changes]
    adjusted = iter(_adjusted(flat, "decision", statistics.holm))
    return tuple(
        replace(suite, changes=tuple(_directed(next(adjusted)) for _ in suite.changes))
        for suite in suites
    )


def _adjusted(
    changes: Sequence[Change], family: Family, adjust: Callable[[Sequence[float]], list[float]]
) -> list[Change]:
    mine = [c for c in changes if c.family == family and c.change.p_value is not None]
    adjusted = iter(adjust([c.change.p_value for c in mine if c.change.p_value is not None]))
    return [
        replace(c, p_adjusted=next(adjusted))
        if c.family == family and c.change.p_value is not None
        else c
        for c in changes
    ]


def _directed(found: Change) -> Change:
    """Set the direction of a change if it is clear; crossed, if it went past the ideal."""
    score, before = found.current, found.baseline
    alpha = 1 - score.level
    clear = found.p_adjusted is not None and found.p_adjusted <= alpha
    # A difference that the same model may show on another machine is no change.
    clear = clear and abs(found.change.value or 0.0) > score.tolerance
    # Without an interval, as for a mean of sizes, the test alone decides.
    if not clear or (found.change.interval and not _excludes(found.change.interval, 0)):
        return replace(found, direction="unclear")
    moved, further = found.change.value or 0.0, found.worsening.value or 0.0
    # On one side of the ideal, the distance changes by as much as the value.
    if abs(moved) > abs(further) * (1 + UNCHANGED):
        sides = _excludes(before.interval, score.ideal) and _excludes(score.interval, score.ideal)
        if sides or not _excludes(found.worsening.interval, 0):
            return replace(found, direction="crossed")
    return replace(found, direction="worse" if further > 0 else "better")


def _excludes(interval: tuple[float, float] | None, value: float) -> bool:
    return interval is not None and not interval[0] <= value <= interval[1]
