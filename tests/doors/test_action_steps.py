"""Steps of the action one by one, in this process: what they read, and what they hand on."""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import pytest_bias
from action_step import Step
from github_server import GitHub, serving
from pytest_bias.ci.github import provider
from pytest_bias.records.report import Report
from pytest_bias.reports.folder import DECISION, REPORT
from pytest_bias.reports.publication_layout import REPRODUCTION, SIGNATURE

DEMO = Path(pytest_bias.__file__).parent / "models" / "demo" / "planted"
SUITES = ("structure", "template_association")


@pytest.fixture
def github() -> Iterator[GitHub]:
    """Return a GitHub with one repository."""
    with serving(GitHub(repository="org/name")) as found:
        yield found


@pytest.fixture
def step(tmp_path: Path, github: GitHub, monkeypatch: pytest.MonkeyPatch) -> Step:
    """Return the steps in a checkout that has a model."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(DEMO, tmp_path / "model")
    workflow = "org/name/.github/workflows/workflow.yml@refs/heads/main"
    about = {"GITHUB_WORKFLOW_REF": workflow, "GITHUB_RUN_ID": "99", "GITHUB_TOKEN": "job-token"}
    inputs = {"INPUT_MODEL": "./model", "INPUT_ARTIFACT": "bias-report-part-1"}
    return Step(tmp_path, {**github.env, **about, **inputs, "RUNNER_TEMP": str(tmp_path)})


@pytest.fixture
def left(step: Step, bias: Any) -> Path:
    """Return the folder that a run of this model has left."""
    bias("run", "./model", *(f"--suite={s}" for s in SUITES), "--out=earlier").done()
    return step.folder / "earlier"


def keep(github: GitHub, folder: Path, name: str = "bias-report", **more: Any) -> None:
    """Let GitHub have it as the artifact of a run that succeeded."""
    path = ".github/workflows/workflow.yml"
    files = [p for p in folder.rglob("*") if p.is_file()]
    content = {p.relative_to(folder).as_posix(): p.read_bytes() for p in files}
    run = github.run(path=path, **{k: more.pop(k) for k in ("conclusion",) if k in more})
    github.artifact(run, content, name, **more)


SCHEDULE = {"INPUT_SKIP_UNCHANGED": "true", "INPUT_SUITES": " ".join(SUITES)}


@pytest.mark.nightly
def test_a_part_asks_for_the_whole_report_of_the_last_run(
    step: Step, github: GitHub, left: Path
) -> None:
    """Parts leave artifacts of other names, and theirs are no reports of a whole."""
    keep(github, left)
    given = {**SCHEDULE, "INPUT_SHARD": "1/2"}
    found = step("prepare", INPUT_BASELINE="last-run:bias-report", **given)
    assert found["skipped"] == "true"
    digest = json.loads((left / REPORT).read_text())["digest"]
    measured = step("measure", BIAS_PREPARE_COMMAND=found["command"], BIAS_PREPARE_OUT=found["out"])
    assert measured["digest"] == digest
    assert step("prepare", INPUT_BASELINE="last-run", **given)["skipped"] == "false"


def limits(folder: Path, most: float) -> Path:
    """Write settings with one limit."""
    limit = {"template_association.association": {"max_distance": most}}
    (folder / "limits.yaml").write_text(json.dumps({"limits": limit}))
    return folder / "limits.yaml"


@pytest.mark.by_day(status=("exceeded",))
@pytest.mark.parametrize(("most", "status", "code"), [(0, "exceeded", "1"), (9, "held", "0")])
def test_limits_are_decided_on_again_where_the_model_is_the_same(
    step: Step, github: GitHub, left: Path, most: float, status: str, code: str
) -> None:
    """Nothing is measured, and the step ends as a run would."""
    keep(github, left)
    limits(step.folder, most)
    given = {"INPUT_BASELINE": "last-run:bias-report", "INPUT_CONFIG": "limits.yaml"}
    found = step("prepare", **given, **SCHEDULE)
    assert found["skipped"] == "true"
    measured = step("measure", BIAS_PREPARE_COMMAND=found["command"], BIAS_PREPARE_OUT=found["out"])
    assert (measured["status"], measured["exit-code"]) == (status, code)
    assert measured["changed"] == "false"
    assert measured["digest"] == json.loads((left / REPORT).read_text())["digest"]


@pytest.mark.by_day("quick")
@pytest.mark.parametrize(
    "changed",
    [
        {"INPUT_EXTRA_ARGS": "--language=de"},
        {"INPUT_EXTRA_ARGS": "--dtype float16"},
        {"INPUT_EXTRA_ARGS": "--seed\n1"},
        {"INPUT_EXTRA_ARGS": "--budget=90s"},
        {"INPUT_PROFILE": "quick"},
        {"INPUT_SUITES": f"{' '.join(SUITES)} seat"},
        {"settings": "accept_licences: {seat: CC-BY-NC-4.0}\nsuites: [seat]"},
        {"settings": "labels: {toxicity: {toxic: LABEL_1}}\nsuites: [hatecheck]"},
    ],
    ids=lambda given: next(iter(given.values())).replace("\n", " "),
)
def test_what_decides_is_part_of_what_is_unchanged(
    step: Step, github: GitHub, left: Path, changed: dict[str, str]
) -> None:
    keep(github, left)
    if settings := changed.pop("settings", ""):
        (step.folder / "pytest-bias.yaml").write_text(settings)
        changed["INPUT_SUITES"] = ""
    given = {"INPUT_BASELINE": "last-run:bias-report", **SCHEDULE, **changed}
    found = step("prepare", **given)
    assert (found["skipped"], found.get("problem", "")) == ("false", "")
    assert json.loads(found["command"])[0] == "run"


@pytest.mark.by_day(status=("unavailable",))
@pytest.mark.parametrize("status", ["error", "unavailable", "inconclusive"])
def test_what_could_not_be_measured_is_tried_again(
    step: Step, github: GitHub, left: Path, status: str
) -> None:
    plain = json.loads((left / REPORT).read_text())
    plain["suites"][-1] |= {"status": status, "reason": "gone", "scores": [], "records": None}
    made = Report.from_json(json.dumps(plain), check=False)
    (left / REPORT).write_text(replace(made, sealed=None).to_json())
    keep(github, left)
    found = step("prepare", INPUT_BASELINE="last-run:bias-report", **SCHEDULE)
    assert found["skipped"] == "false"


def test_a_model_that_exceeds_a_limit_is_measured_once(
    step: Step, github: GitHub, left: Path, bias: Any
) -> None:
    """It is no baseline; but neither is it measured, and proposed, on every schedule."""
    bias("merge", left, "--out", "strict", "--config", limits(step.folder, 0)).done(1)
    keep(github, step.folder / "strict", conclusion="failure")
    given = {**SCHEDULE, "INPUT_CONFIG": "limits.yaml"}
    found = step("prepare", INPUT_BASELINE="last-run:bias-report", **given)
    assert found["skipped"] == "true"
    measured = step("measure", BIAS_PREPARE_COMMAND=found["command"], BIAS_PREPARE_OUT=found["out"])
    assert (measured["status"], measured["exit-code"]) == ("exceeded", "1")
    found = step("prepare", INPUT_BASELINE="last-run:bias-report")
    assert "--first-run" in json.loads(found["command"])


@pytest.mark.nightly
@pytest.mark.parametrize("status", ["could-not-measure", "measured"])
def test_what_failed_otherwise_is_measured_again(
    step: Step, github: GitHub, left: Path, status: str
) -> None:
    """As where it was measured, and could not be published."""
    decision = json.loads((left / DECISION).read_text())
    (left / DECISION).write_text(json.dumps({**decision, "status": status}))
    keep(github, left, conclusion="failure")
    found = step("prepare", INPUT_BASELINE="last-run:bias-report", **SCHEDULE)
    assert found["skipped"] == "false"


def test_a_schedule_outlives_the_last_report(step: Step, github: GitHub, left: Path) -> None:
    """A model that rests for longer than artifacts are kept is measured again, and that is said."""
    keep(github, left, expired=True)
    given = {"INPUT_BASELINE": "last-run:bias-report", "INPUT_SUITES": SCHEDULE["INPUT_SUITES"]}
    found = step("prepare", **given, INPUT_SKIP_UNCHANGED="true")
    assert found["skipped"] == "false"
    assert "has expired" in found["remark"]
    assert "measured again, and compared with nothing" in found["remark"]
    assert "--first-run" in json.loads(found["command"])
    # Whoever relies on the comparison is not told that all is well.
    found = step("prepare", **given)
    assert (found["exit-code"], "has expired" in found["problem"]) == ("3", True)


@pytest.mark.nightly
def test_joined_parts_outlive_it_as_well(step: Step, github: GitHub, left: Path) -> None:
    keep(github, left, expired=True)
    (step.folder / "parts").mkdir()
    left.rename(step.folder / "parts" / "1")
    given = {"INPUT_REPORTS": "parts", "INPUT_BASELINE": "last-run:bias-report"}
    found = step("prepare", **given, INPUT_SKIP_UNCHANGED="true")
    assert json.loads(found["command"])[0] == "merge"
    assert "--first-run" in json.loads(found["command"])


@pytest.mark.by_day(allowed=(False,))
@pytest.mark.parametrize("allowed", [False, True])
def test_data_that_could_not_be_had_are_told_and_nothing_is_cached(
    step: Step, tiny: Any, capsys: pytest.CaptureFixture[str], allowed: bool
) -> None:
    """Suites that nobody named fail the step as well: a failure is no choice."""
    words = {"INPUT_MODEL": str(tiny("bert")), "INPUT_EXTRA_ARGS": "--suite=@crowdsourced"}
    prepared = step("prepare", **words, INPUT_ALLOW_MISSING_DATA=str(allowed).lower())
    measured = step(
        "measure", BIAS_PREPARE_COMMAND=prepared["command"], BIAS_PREPARE_OUT=prepared["out"]
    )
    assert measured["complete"] == "false"
    expected = ("measured", "0") if allowed else ("could-not-measure", "3")
    assert (measured["status"], measured["exit-code"]) == expected
    summary = step.folder / "summary.md"
    capsys.readouterr()
    step("tell", BIAS_MEASURE_REPORT=measured["report"], GITHUB_STEP_SUMMARY=str(summary))
    told = capsys.readouterr().out.splitlines()
    level = "::warning" if allowed else "::error"
    assert all(line.startswith(level) for line in told)
    assert any("crows_pairs[en]: crows_pairs/crows_pairs_anonymized.csv, which" in t for t in told)
    rows = [r for r in summary.read_text(encoding="utf-8").splitlines() if r.endswith(" |")]
    reasons = [r for r in rows if "| unavailable |" in r or "| skipped |" in r]
    assert "| unavailable |" in reasons[0]
    assert "| skipped |" in reasons[-1]


@pytest.mark.nightly
def test_what_is_complete_is_cached(step: Step) -> None:
    prepared = step("prepare", INPUT_SUITES="structure")
    measured = step(
        "measure", BIAS_PREPARE_COMMAND=prepared["command"], BIAS_PREPARE_OUT=prepared["out"]
    )
    assert measured["complete"] == "true"


@pytest.mark.parametrize(
    ("identity", "overwrite", "code"), [("mine", "true", ""), ("other", "", "2"), (None, "", "2")]
)
def test_a_second_attempt_replaces_the_artifact_of_its_own_job_alone(
    step: Step, github: GitHub, identity: str | None, overwrite: str, code: str
) -> None:
    """As of a matrix whose jobs were given one name: *Re-run failed jobs* loses no report."""
    run = github.run()
    files = {"report.json": b"{}"}
    if identity:
        files["job.json"] = f'{{"identity": "{identity}"}}'.encode()
    github.artifact(run, files, "shared")
    # That of another run is another one's.
    github.artifact(github.run(), {"job.json": b'{"identity": "other"}'}, "shared")
    given = {
        "BIAS_PREPARE_ARTIFACT": "shared",
        "BIAS_PREPARE_IDENTITY": "mine",
        "INPUT_ARTIFACT": "shared",
    }
    given["GITHUB_RUN_ID"] = str(run.id)
    assert step("keep", **given)["overwrite"] == "false"
    found = step("keep", **given, GITHUB_RUN_ATTEMPT="2")
    assert (found.get("overwrite", ""), found.get("exit-code", "")) == (overwrite, code)
    if code:
        assert "the artifact shared of this run is of another job" in found["problem"]
        assert "with the input `artifact`" in found["problem"]
    # A name that has the digest of the job is its own.
    own = {**given, "INPUT_ARTIFACT": "auto", "GITHUB_RUN_ATTEMPT": "2"}
    assert step("keep", **own)["overwrite"] == "true"


@pytest.mark.nightly
def test_the_report_of_before_names_had_a_digest_is_the_baseline_of_its_model(
    step: Step, github: GitHub, left: Path
) -> None:
    given = {"INPUT_BASELINE": "last-run", "INPUT_ARTIFACT": "auto", **SCHEDULE}
    keep(github, left)
    found = step("prepare", **given)
    assert re.fullmatch(r"bias-report-model-[0-9a-f]{8}", found["artifact"])
    assert found["skipped"] == "true"
    shutil.copytree(DEMO, step.folder / "other")
    assert "this is the first" in step("prepare", **{**given, "INPUT_MODEL": "./other"})["remark"]


@pytest.mark.parametrize("name", ["out", "reports"])
@pytest.mark.parametrize("folder", ["a*", "!report", "#report", "report [de]", "what?"])
def test_folders_are_no_patterns(step: Step, name: str, folder: str) -> None:
    """The folder stands in the input `path` of upload-artifact."""
    found = step("prepare", **{f"INPUT_{name.upper()}": folder})
    assert found["exit-code"] == "2"
    assert f"the input `{name}`" in found["problem"]


@pytest.mark.slow
def test_what_an_earlier_job_left_is_not_of_this_run(step: Step) -> None:
    """A machine of one's own may keep its folders from job to job."""
    out = step.folder / "bias-report"
    out.mkdir()
    for name in (REPRODUCTION, f"{REPRODUCTION}{SIGNATURE}", f"{REPORT}{SIGNATURE}"):
        (out / name).write_text("{}")
    prepared = step("prepare", INPUT_SUITES="structure")
    found = step(
        "measure", BIAS_PREPARE_COMMAND=prepared["command"], BIAS_PREPARE_OUT=prepared["out"]
    )
    assert (found["status"], found["exit-code"]) == ("measured", "0")
    assert [p.name for p in out.iterdir() if p.name.endswith((REPRODUCTION, SIGNATURE))] == []


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ("pull_request", True),
        ("pull_request_target", True),
        ("pull_request_review", True),
        ("merge_group", True),
        ("push", False),
        ("release", False),
    ],
)
def test_what_is_not_merged_is_not_published(step: Step, event: str, expected: bool) -> None:
    assert bool(provider.GitHub({"GITHUB_EVENT_NAME": event}).proposal) == expected
    given = {"INPUT_PUBLISH": "org/name", "GITHUB_EVENT_NAME": event, "BIAS_PREPARE_OUT": "nowhere"}
    said = step("publish", **given)["remark"]
    assert ("a pull request is no version yet" in said) == expected
