"""In-toto statements, and the verdicts on a project's limits as one of them (test-result v0.1).

That predicate has no place for a number, and none is in it: a test is a limit, by its name, and its
result a verdict. The subjects are the files of the weights with their SHA-256, so that a verifier
who has the model needs nothing of ours to find it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pytest_bias.errors import ReportError, UsageError
from pytest_bias.records.documents import to_document
from pytest_bias.records.report import Report
from pytest_bias.reports.decision import Decision, Outcome
from pytest_bias.reports.folder import DECISION, REPORT, require_finished
from pytest_bias.reports.measured_files import weights
from pytest_bias.untrusted import clean

STATEMENT: Final = "https://in-toto.io/Statement/v1"
TEST_RESULT: Final = "https://in-toto.io/attestation/test-result/v0.1"

RESULTS: Final = {"failedTests": "FAILED", "warnedTests": "WARNED", "passedTests": "PASSED"}
"""List of tests to the result of the whole if it is not empty, the most severe first."""

_LISTS: Final = {"held": "passedTests", "undecided": "warnedTests", "exceeded": "failedTests"}
_NAMED: Final = 4


def statement(
    subjects: Mapping[str, str], predicate_type: str, predicate: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a statement about files, given by name and SHA-256."""
    return {
        "_type": STATEMENT,
        "subject": [_file(name, digest) for name, digest in subjects.items()],
        "predicateType": predicate_type,
        "predicate": dict(predicate),
    }


def render(report: Report, decision: Decision | None, report_sha256: str) -> str:
    """Return the verdicts on the limits as a JSON document; see `of_limits`."""
    return to_document(of_limits(report, decision, report_sha256))


def of_limits(report: Report, decision: Decision | None, report_sha256: str) -> dict[str, Any]:
    """Return the verdicts on the limits as a statement.

    A limit that is held passed, one that is exceeded failed. One that is undecided or waived is
    among the warnings.

    Parameters
    ----------
    report : Report
        The report that was decided on.
    decision : Decision or None
        Its decision.
    report_sha256 : str
        SHA-256 of its file.

    Raises
    ------
    UsageError
        If there are no limits.
    ReportError
        If the weights are not known, the run is not finished, or a limit could not be decided on
        for lack of a measurement or a baseline.
    """
    if report.model.asked:
        raise ReportError(
            f"a test result is about files, and {report.model.asked} answered for this model: "
            "which weights it had is not known."
        )
    require_finished(report, Path(REPORT))
    if decision is None or not decision.outcomes:
        what = "the run sets no limits" if decision else f"no {DECISION} of this report is there"
        raise UsageError(
            f"a test result says which limits are held, and {what}.",
            "With limits in pytest-bias.yaml, pytest-bias merge REPORT decides on it again.",
        )
    _require_measured(decision)
    files = [_file(REPORT, report_sha256)]
    if stated := decision.settings_file:
        files.insert(0, _file(stated["name"], stated["sha256"]))
    lists: dict[str, list[str]] = {name: [] for name in reversed(RESULTS)}
    for name, outcome in zip(_names(decision.outcomes), decision.outcomes, strict=True):
        lists["warnedTests" if outcome.is_waived else _LISTS[outcome.verdict]].append(name)
    return statement(
        _subjects(report),
        TEST_RESULT,
        {"result": result_of(lists), "configuration": files, **lists},
    )


def result_of(lists: Mapping[str, Sequence[str]]) -> str:
    """Return the result of all tests, given the lists of a predicate."""
    return next(result for name, result in RESULTS.items() if lists.get(name))


def _subjects(report: Report) -> dict[str, str]:
    found = weights(report)
    if not found:
        raise ReportError(
            "the report does not name the files of the weights, which a test result is about: an "
            "earlier version of pytest-bias made it.",
            "pytest-bias run MODEL measures again.",
        )
    # A list of checksums, which signing takes them from, has one on a line.
    if strange := [name for name in found if not name.isprintable()]:
        raise ReportError(f"a file of the weights has a name that is not text: {strange[0]!a:.80}.")
    return found


def _require_measured(decision: Decision) -> None:
    open_ones = [o for o in decision.outcomes if o.verdict not in _LISTS]
    if not open_ones and not decision.problems:
        return
    told = [f"{clean(o.limit, 120)}: {clean(o.reason or o.verdict, 200)}" for o in open_ones]
    told += [clean(problem, 200) for problem in decision.problems]
    more = f"; and {len(told) - _NAMED} more" if len(told) > _NAMED else ""
    what = "there is no baseline" if decision.status == "no-baseline" else "it was not measured"
    raise ReportError(
        f"no test result says what could not be decided ({what}): {'; '.join(told[:_NAMED])}{more}."
    )


def _names(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the name of each test: the limit as written; of several outcomes, also which one."""
    times = Counter(o.limit for o in outcomes)
    return [
        o.limit if times[o.limit] == 1 else f"{o.limit} ({o.rule}, {o.entry})" for o in outcomes
    ]


def _file(name: str, sha256: str) -> dict[str, Any]:
    return {"name": name, "digest": {"sha256": sha256}}
