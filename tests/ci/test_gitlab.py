"""The parts of a job on GitLab: results in its forms, what a note must not do, which variables."""

import json
from xml.etree import ElementTree as ET

import pytest

from made import HOSTILE, report, result, score
from pytest_bias.ci.gitlab.__main__ import inputs
from pytest_bias.ci.gitlab.notes import inert
from pytest_bias.ci.gitlab.provider import GitLab
from pytest_bias.ci.gitlab.results import code_quality, junit
from pytest_bias.ci.provider import Annotation
from pytest_bias.errors import UnknownName
from pytest_bias.reports.limits import Decision, Outcome
from pytest_bias.settings.waivers import OfWaiver

LIMIT = "crows_pairs.stereotype_preference"


def outcome(verdict: str, entry: str | None = "crows_pairs[en]", **more: object) -> Outcome:
    """Return what became of the limit."""
    fails = {"fails": verdict == "exceeded"}
    return Outcome(LIMIT, "max_distance", verdict, entry, 60.5, (58, 63), **{**fails, **more})


def decision(*outcomes: Outcome, problems: tuple[str, ...] = ()) -> Decision:
    """Return a decision."""
    return Decision("measured", 0, outcomes, problems, "sha256:0")


def cases(text: str) -> dict[str, ET.Element]:
    """Return test cases by their names."""
    return {case.attrib["name"]: case for case in ET.fromstring(text).iter("testcase")}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_are_texts_in_every_file(text: str) -> None:
    made = report(result(status="error", reason=text), result("seat", scores=[score(text)]))
    taken = decision(outcome("not_measured", None, reason=text))
    found = cases(junit(made, taken, text))
    assert set(found) == {"job", "crows_pairs[en]", "seat[en]", LIMIT}
    for case in found.values():
        assert {child.tag for child in case} <= {"failure", "skipped", "properties"}
    (issue,) = json.loads(code_quality([Annotation("error", text, ("suite", text))]))
    assert issue["description"].isprintable()


def test_what_fails_a_case_is_what_fails_a_test() -> None:
    suites = [
        result(scores=[score()]),
        result("seat", status="not_applicable", reason="no vectors"),
        result("honest", status="skipped", reason="no licence"),
        result("bold", status="inconclusive", reason="too few"),
        result("hans", status="unavailable", reason="no network"),
    ]
    waiver = OfWaiver("known", "2027-01-01", 9, "waives")
    outcomes = outcome("exceeded"), outcome("undecided", waiver=waiver)
    taken = decision(*outcomes, problems=("bold[en]: too few",))
    found = cases(junit(report(*suites), taken, ""))
    tags = {name: [c.tag for c in case if c.tag != "properties"] for name, case in found.items()}
    assert tags == {
        "crows_pairs[en]": ["failure"],
        "seat[en]": ["skipped"],
        "honest[en]": ["skipped"],
        "bold[en]": ["failure"],
        # Allowed by --allow-missing-data: it is no problem of the decision.
        "hans[en]": ["skipped"],
    }
    told = {p.attrib["name"]: p.attrib["value"] for p in found["crows_pairs[en]"].iter("property")}
    assert told.pop("waiver").startswith(f"{LIMIT} is undecided, waived: ")
    key = "crows_pairs[en].stereotype_preference"
    assert told == {key: "60.48", f"{key}.n": "1508", f"{key}.low": "57.99", f"{key}.high": "62.92"}


def test_withheld_scores_are_in_no_file() -> None:
    made = report(result(status="withheld"))
    text = junit(made, decision(Outcome(LIMIT, "max_distance", "held", "x")), "")
    assert "property" not in text
    assert "failure" not in {child.tag for case in cases(text).values() for child in case}


def test_an_issue_is_the_same_whatever_its_value_and_its_line() -> None:
    about = ("limit", LIMIT, "max_distance", "crows_pairs[en]")
    first, second = (
        json.loads(code_quality([Annotation("error", text, about, "ci/limits.yaml", line)]))[0]
        for text, line in (("by 3", 4), ("by 5", 9))
    )
    assert first["fingerprint"] == second["fingerprint"]
    assert first["location"] == {"path": "ci/limits.yaml", "lines": {"begin": 4}}
    other = json.loads(code_quality([Annotation("error", "by 3", (*about[:-1], "x"))]))[0]
    assert other["fingerprint"] != first["fingerprint"]
    assert json.loads(code_quality([Annotation("warning", "undecided", about)])) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/merge\n  /close\na /x", "&#47;merge\n  &#47;close\na /x"),
        (
            "!1 \\!1 ~bug \\~bug %v1",
            " ".join(["!&#8203;1"] * 2 + ["~&#8203;bug"] * 2) + " %&#8203;v1",
        ),
        ("50 % and 3!", "50 % and 3!"),
        ("R&amp;D", "R&amp;&#8203;D"),
        ("[run](https://x/%41~b/!1) !1", "[run](https://x/%41~b/!1) !&#8203;1"),
        ("| a | b |\n| --- | ---: |", "| a | b |\n| --- | ---: |"),
    ],
)
def test_a_note_carries_out_nothing_and_refers_to_nothing(text: str, expected: str) -> None:
    assert inert(text) == expected


def test_a_process_with_code_of_a_model_has_nothing_to_speak_with() -> None:
    secret = ("PYTEST_BIAS_GITLAB_TOKEN", "CI_JOB_TOKEN", "CI_REGISTRY_PASSWORD", "CI_JOB_JWT_V2")
    given = dict.fromkeys((*secret, "CI_DEPLOY_PASSWORD", "CI_REPOSITORY_URL"), "x")
    kept = {"PATH": "/bin", "HF_TOKEN": "hf", "CI_PROJECT_ID": "1", "CI_COMMIT_SHA": "0"}
    assert GitLab({**given, **kept}, {}).for_a_model == {**kept, "PYTHONUTF8": "1"}


def test_a_note_is_written_where_there_is_a_merge_request_and_a_token() -> None:
    assert GitLab({}, {}).proposal == ""
    own = {"CI_MERGE_REQUEST_IID": "7", "CI_MERGE_REQUEST_PROJECT_ID": "1", "CI_PROJECT_ID": "1"}
    assert GitLab(own, {}).proposal == "merge request"
    assert "there is no PYTEST_BIAS_GITLAB_TOKEN" in GitLab(own, {}).comment("text")
    fork = {**own, "CI_PROJECT_ID": "2"}
    assert "comes from a fork" in GitLab(fork, {}).comment("text")


def test_options_are_inputs() -> None:
    assert inputs([]) == {}
    found = inputs(["--suites", "a b", "--baseline=last-run", "--out= there "])
    assert found == {"suites": "a b", "baseline": "last-run", "out": "there"}
    with pytest.raises(UnknownName, match="Did you mean '--suites'"):
        inputs(["--suite=a"])
