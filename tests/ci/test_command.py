"""The command as a step runs it: what counts as its result."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_bias.ci.github.provider import GitHub
from pytest_bias.ci.steps.command import run_command
from pytest_bias.records.command_result import SCHEMA, VARIABLE

RIGHT = {"schema": SCHEMA, "exit_code": 0}
PROGRAMS: Mapping[str, tuple[str, int, str]] = {
    "nothing": ("", 3, "left no result"),
    "fails": ("raise SystemExit(5)", 5, "left no result"),
    "killed": ("import os; os.kill(os.getpid(), 9)", -9, "left no result"),
    "other code": (
        f"import os; open(os.environ[{VARIABLE!r}], 'w').write({json.dumps(RIGHT)!r}); os._exit(7)",
        7,
        "states the exit code 0 and ended with 7",
    ),
    "says it went wrong": (
        f"import os; open(os.environ[{VARIABLE!r}], 'w').write("
        f"{json.dumps({**RIGHT, 'exit_code': 2})!r})",
        3,
        "states the exit code 2 and ended with 0",
    ),
}


@pytest.mark.cold
@pytest.mark.parametrize(("code", "ends", "said"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_process_without_its_result_has_failed(
    tmp_path: Path, code: str, ends: int, said: str
) -> None:
    """Another program in the place of the command: what it leaves is no choice but a failure."""
    (tmp_path / "pytest_bias").mkdir()
    (tmp_path / "pytest_bias" / "__init__.py").touch()
    (tmp_path / "pytest_bias" / "__main__.py").write_text(code, encoding="utf-8")
    step = GitHub({"RUNNER_TEMP": str(tmp_path)})
    result = run_command(["run"], step, {**os.environ, "PYTHONPATH": str(tmp_path)})
    assert result.exit_code == ends
    assert said in result.problem
