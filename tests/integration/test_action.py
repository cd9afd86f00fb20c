"""The GitHub Action: action.yml is read and its step is run in bash, as a runner does."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, STDOUT
from typing import Any

import pytest
import yaml
from commands import environment, read, statuses, suite

from pytest_bias.emit.summary import SUMMARY_LIMIT

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
INSTALL, MEASURE = ACTION["runs"]["steps"]

INPUTS = ["model", "revision", "suites", "profile", "config", "baseline", "device", "devices"]
INPUTS += ["data-dir", "out", "extra-args"]
NOTHING = {"report": "", "badges": "", "status": "could-not-measure", "scores": "{}"}

SHELL = ("$(touch pwned)", "`touch pwned`", "; touch pwned", "'\"; touch pwned; \"'")
LINES = "x\nEOF\nstatus=held\nevil<<EOF\nheld\nEOF\n::set-output name=evil::held\n::add-path::/x"
MARKUP = 'a"><script>alert(1)<img src=x onerror=y>|`|[x](y)\n# big\n| a | b |\n'


@dataclass(frozen=True)
class Step:
    """What the step left: exit code, log, outputs with their delimiters, summary, checkout."""

    code: int
    log: str
    written: tuple[tuple[str, str, str], ...]
    summary: str
    checkout: Path

    def __post_init__(self) -> None:
        assert "Traceback" not in self.log, self.log

    @property
    def outputs(self) -> dict[str, str]:
        """What a job sees: the outputs that action.yml declares."""
        context = {f"steps.{MEASURE['id']}.outputs.{k}": v for k, _, v in self.written}
        return {k: resolve(v["value"], context) for k, v in ACTION["outputs"].items()}

    @property
    def report(self) -> dict[str, Any]:
        """The report that the outputs lead to."""
        return read(self.checkout / self.outputs["report"])

    @property
    def files(self) -> set[str]:
        """Every file of the checkout."""
        return {str(p.relative_to(self.checkout)) for p in self.checkout.rglob("*") if p.is_file()}

    def done(self, code: int) -> "Step":
        """Assert the exit code, and that the step set its outputs and no other."""
        assert self.code == code, self.log
        assert [name for name, _, _ in self.written] == list(NOTHING)
        return self


def resolve(text: str, context: Mapping[str, str]) -> str:
    """Replace expressions by what they stand for; an output that no step has set is empty."""

    def value(match: re.Match[str]) -> str:
        name = match[1]
        return context.get(name, "") if name.startswith("steps.") else context[name]

    return re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", value, text)


def parse(text: str) -> tuple[tuple[str, str, str], ...]:
    """Read GITHUB_OUTPUT by the runner's rules: name, delimiter and value of each output."""
    found, lines = [], text.split("\n")
    while lines:
        line = lines.pop(0)
        match = re.match("(.+?)(=|<<)(.*)", line)
        assert match or not line, f"the runner refuses {line!r}"
        if match and match[2] == "=":
            found.append((match[1], "", match[3]))
        elif match:
            end = lines.index(match[3])
            found.append((match[1], match[3], "\n".join(lines[:end])))
            del lines[: end + 1]
    return tuple(found)


def commands(log: str) -> list[str]:
    """Return the workflow commands that the runner would obey."""
    found, stopped = [], ""
    for line in map(str.strip, re.split("[\r\n]", log)):
        if stopped:
            stopped = "" if line == f"::{stopped}::" else stopped
        elif line.startswith("::stop-commands::"):
            stopped = line.removeprefix("::stop-commands::")
        elif line.startswith("::") or "##[" in line:
            found.append(line)
    assert not stopped, log
    return found


def run(folder: Path, inputs: Mapping[str, str]) -> Step:
    """Run the step that measures, with `folder`/checkout as the workspace."""
    checkout, temp = folder / "checkout", folder / "temp"
    output, summary, script = (temp / name for name in ("output", "summary", "script.sh"))
    checkout.mkdir(exist_ok=True)
    temp.mkdir()
    given = {k: v.get("default", "") for k, v in ACTION["inputs"].items()}
    given |= {"python": sys.executable, **inputs}
    context = {"github.action_path": str(ROOT), **{f"inputs.{k}": v for k, v in given.items()}}
    for path, text in ((output, ""), (summary, ""), (script, resolve(MEASURE["run"], context))):
        path.write_text(text)
    env = {k: v for k, v in environment().items() if not re.match("(GITHUB|INPUT|PYTEST_BIAS)_", k)}
    env |= {
        "GITHUB_OUTPUT": str(output),
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_WORKSPACE": str(checkout),
        "RUNNER_TEMP": str(temp),
        "PYTEST_BIAS_CACHE": str(folder / "cache"),
        **{k: resolve(v, context) for k, v in MEASURE["env"].items()},
    }
    bash = ("bash", "--noprofile", "--norc", "-eo", "pipefail", script)
    ran = subprocess.run(
        bash, cwd=checkout, env=env, stdout=PIPE, stderr=STDOUT, encoding="utf-8", timeout=240
    )
    outputs, shown = (path.read_text(encoding="utf-8") for path in (output, summary))
    return Step(ran.returncode, ran.stdout, parse(outputs), shown, checkout)


def assert_tables_hold(summary: str) -> None:
    """Assert that a summary has tables, and each of them rows of one length."""
    tables = [block.splitlines() for block in summary.split("\n\n") if block.startswith("| ")]
    widths = [{len(re.findall(r"(?<!\\)\|", line)) for line in table} for table in tables]
    assert {len(w) for w in widths} == {1}, summary


# What action.yml says


def test_inputs_and_outputs_are_declared() -> None:
    assert set(ACTION["inputs"]) == {*INPUTS, "python"}
    assert set(ACTION["outputs"]) == set(NOTHING)


def test_inputs_enter_scripts_only_through_the_environment() -> None:
    for step in (INSTALL, MEASURE):
        assert set(step) <= {"name", "id", "shell", "env", "run"}
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]
    assert {f"${{{{ inputs.{name} }}}}" for name in INPUTS} <= set(MEASURE["env"].values())


def test_action_installs_itself_and_nothing_else() -> None:
    (line,) = [x for x in INSTALL["run"].splitlines() if "pip " in x]
    assert '"$GITHUB_ACTION_PATH"' in line
    named = shlex.split(line.partition(" install ")[2])
    assert [w for w in named if not w.startswith("-")] == ["$GITHUB_ACTION_PATH"]


# A run


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Step:
    """Return a run with nothing given but ``model: demo``."""
    return run(tmp_path_factory.mktemp("demo"), {"model": "demo"})


def test_outputs_lead_to_what_was_written(demo: Step) -> None:
    demo.done(0)
    assert demo.outputs["status"] == "measured"
    assert demo.outputs["report"] == "bias-report/report.json"
    assert demo.report["model"]["reference"] == "demo"
    assert list((demo.checkout / demo.outputs["badges"]).glob("*.svg"))
    assert commands(demo.log) == []


def test_withheld_scores_are_no_output(tmp_path: Path, demo: Step) -> None:
    extra = "--withhold-scores\n--suite=template_association"
    step = run(tmp_path, {"model": "demo", "extra-args": extra}).done(0)
    assert step.outputs["scores"] == "{}"
    assert step.outputs["status"] == "measured"
    assert "scores not published" in step.summary
    salt = (step.checkout / "bias-report" / "withheld-salt.txt").read_text().strip()
    association = json.loads(demo.outputs["scores"])["template_association[en]"]["value"]
    for text in (step.log, step.summary, *(value for _, _, value in step.written)):
        assert salt not in text
        assert f"{association:.2f} nats" not in text
    assert f"{association:.2f} nats" in demo.log


def test_delimiters_of_outputs_cannot_be_guessed(demo: Step, everything: Step) -> None:
    delimiters = {end for _, end, _ in (*demo.written, *everything.written)}
    assert len(delimiters) == 2 * len(NOTHING)
    assert [end for end in delimiters if not re.search("[0-9a-f]{32}", end)] == []


def test_scores_are_those_of_the_report(demo: Step) -> None:
    scores = json.loads(demo.outputs["scores"])
    scored = {f"{s['name']}[{s['config']}]": s for s in demo.report["suites"] if s["scores"]}
    assert set(scores) == set(scored)
    assert "template_association[en]" in scores
    for entry, score in scores.items():
        assert set(score) == {"metric", "value", "interval", "ideal", "unit", "n"}
        (found,) = [s for s in scored[entry]["scores"] if s["headline"]]
        assert score == {key: found[key] for key in score}


def test_summary_holds_the_scores(demo: Step) -> None:
    assert demo.summary.startswith("## demo")
    assert_tables_hold(demo.summary)
    assert "\n| Template association en | association | " in demo.summary
    assert len(demo.summary.encode()) < SUMMARY_LIMIT


# Inputs


@pytest.fixture(scope="module")
def everything(demo: Step, tmp_path_factory: pytest.TempPathFactory) -> Step:
    """Return a run with most of the inputs, whose settings file has a limit that is exceeded."""
    folder = tmp_path_factory.mktemp("everything")
    config = folder / "checkout" / "ci files" / "limits.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("limits:\n  template_association.association: {max_distance: 0.01}\n")
    suites = "template_association[en]\nstructure  seat[en]\n"
    inputs = {"model": " demo\n", "suites": suites, "profile": "quick"}
    inputs |= {"config": "ci files/limits.yaml", "out": "results/of this run"}
    inputs |= {"baseline": str(demo.checkout / demo.outputs["report"])}
    return run(folder, inputs | {"extra-args": "--seed=7\n\n  --with-texts  \n"})


def test_inputs_reach_the_command(everything: Step) -> None:
    report, settings = everything.report, everything.report["settings"]
    assert report["model"]["reference"] == "demo"
    assert settings["requested"] == ["template_association[en]", "structure", "seat[en]"]
    assert set(statuses(report)) == {"template_association", "structure", "seat"}
    assert (settings["profile"], settings["seed"]) == ("quick", 7)
    assert everything.outputs["report"] == "results/of this run/report.json"
    assert "### Since demo" in everything.summary


def test_exceeded_limit_fails_the_step_and_still_says_why(everything: Step) -> None:
    everything.done(1)
    assert everything.outputs["status"] == "exceeded"
    assert "template_association[en]" in json.loads(everything.outputs["scores"])
    assert "**A limit of this project is exceeded.**" in everything.summary
    assert_tables_hold(everything.summary)
    assert commands(everything.log) == ["::error title=pytest-bias::exceeded, exit code 1"]


@pytest.mark.parametrize(
    ("inputs", "code", "said"),
    [
        ({"model": "org/name", "revision": "v1.2"}, 3, "org/name@v1.2 is not in the cache"),
        ({"model": "demo", "device": "gpu"}, 2, "Known: auto, cpu"),
        ({"model": "demo", "config": "nowhere.yaml"}, 2, "--config nowhere.yaml"),
        ({"model": "demo", "extra-args": "--sute=seat"}, 2, "--sute"),
    ],
)
def test_wrong_inputs_are_named(
    tmp_path: Path, inputs: dict[str, str], code: int, said: str
) -> None:
    step = run(tmp_path, inputs).done(code)
    assert said in step.log
    assert (step.outputs, step.files) == (NOTHING, set())


@pytest.mark.parametrize("model", ["", " \n"])
def test_model_has_to_be_named(tmp_path: Path, model: str) -> None:
    step = run(tmp_path, {"model": model}).done(2)
    assert (step.outputs, step.summary, step.files) == (NOTHING, "", set())
    assert "model" in step.log


def test_model_is_read_from_the_settings_file(tmp_path: Path) -> None:
    (tmp_path / "checkout").mkdir()
    config = tmp_path / "checkout" / "pytest-bias.yaml"
    config.write_text("model: demo-neutral\nsuites: [structure]\n")
    step = run(tmp_path, {"model": ""}).done(0)
    assert step.report["model"]["reference"] == "demo-neutral"


def test_outputs_follow_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    step = run(tmp_path, {"model": "demo", "suites": "structure", "out": "~/there"}).done(0)
    assert step.outputs["status"] == "measured"
    assert Path(step.outputs["report"]) == tmp_path / "home" / "there" / "report.json"


@pytest.mark.parametrize(
    ("extra", "code"), [("--out=there", 2), ("--out\nthere", 2), ("--help", 3)]
)
def test_green_step_has_a_report(tmp_path: Path, extra: str, code: int) -> None:
    step = run(tmp_path, {"model": "demo", "extra-args": extra}).done(code)
    assert (step.outputs, step.files) == (NOTHING, set())


@pytest.mark.parametrize("name", ["json", "pytest_bias"])
def test_files_of_the_checkout_are_not_run(tmp_path: Path, name: str) -> None:
    (tmp_path / "checkout").mkdir()
    file = tmp_path / "checkout" / f"{name}.py"
    file.write_text("open('pwned', 'w')\nraise SystemExit(0)\n")
    step = run(tmp_path, {"model": "demo", "suites": "structure"}).done(0)
    assert step.outputs["status"] == "measured"
    assert not (step.checkout / "pwned").exists()


def test_failed_run_does_not_hand_on_what_the_run_before_found(tmp_path: Path, demo: Step) -> None:
    shutil.copytree(demo.checkout, tmp_path / "checkout")
    suites = "\n".join(("crow_pairs", *SHELL, LINES, MARKUP))
    step = run(tmp_path, {"model": "demo", "suites": suites}).done(2)
    assert "suite 'crow_pairs' is not known. Did you mean 'crows_pairs'?" in step.log
    assert (step.outputs, step.summary, step.files) == (NOTHING, "", demo.files)


# Hostile names


@pytest.mark.parametrize(
    "inputs",
    [
        {"model": "--help", "config": "nowhere.yaml"},
        {"model": LINES + MARKUP},
        {"model": "demo", "extra-args": "\n".join((*SHELL, LINES, MARKUP))},
        *(dict.fromkeys(INPUTS, text) for text in SHELL),
    ],
    ids=["option", "text", "extra-args", *map(str, range(len(SHELL)))],
)
def test_hostile_inputs_do_nothing(tmp_path: Path, inputs: dict[str, str]) -> None:
    step = run(tmp_path, inputs)
    assert step.code in (2, 3), step.log
    found = step.done(step.code).outputs
    assert (found, step.summary, step.files) == (NOTHING, "", set())
    said = f"::error title=pytest-bias::could-not-measure, exit code {step.code}"
    assert commands(step.log) == [said]


@pytest.fixture(scope="module")
def hostile(tiny: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Step:
    """Return a run that succeeds, with a model, a data folder and an output of hostile names."""
    folder = tmp_path_factory.mktemp("hostile")
    checkout = folder / "checkout"
    model, data = f"{LINES.replace('/', '')}\n{MARKUP}{SHELL[0]}", f"data {SHELL[1]}"
    shutil.copytree(tiny("bert"), checkout / model)
    own = checkout / data / "crows_pairs" / "crows_pairs_anonymized.csv"
    own.parent.mkdir(parents=True)
    rows = [f"He is a {w}.,She is a {w}.,stereo,gender\n" for w in ("nurse", "cook", "judge")]
    own.write_text("sent_more,sent_less,stereo_antistereo,bias_type\n" + "".join(rows))
    limits = "limits: {crows_pairs.stereotype_preference: {max_distance: 50}}"
    (checkout / "pytest-bias.yaml").write_text(limits)
    inputs = {"model": f"./{model}", "data-dir": data, "out": f"out{LINES}{SHELL[0]}"}
    return run(folder, inputs | {"suites": "crows_pairs[en]"})


def test_hostile_names_add_no_outputs_and_run_nothing(hostile: Step) -> None:
    hostile.done(0)
    assert hostile.outputs["status"] == "held"
    assert "\nEOF\nstatus=held\nevil<<EOF\n" in hostile.outputs["report"]
    assert (hostile.checkout / hostile.outputs["badges"]).is_dir()
    assert "\n# big\n" in hostile.report["model"]["reference"]
    assert suite(hostile.report, "crows_pairs")["data"]["n_items"] == 3
    assert "\n::add-path::/x" in hostile.log
    assert commands(hostile.log) == []
    assert [f for f in hostile.files if f.endswith("pwned")] == []


def test_hostile_names_do_not_break_the_summary(hostile: Step) -> None:
    assert "&lt;script&gt;" in hostile.summary
    assert re.findall(r"<(?!/?sub>)", hostile.summary) == []
    headings = [line for line in hostile.summary.splitlines() if line.startswith("#")]
    assert headings[0].startswith("## x EOF")
    assert headings[1:] == ["### Intrinsic, of the model itself", "### Limits of this project"]
    assert_tables_hold(hostile.summary)
