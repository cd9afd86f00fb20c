"""What is said of each model of a fleet: its report without records, and the change of each suite.

Rows are small and plain, so that a fleet can keep them, send them between processes and let go of
the records. Everything here is pure: no model, no terminal, no file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from pytest_bias.emit import wording
from pytest_bias.records.path_redaction import without_own_paths
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.reports.comparison import Comparison, SuiteComparison, compare
from pytest_bias.scoring.statistics import Estimate
from pytest_bias.suites.catalogue import INSTALLED, Catalogue
from pytest_bias.suites.suite import Suite
from pytest_bias.untrusted import clean

RowStatus: TypeAlias = Literal["measured", "failed", "interrupted"]

LONGEST: Final = 4_000
"""Characters of a reason that are kept."""
NAME: Final = 120
"""Characters of a model's name."""

NOT_PUBLISHED: Final = "not published"
NO_BASE_NAMED: Final = "it names no base model"
NO_BASE_REPORT: Final = "there is no report of its base model"
NO_VALUE: Final = "it has no value"
STRUCTURE_STAYS: Final = "checks of the structure are not compared"


@dataclass(frozen=True, slots=True)
class FleetRow:
    """One model of a fleet.

    Parameters
    ----------
    asked : str
        The model as the user's list names it; may hold a path of the user's own.
    status : str
        ``measured``, ``failed`` or ``interrupted``.
    reason : str or None
        Why it was not measured, or not to the end.
    reference : str or None
        Its name in a report; None where the model failed before it was known.
    report : Report or None
        Its report without records, each suite with its headline alone; None where it failed.
    folder : str or None
        Where the report lies below the fleet's folder, with ``/`` between the parts.
    decision : str or None
        Status of the decision on the project's own limits.
    base : str or None
        The model, with its revision, that the changes are against.
    changes : mapping of str to SuiteComparison
        By suite entry, the change of its headline against the base model, or the reason why there
        is none.
    ideals : mapping of str to str
        By suite entry, the word for the ideal of its headline (`Metric.ideal_label`): whoever
        reads the row need not have the suite.
    """

    asked: str
    status: RowStatus
    reason: str | None = None
    reference: str | None = None
    report: Report | None = None
    folder: str | None = None
    decision: str | None = None
    base: str | None = None
    changes: Mapping[str, SuiteComparison] = field(default_factory=dict)
    ideals: Mapping[str, str] = field(default_factory=dict)

    @property
    def suites(self) -> tuple[SuiteResult, ...]:
        """The suites of the report; none where there is no report."""
        return self.report.suites if self.report else ()

    def change(self, entry: str) -> Estimate:
        """Return the change of a headline; `interval_reason` says why a value or interval lacks."""
        found = self.changes[entry]
        if found.changes:
            return found.changes[0].change
        return Estimate(None, interval_reason=found.reason)


def row_of(
    report: Report,
    *,
    asked: str,
    folder: str | None,
    decision: str | None = None,
    base: Report | None = None,
    catalogue: Catalogue = INSTALLED,
) -> FleetRow:
    """Return what is said of one model that has a report.

    Parameters
    ----------
    report : Report
        With its records, if it is to be compared.
    asked : str
        The model as the user's list names it.
    folder : str or None
        Where its report lies below the fleet's folder.
    decision : str, optional
        Status of the decision on the project's limits.
    base : Report, optional
        That of the model's base, with its records: what the changes are against.
    catalogue : Catalogue
        Has the suites of the report.
    """
    comparison = (
        compare(_headlines(report), _headlines(base), catalogue=catalogue) if base else None
    )
    reason = _unfinished(report)
    suites = tuple(map(_without_records, _headlines(report).suites))
    return FleetRow(
        asked=_text(asked),
        status="interrupted" if reason else "measured",
        reason=reason,
        reference=report.model.reference,
        report=replace(report, suites=suites, sealed=report.digest),
        folder=folder,
        decision=decision,
        base=named(base.model.reference, base.model.revision) if base else None,
        changes={s.entry: _change(s, report, comparison) for s in suites},
        ideals={s.entry: _ideal_label(s, catalogue.get(s.name)) for s in suites},
    )


def failed(asked: str, reason: str, reference: str | None = None) -> FleetRow:
    """Return what is said of a model that has no report; the user's own paths leave the reason."""
    told = without_own_paths(_text(reason)[:LONGEST]).strip() or "no reason was given"
    return FleetRow(_text(asked), "failed", told, reference)


def model_name(row: FleetRow) -> str:
    """Return the model with its revision.

    Of a model that failed it is what the user's list says, without the user's folders.
    """
    if row.report:
        return wording.model_name(row.report)
    return clean(row.reference or without_own_paths(row.asked), NAME)


def named(reference: str, revision: str | None) -> str:
    """Return a name with its revision, shortened; not cleaned."""
    return f"{reference}@{revision[:7]}" if revision else reference


def _headlines(report: Report) -> Report:
    """Return a report with the one score of each suite that a row has room for."""
    suites = (replace(s, scores=(s.headline,) if s.headline else ()) for s in report.suites)
    return replace(report, suites=tuple(suites))


def _without_records(suite: SuiteResult) -> SuiteResult:
    reason = suite.reason or (NOT_PUBLISHED if suite.status == "withheld" else None)
    return replace(suite, records=(), reason=reason, title=suite.title or suite.name)


def _unfinished(report: Report) -> str | None:
    if report.run.get("interrupted"):
        return "the run was interrupted; the same command goes on with it"
    if part := (report.run.get("shard") or {}).get("part"):
        shard = " of ".join(str(part).split("/"))
        return f"only shard {shard} is here; pytest-bias merge joins the shards"
    return None


def _change(suite: SuiteResult, report: Report, comparison: Comparison | None) -> SuiteComparison:
    """Return the change of a headline, or why there is none."""
    compared = comparison.suites if comparison else ()
    found = next((s for s in compared if s.entry == suite.entry), None)
    if found and found.changes:
        return found
    score = suite.headline
    if report.withheld:
        reason = NOT_PUBLISHED
    elif score is None:
        reason = NO_VALUE
    elif comparison is None:
        reason = NO_BASE_REPORT if report.model.base_model else NO_BASE_NAMED
    elif suite.kind == "structure":
        reason = STRUCTURE_STAYS
    elif score.value is None:
        reason = NO_VALUE
    else:
        reason = (found and found.note) or comparison.reason(suite.entry)
    return SuiteComparison(suite.entry, suite.title, reason=reason)


def _ideal_label(result: SuiteResult, suite: Suite | None) -> str:
    """Return the word for the ideal of a headline; empty where there is none."""
    score = result.headline
    metrics = (m for measure in (suite.measures if suite else ()) for m in measure.metrics)
    same = (m for m in metrics if score and (m.name, m.ideal) == (score.metric, score.ideal))
    return next((m.ideal_label for m in same), "")


def _text(given: str) -> str:
    """Return a text that can be written: a name of a file need not be one."""
    return given.encode("utf-8", "replace").decode()
