"""Runs of the command ``pytest-bias``, in a process of their own or in this one."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import warm

COMMAND = Path(warm.REAL).parent / "pytest-bias"

Command = Callable[..., "Ran"]


@dataclass(frozen=True)
class Ran:
    """What a run of the command left: exit code, the two streams, the folder it ran in."""

    code: int
    out: str
    err: str
    folder: Path

    def __post_init__(self) -> None:
        assert "Traceback" not in self.out + self.err, self.said

    @property
    def said(self) -> str:
        """Everything that was printed, on one line."""
        return " ".join((self.out + self.err).split())

    def done(self, code: int = 0) -> "Ran":
        """Assert the exit code of a run that wrote its files."""
        assert self.code == code, self.said
        return self

    def refused(self, code: int, *words: str) -> "Ran":
        """Assert the exit code and that the message on stderr has these words."""
        message = " ".join(self.err.split())
        assert "unexpected" not in message, message
        assert self.code == code, self.said
        assert [w for w in words if w not in message] == [], message
        return self

    @property
    def reports(self) -> list[Path]:
        """Folders below the present one that hold a report."""
        return sorted(p.parent for p in self.folder.rglob("report.json"))

    @property
    def at(self) -> Path:
        """The one folder that holds a report."""
        (found,) = self.reports
        return found

    @property
    def report(self) -> dict[str, Any]:
        """The one report."""
        return read(self.at / "report.json")

    @property
    def decision(self) -> dict[str, Any]:
        """The one decision."""
        return read(self.at / "decision.json")


def read(path: Path) -> dict[str, Any]:
    """Read a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def statuses(report: Mapping[str, Any]) -> dict[str, str]:
    """Return suite to status, controls apart."""
    return {s["name"]: s["status"] for s in report["suites"] if not s["control_of"]}


def suite(report: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the entry of a suite, not of its controls."""
    (found,) = [s for s in report["suites"] if s["name"] == name and not s["control_of"]]
    return found


def headline(report: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the headline of a suite."""
    (found,) = [s for s in suite(report, name)["scores"] if s["headline"]]
    return found


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a run: wide lines, nothing buffered, one thread, no network."""
    base = {
        "COLUMNS": "250",
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    return {k: v for k, v in {**os.environ, **base, **(more or {})}.items() if v}


def start(
    *words: object, folder: Path, env: Mapping[str, str] | None = None, cold: bool = False
) -> subprocess.Popen:
    """Start the command in a process of its own; an empty variable is taken out of `env`.

    Where it is looked at from outside it has to be `cold`: otherwise the process that is returned
    is the one that waits for it.
    """
    program = [COMMAND] if cold else [sys.executable, "-m", "pytest_bias"]
    return subprocess.Popen(
        [*program, *map(str, words)],
        cwd=folder,
        env=environment(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def finish(process: subprocess.Popen, folder: Path) -> Ran:
    """Wait for the end of a process that `start` started."""
    with process:
        out, err = process.communicate(timeout=240)
    return Ran(process.returncode, out, err, folder)
