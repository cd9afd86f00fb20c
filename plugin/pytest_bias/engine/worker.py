"""A worker process of a shared run: it measures a part of every suite and decides nothing.

``python -m pytest_bias.engine.worker`` reads one line of JSON from standard input: the task. It
writes lines of JSON to standard output: events, and at the end the measurements or the error.
Standard input stays open as long as the parent process lives.
"""

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Final

from pytest_bias.engine.events import (
    Event,
    Loading,
    Notice,
    PartFinished,
    Progress,
    SuiteFinished,
    SuiteStarted,
)
from pytest_bias.errors import BiasError
from pytest_bias.records.report import Part
from pytest_bias.settings.settings import from_json, require_model

EVENTS: Final[Mapping[str, type[Event]]] = {
    kind.__name__: kind for kind in (Notice, Loading, SuiteStarted, Progress, PartFinished)
}
"""Events that are sent line by line; results are sent with their records at the end."""


@dataclass(frozen=True)
class Asked:
    """The task of a child process.

    Parameters
    ----------
    settings : str
        `Settings` as JSON, with the child's own device.
    part : Part
        The part of every entry, and the number of parts.
    unfinished : str
        Folder in which answers are kept until the run has ended.
    """

    settings: str
    part: Part
    unfinished: str

    def to_json(self) -> str:
        """Return one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> "Asked":
        """Read what `to_json` wrote."""
        plain = json.loads(line)
        return cls(**plain | {"part": tuple(plain["part"])})


def measured(asked: Asked, listener: Callable[[Event], None]) -> str:
    """Measure a task; return `merging.Measured` as JSON."""
    from pytest_bias.engine.merging import Measured
    from pytest_bias.engine.planning import describe_for, plan
    from pytest_bias.engine.session import Session, run
    from pytest_bias.models.placing import share_threads

    settings = from_json(asked.settings)
    share_threads(asked.part[1])
    described = describe_for(settings, require_model(settings))
    session = Session(plan(described, settings), listener)
    session.part, session.unfinished = asked.part, Path(asked.unfinished)
    report = run(session)
    parts = tuple(part for part, _ in session.measured())
    return Measured(report, parts, session.schedule.sampled).to_json()


def main() -> None:
    """Measure the task on standard input."""
    tell = _teller(os.fdopen(os.dup(1), "w", encoding="utf-8"))
    # Output of libraries must not mix with the lines.
    os.dup2(2, 1)
    with os.fdopen(os.dup(0), "rb", buffering=0) as stream:
        asked = Asked.from_json(stream.readline().decode())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        tell({"measured": measured(asked, lambda event: _tell_event(tell, event))})
    except BiasError as error:
        tell({"failed": [error.message, error.hint]})
        sys.exit(error.exit_code)


def _teller(stream: IO[str]) -> Callable[[Mapping[str, Any]], None]:
    def tell(what: Mapping[str, Any]) -> None:
        stream.write(json.dumps(what) + "\n")
        stream.flush()

    return tell


def _tell_event(tell: Callable[[Mapping[str, Any]], None], event: Event) -> None:
    if isinstance(event, SuiteFinished):
        event = PartFinished(event.result.entry, event.result.status)
    name = type(event).__name__
    if name in EVENTS:
        tell({"event": name, **asdict(event)})


def _end_with_parent() -> None:
    """Wait until the parent process has ended, in whatever way, and exit as well."""
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
