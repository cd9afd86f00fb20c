"""The whole command ``init``: flags, questions at a terminal, files that are there."""

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import yaml

from commands import COMMAND, Command, Ran, environment
from pytest_bias.ci.init.triggers import NAMES, TRIGGERS
from pytest_bias.settings.settings import read_settings

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "workflows"
WORKFLOW = Path(".github/workflows/bias.yml")
SETTINGS = Path("pytest-bias.yaml")
FLAGS: dict[str, tuple[str, ...]] = {
    "push": ("--model", "./model"),
    "hub-schedule": ("--model", "org/name"),
    "model-repository": ("--model", "./model", "--publish", "org/name"),
    "lock": (),
    "gpu": ("--model", "org/name"),
    "reproduce": (),
}


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a git repository that is empty."""
    git(tmp_path, "init", "-q", "-b", "main")
    return tmp_path


def files(folder: Path) -> dict[str, str]:
    """Return every file below a folder, those of git apart."""
    return {
        p.relative_to(folder).as_posix(): p.read_text(encoding="utf-8")
        for p in folder.rglob("*")
        if p.is_file() and ".git" not in p.relative_to(folder).parts
    }


def read(folder: Path) -> tuple[dict, dict]:
    """Return settings and workflow as YAML says them."""
    texts = ((folder / path).read_text(encoding="utf-8") for path in (SETTINGS, WORKFLOW))
    settings, workflow = (yaml.safe_load(text) for text in texts)
    return settings, workflow


# Flags


@pytest.mark.parametrize("name", NAMES)
def test_workflow_is_the_example(bias: Command, repository: Path, name: str) -> None:
    ran = bias("init", "--trigger", name, *FLAGS[name]).done()
    (chosen,) = [t for t in TRIGGERS if t.name == name]
    assert (repository / WORKFLOW).read_bytes() == (EXAMPLES / chosen.file).read_bytes()
    assert (repository / SETTINGS).exists() == chosen.measures
    if chosen.measures:
        assert read_settings({}, folder=repository).model == chosen.example
    lines = ran.out.splitlines()
    assert len(lines) <= 15
    names = [str(p) for p in (SETTINGS, WORKFLOW) if (repository / p).exists()]
    added = f"git add {' '.join(names)}"
    assert any(line.strip().startswith(added) for line in lines)
    needs_token = "HF_TOKEN" in (repository / WORKFLOW).read_text() and name != "gpu"
    assert ("gh secret set HF_TOKEN" in ran.out) == needs_token


def test_settings_hold_model_languages_and_limits(bias: Command, repository: Path) -> None:
    model = repository / "weights" / "last"
    model.mkdir(parents=True)
    (model / "config.json").write_text("{}")
    (model / "model.safetensors").write_bytes(b"")
    (model / "README.md").write_text("---\nlanguage: [fr, en]\n---\n", encoding="utf-8")
    ran = bias("init", "--yes", "--limits", "max-distance:crows_pairs=10").done()
    # The workflow measures what is checked out.
    assert "bias.yml ./weights/last" in ran.said
    settings, workflow = read(repository)
    assert settings == {
        "model": "./weights/last",
        "context": {"languages": ["fr", "en"]},
        "limits": {"crows_pairs.stereotype_preference": {"max_distance": 10}},
    }
    assert workflow["jobs"]["bias"]["steps"][-1]["with"]["model"] == "./weights/last"


def test_options_reach_the_workflow(bias: Command, repository: Path) -> None:
    words = ("--badges-branch", "badges", "--publish", "org/name", "--branch", "release/1.x")
    bias("init", "--model", "./model", "--trigger", "push", *words).done()
    _, workflow = read(repository)
    job = workflow["jobs"]["bias"]
    assert workflow[True]["push"]["branches"] == ["release/1.x"]
    assert job["permissions"]["contents"] == "write"
    given = job["steps"][-1]["with"]
    assert (given["badges-branch"], given["publish"]) == ("badges:bias", "org/name")
    assert given["hf-token"] == "${{ secrets.HF_TOKEN }}"


def test_badge_is_there_to_copy(bias: Command, repository: Path) -> None:
    git(repository, "remote", "add", "origin", "git@github.com:owner/repo.git")
    words = ("init", "--model", "demo", "--trigger", "push", "--badges-branch", "badges")
    ran = bias(*words).done()
    picture = (
        "https://raw.githubusercontent.com/owner/repo/badges/bias/badges/social-bias-evaluated"
    )
    there = "https://github.com/owner/repo/tree/badges/bias"
    assert f"[![Social Bias Evaluated]({picture}.svg)]({there})" in ran.out
    assert len(ran.out.splitlines()) <= 15


def test_what_was_written_runs(command: Command, repository: Path) -> None:
    command("init", "--model", "demo", "--trigger", "push").done()
    ran = command("run", "--suite", "structure").done()
    assert ran.report["model"]["reference"] == "demo"


def test_folder_without_git_is_told(bias: Command, tmp_path: Path) -> None:
    ran = bias("init", "--model", "demo", "--trigger", "push").done()
    assert "git init" in ran.out
    assert "no git repository" in ran.said


def test_folder_inside_a_repository_is_refused(bias: Command, repository: Path) -> None:
    (repository / "sub").mkdir()
    ran = bias("init", "--model", "demo", "--trigger", "push", folder=repository / "sub")
    ran.refused(2, "at its root only", f"cd {repository}")
    assert files(repository) == {}


def test_weights_that_git_does_not_have_are_told(bias: Command, repository: Path) -> None:
    ran = bias("init", "--model", "./model", "--trigger", "push").done()
    assert "./model is not there yet" in ran.said
    (repository / "model").mkdir()
    (repository / ".gitignore").write_text("/model\n")
    ran = bias("init", "--model", "./model", "--trigger", "push").done()
    assert "git ignores ./model" in ran.said


# Mistakes


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), ("--model is missing", "without a terminal", "--trigger hub-schedule")),
        (("--yes",), ("--model is missing", "nothing was found")),
        (("--model", "org/name"), ("--trigger is missing",)),
        (("--model", "org/name", "--trigger", "pus"), ("Did you mean 'push'?",)),
        (("--model", "./m", "--trigger", "model-repository"), ("--publish is missing",)),
        (
            ("--trigger", "lock", "--limits", "seat=1"),
            ("--limits does not go with --trigger lock",),
        ),
        (("--trigger", "lock", "--publish", "org/name"), ("--publish does not go with",)),
        (
            ("--model", "org/name", "--trigger", "gpu", "--badges-branch", "badges"),
            ("--badges-branch does not go with --trigger gpu",),
        ),
        (("--model", "org/name", "--trigger", "gpu", "--shards", "17"), ("from 1 to 16",)),
        (("--model", "org/name", "--trigger", "push", "--runner", "x"), ("--runner does not go",)),
        (("--model", "./a${{ x }}", "--trigger", "push"), ("GitHub begins an expression",)),
        (("--model", "demo", "--trigger", "push", "--limits", "crow_pairs=1"), ("'crows_pairs'",)),
        (
            ("--model", "org/name", "--trigger", "gpu", "--branch", "main"),
            ("--branch does not go",),
        ),
        (("--model", "demo", "--ci", "gitlub"), ("Did you mean 'gitlab'?",)),
        (
            ("--model", "demo", "--ci", "gitlab", "--trigger", "push"),
            ("--trigger push does not go with --ci gitlab", "pipeline schedule"),
        ),
        (
            ("--model", "demo", "--ci", "gitlab", "--badges-branch", "badges"),
            ("--badges-branch does not go with --ci gitlab",),
        ),
        (("--flavor", "t4-small"), ("--flavor", "--hub-job org/name")),
        (("--hub-job", "org/name", "--trigger", "push"), ("--trigger goes with a workflow",)),
    ],
)
def test_mistakes_are_named_and_write_nothing(
    bias: Command, repository: Path, words: Sequence[str], told: Sequence[str]
) -> None:
    bias("init", *words).refused(2, *told)
    assert files(repository) == {}


@pytest.mark.parametrize("model", ["org/na me", "org/name\nb: c", "a: b", "org/name # x", "it's"])
def test_hostile_names_that_are_no_model_are_refused(
    bias: Command, repository: Path, model: str
) -> None:
    bias("init", "--model", model, "--trigger", "push").refused(2, "is not a model")
    assert files(repository) == {}


@pytest.mark.parametrize(
    "name", ["a: b # c", 'it\'s "so"', "x\n    run: touch pwned", "$(touch pwned)", "`x`; rm -rf ~"]
)
def test_hostile_folders_come_out_as_they_are(bias: Command, repository: Path, name: str) -> None:
    (repository / name).mkdir()
    bias("init", "--model", f"./{name}", "--trigger", "push").done()
    settings, workflow = read(repository)
    assert settings == {"model": f"./{name}"}
    steps = workflow["jobs"]["bias"]["steps"]
    assert len(steps) == 2
    assert steps[1]["with"]["model"] == f"./{name}"
    assert not (repository / "pwned").exists()


# Files that are there


def test_nothing_is_overwritten_unasked(bias: Command, repository: Path) -> None:
    words = ("init", "--model", "org/name", "--trigger", "hub-schedule")
    bias(*words).done()
    assert bias(*words).done().out.count("As it was") == 1
    before = files(repository)
    other = ("init", "--model", "org/other", "--trigger", "hub-schedule")
    ran = bias(*other)
    ran.refused(2, "pytest-bias.yaml and .github/workflows/bias.yml are there already", "--force")
    assert "-model: org/name" in ran.out
    assert "+model: org/other" in ran.out
    assert files(repository) == before
    ran = bias(*other, "--dry-run").done()
    assert "+model: org/other" in ran.out
    assert files(repository) == before
    bias(*other, "--force").done()
    assert read(repository)[0] == {"model": "org/other"}


def test_settings_that_name_the_model_stay(bias: Command, repository: Path) -> None:
    own = "model: org/name # mine\nsuites: [seat]\n"
    (repository / SETTINGS).write_text(own)
    ran = bias("init", "--yes", "--force").done()
    assert (repository / SETTINGS).read_text() == own
    assert "pytest-bias.yaml stays as it is" in ran.said
    assert "git add pytest-bias.yaml .github/workflows/bias.yml" in ran.said
    assert "model: org/name" in (repository / WORKFLOW).read_text()


def test_settings_that_write_the_path_in_another_way_stay(bias: Command, repository: Path) -> None:
    (repository / "out" / "model").mkdir(parents=True)
    (repository / SETTINGS).write_text("model: out/model\nprofile: quick\n")
    bias("init", "--yes").done()
    assert (repository / SETTINGS).read_text() == "model: out/model\nprofile: quick\n"
    assert "model: ./out/model\n" in (repository / WORKFLOW).read_text()


def test_settings_of_pyproject_are_not_hidden(bias: Command, repository: Path) -> None:
    (repository / "pyproject.toml").write_text('[tool.pytest-bias]\nmodel = "org/name"\n')
    ran = bias("init", "--yes").done()
    assert "pyproject.toml stays as it is" in ran.said
    assert not (repository / SETTINGS).exists()
    ran = bias("init", "--yes", "--limits", "seat=1")
    ran.refused(2, "pyproject.toml holds the settings already")


def test_dry_run_writes_nothing(bias: Command, repository: Path) -> None:
    ran = bias("init", "--model", "demo", "--trigger", "push", "--dry-run").done()
    assert "+model: demo" in ran.out
    assert "+          baseline: last-run" in ran.out
    assert files(repository) == {}


def test_folder_that_cannot_be_written_is_named(bias: Command, repository: Path) -> None:
    (repository / ".github").write_text("a file")
    ran = bias("init", "--model", "demo", "--trigger", "push")
    ran.refused(2, "bias.yml", "cannot be")
    assert files(repository) == {".github": "a file"}


# Without GitHub

JOB = Path(".gitlab-ci.yml")
INCLUDED = Path(".gitlab/bias.gitlab-ci.yml")


def test_a_project_of_gitlab_gets_its_job(bias: Command, repository: Path) -> None:
    git(repository, "remote", "add", "origin", "git@gitlab.com:group/name.git")
    ran = bias("init", "--model", "./model").done()
    assert (repository / JOB).read_bytes() == (EXAMPLES.parent / "gitlab-ci.yml").read_bytes()
    assert set(files(repository)) == {str(JOB), str(SETTINGS)}
    assert "git add pytest-bias.yaml .gitlab-ci.yml" in ran.out
    assert "PYTEST_BIAS_GITLAB_TOKEN" in ran.out
    assert "docs/gitlab.md" in ran.out
    artifacts = "https://gitlab.com/group/name/-/jobs/artifacts/main"
    assert f"{artifacts}/raw/bias-report/badges/social-bias-evaluated.svg?job=bias" in ran.out
    assert len(ran.out.splitlines()) <= 15
    # A second time nothing changes; another model is shown first.
    assert "As it was .gitlab-ci.yml" in bias("init", "--model", "./model").done().out
    bias("init", "--model", "demo").refused(2, "are there already", "--force")
    bias("init", "--model", "demo", "--trigger", "push", "--force").done()
    assert (repository / WORKFLOW).exists()


def test_a_gitlab_ci_yml_of_ones_own_stays(bias: Command, repository: Path) -> None:
    own = "test: {script: [make test]}\n"
    (repository / JOB).write_text(own)
    ran = bias("init", "--model", "./model", "--publish", "org/name", "--force").done()
    assert (repository / JOB).read_text() == own
    (line,) = yaml.safe_load((repository / INCLUDED).read_text())["bias"]["script"]
    assert line.endswith("--model=./model --baseline=last-run --publish=org/name")
    added = ran.out[ran.out.index("include:") :]
    assert yaml.safe_load("\n".join(added.splitlines()[:2])) == {
        "include": [{"local": str(INCLUDED)}]
    }
    (repository / JOB).write_text(f"{own}include: [{{local: {INCLUDED}}}]\n")
    assert "Include" not in bias("init", "--model", "./model", "--force").done().out


def test_the_service_can_be_chosen(bias: Command, repository: Path) -> None:
    git(repository, "remote", "add", "origin", "git@github.com:owner/repo.git")
    (repository / JOB).write_text("test: {script: [make test]}\n")
    bias("init", "--model", "demo", "--trigger", "push", "--dry-run").done()
    ran = bias("init", "--ci", "gitlab", "--model", "demo", "--dry-run").done()
    assert "+    - python -m pytest_bias.ci.gitlab --model=demo --baseline=last-run" in ran.out
    assert set(files(repository)) == {str(JOB)}


def test_hub_job_is_asked_for(bias: Command, repository: Path) -> None:
    ran = bias("init", "--hub-job", "org/name", "--flavor", "t4-small", "--timeout", "1h")
    ran.refused(3, "org/name cannot be read from the Hub: this run is offline")
    assert files(repository) == {}


# Questions

Talk = Callable[[Sequence[tuple[str, str]], tuple[str, ...]], Ran]


@pytest.fixture
def talk(repository: Path) -> Talk:
    """Return a function that answers at a terminal: after each text that is awaited, a line."""

    def run(answers: Sequence[tuple[str, str]], words: tuple[str, ...] = ()) -> Ran:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [COMMAND, "init", *words],
            cwd=repository,
            env=environment({"TERM": "dumb"}),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        said, waiting, end = "", list(answers), time.monotonic() + 60
        seen = 0
        while time.monotonic() < end:
            if not select.select([ours], [], [], 0.2)[0]:
                continue
            try:
                chunk = os.read(ours, 4096)
            except OSError:
                break
            if not chunk:
                break
            said += chunk.decode()
            if waiting and waiting[0][0] in said[seen:]:
                seen = len(said)
                os.write(ours, f"{waiting.pop(0)[1]}\n".encode())
        os.close(ours)
        try:
            return Ran(process.wait(timeout=30), said, "", repository)
        finally:
            process.kill()

    return run


def test_three_questions_are_asked(talk: Talk, repository: Path) -> None:
    ran = talk(
        [
            ("1. Which model?", "./model"),
            ("2. What starts it?", "push"),
            ("3. Should a score fail it?", "max-distance:crows_pairs=10"),
        ],
        (),
    ).done()
    assert "every push and pull request" in ran.said
    settings, workflow = read(repository)
    assert settings["model"] == "./model"
    assert settings["limits"] == {"crows_pairs.stereotype_preference": {"max_distance": 10}}
    assert "pull_request" in workflow[True]


def test_enter_takes_what_the_folder_tells(talk: Talk, repository: Path) -> None:
    model = repository / "out" / "model"
    model.mkdir(parents=True)
    (model / "config.json").write_text("{}")
    (model / "model.safetensors").write_bytes(b"")
    ran = talk([("(./out/model)", ""), ("(push)", ""), ("(none)", "")], ()).done()
    assert "Written" in ran.out
    assert read(repository)[0] == {"model": "./out/model"}


def test_wrong_answers_are_asked_again(talk: Talk, repository: Path) -> None:
    ran = talk(
        [
            ("1. Which model?", "no model"),
            ("1. Which model?", "org/name"),
            ("2. What starts it?", "model-repository"),
            ("2. What starts it?", "hub-schedule"),
            ("(org/name)", ""),
            ("3. Should a score fail it?", "crow_pairs=1"),
            ("3. Should a score fail it?", "none"),
        ],
        (),
    ).done()
    assert "'no model' is not a model" in ran.said
    assert "measures weights of this repository" in ran.said
    assert "Did you mean 'crows_pairs'?" in ran.said
    step = read(repository)[1]["jobs"]["bias"]["steps"][-1]["with"]
    assert (step["model"], step["publish"]) == ("org/name", "org/name")


def test_only_what_is_missing_is_asked(talk: Talk, repository: Path) -> None:
    ran = talk(
        [("3. Should a score fail it?", "")], ("--model", "demo", "--trigger", "push")
    ).done()
    assert "1. Which model?" not in ran.out


def test_end_of_input_is_a_mistake_and_writes_nothing(talk: Talk, repository: Path) -> None:
    ran = talk([("1. Which model?", "\x04")], ())
    assert ran.code == 2, ran.said
    assert "no answer came for --model" in ran.said
    assert files(repository) == {}


# Without more than it needs


@pytest.mark.cold
def test_init_loads_no_torch(tmp_path: Path) -> None:
    code = (
        "import sys, atexit; atexit.register(lambda: print('|', *sys.modules))\n"
        "from pytest_bias.cli import main; main()"
    )
    words = ("init", "--model", "org/name", "--trigger", "hub-schedule", "--limits", "seat=1")
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded = {m.split(".")[0] for m in done.stdout.rpartition("|")[2].split()}
    assert loaded & {"torch", "transformers", "huggingface_hub"} == set()


def test_without_git_it_works_as_well(command: Command, tmp_path: Path) -> None:
    words = ("init", "--model", "demo", "--trigger", "push")
    ran = command(*words, env={"PATH": str(tmp_path)}).done()
    assert "git init" in ran.out
