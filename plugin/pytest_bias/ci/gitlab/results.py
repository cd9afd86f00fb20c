"""Results in the formats that GitLab shows on a merge request: JUnit and code quality."""

import json
from collections.abc import Sequence
from typing import Any, Final
from xml.etree import ElementTree as ET

from pytest_bias.ci.provider import Annotation
from pytest_bias.emit.absence import properties
from pytest_bias.emit.verdict import sentence
from pytest_bias.environment import FILE_NAME
from pytest_bias.records.report import Report, SuiteResult, canonical_json, sha256
from pytest_bias.records.suite_states import FAILED
from pytest_bias.reports.decision import Decision
from pytest_bias.untrusted import clean

CLASS: Final = "pytest_bias"
MOST_SAID: Final = 4_000
"""Characters of a reason."""
SEVERITIES: Final = {"limit": "major"}
"""Severity of an issue by its subject; a failed measurement is critical."""


# JUnit


def junit(report: Report | None, decision: Decision | None, problem: str) -> str:
    """Return JUnit XML with one test case for each suite, as the pytest plugin leaves it.

    A suite fails if it could not be measured or a limit on it is exceeded, never for a score alone.
    A failure that belongs to no suite is a test case of its own.
    """
    suite = ET.Element("testsuite", name="pytest-bias")
    if problem:
        _case(suite, "job", failures=[problem])
    outcomes = decision.outcomes if decision else ()
    for result in report.suites if report else ():
        of_suite = [o for o in outcomes if o.entry == result.entry]
        case = _case(
            suite,
            result.entry,
            [*_unmeasured(result, decision), *(sentence(o) for o in of_suite if o.is_failure)],
            "" if result.status in ("scored", "withheld") else result.reason or result.status,
        )
        told = [
            *properties(result).items(),
            *(("waiver", sentence(o)) for o in of_suite if o.waiver),
        ]
        if told:
            # Before the result, as pytest writes them.
            case.insert(0, place := ET.Element("properties"))
            for name, value in told:
                ET.SubElement(
                    place, "property", name=clean(name), value=clean(str(value), MOST_SAID)
                )
    for outcome in outcomes:
        if outcome.entry is None and outcome.is_failure:
            _case(suite, outcome.limit, [sentence(outcome)])
    for kind in ("failure", "skipped"):
        suite.set(f"{kind}s" if kind == "failure" else kind, str(len(suite.findall(f"*/{kind}"))))
    suite.set("tests", str(len(suite)))
    suite.set("errors", "0")
    suites = ET.Element("testsuites", name="pytest-bias")
    suites.append(suite)
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=False) + "\n"


def _case(suite: ET.Element, name: str, failures: Sequence[str], skipped: str = "") -> ET.Element:
    case = ET.SubElement(suite, "testcase", classname=CLASS, name=clean(name))
    said = [clean(text, MOST_SAID) for text in failures]
    if said:
        ET.SubElement(case, "failure", message=said[0]).text = "\n".join(said)
    elif skipped:
        ET.SubElement(case, "skipped", message=clean(skipped, MOST_SAID))
    return case


def _unmeasured(result: SuiteResult, decision: Decision | None) -> list[str]:
    """Report that a suite could not be measured, unless its data are allowed to be missing."""
    if result.status not in FAILED:
        return []
    told = f"{result.entry}: {result.reason}"
    is_allowed = decision is not None and told not in decision.problems
    return [] if is_allowed else [f"{result.entry} could not be measured: {result.reason}"]


# Code quality


def code_quality(annotations: Sequence[Annotation]) -> str:
    """Return the failures as a Code Climate report: one issue for each limit or suite.

    The fingerprint of an issue does not depend on values, so that GitLab can tell which issues are
    new in a merge request.
    """
    failed = {one.about: one for one in annotations if one.level == "error"}
    return json.dumps([_issue(one) for one in failed.values()], indent=1) + "\n"


def _issue(one: Annotation) -> dict[str, Any]:
    kind = one.about[0]
    return {
        "description": clean(one.text, 1000),
        "check_name": f"pytest-bias/{kind}",
        "fingerprint": sha256(canonical_json(list(one.about))),
        "severity": SEVERITIES.get(kind, "critical"),
        "location": {
            "path": (one.file or FILE_NAME).removeprefix("./"),
            "lines": {"begin": max(1, one.line)},
        },
    }
