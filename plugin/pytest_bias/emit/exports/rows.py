"""What may leave a report for another tool: its scores, and the suites that have none.

Every format takes its numbers from here, so that none shows a score that another one leaves out.
"""

from dataclasses import dataclass, replace
from typing import Final

from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.reports.decision import Decision, Outcome
from pytest_bias.reports.withholding import NOT_PUBLISHED, UNMEASURED, verdict_alone

HIDDEN: Final = "its items are hidden: its scores are in the report only"


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One score of a report, with its suite; it has a value."""

    suite: SuiteResult
    score: Score


@dataclass(frozen=True, slots=True)
class Absent:
    """One suite without scores for other tools, with the reason."""

    suite: SuiteResult
    reason: str


def score_rows(report: Report) -> tuple[ScoreRow, ...]:
    """Return the scores with a value, in the order of the report.

    Scores of hidden items, and those of a report whose scores are withheld, are left out.
    """
    return tuple(
        ScoreRow(suite, score)
        for suite in report.suites
        if _reason(report, suite) is None
        for score in suite.scores
        if score.value is not None
    )


def absent(report: Report) -> tuple[Absent, ...]:
    """Return the suites of which `score_rows` has no score, each with the reason."""
    found = []
    for suite in report.suites:
        reason = _reason(report, suite)
        if reason is None and all(s.value is None for s in suite.scores):
            reason = suite.reason or next((s.note for s in suite.scores if s.note), None)
            reason = reason or "no score has a value"
        if reason is not None:
            found.append(Absent(suite, reason))
    return tuple(found)


def outcomes(report: Report, decision: Decision | None) -> tuple[Outcome, ...]:
    """Return the outcomes of a project's limits; of hidden items without the numbers."""
    hidden = {s.entry for s in report.suites if s.is_hidden}
    found = decision.outcomes if decision else ()
    return tuple(_verdict_alone(o) if o.entry in hidden else o for o in found)


def _verdict_alone(outcome: Outcome) -> Outcome:
    alone = verdict_alone(outcome)
    return alone if alone.verdict in UNMEASURED else replace(alone, reason=HIDDEN)


def _reason(report: Report, suite: SuiteResult) -> str | None:
    """Return why no score of a suite may be shown to other tools; None if they may."""
    if report.withheld or suite.status == "withheld":
        return NOT_PUBLISHED if suite.status == "withheld" else suite.reason or suite.status
    return HIDDEN if suite.is_hidden and suite.scores else None
