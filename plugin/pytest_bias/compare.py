"""What changed between two reports on the same items, and whether it can be said at all.

The primary quantity is the paired signed change of a score; the distance to the ideal comes second.
A comparison speaks of these two checkpoints, not of two ways to train.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from pytest_bias import statistics
from pytest_bias.errors import UnknownName
from pytest_bias.interface import Capability
from pytest_bias.records import Record, Report, SuiteResult
from pytest_bias.scores import Score
from pytest_bias.scoring import Context, Paired
from pytest_bias.statistics import Estimate, Sampling
from pytest_bias.suites import Metric, find

Direction: TypeAlias = Literal["better", "worse", "crossed", "unclear"]

SHOWN_ITEMS: Final = 10
NO_CHANGE: Final = Estimate(0.0, (0.0, 0.0), method="no item changed")
UNCHANGED: Final = 1e-9
"""Contributions that differ by no more than this have not changed."""


@dataclass(frozen=True, slots=True)
class Change:
    """One score in two reports.

    `change` is the current value minus the baseline's, `worsening` how much further from the ideal
    the current value is; each has the interval of a bootstrap over the same items in both.
    """

    current: Score
    baseline: Score
    change: Estimate
    worsening: Estimate
    direction: Direction
    n: int = 0
    n_changed: int = 0
    items: tuple[str, ...] = ()


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
        """Return the change of one score, or null if there is none."""
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


def compare(current: Report, baseline: Report) -> Comparison:
    """Compare every suite that both reports measured in the same way."""
    now, then = ({s.entry: s for s in r.suites} for r in (current, baseline))
    suites = []
    for entry in [*now, *(e for e in then if e not in now)]:
        suite, other = now.get(entry), then.get(entry)
        either = suite or other
        scored = [s for s in (suite, other) if s and s.status == "scored"]
        if either is None or not scored or either.kind == "structure":
            continue
        reason = _reason(suite, other, current, baseline)
        if reason or suite is None or other is None:
            suites.append(SuiteComparison(entry, either.title, reason=reason))
            continue
        changes = tuple(_changes(suite, other, int(current.settings["seed"])))
        note = _note(suite, other, current, baseline)
        suites.append(SuiteComparison(entry, suite.title, changes, note=note))
    return Comparison(current, baseline, tuple(suites))


def _reason(
    suite: SuiteResult | None, other: SuiteResult | None, current: Report, baseline: Report
) -> str | None:
    """Say why two results of a suite cannot be compared, and what to do."""
    if other is None:
        return "the baseline did not measure it; measure the baseline again with this suite"
    if suite is None:
        return "only the baseline measured it; measure the model again with this suite"
    if other.status != "scored":
        return f"in the baseline it is {other.status.replace('_', ' ')}"
    if suite.status != "scored":
        return f"it is {suite.status.replace('_', ' ')} now"
    pairs = (
        ("another version of the suite", suite.version, other.version),
        ("another measure", suite.measure, other.measure),
        ("another kind of model", current.model.kind, baseline.model.kind),
        ("other data", suite.data and suite.data.sha256, other.data and other.data.sha256),
    )
    for what, ours, theirs in pairs:
        if ours != theirs:
            return f"{what} ({theirs}, now {ours}); measure the baseline again"
    if not suite.records or not other.records:
        return "the records are missing; both reports need their records folder"
    ours_items = {r.item: r.text_sha256 for r in suite.records}
    theirs_items = {r.item: r.text_sha256 for r in other.records}
    if ours_items != theirs_items:
        if only := len(ours_items.keys() ^ theirs_items.keys()):
            return (
                f"another set of items ({only} are in one report only); measure both with the same "
                "--profile and --seed, without --budget"
            )
        other_texts = sum(theirs_items[item] != text for item, text in ours_items.items())
        return f"{other_texts} items have another text; measure the baseline again"
    return _unknown(suite)


def _unknown(suite: SuiteResult) -> str | None:
    """Say why the installed suite cannot tell what the records of a report mean."""
    try:
        installed = find(suite.name)
        known = {m.name for m in installed.measure_named(suite.measure or "").metrics}
    except UnknownName as error:
        return error.message
    if suite.version != installed.version:
        return (
            f"both are of version {suite.version} of the suite, {installed.version} is installed; "
            "measure both again"
        )
    unknown = sorted({s.metric for s in suite.scores} - known)
    return f"the installed suite has no metric {unknown[0]}" if unknown else None


def _note(suite: SuiteResult, other: SuiteResult, current: Report, baseline: Report) -> str | None:
    notes = []
    if current.model.dtype != baseline.model.dtype:
        notes.append(f"{baseline.model.dtype} before, {current.model.dtype} now")
    if _asks_for_texts(suite):
        before, now = (r.settings.get("chat", "off") for r in (baseline, current))
        if before != now:
            notes.append(f"chat {before} before, {now} now")
    for result, when in ((other, "before"), (suite, "now")):
        if (score := result.headline) and score.value is None:
            notes.append(f"no headline {when}: {score.note or score.interval_reason}")
    return "; ".join(notes) or None


def _asks_for_texts(suite: SuiteResult) -> bool:
    return Capability.GENERATE in find(suite.name).measure_named(suite.measure or "").needs


def _changes(suite: SuiteResult, other: SuiteResult, seed: int) -> Iterator[Change]:
    measure = find(suite.name).measure_named(suite.measure or "")
    metrics = {m.name: m for m in measure.metrics}
    theirs = {(s.metric, tuple(sorted(s.by.items()))): s for s in other.scores}
    for score in suite.scores:
        before = theirs.get((score.metric, tuple(sorted(score.by.items()))))
        if before is None or before.value is None or score.value is None:
            continue
        context = Context(suite.name, suite.config, seed)
        yield _change(score, before, metrics[score.metric], suite, other, context)


def _change(
    score: Score,
    before: Score,
    metric: Metric,
    suite: SuiteResult,
    other: SuiteResult,
    context: Context,
) -> Change:
    rng = context.rng(f"change of {metric.name}", dict(score.by))
    estimator = metric.estimate
    if not isinstance(estimator, Paired):
        if suite.records == other.records:
            return Change(score, before, NO_CHANGE, NO_CHANGE, "unclear", n=score.n)
        difference = (score.value or 0) - (before.value or 0)
        why = "this metric has no value for single items"
        found = Estimate(difference, interval_reason=why)
        worse = Estimate((score.distance or 0) - (before.distance or 0), interval_reason=why)
        return Change(score, before, found, worse, "unclear")
    ours, theirs = (_relevant(s.records, metric, score) for s in (suite, other))
    both = [
        (a, b)
        for a, b in zip(ours, theirs, strict=True)
        if a.status == "scored" and b.status == "scored"
    ]
    now, then = estimator.pairs(both)
    clusters = [a.cluster for a, _ in both]
    # An item that entered or left the mean has changed, by less than one that crossed over.
    entered = np.isnan(now) != np.isnan(then)
    moved = np.where(entered, 2 * UNCHANGED, np.nan_to_num(np.abs(now - then)))
    order = sorted(range(len(both)), key=lambda i: (-moved[i], both[i][0].item))
    changed = [i for i in order if moved[i] > UNCHANGED]
    if changed:
        sampling = Sampling(rng, context.level)
        change = statistics.change(now, then, clusters, sampling)
        worsening = statistics.worsening(now, then, clusters, metric.ideal, sampling)
    else:
        change = worsening = NO_CHANGE
    at, was = (float(np.nanmean(v)) if not np.isnan(v).all() else metric.ideal for v in (now, then))
    return Change(
        current=score,
        baseline=before,
        change=change,
        worsening=worsening,
        direction=_direction(score, before, at, was, change, worsening),
        n=len(both),
        n_changed=len(changed),
        items=tuple(both[i][0].item for i in changed[:SHOWN_ITEMS]),
    )


def _relevant(records: Sequence[Record], metric: Metric, score: Score) -> list[Record]:
    found = [r for r in records if metric.where(r) and dict(score.by).items() <= dict(r.by).items()]
    return sorted(found, key=lambda r: r.item)


def _direction(
    score: Score, before: Score, now: float, then: float, change: Estimate, worsening: Estimate
) -> Direction:
    """Say where a mean moved: crossed, if it stood on the other side and not just by chance."""
    if not _excludes(change.interval, 0):
        return "unclear"
    now, then = now - score.ideal, then - score.ideal
    if now * then < 0:
        sides = _excludes(before.interval, score.ideal) and _excludes(score.interval, score.ideal)
        if sides or not _excludes(worsening.interval, 0):
            return "crossed"
    return "better" if abs(now) < abs(then) else "worse"


def _excludes(interval: tuple[float, float] | None, value: float) -> bool:
    return interval is not None and not interval[0] <= value <= interval[1]
