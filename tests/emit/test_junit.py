"""JUnit XML: valid, never at odds with the exit code, and with all that a number needs."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import xmlschema
from hypothesis import given

from made import HOSTILE, report, result, score
from pytest_bias.emit.exports.junit import render
from pytest_bias.emit.exports.rows import HIDDEN
from pytest_bias.records.report import DataInfo, Report
from pytest_bias.reports.decision import Decision, Outcome
from pytest_bias.reports.limits import Limit, decide
from pytest_bias.reports.withholding import NOT_PUBLISHED, withheld, without_numbers
from pytest_bias.settings.waivers import OfWaiver
from random_reports import SALT, Case, cases, numbers_of

SCHEMA = Path(__file__).parents[1] / "data" / "schemas" / "junit-10.xsd"
KEY = "crows_pairs[en].stereotype_preference"
LIMIT = "crows_pairs.stereotype_preference"
OF_LIMIT = f"{LIMIT} max_distance crows_pairs[en]"
CROWS = result(scores=[score()])


@cache
def schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(str(SCHEMA))


def read(text: str) -> ET.Element:
    """Return the one suite of a document, after the checks that hold for all."""
    schema().validate(text)
    root = ET.fromstring(text)
    (suite,) = root
    found = list(suite.iter("testcase"))
    assert suite.get("tests") == str(len(found))
    assert len({c.get("classname", "") + c.get("name", "") for c in found}) == len(found)
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert suite.get(name) == str(len(suite.findall(f"testcase/{tag}")))
    return suite


def ended(suite: ET.Element) -> dict[str, str]:
    """Return what became of each case, by its name."""
    return {c.attrib["name"]: c[0].tag if len(c) else "" for c in suite.iter("testcase")}


def told(suite: ET.Element) -> dict[str, str]:
    return {p.attrib["name"]: p.attrib["value"] for p in suite.iter("property")}


def case(suite: ET.Element, name: str) -> ET.Element:
    (found,) = [c for c in suite.iter("testcase") if c.get("name") == name]
    return found


def decided(made: Report, distance: float, **more: str) -> Decision:
    limit = Limit(LIMIT, "crows_pairs", "stereotype_preference", distance, **more)
    return decide(made, [limit])


def agrees(suite: ET.Element, code: int) -> None:
    failures, errors = int(suite.get("failures", "")), int(suite.get("errors", ""))
    if code == 0:
        assert failures == errors == 0
    elif code == 1:
        assert failures > 0
    else:
        assert errors > 0
        assert failures == 0


def test_a_suite_passes_with_its_numbers_and_all_that_they_need() -> None:
    made = report(
        CROWS, run={"cost": {"wall_s": 9, "suites": {"crows_pairs[en]": {"wall_s": 2.5}}}}
    )
    suite = read(render(made, None))
    expected = {
        KEY: "60.48",
        f"{KEY}.low": "57.99",
        f"{KEY}.high": "62.92",
        f"{KEY}.level": "0.95",
        f"{KEY}.ideal": "50",
        f"{KEY}.distance": repr(60.48 - 50),
        f"{KEY}.unit": "%",
        f"{KEY}.n": "1508",
    }
    assert told(suite) == {
        **{"model": "org/name", "weights_sha256": "a" * 64, "report": made.digest},
        **expected,
    }
    assert ended(suite) == {"crows_pairs[en]": "system-out"}
    found = case(suite, "crows_pairs[en]")
    assert found[0].text.splitlines() == [f"{name}: {v}" for name, v in expected.items()]
    assert (found.get("time"), suite.get("time")) == ("2.500", "9.000")
    assert suite.get("name") == "pytest-bias org/name"


def test_a_suite_without_a_score_is_skipped_or_an_error_and_says_why() -> None:
    suites = [
        result("seat", status="not_applicable", reason="no vectors"),
        result("honest", status="skipped", reason="no licence"),
        result("bold", status="inconclusive", reason="too few"),
        result("hans", status="error", reason="KeyError: 'x'"),
        result("bbq", status="unavailable", reason="no network"),
        result("empty", scores=[score(value=None, interval=None, note="no item counts")]),
    ]
    made = report(*suites)
    names = [s.entry for s in suites]
    found = read(render(made, decide(made, [])))
    tags = ("skipped", "skipped", "error", "error", "error", "system-out")
    assert ended(found) == dict(zip(names, tags, strict=True))
    assert case(found, "bold[en]")[0].get("message") == "bold[en] could not be measured: too few"
    assert case(found, "bold[en]")[0].get("type") == "inconclusive"
    assert case(found, "seat[en]")[0].get("message") == "no vectors"
    assert case(found, "empty[en]")[0].text == "no item counts"
    # Data that may be missing fail no run.
    allowed = read(render(made, decide(made, [], allow_missing_data=True)))
    assert ended(allowed)["bbq[en]"] == "skipped"
    assert ended(allowed)["hans[en]"] == "error"


@pytest.mark.parametrize(
    ("distance", "undecided", "tag", "code"),
    [
        (20, "warn", "system-out", 0),
        (5, "warn", "failure", 1),
        (10, "warn", "system-out", 0),
        (10, "fail", "error", 3),
    ],
    ids=["held", "exceeded", "undecided", "undecided-fails"],
)
def test_a_limit_ends_as_the_run_does(distance: float, undecided: str, tag: str, code: int) -> None:
    made = report(CROWS)
    decision = decided(made, distance, undecided=undecided)
    suite = read(render(made, decision))
    assert decision.exit_code == code
    assert ended(suite) == {OF_LIMIT: tag, "crows_pairs[en]": "system-out"}
    agrees(suite, code)
    found = case(suite, OF_LIMIT)[0]
    words = found.text if tag == "system-out" else found.get("message")
    assert words.startswith(f"{LIMIT} is ")
    assert "measured 60.48 (57.99 to 62.92, 95 %); allowed from" in words
    assert told(suite)["exit_code"] == str(code)


def test_a_waived_limit_passes_and_says_so() -> None:
    made = report(CROWS)
    decision = decided(made, 5)
    waiver = OfWaiver("known since May", "2027-01-01", 40, "waives")
    (one,) = decision.outcomes
    waived = replace(decision, outcomes=(replace(one, fails=False, waiver=waiver),))
    suite = read(render(made, replace(waived, status="waived", exit_code=0)))
    assert "EXCEEDED, waived" in case(suite, OF_LIMIT)[0].text
    assert "waived until 2027-01-01: known since May" in case(suite, OF_LIMIT)[0].text
    agrees(suite, 0)


def test_a_limit_that_could_not_be_judged_is_an_error() -> None:
    made = report(result(status="not_applicable", reason="no vectors"))
    regression = Limit(LIMIT, "crows_pairs", "stereotype_preference", max_regression=2.0)
    suite = read(render(made, decided(made, 5)))
    assert ended(suite) == {OF_LIMIT: "error", "crows_pairs[en]": "skipped"}
    made = report(CROWS)
    suite = read(render(made, decide(made, [regression])))
    assert case(suite, f"{LIMIT} max_regression crows_pairs[en]")[0].get("type") == "no_baseline"
    agrees(suite, 3)


def test_hidden_and_withheld_scores_are_not_in_it_but_verdicts_are() -> None:
    hidden = replace(CROWS, data=DataInfo("hidden items", "none", visibility="hidden"))
    made = report(hidden)
    text = render(made, decided(made, 5))
    assert ended(read(text)) == {OF_LIMIT: "failure", "crows_pairs[en]": "system-out"}
    assert not any(number in text for number in ("60.48", "57.99", "62.92", "1508"))
    assert text.count(HIDDEN) == 3
    full = report(CROWS)
    made = withheld(full, SALT)
    text = render(made, without_numbers(decided(full, 5), made))
    assert ended(read(text)) == {OF_LIMIT: "failure", "crows_pairs[en]": "system-out"}
    assert not any(number in text for number in ("60.48", "57.99", "62.92", "1508"))
    assert NOT_PUBLISHED in case(read(text), "crows_pairs[en]")[0].text


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_are_texts(name: str) -> None:
    made = report(result(status="error", reason=name, title=name), model=name)
    outcome = Outcome(name, "max_distance", "not_measured", None, reason=name)
    decision = Decision("could-not-measure", 3, (outcome,), (), made.digest)
    suite = read(render(made, decision, problem=name))
    assert {*_tags(suite)} == {"properties", "property", "testcase", "error"}
    assert (suite.get("errors"), suite.get("failures")) == ("3", "0")


def _tags(suite: ET.Element) -> Iterable[str]:
    return (element.tag for element in suite.iter() if element is not suite)


def test_a_job_that_failed_before_there_was_a_report_is_an_error() -> None:
    suite = read(render(None, None, "no model at org/nowhere"))
    assert ended(suite) == {"job": "error"}
    assert suite.get("name") == "pytest-bias"


@given(cases())
def test_random_reports_give_valid_documents_that_agree_with_the_exit_code(found: Case) -> None:
    text = render(found.report, found.decision)
    schema().validate(text)
    (suite,) = ET.fromstring(text)
    if found.decision:
        agrees(suite, found.decision.exit_code)
    known = numbers_of(found)
    ends = (".low", ".high", ".level", ".ideal", ".distance", ".n")
    for name, value in told(suite).items():
        if name.endswith(ends):
            assert float(value) in known
    assert found.told(text) == []
