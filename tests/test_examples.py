"""examples/workflows: they lint, they say what action.yml takes, and `init` writes the same."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import warm
import workflow_interface as interface
from pytest_bias.ci.gitlab.__main__ import CODE_QUALITY, JUNIT, TAKEN
from pytest_bias.ci.init.rendering import examples
from pytest_bias.ci.init.triggers import ACTION, GITLAB, TRIGGERS, WORKFLOW
from pytest_bias.ci.steps.inputs import DEFAULT_OUT
from pytest_bias.reports.withholding import SALT
from workflow_interface import of_workflow, problems

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "examples" / "workflows"
ACTION_FILE = ROOT / "action.yml"
WORKFLOW_FILE = ROOT / ".github" / "workflows" / "bias-tests.yml"
FILES = sorted(FOLDER.glob("*.yml"))

each = pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)


def read(path: Path) -> dict[Any, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def tool(name: str, *words: str | Path) -> None:
    """Run a linter that is installed beside Python; skip if it is not."""
    command = Path(warm.REAL).parent / name
    if not command.is_file():
        pytest.skip(f"{name} is not installed")
    done = subprocess.run(
        [command, *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


# Held by the tools


def test_actionlint_finds_nothing() -> None:
    tool("actionlint", *FILES)


def test_zizmor_finds_nothing() -> None:
    tool("zizmor", "--offline", "--quiet", *FILES)


def test_schema_holds() -> None:
    tool("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *FILES)


def test_schema_of_gitlab_holds() -> None:
    tool("check-jsonschema", "--builtin-schema", "vendor.gitlab-ci", FOLDER.parent / GITLAB.file)


def test_make_check_lints_the_examples() -> None:
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    for name in ("check-jsonschema", "actionlint", "zizmor"):
        assert any(name in line and "examples/workflows/*.yml" in line for line in lines), name


# Held against the action


def test_generated_files_are_up_to_date() -> None:
    tool("python", "tools/workflow_files.py", "--check")


@each
def test_example_says_what_the_action_takes(path: Path) -> None:
    assert problems(path.read_text(encoding="utf-8")) == []


def test_every_trigger_has_its_example() -> None:
    assert {p.name for p in FILES} == {t.file for t in TRIGGERS}
    for name, text in examples().items():
        assert (FOLDER.parent / name).read_text("utf-8") == text, "tools/workflow_files.py"


def test_every_trigger_has_its_page_that_leads_to_the_example() -> None:
    for one in TRIGGERS:
        page = ROOT / "docs" / "triggers" / one.file.replace(".yml", ".md")
        text = page.read_text(encoding="utf-8")
        assert f"(../../examples/workflows/{one.file})" in text
        assert f"pytest-bias init --trigger {one.name}" in text
        assert f"/docs/triggers/{page.name}\n" in (FOLDER / one.file).read_text(encoding="utf-8")


def test_the_job_on_gitlab_keeps_what_the_program_leaves() -> None:
    job = read(FOLDER.parent / GITLAB.file)["bias"]
    kept = job["artifacts"]
    assert kept["when"] == "always"
    assert kept["paths"] == [f"{DEFAULT_OUT}/"]
    assert f"{DEFAULT_OUT}/{SALT}" in kept["exclude"]
    assert kept["reports"] == {"junit": JUNIT, "codequality": CODE_QUALITY}
    folders = [value for value in job["variables"].values() if "/.cache/" in value]
    assert len(folders) == 3
    assert job["cache"]["paths"] == [".cache/"]
    page = (ROOT / "docs" / GITLAB.page).read_text(encoding="utf-8")
    assert "(../examples/gitlab-ci.yml)" in page
    for name in TAKEN:
        assert f"`--{name}`" in page


def anchors(page: Path) -> set[str]:
    """Return what headings of a page are called in links."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_of_the_pages_lead_somewhere() -> None:
    pages = [
        ROOT / "docs" / "action.md",
        ROOT / "docs" / GITLAB.page,
        *(ROOT / "docs" / "triggers").glob("*.md"),
    ]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", text):
            there = page.parent / target if target else page
            assert there.exists(), f"{page.name}: {target}"
            assert not anchor or anchor in anchors(there), f"{page.name}: {target}#{anchor}"


# Habits


@each
def test_permissions_are_given_to_jobs_only(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {}
    assert "concurrency" in workflow
    for job in workflow["jobs"].values():
        assert job["permissions"]["contents"] in ("read", "write")


@each
def test_other_actions_are_pinned_and_ours_is_a_tag(path: Path) -> None:
    lines = re.findall(r"uses: (\S+)(.*)", path.read_text(encoding="utf-8"))
    for used, comment in lines:
        _, _, ref = used.partition("@")
        if used.startswith(f"{ACTION}@") or used.startswith(f"{WORKFLOW}@"):
            assert ref == "v0.1.0"
        else:
            assert re.fullmatch("[0-9a-f]{40}", ref), used
            assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), used


def test_an_action_has_one_version_everywhere() -> None:
    pins: dict[str, set[str]] = {}
    for path in (*FILES, ACTION_FILE, WORKFLOW_FILE):
        for name, commit in re.findall(r"uses: (\S+)@([0-9a-f]{40})", path.read_text("utf-8")):
            pins.setdefault(name, set()).add(commit)
    assert {name: commits for name, commits in pins.items() if len(commits) > 1} == {}


@each
def test_no_script_holds_an_expression(path: Path) -> None:
    for job in read(path)["jobs"].values():
        for step in job.get("steps", ()):
            assert "${{" not in step.get("run", "")


@each
def test_code_of_others_gets_no_secret(path: Path) -> None:
    events = set(read(path)[True])
    assert events & {"pull_request_target", "workflow_run"} == set()


# The check itself: what is wrong is found

RIGHT = """
on: {pull_request: }
permissions: {}
jobs:
  bias:
    runs-on: ubuntu-latest
    permissions: {contents: read, actions: read, pull-requests: write}
    outputs:
      status: ${{ steps.bias.outputs.status }}
    steps:
      - id: bias
        uses: pytest-bias/pytest-bias@v0.1.0
        with:
          model: ./model
          baseline: last-run
  again:
    uses: pytest-bias/pytest-bias/.github/workflows/bias-tests.yml@v0.1.0
    permissions:
      {contents: write, actions: read, id-token: write, attestations: write, pull-requests: write}
    with: {model: demo, shards: 2, attest: true}
    secrets:
      hf-token: ${{ secrets.HF_TOKEN }}
  last:
    needs: again
    runs-on: ubuntu-latest
    steps:
      - run: echo "$STATUS"
        env:
          STATUS: ${{ needs.again.outputs.status }} ${{ needs.bias.outputs.status }}
"""


def test_right_workflow_has_no_problem() -> None:
    assert problems(RIGHT) == []


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("baseline: last-run", "base-line: last-run", "input 'base-line' is not known"),
        ("model: ./model", "Model: ./model", "input 'Model' is not known"),
        ("shards: 2", "shards: '2'", "input 'shards' is '2', no number"),
        ("attest: true", "attest: 'true'", "input 'attest' is 'true', no boolean"),
        ("shards: 2", "shards: true", "input 'shards' is True, no number"),
        ("hf-token: ", "token: ", "secret 'token' is not known"),
        ("id-token: write, ", "", "it needs `id-token: write`"),
        ("contents: read, actions: read", "contents: read", "it needs `actions: read`"),
        ("contents: read, ", "", "it needs `contents: read`"),
        (", pull-requests: write", "", "no job has `pull-requests: write`"),
        ("baseline: last-run", "badges-branch: badges", "it needs `contents: write`"),
        ("steps.bias.outputs.status", "steps.bias.outputs.state", "steps.bias.outputs.state"),
        ("steps.bias.outputs.status", "steps.run.outputs.status", "steps.run.outputs.status"),
        ("needs.again.outputs.status", "needs.again.outputs.report", "needs.again.outputs.report"),
        ("needs.bias.outputs.status", "needs.bias.outputs.scores", "needs.bias.outputs.scores"),
        ("jobs:", "jobs: [", "not well-formed"),
    ],
)
def test_wrong_workflow_has_its_problem(before: str, after: str, told: str) -> None:
    assert before in RIGHT
    found = problems(RIGHT.replace(before, after))
    assert any(told in one for one in found), found


def test_missing_input_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    required = {"inputs": {"model": {"type": "text", "required": True}}}
    known = {ACTION: interface.Interface(required["inputs"])}
    monkeypatch.setattr(interface, "interfaces", lambda: known)
    text = RIGHT.replace("model: ./model", "").replace("baseline: last-run", "")
    assert "job bias: input 'model' is missing" in problems(text.replace("with:\n", "env:\n"))


def test_caller_has_to_grant_what_the_jobs_of_a_workflow_declare() -> None:
    text = """
on:
  workflow_call:
    inputs: {model: {type: string, required: true}}
    outputs: {status: {value: x}}
permissions: {contents: read}
jobs:
  run: {runs-on: x}
  attest: {runs-on: x, permissions: {id-token: write, contents: write}}
"""
    assert of_workflow(text) == interface.Interface(
        {"model": {"type": "string", "required": True}},
        outputs=("status",),
        permissions={"contents": "write", "id-token": "write"},
    )
