"""The decision of a run on a project's limits, with the outcome of each limit."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from pytest_bias.errors import ReportError
from pytest_bias.records.documents import read_document, to_document
from pytest_bias.records.report import Report
from pytest_bias.reports.folder import DECISION
from pytest_bias.reports.verdicts import MOST_SEVERE, Verdict
from pytest_bias.settings.waivers import OfWaiver

SCHEMA: Final = "pytest-bias/decision/1"


Status: TypeAlias = Literal[
    "measured", "held", "undecided", "waived", "exceeded", "no-baseline", "could-not-measure"
]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one limit; `interval` is at the `level` that decides."""

    limit: str
    rule: str
    verdict: Verdict
    entry: str | None
    value: float | None = None
    interval: tuple[float, float] | None = None
    level: float | None = None
    allowed: tuple[float | None, float | None] | None = None
    reason: str | None = None
    n: int | None = None
    n_to_decide: int | None = None
    fails: bool = False
    waiver: OfWaiver | None = None

    @property
    def is_failure(self) -> bool:
        """Whether the test of the suite fails because of it."""
        return self.fails or self.verdict in ("not_measured", "no_baseline")

    @property
    def is_waived(self) -> bool:
        """Whether it would fail the run if it were not waived."""
        return self.waiver is not None and self.waiver.state == "waives"


def severity(outcome: Outcome) -> float:
    """Return a sort key: the more severe the outcome of a limit, the smaller."""
    # A waived limit does not fail the run; it sorts before limits that are held.
    verdict = "undecided" if outcome.is_waived else outcome.verdict
    return MOST_SEVERE.index(verdict) + (0.5 if outcome.is_waived else 0)


@dataclass(frozen=True, slots=True)
class Decision:
    """The one decision of a run: the same in the terminal, JUnit, the summary and the exit code.

    `report` and `baseline` are identified by their digests; `change` summarizes what changed since
    the baseline (`emit.change.summary_dict`). `missing` are suites without data, `without_value`
    those that were measured without a result. `settings_file` has name and SHA-256 of the file of
    settings, which holds the limits.
    """

    status: Status
    exit_code: int
    outcomes: tuple[Outcome, ...]
    problems: tuple[str, ...]
    report: str
    baseline: Mapping[str, str | None] | None = None
    change: Mapping[str, Any] | None = None
    missing: tuple[str, ...] = ()
    without_value: tuple[str, ...] = ()
    settings_file: Mapping[str, str] | None = None

    def to_json(self) -> str:
        """Return decision.json."""
        plain = {"schema": SCHEMA, **asdict(self)}
        return to_document(plain)


def read_decision(file: Path) -> Decision:
    """Read a decision.json.

    Raises
    ------
    ReportError
        If it cannot be read, or is not a decision.
    """
    try:
        return read_document(file.read_text(encoding="utf-8"), SCHEMA, Decision)
    except (OSError, UnicodeDecodeError, ReportError) as error:
        raise ReportError(f"{file} is no decision: {error}"[:300]) from None


def decision_beside(path: Path, report: Report) -> Decision | None:
    """Return the decision in the folder of a report; None if there is none, or of another report.

    Raises
    ------
    ReportError
        If there is a file that is not a decision.
    """
    file = (path if path.is_dir() else path.parent) / DECISION
    if not file.is_file():
        return None
    found = read_decision(file)
    return found if found.report == report.digest else None
