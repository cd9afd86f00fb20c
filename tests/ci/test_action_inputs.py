"""The parts of the action: inputs to words, what the runner may be told, how it ends."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_bias.ci.github.provider import GitHub
from pytest_bias.ci.github.runner import (
    MOST_ANNOTATIONS,
    annotation,
    annotations,
    for_a_model,
    write_outputs,
)
from pytest_bias.ci.github.steps import STEPS, main
from pytest_bias.ci.provider import Annotation
from pytest_bias.ci.steps import decide
from pytest_bias.ci.steps.inputs import CHOICES, FLAGS, OPTIONS, Inputs
from pytest_bias.ci.steps.measure import worst
from pytest_bias.ci.steps.tell import lines_of_limits
from pytest_bias.errors import UsageError
from pytest_bias.reports.decision import Outcome
from pytest_bias.reports.verdicts import Verdict
from pytest_bias.untrusted import without_secrets

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def inputs(**texts: str) -> Inputs:
    """Return inputs as action.yml hands them on."""
    given = {name: str(plain["default"]) for name, plain in ACTION["inputs"].items()}
    given |= {name.replace("_", "-"): text for name, text in texts.items()}
    named = {f"INPUT_{n.upper().replace('-', '_')}": text for n, text in given.items()}
    github = GitHub(named)
    found = Inputs.of(github.given)
    github.check(found)
    return found


# Inputs


def test_inputs_that_are_known_here_are_those_of_the_action() -> None:
    assert {*FLAGS, *CHOICES, *OPTIONS} <= set(ACTION["inputs"])
    for name, known in CHOICES.items():
        assert ACTION["inputs"][name]["default"] == known[0]


def test_nothing_given_is_a_plain_run() -> None:
    assert inputs().words() == ["run", "--out=bias-report", "--fresh"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("--language en", ["--language", "en"]),
        ("--language=en\n--fresh --offline", ["--language=en", "--fresh", "--offline"]),
        ("--config=my limits.yaml", ["--config=my limits.yaml"]),
        ("--config my limits.yaml", ["--config", "my limits.yaml"]),
        ("--suite a --suite b", ["--suite", "a --suite b"]),
        ("--budget\n10m", ["--budget", "10m"]),
    ],
)
def test_options_with_their_values_on_one_line(lines: str, expected: list[str]) -> None:
    assert inputs(extra_args=lines).extra == expected


OF_A_JOB = {
    "model": "org/other",
    "revision": "v1",
    "suites": "seat",
    "profile": "quick",
    "config": "strict.yaml",
    "shard": "1/2",
    "device": "cuda:0",
    "data_dir": "data",
    "extra_args": "--language=fr",
}


def test_jobs_with_other_inputs_leave_their_own() -> None:
    usual = {"model": "org/name"}
    made = [inputs(**{**usual, name: text}) for name, text in OF_A_JOB.items()]
    made.append(inputs(**usual))
    assert len({one.identity for one in made}) == len(made)
    assert len({one.artifact("org/name") for one in made}) == len(made)
    # What is written otherwise and means the same is the same job; so is one that only tells more.
    spaced = inputs(model="org/name", suites="seat\nhonest", fail_on="never", comment="never")
    assert spaced.identity == inputs(model="org/name", suites="seat  honest").identity


@pytest.mark.parametrize("model", ["org/" + "x" * 300, 'a:b*?"<>|\r\n/../..', "../..", "", None])
def test_the_name_of_an_artifact_is_one_that_github_takes(model: str | None) -> None:
    name = inputs().artifact(model)
    assert re.fullmatch(r"bias-report-(?:[A-Za-z0-9][A-Za-z0-9._-]{0,60}-)?[0-9a-f]{8}", name)
    assert inputs(artifact="mine").artifact(model) == "mine"
    assert inputs(artifact="").artifact(model) == ""


def test_two_uses_in_one_job_have_a_folder_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = inputs(model="org/a"), inputs(model="org/b")
    first.out.mkdir()
    (first.out / "job.json").write_text(f'{{"identity": "{first.identity}"}}')
    assert (str(first.out), str(second.out)) == ("bias-report", f"bias-report-{second.identity}")


def test_words_of_a_run() -> None:
    given = inputs(
        model=" org/name ",
        revision="v1.2",
        suites="seat\ncrows_pairs[en]  honest",
        profile="quick",
        config="ci/limits.yaml",
        device="cuda:0",
        data_dir="my data",
        out="~/there",
        extra_args="--language=fr\n\n  --seed=7  \n",
    )
    assert given.words("base", first_run=True) == [
        *("run", "--profile=quick", "--config=ci/limits.yaml", "--device=cuda:0"),
        *("--data-dir=my data", "--baseline=base", "--first-run"),
        *("--suite=seat", "--suite=crows_pairs[en]", "--suite=honest"),
        *(f"--out={Path.home() / 'there'}", "--fresh", "--language=fr", "--seed=7"),
        *("--", "org/name@v1.2"),
    ]


def test_words_of_a_reproduction() -> None:
    given = inputs(model="org/name", reproduce="True", device="cpu")
    words = ["reproduce", "--device=cpu", "--out=bias-report", "--fresh", "--", "org/name"]
    assert given.words() == words


def test_words_of_a_merge(tmp_path: Path) -> None:
    for n in (2, 1):
        (tmp_path / f"part-{n}").mkdir()
        (tmp_path / f"part-{n}" / "report.json").write_text("{}")
    parts = [str(tmp_path / f"part-{n}") for n in (1, 2)]
    words = ["merge", "--baseline=before", "--out=bias-report", "--fresh", "--", *parts]
    assert inputs(reports=str(tmp_path), baseline="before").words("before") == words
    (tmp_path / "report.json").write_text("{}")
    assert inputs(reports=str(tmp_path)).words() == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"revision": "v1"}, "`revision` needs the input `model`"),
        ({"model": "demo", "extra_args": "--out=there"}, "--out is not allowed in `extra-args`"),
        ({"model": "demo", "extra_args": "--out\nthere"}, "--out is not allowed in `extra-args`"),
        ({"model": "a\0b"}, "a null character"),
        ({"skip_unchanged": "yes"}, "true or false"),
        ({"fail_on": "errors"}, "Did you mean 'error'?"),
        ({"comment": "always"}, "Known: auto, never"),
        ({"artifact": "a/b"}, "Names of artifacts"),
        ({"artifact": "a\nb"}, "Names of artifacts"),
        ({"badges_branch": "a b"}, "no name of a branch"),
        ({"badges_branch": "badges:../x"}, "no folder for a report"),
        ({"device": "cpu\ncuda"}, "more than one line"),
        ({"out": "there\n/etc"}, "more than one line"),
        ({"reports": "nowhere"}, "there is no report.json in that folder"),
        ({"reproduce": "true"}, "needs the input `model`"),
        ({"model": "demo", "reproduce": "true", "suites": "seat"}, "`suites` does not go with"),
        ({"model": "demo", "reproduce": "true", "profile": "quick"}, "`profile` does not go with"),
        ({"reports": "nowhere", "shard": "1/2"}, "`shard` does not go with `reports`"),
    ],
)
def test_inputs_that_cannot_be(given: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        inputs(**given).words()


# What the runner is told


def read_outputs(text: str) -> list[tuple[str, str]]:
    """Read GITHUB_OUTPUT by the runner's rules."""
    found, lines = [], text.split("\n")
    while lines and (line := lines.pop(0)):
        name, end = line.split("<<")
        at = lines.index(end)
        found.append((name, "\n".join(lines[:at])))
        del lines[: at + 1]
    return found


@pytest.mark.parametrize("value", ["", "x", "x\nEOF\nstatus=held\nevil<<EOF\nheld\nEOF", "a\r\nb"])
def test_an_output_cannot_end_itself(tmp_path: Path, value: str) -> None:
    file = tmp_path / "output"
    write_outputs({"one": value, "two": "2"}, {"GITHUB_OUTPUT": str(file)})
    write_outputs({"one": value}, {"GITHUB_OUTPUT": str(file)})
    text = file.read_bytes().decode()
    assert read_outputs(text) == [("one", value), ("two", "2"), ("one", value)]
    ends = re.findall(r"<<(end-[0-9a-f]{32})", text)
    assert len(set(ends)) == 3


def test_an_annotation_is_one_line() -> None:
    text = "50 %\n::set-output name=x::y\r::add-path::/x"
    said = annotation("error", text, title="a: b, c", file="x,y:z\n.yaml", line=3)
    assert "\n" not in said
    assert "\r" not in said
    head, _, message = said.partition("::error ")[2].partition("::")
    assert head == "file=x%2Cy%3Az%0A.yaml,line=3,title=a%3A b%2C c"
    assert message.startswith("50 %25 ::set-output")


def test_annotations_are_as_many_as_are_shown() -> None:
    few = list(annotations([Annotation("warning", "x")] * MOST_ANNOTATIONS))
    assert len(few) == MOST_ANNOTATIONS
    many = list(annotations([Annotation("warning", "x")] * 1000))
    assert len(many) == MOST_ANNOTATIONS
    assert many[-1].endswith("::and 991 more, in the summary")


def test_a_process_with_code_of_a_model_has_nothing_to_speak_with() -> None:
    runner = dict.fromkeys(("OUTPUT", "ENV", "PATH", "STATE", "STEP_SUMMARY", "TOKEN"), "x")
    given = {
        **{f"GITHUB_{name}": text for name, text in runner.items()},
        **{"ACTIONS_RUNTIME_TOKEN": "x", "INPUT_MODEL": "x", "BIAS_COMMAND": "x"},
        **{"PATH": "/bin", "HF_TOKEN": "hf", "GITHUB_REPOSITORY": "org/name"},
    }
    kept = {"PATH": "/bin", "HF_TOKEN": "hf", "GITHUB_REPOSITORY": "org/name"}
    assert for_a_model(given) == {**kept, "PYTHONUTF8": "1"}


def test_tokens_are_in_no_text() -> None:
    environment = {"HF_TOKEN": "hf_x", "GITHUB_TOKEN": " ghs_y\n", "PATH": "z"}
    assert without_secrets("hf_x, ghs_y and z", environment) == "***, *** and z"
    assert without_secrets("nothing", {"HF_TOKEN": ""}) == "nothing"


def test_lines_of_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.yaml").write_text("model: demo\nlimits:\n  # one\n  a.b: {max_distance: 1}\n  c.d:\n")
    assert lines_of_limits("own.yaml") == ("own.yaml", {"a.b": 4, "c.d": 5})
    assert lines_of_limits("nowhere.yaml") == ("", {})
    for text in ("", "[1, 2]", "limits: 3", "limits: {a", "\0"):
        Path("own.yaml").write_text(text)
        assert lines_of_limits("own.yaml")[1] == {}


# The gravest limit


def outcome(name: str, verdict: Verdict, interval: Any = None, allowed: Any = None) -> Outcome:
    """Return what became of a limit."""
    return Outcome(name, "max_distance", verdict, "x[en]", 1.0, interval, allowed=allowed)


def test_the_worst_limit_is_the_gravest_and_of_these_the_clearest() -> None:
    held = outcome("held", "held", (0, 1), (-2, 2))
    undecided = outcome("undecided", "undecided", (1, 3), (-2, 2))
    near = outcome("near", "exceeded", (2.5, 3.5), (-2, 2))
    # Two widths above, and 40 points above with an interval of 100 points.
    clear = outcome("clear", "exceeded", (4, 5), (None, 2))
    wide = outcome("wide", "exceeded", (42, 142), (None, 2))
    below = outcome("below", "exceeded", (-9, -8), (0, None))
    assert worst([held, undecided])["limit"] == "undecided"
    assert worst([held, near, undecided, clear, wide])["limit"] == "clear"
    assert worst([clear, below])["limit"] == "below"
    assert set(worst([held])) == {
        *("limit", "rule", "verdict", "entry", "value", "interval", "allowed", "reason")
    }


# How it ends


@pytest.mark.parametrize(
    ("codes", "limit", "error", "never"),
    [
        ({"PREPARE": "", "MEASURE": "0"}, 0, 0, 0),
        ({"MEASURE": "1"}, 1, 0, 0),
        ({"MEASURE": "3"}, 3, 3, 0),
        ({"PREPARE": "2"}, 2, 2, 0),
        ({"MEASURE": "130"}, 130, 130, 0),
        ({"MEASURE": "0", "PUBLISH": "3"}, 3, 3, 0),
        ({"MEASURE": "1", "PUBLISH": "3"}, 1, 3, 0),
        ({"MEASURE": "0", "TELL": "3"}, 3, 3, 0),
        # Killed before it could say anything.
        ({}, 3, 3, 0),
    ],
)
def test_how_it_ends(codes: dict[str, str], limit: int, error: int, never: int) -> None:
    given = {f"BIAS_{name}_EXIT_CODE": code for name, code in codes.items()}
    ends = {"limit": limit, "error": error, "never": never}
    found = {word: decide.main(GitHub({**given, "INPUT_FAIL_ON": word})) for word in ends}
    assert found == ends


def test_steps_are_those_of_the_action() -> None:
    runs = " ".join(step.get("run", "") for step in ACTION["runs"]["steps"])
    assert set(re.findall(r"-m pytest_bias\.action (\w+)", runs)) == set(STEPS)


def test_an_error_that_nobody_expected_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "output"
    given = {
        "GITHUB_OUTPUT": str(output),
        "HF_TOKEN": "hf_secret",
        "BIAS_PREPARE_COMMAND": "hf_secret",
    }
    assert main("measure", given) == 0
    found = dict(read_outputs(output.read_text()))
    assert found["exit-code"] == "3"
    assert "unexpected" in found["problem"]
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "hf_secret" not in said + output.read_text()


def test_the_last_step_that_breaks_does_not_end_well() -> None:
    assert main("decide", {"BIAS_MEASURE_EXIT_CODE": "x"}) == 3
