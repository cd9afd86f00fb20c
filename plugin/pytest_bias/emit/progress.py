"""Progress of a run: bars on a terminal, plain lines elsewhere."""

import time
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any, Final, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from pytest_bias.emit.absence import without_value
from pytest_bias.emit.costs import money
from pytest_bias.emit.wording import (
    about_time,
    counted,
    parameters,
    sample,
    size,
    suite_label,
    value,
)
from pytest_bias.engine.events import (
    Event,
    Fetching,
    Forecast,
    Loading,
    Notice,
    OnDevice,
    PartFinished,
    SuiteFinished,
    SuiteStarted,
)
from pytest_bias.engine.events import Progress as Step
from pytest_bias.models.spending import BYTES_OF_A_TOKEN, Spent
from pytest_bias.records.report import SuiteResult
from pytest_bias.untrusted import clean

WORTH_TELLING_S: Final = 20.0
"""Shortest run, in seconds, for which the forecast is printed."""

LINE_EVERY_S: Final = 30.0
"""Without a terminal, seconds between progress lines of a long suite or download."""

WORTH_TELLING_BYTES: Final = 1_000_000
"""Without a terminal, smallest download that is reported."""


class LivePrinter:
    """Prints to a console, with bars if it is a terminal; a context manager around a run."""

    def __init__(self, console: Console, bar: Progress) -> None:
        self.console, self.bar = console, bar
        self.live = console.is_terminal and not console.is_dumb_terminal

    def status(self, text: str) -> AbstractContextManager[Any]:
        """Show a text during a step that emits no events."""
        return self.console.status(text) if self.live else nullcontext()

    def __enter__(self) -> Self:
        if self.live:
            self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.live:
            self.bar.stop()


class ProgressPrinter(LivePrinter):
    """Listens to the events of a run and prints them.

    Used as a context manager around the run, and called with every event. With `withholds` it
    prints no scores.
    """

    def __init__(
        self,
        console: Console,
        bar: Progress | None = None,
        prefix: str = "",
        *,
        withholds: bool = False,
    ) -> None:
        super().__init__(
            console,
            bar
            or Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=30),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=console,
                transient=True,
            ),
        )
        self.withholds = withholds
        self.prefix = prefix
        self.devices: dict[str, ProgressPrinter] = {}
        self.started = time.perf_counter()
        self.began = self.last = self.started
        self.task: Any = None

    def __call__(self, event: Event) -> None:
        """Print one event."""
        match event:
            case Notice(text):
                self._line(clean(text, 1000))
            case Fetching():
                self._fetching(event)
            case Loading(model, n):
                self._line(f"Loading {clean(model)} ({parameters(n)}) …")
            case Forecast():
                self._forecast(event)
            case SuiteStarted(entry, n_items):
                self._started(entry, n_items)
            case Step(entry, done, total):
                self._step(entry, done, total)
            case SuiteFinished(result):
                self._finished(result)
            case PartFinished(entry, status):
                self._removed()
                took = time.perf_counter() - self.began
                self._line(f"{entry}: {status.replace('_', ' ')} in {took:.1f} s")
            case OnDevice(device, inner):
                self._on(device)(inner)

    def _on(self, device: str) -> "ProgressPrinter":
        if device not in self.devices:
            self.devices[device] = ProgressPrinter(
                self.console, self.bar, f"{device} · ", withholds=self.withholds
            )
        return self.devices[device]

    def _fetching(self, found: Fetching) -> None:
        of = f" of {size(found.total)}" if found.total else ""
        if found.done == 0:
            self.last = time.perf_counter()
            if self.live:
                self._removed()
                self.task = self.bar.add_task(f"Fetching {clean(found.path)}, kB", total=None)
            elif found.total is None or found.total >= WORTH_TELLING_BYTES:
                how_large = f" ({size(found.total)})" if found.total else ""
                self._line(f"Fetching {clean(found.path)}{how_large} …")
        elif self.live and self.task is not None:
            total = None if found.total is None else found.total // 1000
            self.bar.update(self.task, completed=found.done // 1000, total=total)
        elif time.perf_counter() - self.last > LINE_EVERY_S:
            self.last = time.perf_counter()
            self._line(f"{clean(found.path)}: {size(found.done)}{of}")
        if found.done == found.total:
            self._removed()

    def _forecast(self, found: Forecast) -> None:
        calls = found.asked.calls if found.asked else 0
        if found.seconds < WORTH_TELLING_S and found.reached is None and not calls:
            return
        line = f"About {about_time(found.seconds)} on {clean(found.device)}"
        if found.asked and calls:
            time = f"; about {about_time(found.seconds)}" if found.seconds else ""
            line = f"{_calls(found, found.asked)}{time}"
        if found.reached is not None:
            line += f"; --budget is enough for about {100 * found.reached:.0f} % of the items"
        elif calls and found.quick_calls < 0.8 * calls:
            line += f"; --profile quick: about {found.quick_calls:,} calls"
        elif found.quick < 0.8 * found.seconds:
            line += f"; --profile quick: about {about_time(found.quick)}"
        if found.unknown:
            line += f"; and {clean(', '.join(found.unknown))}, which cannot be told"
        self._line(f"{line}.")

    def _started(self, entry: str, n_items: int) -> None:
        self.began = self.last = time.perf_counter()
        if self.live:
            self.task = self.bar.add_task(f"{self.prefix}{entry}", total=None)
        else:
            self._line(f"{entry}: {counted(n_items)} …")

    def _step(self, entry: str, done: int, total: int) -> None:
        if self.live and self.task is not None:
            self.bar.update(self.task, completed=done, total=total)
        elif time.perf_counter() - self.last > LINE_EVERY_S:
            self.last = time.perf_counter()
            self._line(f"{entry}: {done} of {total} sequences")

    def _finished(self, result: SuiteResult) -> None:
        self._removed()
        if result.status == "scored" and result.headline:
            took = time.perf_counter() - self.began
            found = without_value(result.headline) or value(result.headline)
            what = "measured" if self.withholds else found
            line = f"{suite_label(result)}: {what} in {took:.1f} s"
            self._line(line + (f", {sample(result)}" if result.sampled is not None else ""))
        else:
            self._line(f"{result.entry}: {result.status.replace('_', ' ')}")

    def _removed(self) -> None:
        if self.task is not None:
            self.bar.remove_task(self.task)
            self.task = None

    def _line(self, text: str) -> None:
        self.console.print(Text(f"{self.prefix}{text}", style="dim"))


def _calls(found: Forecast, asked: Spent) -> str:
    """Return the calls, tokens and price of a forecast; tokens are estimated before a run."""
    most = "at most " if found.is_limited else "about "
    how = "by those counted so far" if found.is_calibrated else f"{BYTES_OF_A_TOKEN} bytes each"
    calls = "1 call" if asked.calls == 1 else f"{round(asked.calls):,} calls"
    line = (
        f"{calls}: about {round(asked.sent):,} tokens sent and {most}"
        f"{round(asked.written):,} written ({how})"
    )
    if found.money is None:
        return line
    return f"{line}, {most}{money(found.money, found.currency)}"
