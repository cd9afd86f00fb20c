"""The result of a command as a file: what it holds, and what is taken for none."""

import json
import os
import sys
from pathlib import Path

import pytest

from commands import Ran, finish, start
from pytest_bias.cli import main
from pytest_bias.errors import ReportError
from pytest_bias.records.command_result import SCHEMA, VARIABLE, CommandResult


def ran(folder: Path, *words: object, **env: str) -> tuple[Ran, CommandResult]:
    """Run a command; returns what it printed, and its result."""
    file = folder / "result.json"
    process = start(*words, folder=folder, env={**env, VARIABLE: str(file)})
    return finish(process, folder), CommandResult.read(file)


def test_a_command_that_ends_well(tmp_path: Path) -> None:
    done, result = ran(tmp_path, "--version")
    assert (done.code, result) == (0, CommandResult())
    plain = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    nothing = dict.fromkeys(("error", "hint", "published", "proposed"))
    assert plain == {"schema": SCHEMA, "exit_code": 0, **nothing}


@pytest.mark.parametrize(
    ("words", "code", "error", "hint"),
    [
        (("run", "demo", "--suite=seet"), 2, "Did you mean 'seat'?", None),
        (("run", "./nowhere"), 3, "there is no such folder", None),
        (("run", "demo", "--sute=seat"), 2, "No such option: --sute", None),
        (("init", "--yes"), 2, "--model is missing", "For instance: pytest-bias init"),
    ],
)
def test_what_is_wrong_is_said_without_reading_the_terminal(
    tmp_path: Path, words: tuple[str, ...], code: int, error: str, hint: str | None
) -> None:
    done, result = ran(tmp_path, *words)
    assert (done.code, result.exit_code) == (code, code)
    assert error in str(result.error)
    assert str(result.error).splitlines()[0] in done.err
    assert hint is None or str(result.hint).startswith(hint)
    assert error in result.problem
    assert "\n" not in result.problem


def test_no_secret_is_in_the_file(tmp_path: Path) -> None:
    """As of a model that is called like a token, which the message repeats."""
    token = 'hf_"secret'
    done, result = ran(tmp_path, "run", f"./{token}", HF_TOKEN=token)
    assert done.code == 3
    assert "./***" in str(result.error)
    assert "secret" not in (tmp_path / "result.json").read_text(encoding="utf-8")


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    env = {VARIABLE: str(tmp_path / "nowhere" / "result.json")}
    done = finish(start("--version", folder=tmp_path, env=env), tmp_path)
    done.refused(2, VARIABLE, "cannot be written: No such file or directory")


def test_what_a_command_starts_has_a_result_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "result.json"))
    monkeypatch.setattr(sys, "argv", ["pytest-bias", "--version"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert VARIABLE not in os.environ
    assert CommandResult.read(tmp_path / "result.json").exit_code == 0


RIGHT = {"schema": SCHEMA, "exit_code": 0}


@pytest.mark.parametrize(
    "plain",
    [
        None,
        {},
        [],
        {"exit_code": 0},
        {**RIGHT, "schema": "pytest-bias/result/2"},
        {**RIGHT, "exit_code": "0"},
        {**RIGHT, "exit_code": None},
        {**RIGHT, "more": 1},
        {**RIGHT, "published": "javascript:alert(1)"},
        {**RIGHT, "proposed": "https://x y"},
    ],
)
def test_what_is_no_result(tmp_path: Path, plain: object) -> None:
    file = tmp_path / "result.json"
    file.write_text(json.dumps(RIGHT), encoding="utf-8")
    assert CommandResult.read(file) == CommandResult()
    file.unlink()
    if plain is not None:
        file.write_text(json.dumps(plain), encoding="utf-8")
    with pytest.raises(ReportError, match="left no result that can be read"):
        CommandResult.read(file)
