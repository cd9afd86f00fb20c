"""What a run of many models tells: on a terminal as bars, elsewhere as plain lines."""

import time
from collections import Counter
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from pytest_bias.emit.progress import LivePrinter
from pytest_bias.emit.wording import about_time
from pytest_bias.fleet.course import Began, Ended, EntryDone, FleetEvent, Looked
from pytest_bias.fleet.rows import FleetRow
from pytest_bias.untrusted import clean

LINE_EVERY_S: Final = 60.0
"""Without a terminal, how often is said how far the models are."""

NAME: Final = 48
MOST_BARS: Final = 12
"""Models that have a bar of their own at a time; of more, the others are in the sum alone."""


@dataclass
class _Model:
    """How far one model is."""

    n_entries: int
    began: float = 0.0
    n_parts: int = 1
    done: int = 0
    kept: int = 0
    at: str = ""
    bar: TaskID | None = None


class FleetPrinter(LivePrinter):
    """Listens to a fleet and prints it."""

    def __init__(self, console: Console) -> None:
        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[at]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        super().__init__(console, bar)
        self.total: TaskID | None = None
        self.models: dict[str, _Model] = {}
        self.n_models = self.n_looked = self.n_ended = 0
        self.last = time.perf_counter()

    def line(self, text: str) -> None:
        """Print a line."""
        self.console.print(Text(clean(text, 1000), style="dim"), soft_wrap=True)

    def expect(self, n_models: int) -> None:
        """Say how many models there are."""
        self.n_models = n_models
        self.line("1 model" if n_models == 1 else f"{n_models} models")
        self.total = self.bar.add_task("Looking at models", total=n_models, at="")

    def __call__(self, event: FleetEvent) -> None:
        """Print one event."""
        match event:
            case Looked(asked, n_entries):
                self.models[asked] = _Model(n_entries)
                self._looked()
            case Began(asked, n_parts):
                self._began(asked, n_parts)
            case EntryDone():
                self._done(event)
            case Ended(row, kept):
                self._ended(row, kept)
        self.now_and_then()

    def _looked(self) -> None:
        self.n_looked += 1
        if self.total is not None:
            self.bar.update(self.total, completed=self.n_looked)

    def _began(self, asked: str, n_parts: int) -> None:
        model = self.models[asked]
        model.began, model.n_parts = time.perf_counter(), n_parts
        if self.total is not None:
            total = max(self.n_models, len(self.models))
            self.bar.update(self.total, description="Models", completed=self.n_ended, total=total)
        if self._n_bars < MOST_BARS:
            total = model.n_entries * n_parts
            model.bar = self.bar.add_task(clean(asked)[-NAME:], total=total, at="")

    @property
    def _n_bars(self) -> int:
        return sum(model.bar is not None for model in self.models.values())

    def _done(self, event: EntryDone) -> None:
        model = self.models[event.asked]
        model.done += 1
        model.kept += event.kept
        model.at = event.entry
        if model.bar is not None:
            self.bar.update(model.bar, completed=model.done, at=event.entry)

    def _ended(self, row: FleetRow, kept: bool) -> None:
        self.n_ended += 1
        model = self.models.get(row.asked)
        if model and model.bar is not None:
            self.bar.remove_task(model.bar)
            model.bar = None
        if self.total is not None:
            self.bar.update(self.total, completed=self.n_ended)
        self.line(f"{clean(row.asked)}: {self._in_words(row, model, kept)}")

    def _in_words(self, row: FleetRow, model: _Model | None, kept: bool) -> str:
        if row.status != "measured":
            return f"not measured: {clean(row.reason or '', 200)}"
        counted = Counter(suite.status for suite in row.suites)
        found = [f"{n} {status.replace('_', ' ')}" for status, n in counted.most_common()]
        words = ", ".join(found)
        if kept:
            return f"{words}; its report was there"
        if model is None:
            return words
        took = about_time(time.perf_counter() - model.began)
        again = f", {model.kept} kept from a run before" if model.kept else ""
        shared = f" in {model.n_parts} parts" if model.n_parts > 1 else ""
        return f"{words} in {took}{shared}{again}"

    def now_and_then(self) -> None:
        """Without a terminal, say from time to time where everybody is."""
        now = time.perf_counter()
        if self.live or now - self.last < LINE_EVERY_S:
            return
        self.last = now
        self.line(f"{self.n_ended} of {max(self.n_models, len(self.models))} models done")
        for asked, model in self.models.items():
            if model.bar is not None:
                of = model.n_entries * model.n_parts
                at = f", last {model.at}" if model.at else ""
                self.line(f"{clean(asked)}: {model.done} of {of} measured{at}")
