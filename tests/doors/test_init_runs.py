"""What `init` writes, run as it is: the first runs of a newcomer, from nothing to a badge."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from act import Caller, Run
from commands import Command, Ran
from github_contents import GitHub
from github_server import serving

WORKFLOW = Path(".github/workflows/bias.yml")
SUITE = "template_association"
"""The suite that runs, so that the tests are short."""


@pytest.fixture
def github() -> Iterator[GitHub]:
    with serving(GitHub(repository="org/name")) as running:
        yield running


@pytest.fixture
def newcomer(github: GitHub, tmp_path: Path) -> Caller:
    """Return a repository with nothing in it, whose jobs ask a server of ours."""
    # act does not say which workflow runs.
    workflow = f"{github.repository}/{WORKFLOW}@refs/heads/main"
    env = {**github.env, "GITHUB_WORKFLOW_REF": workflow, "PYTEST_BIAS_SUITES": SUITE}
    return Caller(tmp_path / "github", name=github.repository, env=env)


def push(newcomer: Caller, github: GitHub, run_id: int = 1) -> Run:
    """Push what is there, and run the workflow that `init` wrote."""
    text = (newcomer.checkout / WORKFLOW).read_text(encoding="utf-8")
    github.push("main", {str(WORKFLOW): text.encode()})
    return newcomer.run(text, secrets={"GITHUB_TOKEN": "job-token"}, run_id=run_id)


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.*")}


def init(bias: Command, newcomer: Caller, *words: str) -> Ran:
    return bias("init", "--trigger", "push", *words, folder=newcomer.checkout).done()


@pytest.mark.slow
def test_from_an_empty_repository_to_a_badge_and_a_baseline(
    bias: Command, newcomer: Caller, github: GitHub
) -> None:
    told = init(bias, newcomer, "--model", "demo", "--badges-branch", "badges")
    ran = push(newcomer, github).ended(0)
    assert ran.jobs == {"bias": "success"}
    assert ran.report()["model"]["reference"] == "demo"
    assert "this is the first, there is no baseline" in "\n".join(ran.commands)
    # The badge that `init` gave to copy is there.
    address = f"https://raw.githubusercontent.com/{github.repository}/badges/"
    path = told.out.partition(address)[2].partition(")")[0]
    assert github.files("badges")[path].startswith(b"<svg")

    github.artifact(github.run(), files(ran.artifact()))
    ran = push(newcomer, github, run_id=2).ended(0)
    assert "### Since the earlier report" in ran.summary


@pytest.mark.slow
def test_limit_that_was_chosen_fails_the_job(
    bias: Command, newcomer: Caller, github: GitHub
) -> None:
    init(bias, newcomer, "--model", "demo", "--limits", f"{SUITE}=0.01")
    ran = push(newcomer, github).ended(1)
    assert ran.jobs == {"bias": "failure"}
    assert "**A limit of this project is exceeded.**" in ran.summary
    assert ran.report()["model"]["reference"] == "demo"
