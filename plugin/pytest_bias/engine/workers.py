"""A run on several devices: one process per device, which measures its part of every suite."""

import json
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from signal import Signals
from typing import IO, Any, Final

from pytest_bias.engine.events import Loading, Notice, OnDevice, PartFinished, SuiteStarted
from pytest_bias.engine.merging import Measured, gathered
from pytest_bias.engine.session import Session
from pytest_bias.engine.worker import EVENTS, Asked
from pytest_bias.errors import MeasurementError
from pytest_bias.records.report import Report
from pytest_bias.settings.settings import to_json
from pytest_bias.suites.suite import LoadedData

COMMAND: Final = ("-P", "-m", "pytest_bias.engine.worker")
PATIENCE_S: Final = 10.0
"""Seconds that a process may take to end after it was asked to."""


@dataclass
class Child:
    """A process that measures on one device."""

    device: str
    process: subprocess.Popen[str]
    errors: IO[str]
    measured: Measured | None = None
    started: set[str] = field(default_factory=set)


def run_on(session: Session, devices: Sequence[str]) -> Report:
    """Measure everything in a session's plan, shared among devices.

    The session's own process measures nothing: it listens and merges the parts. Scores are computed
    from all records, so the digest is that of a run in one piece.

    Raises
    ------
    MeasurementError
        If one of the processes fails; the others are stopped.
    """
    for notice in session.plan.notices:
        session.notify(notice)
    for planned in session.plan.entries:
        if not isinstance(session.prepare(planned), LoadedData):
            session.measure(planned)
    described = session.plan.model
    session.listener(Loading(str(described.ref), described.identity.parameters))
    # Fetched once, not by every process.
    described.fetch()
    asked = [_asked(session, device, n, len(devices)) for n, device in enumerate(devices, 1)]
    with _started(devices, asked) as children:
        _listen(session, children)
    parts = [child.measured for child in children if child.measured]
    entries = [p.entry.id for p in session.plan.entries]
    report = gathered(parts, entries, session.settings.catalogue)
    return replace(report, run={**report.run, **_account(session, children, report)})


def _asked(session: Session, device: str, number: int, of: int) -> Asked:
    settings = replace(session.settings, device=device, devices=None)
    return Asked(to_json(settings), (number, of), str(session.unfinished))


@contextmanager
def _started(devices: Sequence[str], asked: Sequence[Asked]) -> Iterator[list[Child]]:
    """Start the processes; none of them outlives the block."""
    children: list[Child] = []
    several = len(set(devices)) < len(devices)
    with ExitStack() as streams:
        try:
            for device, what in zip(devices, asked, strict=True):
                number, of = what.part
                name = f"{device} ({number}/{of})" if several else device
                errors = streams.enter_context(
                    tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
                )
                process = subprocess.Popen(
                    (sys.executable, *COMMAND),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    encoding="utf-8",
                    # Ctrl-C is handled by the parent, which stops all children.
                    start_new_session=True,
                )
                children.append(Child(name, process, errors))
                _ask(process, what)
            yield children
        finally:
            for child in children:
                if child.measured is None:
                    child.process.terminate()
            for child in children:
                _end(child)


def _ask(process: subprocess.Popen[str], what: Asked) -> None:
    assert process.stdin
    # If the process has ended already, reading its output shows why.
    with suppress(OSError):
        process.stdin.write(what.to_json() + "\n")
        process.stdin.flush()


def _end(child: Child) -> None:
    try:
        child.process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        child.process.kill()
        child.process.wait()
    for stream in (child.process.stdin, child.process.stdout):
        if stream:
            with suppress(OSError):
                stream.close()


def _listen(session: Session, children: Sequence[Child]) -> None:
    """Handle the processes' events until all have measured their parts."""
    said: queue.SimpleQueue[tuple[Child, str | None]] = queue.SimpleQueue()

    def read(child: Child) -> None:
        assert child.process.stdout
        with suppress(ValueError, OSError):
            for line in child.process.stdout:
                said.put((child, line))
        said.put((child, None))

    for child in children:
        threading.Thread(target=read, args=(child,), daemon=True).start()
    while any(child.measured is None for child in children):
        child, line = said.get()
        if line is not None:
            _hear(session, child, json.loads(line))
        elif child.measured is None:
            raise _broken(child)


def _hear(session: Session, child: Child, told: dict[str, Any]) -> None:
    if "failed" in told:
        message, hint = told["failed"]
        raise MeasurementError(f"{child.device}: {message}", hint)
    if "measured" in told:
        child.measured = Measured.from_json(told["measured"])
        return
    event = EVENTS[told.pop("event")](**told)
    match event:
        case Loading():
            return
        case Notice(text) if text in session.notices:
            # Already reported before the weights were read.
            return
        case SuiteStarted(entry):
            child.started.add(entry)
        case PartFinished(entry) if entry not in child.started:
            return
    session.listener(OnDevice(child.device, event))


def _broken(child: Child) -> MeasurementError:
    """Return an error about a process that ended without sending a result."""
    code = child.process.wait()
    why = f"signal {-code}, {Signals(-code).name}" if code < 0 else f"exit code {code}"
    child.errors.seek(0)
    lines = child.errors.read().strip().splitlines()
    return MeasurementError(
        f"the process on {child.device} ended before its part was measured ({why})"
        + (f": {lines[-1].strip()}" if lines else "."),
        "The same command goes on where it was.",
    )


def _account(session: Session, children: Sequence[Child], report: Report) -> dict[str, Any]:
    """Return the cost of the run as a whole, and on each device."""
    names = ("wall_s", "model_s", "tokens", "forwards", "suites")
    costs = [child.measured.report.run["cost"] for child in children if child.measured]
    by_device = [
        {"device": child.device} | {name: cost[name] for name in names}
        for child, cost in zip(children, costs, strict=True)
    ]
    return {"cost": {**report.run["cost"], "wall_s": session.elapsed, "devices": by_device}}
