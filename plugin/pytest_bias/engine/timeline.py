"""Where the time of a run goes: seconds of wall time by phase, which add up to the whole."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

Phase: TypeAlias = Literal[
    "import",
    "describe",
    "plan",
    "hash",
    "data",
    "load",
    "forecast",
    "ask",
    "forward",
    "score",
    "write",
    "other",
]

PHASES: Final[dict[Phase, str]] = {
    "import": "import torch and transformers",
    "describe": "read configuration and tokenizer",
    "plan": "decide which suites apply",
    "hash": "wait for the digest of the weights",
    "data": "read and check the data of the suites",
    "load": "load the weights",
    "forecast": "structural checks and forecast",
    "ask": "tokenize, plan batches, make records",
    "forward": "forward passes",
    "score": "scores, intervals and tests",
    "write": "compare, decide, draw and write",
    "other": "everything else",
}
"""Phases in the order of a run, in words."""


@dataclass
class Timeline:
    """Seconds by phase; while an inner phase lasts, the outer one does not count.

    Examples
    --------
    >>> timeline = Timeline()
    >>> with timeline.during("load"):
    ...     with timeline.during("hash"):
    ...         pass
    >>> sorted(timeline.seconds)
    ['hash', 'load', 'other']
    """

    seconds: dict[Phase, float] = field(default_factory=dict)
    _open: list[Phase] = field(default_factory=lambda: ["other"])
    _since: float = field(default_factory=time.perf_counter)

    def _count(self) -> None:
        now = time.perf_counter()
        phase = self._open[-1]
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._since
        self._since = now

    @contextmanager
    def during(self, phase: Phase) -> Iterator[None]:
        """Count the time to a phase."""
        self._count()
        self._open.append(phase)
        try:
            yield
        finally:
            self._count()
            self._open.pop()

    def move(self, seconds: float, start: Phase, end: Phase) -> None:
        """Count seconds that were counted to one phase to another one."""
        self._count()
        self.seconds[start] = self.seconds.get(start, 0.0) - seconds
        self.seconds[end] = self.seconds.get(end, 0.0) + seconds

    def so_far(self) -> dict[Phase, float]:
        """Return the seconds of every phase that there was, in the order of a run."""
        self._count()
        return {p: round(self.seconds[p], 3) for p in PHASES if p in self.seconds}
