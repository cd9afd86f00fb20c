"""The job on GitLab, whole: notes, artifacts, baselines. A server of ours answers as it does."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import pytest_bias
from commands import Ran, environment, finish
from github_contents import zipped
from gitlab_server import GitLab, Token, serving
from hub_contents import Failure
from pytest_bias.ci.gitlab import api
from pytest_bias.ci.gitlab.__main__ import CODE_QUALITY, JUNIT
from pytest_bias.ci.gitlab.api import Client, GitLabError
from pytest_bias.ci.gitlab.notes import write_note
from pytest_bias.errors import UsageError

DEMO = Path(pytest_bias.__file__).parent / "models" / "demo"
SUITES = ("--suites", "structure template_association")
TOKEN = {"PYTEST_BIAS_GITLAB_TOKEN": "glpat-own"}
ASSOCIATION = "template_association.association"
LIMIT = f"model: demo\nlimits:\n  {ASSOCIATION}: {{max_distance: %s}}\n"
OF_LIMIT = f"{ASSOCIATION} max_distance template_association[en]"

Job = Callable[..., Ran]


@pytest.fixture
def gitlab() -> Iterator[GitLab]:
    """Return a GitLab with one project and one merge request."""
    with serving(GitLab()) as found:
        yield found


@pytest.fixture
def job(tmp_path: Path, gitlab: GitLab) -> Job:
    """Return a function that runs the job in a checkout whose settings name the demo model."""
    (tmp_path / "pytest-bias.yaml").write_text("model: demo\n", encoding="utf-8")

    def run(*words: str, **env: str) -> Ran:
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest_bias.ci.gitlab", *SUITES, *words],
            cwd=tmp_path,
            env=environment({**gitlab.env, "TMPDIR": str(tmp_path), **env}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        return finish(process, tmp_path)

    return run


def cases(folder: Path) -> dict[str, ET.Element]:
    """Return the test cases of the JUnit file by their names."""
    root = ET.fromstring((folder / JUNIT).read_text(encoding="utf-8"))
    (suite,) = root.findall("testsuite")
    found = suite.findall("testcase")
    assert suite.get("tests") == str(len(found))
    assert suite.get("failures") == str(len(suite.findall("testcase/failure")))
    assert suite.get("errors") == str(len(suite.findall("testcase/error")))
    return {case.attrib["name"]: case for case in found}


def issues(folder: Path) -> list[dict[str, Any]]:
    """Return the issues of the code quality report, each with what GitLab requires."""
    found = json.loads((folder / CODE_QUALITY).read_text(encoding="utf-8"))
    for issue in found:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert not issue["location"]["path"].startswith(("/", "./"))
        assert issue["location"]["lines"]["begin"] >= 1
    assert len({issue["fingerprint"] for issue in found}) == len(found)
    return found


# A job


def test_a_merge_request_has_one_note_that_the_next_run_updates(
    job: Job, gitlab: GitLab, tmp_path: Path
) -> None:
    foreign = gitlab.note("<!-- pytest-bias:0123456789abcdef -->\nnot ours")
    settings = tmp_path / "pytest-bias.yaml"
    settings.write_text(LIMIT % 5, encoding="utf-8")
    first = job(**TOKEN).done()
    (note,) = [n for n in gitlab.notes if n is not foreign]
    assert re.match(r"<!-- pytest-bias:[0-9a-f]{16} -->\n", note["body"])
    assert "Every limit of this project is held." in note["body"]
    assert "https://gitlab.example/org/name/-/jobs/99/artifacts/download" in note["body"]
    assert "No comment was written" not in first.said
    assert issues(tmp_path) == []
    found = cases(tmp_path)
    assert set(found) == {OF_LIMIT, "structure[all]", "template_association[en]"}
    properties = ET.parse(tmp_path / JUNIT).getroot().iter("property")
    told = {p.attrib["name"]: p.attrib["value"] for p in properties}
    (score,) = [
        s
        for suite in first.report["suites"]
        if suite["name"] == "template_association" and not suite["control_of"]
        for s in suite["scores"]
        if s["headline"]
    ]
    key = "template_association[en].association"
    assert float(told[key]) == score["value"]
    assert (float(told[f"{key}.low"]), float(told[f"{key}.high"])) == tuple(score["interval"])
    assert list((tmp_path / "bias-report" / "badges").glob("*.svg")) != []

    settings.write_text(LIMIT % 0, encoding="utf-8")
    second = job(**TOKEN)
    assert second.code == 1
    (again,) = [n for n in gitlab.notes if n is not foreign]
    assert again["id"] == note["id"]
    assert "exceeded" in again["body"]
    assert foreign["body"].endswith("not ours")
    (issue,) = issues(tmp_path)
    assert issue["check_name"] == "pytest-bias/limit"
    assert issue["location"] == {"path": "pytest-bias.yaml", "lines": {"begin": 3}}
    (failed,) = [name for name, case in cases(tmp_path).items() if case.find("failure") is not None]
    assert failed == OF_LIMIT
    assert f"error: pytest-bias.yaml:3: {ASSOCIATION} EXCEEDED" in second.out
    assert len([line for line in gitlab.wrote() if line.startswith("POST")]) == 1


def test_without_a_token_there_is_no_note_and_that_is_said(job: Job, gitlab: GitLab) -> None:
    ran = job("--suites=structure").done()
    assert "No comment was written: there is no PYTEST_BIAS_GITLAB_TOKEN" in ran.said
    assert "CI_JOB_TOKEN" in ran.said
    assert "project access token, or a personal one, with the scope api" in ran.said
    assert gitlab.asked == []


@pytest.mark.by_day(token=(None,))
@pytest.mark.parametrize(
    ("token", "said"),
    [
        (None, "401 (Unauthorized)"),
        (Token(5, can_note=False), "403 (Forbidden)"),
        (Token(5, scope="read_api"), "needs higher privileges"),
    ],
)
def test_a_token_that_may_not_write_fails_nothing(
    job: Job, gitlab: GitLab, token: Token | None, said: str
) -> None:
    gitlab.tokens = {"glpat-own": token} if token else {}
    ran = job("--suites=structure", **TOKEN).done()
    assert "No comment was written: GitLab answers 40" in ran.said
    assert said in ran.said
    assert "the scope api and the role Reporter" in ran.said
    assert "glpat-own" not in ran.said
    assert gitlab.notes == []


@pytest.mark.slow
def test_the_next_job_is_compared_with_the_last_pipeline_that_succeeded(
    job: Job, gitlab: GitLab, tmp_path: Path
) -> None:
    shutil.copytree(DEMO / "neutral", tmp_path / "model")
    words = ("--model=./model", "--baseline=last-run")
    first = job(*words).done()
    told = "No pipeline of main that succeeded has left artifacts of the job bias yet: this is the"
    assert told in first.said
    files = {
        p.relative_to(tmp_path).as_posix(): p.read_bytes()
        for p in (tmp_path / "bias-report").rglob("*")
        if p.is_file()
    }
    gitlab.artifacts["main", "bias"] = zipped({**files, JUNIT: b"<x/>"})
    shutil.rmtree(tmp_path / "model")
    shutil.copytree(DEMO / "planted", tmp_path / "model")
    second = job(*words, **TOKEN).done()
    assert second.decision["change"]["changed"]
    assert "rose" in gitlab.notes[0]["body"].splitlines()[1]
    # With the token of the job, and without any to the storage.
    asked = [(line, headers) for line, headers in gitlab.sent if "artifacts" in line]
    assert asked[0][1]["JOB-TOKEN"] == gitlab.job_token
    assert all("TOKEN" not in name.upper() for name in asked[-1][1])


def test_what_went_wrong_is_in_every_file(job: Job, tmp_path: Path) -> None:
    ran = job("--suites=crow_pairs")
    assert ran.code == 2
    (case,) = cases(tmp_path).values()
    problem = case.find("error")
    assert problem is not None
    assert "Did you mean 'crows_pairs'?" in problem.attrib["message"]
    (issue,) = issues(tmp_path)
    assert (issue["severity"], issue["location"]["lines"]) == ("critical", {"begin": 1})
    assert "Did you mean 'crows_pairs'?" in issue["description"]


def test_what_could_not_be_measured_fails_its_case(
    job: Job, tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    words = ("--suites=", f"--model={tiny('bert')}", "--extra-args=--suite=@crowdsourced")
    assert job(*words).code == 3
    found = cases(tmp_path)
    assert "could not be measured" in ET.tostring(found["crows_pairs[en]"], encoding="unicode")
    assert "critical" in {issue["severity"] for issue in issues(tmp_path)}
    job(*words, "--allow-missing-data=true").done()
    assert cases(tmp_path)["crows_pairs[en]"].find("skipped") is not None
    assert issues(tmp_path) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--base-line=x",), "Did you mean '--baseline'?"),
        (("--baseline=branch:badges",), "a job on GitLab commits to no branch"),
        (("--fail-on=errors",), "Did you mean 'error'?"),
    ],
)
def test_mistakes_are_named(job: Job, words: tuple[str, ...], said: str) -> None:
    job(*words).refused(2, said)


@pytest.mark.slow
def test_an_exceeded_limit_need_not_fail_the_job(job: Job, tmp_path: Path) -> None:
    (tmp_path / "pytest-bias.yaml").write_text(LIMIT % 0, encoding="utf-8")
    ran = job("--fail-on=error", CI_MERGE_REQUEST_IID="").done()
    assert "exit code 1, and the input `fail-on` is error." in ran.said


def test_a_hostile_name_does_nothing(job: Job, gitlab: GitLab, tmp_path: Path) -> None:
    name = "\n/merge !1 ~bug %v1 @all #1 <img src=x> ]]> & \x07"
    shutil.copytree(DEMO / "planted", tmp_path / name)
    job(f"--model=./{name}", **TOKEN).done()
    (note,) = gitlab.notes
    assert re.search(r"(?m)^\s*/", note["body"]) is None
    assert re.search(r"[!~%@#](?=\w)", note["body"].replace("&#8203;", "\u200b")) is None
    assert "<img" not in note["body"]
    assert len(cases(tmp_path)) == 2


@pytest.mark.slow
@pytest.mark.cold
def test_code_of_a_model_sees_no_token_of_gitlab(
    job: Job, tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    shutil.copytree(tiny("bert"), tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    own = {"AutoConfig": "own.Own", "AutoModelForMaskedLM": "own.OwnForMaskedLM"}
    config = {**json.loads(path.read_text()), "auto_map": own, "model_type": "own"}
    path.write_text(json.dumps({**config, "architectures": ["OwnForMaskedLM"]}))
    (tmp_path / "model" / "own.py").write_text(
        "import json, os, pathlib\n"
        "from transformers import BertConfig, BertForMaskedLM\n"
        f"pathlib.Path({str(tmp_path / 'seen.json')!r}).write_text(json.dumps(dict(os.environ)))\n"
        "class Own(BertConfig):\n    model_type = 'own'\n"
        "class OwnForMaskedLM(BertForMaskedLM):\n    config_class = Own\n"
    )
    words = ("--model=./model", "--suites=structure", "--extra-args=--trust-remote-code")
    job(*words, HF_TOKEN="hf_own", **TOKEN).done()
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert (seen["CI_PROJECT_ID"], seen["HF_TOKEN"]) == ("12", "hf_own")
    assert [name for name, value in seen.items() if "glpat-own" in value or "glcbt" in value] == []
    assert "PYTEST_BIAS_RESULT" not in seen


# The note

MARK = "<!-- pytest-bias:00 -->"


@pytest.fixture
def client(gitlab: GitLab, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setattr(api, "PATIENCE", replace(api.PATIENCE, backoff_s=0.0))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return Client(gitlab.env["CI_API_V4_URL"], "glpat-own")


def write(client: Client, text: str = "text") -> None:
    write_note(client, "12", 7, MARK, text)


def test_the_note_is_found_on_any_page_and_among_our_own_alone(
    client: Client, gitlab: GitLab
) -> None:
    gitlab.page_size = 2
    others = [gitlab.note(f"{MARK}\ncopied"), gitlab.note(f"{MARK}\n", 5, system=True)]
    others += [gitlab.note("chatter") for _ in range(5)]
    write(client, "one")
    write(client, "two")
    ours = [n for n in gitlab.notes if n not in others]
    assert [n["body"] for n in ours] == [f"{MARK}\ntwo"]
    assert others[0]["body"] == f"{MARK}\ncopied"
    # The same again changes nothing.
    before = len(gitlab.wrote())
    write(client, "two")
    assert len(gitlab.wrote()) == before


def test_notes_of_two_runs_at_once_become_one(client: Client, gitlab: GitLab) -> None:
    gitlab.note(f"{MARK}\none", 5)
    gitlab.note(f"{MARK}\nother", 5)
    write(client)
    assert [n["body"] for n in gitlab.notes] == [f"{MARK}\ntext"]


@pytest.mark.parametrize("failure", [Failure(502, done=True), Failure(drop="after")])
def test_an_answer_that_was_lost_makes_no_second_note(
    client: Client, gitlab: GitLab, failure: Failure
) -> None:
    gitlab.failures["note"] = [failure]
    write(client)
    assert [n["body"] for n in gitlab.notes] == [f"{MARK}\ntext"]


def test_a_note_that_was_not_made_is_an_error(client: Client, gitlab: GitLab) -> None:
    gitlab.failures["note"] = [Failure(500, message="no")]
    with pytest.raises(GitLabError, match=r"500 \(Internal Server Error\) to POST .*: no"):
        write(client)
    assert gitlab.notes == []


def test_too_many_requests_are_waited_for_but_not_for_long(client: Client, gitlab: GitLab) -> None:
    gitlab.failures["note"] = [Failure(429, headers={"Retry-After": "0"})]
    write(client)
    assert len(gitlab.notes) == 1
    gitlab.failures["user"] = [Failure(429, headers={"Retry-After": "3600"})]
    with pytest.raises(GitLabError, match="429") as caught:
        write(client)
    assert caught.value.hint == "GitLab is asked too often. Run the job again later."


def test_a_token_goes_to_its_own_address_alone(gitlab: GitLab) -> None:
    with pytest.raises(UsageError, match="no token is sent there"):
        Client("http://gitlab.example/api/v4", "glpat-own")
    assert "glpat" not in repr(Client("https://gitlab.example/api/v4", "glpat-own"))
