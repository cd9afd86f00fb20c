"""A report and its decision as JUnit XML, which CI services show as test results.

Its failures and errors are those of the exit code: a failure where a limit is exceeded (1), an
error where something could not be measured or decided (3), and neither where the run passes (0).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias
from xml.etree import ElementTree as ET

from pytest_bias.emit.absence import properties
from pytest_bias.emit.exports.rows import absent, outcomes
from pytest_bias.emit.verdict import sentence
from pytest_bias.emit.wording import MOST
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.records.suite_states import FAILED
from pytest_bias.reports.decision import Decision, Outcome
from pytest_bias.untrusted import clean

JUNIT: Final = "junit.xml"
NAME: Final = "pytest-bias"
MOST_SAID: Final = 4_000
"""Largest number of characters of a sentence."""

Ended: TypeAlias = Literal["passed", "failure", "error", "skipped"]


@dataclass(frozen=True, slots=True)
class _Case:
    """One test case: its lines are the reason why it did not pass, or what there is to know.

    `seconds` is None if it took time and nobody knows how much.
    """

    part: str
    name: str
    ended: Ended
    lines: Sequence[str]
    kind: str = ""
    seconds: float | None = 0.0


def render(report: Report | None, decision: Decision | None, problem: str = "") -> str:
    """Return JUnit XML with one test case for each limit and one for each suite.

    The schema gives test cases no properties, so the numbers of suites are properties of the whole,
    each with its suite in its name, and lines of the output of the suite's case.

    Parameters
    ----------
    report : Report or None
        None if a job failed before there was one.
    decision : Decision or None
        None if it is not known; then limits are not mentioned.
    problem : str
        What went wrong beside the report; empty if nothing did.
    """
    cases = [_Case("job", "job", "error", [problem], "problem")] if problem else []
    if report:
        cases += map(_of_limit, outcomes(report, decision))
        cases += _of_suites(report, decision)
    suite = ET.Element("testsuite", name=NAME, tests=str(len(cases)))
    for attribute, ended in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(sum(case.ended == ended for case in cases)))
    if report:
        suite.set("name", f"{NAME} {clean(report.model.reference, 120)}")
        for name, text in _when(report.run):
            suite.set(name, text)
        told = ET.SubElement(suite, "properties")
        for name, value in _about(report, decision).items():
            ET.SubElement(told, "property", name=clean(name), value=clean(str(value), MOST_SAID))
    for case in cases:
        _add(suite, case)
    suites = ET.Element("testsuites", name=NAME)
    suites.append(suite)
    ET.indent(suites)
    text = ET.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _add(suite: ET.Element, case: _Case) -> None:
    name = clean(case.name, MOST_SAID)
    element = ET.SubElement(suite, "testcase", classname=f"pytest_bias.{case.part}", name=name)
    if case.seconds is not None:
        element.set("time", f"{case.seconds:.3f}")
    lines = [clean(line, MOST_SAID) for line in case.lines]
    if case.ended == "passed":
        if lines:
            ET.SubElement(element, "system-out").text = "\n".join(lines)
        return
    told = ET.SubElement(element, case.ended, message=lines[0])
    told.text = lines[0]
    if case.kind:
        told.set("type", case.kind)


def _of_limit(outcome: Outcome) -> _Case:
    ended: Ended = "passed"
    if not outcome.is_waived:
        if outcome.verdict == "exceeded":
            ended = "failure"
        elif outcome.is_failure:
            ended = "error"
    name = " ".join(filter(None, (outcome.limit, outcome.rule, outcome.entry)))
    return _Case("limits", name, ended, [sentence(outcome)], outcome.verdict)


def _of_suites(report: Report, decision: Decision | None) -> Iterator[_Case]:
    reasons = {a.suite.entry: a.reason for a in absent(report)}
    for suite in report.suites:
        reason = reasons.get(suite.entry, "")
        if suite.status in ("scored", "withheld"):
            lines = [reason] if reason else [f"{k}: {v}" for k, v in properties(suite).items()]
            seconds = _seconds(_part(_part(report.run, "cost"), "suites").get(suite.entry))
            yield _Case("suites", suite.entry, "passed", lines, seconds=seconds)
        elif suite.status in FAILED and not _is_allowed(suite, decision):
            told = f"{suite.entry} could not be measured: {reason}"
            yield _Case("suites", suite.entry, "error", [told], suite.status)
        else:
            yield _Case("suites", suite.entry, "skipped", [reason])


def _is_allowed(suite: SuiteResult, decision: Decision | None) -> bool:
    """Whether the data of a suite may be missing, so that the run passes without it."""
    if suite.status != "unavailable" or decision is None:
        return False
    return f"{suite.entry}: {suite.reason}" not in decision.problems


def _about(report: Report, decision: Decision | None) -> dict[str, object]:
    model, left_out = report.model, {a.suite.entry for a in absent(report)}
    found: dict[str, object] = {"model": model.reference}
    found |= {"revision": model.revision} if model.revision else {}
    found |= {"weights_sha256": model.weights_sha256} if model.weights_sha256 else {}
    found["report"] = report.digest
    found |= {"decision": decision.status, "exit_code": decision.exit_code} if decision else {}
    for suite in report.suites:
        found |= properties(suite) if suite.entry not in left_out else {}
    return found


def _when(run: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield when the run was, and its duration in seconds, as far as they are known."""
    if (seconds := _seconds(run.get("cost"))) is not None:
        yield "time", f"{seconds:.3f}"
    try:
        yield "timestamp", datetime.fromisoformat(str(run.get("created", ""))).isoformat()
    except ValueError:
        return


def _seconds(cost: object) -> float | None:
    """Return the time of a cost, which no digest covers; None if it is none."""
    found = cost.get("wall_s") if isinstance(cost, Mapping) else None
    return found if isinstance(found, int | float) and 0 <= found < MOST else None


def _part(table: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = table.get(name)
    return found if isinstance(found, Mapping) else {}
