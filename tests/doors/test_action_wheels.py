"""Where the action installs: the first script, which runs before anything is installed."""

import subprocess
import sys
from pathlib import Path

import pytest

import pytest_bias
import warm

SCRIPT = Path(pytest_bias.__file__).parent / "ci" / "github" / "wheels.py"
BASE = getattr(sys, "_base_executable", sys.executable)
"""The Python that this virtual environment was made of."""


def ran(folder: Path, python: str = warm.REAL, **given: str) -> tuple[int, str, dict[str, str]]:
    """Return exit code, what it said, and its outputs."""
    file = folder / "outputs"
    file.write_text("")
    env = {"GITHUB_OUTPUT": str(file), "RUNNER_TEMP": str(folder), "HOME": str(folder)}
    done = subprocess.run(
        [python, "-I", SCRIPT],
        env={**env, "INPUT_TORCH_INDEX": "auto", **given},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    found = dict(line.split("=", 1) for line in file.read_text().splitlines())
    return done.returncode, done.stdout, found


def test_an_environment_is_taken_as_it_is(tmp_path: Path) -> None:
    code, _, found = ran(tmp_path, INPUT_EXTRAS="models, signatures")
    assert code == 0
    assert found["python"] == warm.REAL
    assert found["extras"] == "[models,signatures]"
    assert "," not in found["key"]  # which a key of GitHub's cannot have


def test_wheels_for_another_device_are_kept_apart(tmp_path: Path) -> None:
    keys = {ran(tmp_path, INPUT_TORCH_INDEX=f"https://{n}.org/")[2]["key"] for n in ("cpu", "gpu")}
    assert len(keys) == 2


@pytest.mark.parametrize("extras", ["[models]", "models; rm -rf /", "--index-url=x", "a\nb=c"])
def test_extras_are_names(tmp_path: Path, extras: str) -> None:
    code, said, found = ran(tmp_path, INPUT_EXTRAS=extras)
    assert (code, found) == (2, {})
    assert said.startswith("::error title=pytest-bias::the input `extras`")


@pytest.mark.skipif(warm.REAL == BASE, reason="this Python is of no virtual environment")
def test_a_python_that_makes_no_environment_is_told_what_helps(tmp_path: Path) -> None:
    (tmp_path / "pytest-bias-python").write_text("in the way")
    code, said, found = ran(tmp_path, BASE)
    assert (code, found) == (2, {})
    assert "python3-venv" in said
