"""The parts of a job on GitLab: results in its forms, what a note must not do, which variables."""

import json

import pytest

from made import HOSTILE
from pytest_bias.ci.gitlab.__main__ import inputs
from pytest_bias.ci.gitlab.notes import inert
from pytest_bias.ci.gitlab.provider import GitLab
from pytest_bias.ci.gitlab.results import code_quality
from pytest_bias.ci.provider import Annotation
from pytest_bias.errors import UnknownName

LIMIT = "crows_pairs.stereotype_preference"


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_are_texts_in_code_quality(text: str) -> None:
    (issue,) = json.loads(code_quality([Annotation("error", text, ("suite", text))]))
    assert issue["description"].isprintable()


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
