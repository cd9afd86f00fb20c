"""Fixtures for whole runs: the command in a process of its own, and in this one."""

import json
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from commands import Command, Ran, environment, finish, start
from hidden import Machine, misbehaving
from pytest_bias.cli import app


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> Iterator[None]:
    """Let processes that are started here be interrupted, even where this one ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set the environment of runs; tiny models are fastest on one thread."""
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Return a function that runs the command in a process of its own."""

    def run(*words: object, folder: Path = tmp_path, env: dict[str, str] | None = None) -> Ran:
        return finish(start(*words, folder=folder, env=env), folder)

    return run


@pytest.fixture
def bias(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Return a function that runs the command in this process, where torch is loaded already."""

    def run(*words: object, folder: Path = tmp_path) -> Ran:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["pytest-bias", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            app.main()
        said = capsys.readouterr()
        code = end.value.code
        return Ran(code if isinstance(code, int) else int(bool(code)), said.out, said.err, folder)

    return run


@pytest.fixture(scope="session")
def demo(shared: Callable[[str, Callable[[Path], object]], Path]) -> Ran:
    """Return ``pytest-bias run demo``, run once."""

    def run(folder: Path) -> None:
        folder.mkdir()
        ran = finish(start("run", "demo", folder=folder), folder)
        said = {"code": ran.code, "out": ran.out, "err": ran.err}
        (folder / "said").write_text(json.dumps(said), encoding="utf-8")

    folder = shared("demo", run)
    return Ran(**json.loads((folder / "said").read_text(encoding="utf-8")), folder=folder)


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Machine]:
    """Return a function that makes a machine which keeps items secret."""

    def make(name: str) -> Machine:
        folder = tmp_path_factory.mktemp(name)
        return Machine(folder / "kept", folder / "secret")

    return make


@pytest.fixture(scope="session")
def bad(tiny: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model that does what hidden texts tell it to."""
    return misbehaving(tmp_path_factory.mktemp("bad") / "model", tiny("bert"))
