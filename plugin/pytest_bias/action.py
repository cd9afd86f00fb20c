"""The step of the GitHub Action: inputs from the environment, the command, outputs and summary.

``python -m pytest_bias.action`` reads the variables that action.yml sets. Nothing of them passes
through a shell, and what is written to GITHUB_OUTPUT cannot end its own value.
"""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pytest_bias.emit.wording import clean
from pytest_bias.errors import BiasError, MeasurementError, UsageError
from pytest_bias.folder import DECISION, REPORT, SUMMARY, read_report
from pytest_bias.records import Report

INPUTS: Final = {
    "INPUT_PROFILE": "--profile",
    "INPUT_CONFIG": "--config",
    "INPUT_BASELINE": "--baseline",
    "INPUT_DEVICE": "--device",
    "INPUT_DEVICES": "--devices",
    "INPUT_DATA_DIR": "--data-dir",
}
DEFAULT_OUT: Final = "bias-report"


def command(inputs: Mapping[str, str]) -> list[str]:
    """Return the command that the inputs ask for, as a list of words.

    Raises
    ------
    UsageError
        If a revision has no model, or an input holds what no option can hold.
    """
    given = {name: value.strip() for name, value in inputs.items()}
    model = given.get("INPUT_MODEL", "")
    if revision := given.get("INPUT_REVISION", ""):
        if not model:
            raise UsageError("the input `revision` needs the input `model`.")
        model = f"{model}@{revision}"
    words = [f"{option}={given[name]}" for name, option in INPUTS.items() if given.get(name)]
    words += [f"--suite={suite}" for suite in given.get("INPUT_SUITES", "").split()]
    extra = [x.strip() for x in given.get("INPUT_EXTRA_ARGS", "").splitlines() if x.strip()]
    if any(word.partition("=")[0] == "--out" for word in extra):
        raise UsageError("--out stands in `extra-args`.", "Use the input `out`.")
    words += [f"--out={out_folder(inputs)}", "--fresh", *extra]
    if any("\0" in word for word in [model, *words]):
        raise UsageError("an input holds a null character.")
    # The model comes behind `--`, so that a name that begins with a dash is no option.
    return ["run", *words, *(["--", model] if model else [])]


def out_folder(inputs: Mapping[str, str]) -> Path:
    """Return the folder that the report goes to."""
    return Path(inputs.get("INPUT_OUT", "").strip() or DEFAULT_OUT).expanduser()


def outputs(report: Report, out: Path, status: str) -> dict[str, str]:
    """Return what later steps can read."""
    scores = {
        suite.entry: {
            "metric": score.metric,
            "value": score.value,
            "interval": score.interval,
            "ideal": score.ideal,
            "unit": score.unit,
            "n": score.n,
        }
        for suite in report.suites
        if (score := suite.headline)
    }
    return {
        "report": str(out / REPORT),
        "badges": str(out / "badges"),
        "status": status,
        "scores": json.dumps(scores, separators=(",", ":"), allow_nan=False),
    }


def write_outputs(values: Mapping[str, str], file: Path) -> None:
    """Append values to GITHUB_OUTPUT, each between delimiters that nobody can guess."""
    with file.open("a", encoding="utf-8") as stream:
        for name, value in values.items():
            end = f"end-{secrets.token_hex(16)}"
            stream.write(f"{name}<<{end}\n{value}\n{end}\n")


def annotation(level: str, title: str, text: str) -> str:
    """Return a workflow command that shows a message at the run."""
    message = clean(text, 1000).replace("%", "%25")
    return f"::{level} title={title}::{message}"


def main(environment: Mapping[str, str] | None = None) -> int:
    """Run the step; returns the command's exit code."""
    environment = os.environ if environment is None else environment
    inputs = {k: v for k, v in environment.items() if k.startswith("INPUT_")}
    out = out_folder(inputs)
    before = _written(out)
    try:
        code, why = measure(command(inputs)), ""
    except BiasError as error:
        code, why = error.exit_code, str(error)
    values = {"report": "", "badges": "", "status": "could-not-measure", "scores": "{}"}
    if _written(out) not in (None, before):
        status = json.loads((out / DECISION).read_text(encoding="utf-8"))["status"]
        values = outputs(read_report(out), out, status)
        if summary := environment.get("GITHUB_STEP_SUMMARY"):
            with Path(summary).open("a", encoding="utf-8") as stream:
                stream.write((out / SUMMARY).read_text(encoding="utf-8") + "\n")
    elif code == 0:
        code, why = MeasurementError.exit_code, f"the command left no report in {out}"
    if file := environment.get("GITHUB_OUTPUT"):
        write_outputs(values, Path(file))
    if code:
        text = why or f"{values['status']}, exit code {code}"
        sys.stdout.write(annotation("error", "pytest-bias", text) + "\n")
    return code


def measure(words: Sequence[str]) -> int:
    """Run the command, none of whose lines the runner takes for a command of its own."""
    # Names that the model's author chose are printed.
    pause = secrets.token_hex(16)
    sys.stdout.write(f"::stop-commands::{pause}\n")
    sys.stdout.flush()
    code = subprocess.run([sys.executable, "-m", "pytest_bias", *words], check=False).returncode
    sys.stdout.write(f"::{pause}::\n")
    return code


def _written(out: Path) -> int | None:
    return (out / REPORT).stat().st_mtime_ns if (out / REPORT).exists() else None


if __name__ == "__main__":
    sys.exit(main())
