"""What follows what: every model is looked at, measured part by part, and finished.

An engine does the steps, wherever it likes; this module only waits for it. Models, and parts of
one, are asked for all at once, and the engine has them wait for room.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from pytest_bias.errors import BiasError
from pytest_bias.fleet.asks import Ask, Done, Result, Seen
from pytest_bias.fleet.rows import FleetRow, failed
from pytest_bias.records.report import Part


@dataclass(frozen=True, slots=True)
class Looked:
    """A model was looked at: how many entries will be measured, none where it is finished."""

    asked: str
    n_entries: int


@dataclass(frozen=True, slots=True)
class Began:
    """A model is in a process, and measured in so many parts."""

    asked: str
    n_parts: int


@dataclass(frozen=True, slots=True)
class EntryDone:
    """A part of an entry was measured, or `kept` from a run before."""

    asked: str
    part: Part
    entry: str
    status: str
    kept: bool


@dataclass(frozen=True, slots=True)
class Ended:
    """A model has its row; `kept` says that its report was there before."""

    row: FleetRow
    kept: bool


FleetEvent: TypeAlias = Looked | Began | EntryDone | Ended
Tell: TypeAlias = Callable[[FleetEvent], None]


class Bench(Protocol):
    """A process that holds one model, or will as soon as there is room for it."""

    def parts(self) -> Awaitable[int]:
        """Settle in how many parts the model is measured."""

    def measure(self, part: Part) -> AsyncIterator[Done]:
        """Measure a part of every entry."""

    def finish(self, parts: int) -> Awaitable[Result]:
        """Put the model's parts together, with nothing to compare with."""

    def close(self) -> None:
        """Let the model go."""


class Engine(Protocol):
    """What does the steps."""

    @property
    def waiting(self) -> int:
        """How many models may wait for room at a time."""

    def look(self, ask: Ask) -> Awaitable[Seen]:
        """Look at a model."""

    def bench(self, ask: Ask, seen: Seen) -> Bench:
        """Ask for a process with a model."""

    def finish(self, ask: Ask, seen: Seen, parts: int, base: str | None) -> Awaitable[Result]:
        """Put a model's parts together."""


@dataclass
class Course:
    """The models of a fleet on their way.

    Parameters
    ----------
    engine : Engine
    tell : callable
        Called with what happens.
    bases : bool
        Whether base models that the list does not name are measured as well.
    """

    engine: Engine
    tell: Tell
    bases: bool = False
    seen: dict[str, Seen] = field(default_factory=dict)
    results: dict[str, Result] = field(default_factory=dict)
    """By the name that the list gives."""
    _busy: set["asyncio.Task[None]"] = field(default_factory=set)

    async def run(self, asks: Sequence[Ask]) -> list[Result]:
        """Look at all models, then measure and finish each of them."""
        self._room = asyncio.Semaphore(self.engine.waiting)
        by_name = {ask.asked: ask for ask in asks}
        await asyncio.gather(*(self._look(ask) for ask in asks))
        if self.bases:
            missing = self._missing_bases()
            by_name |= {ask.asked: ask for ask in missing}
            await asyncio.gather(*(self._look(ask) for ask in missing))
        of = self._bases()
        # One model may have two names: it is measured once.
        first: dict[str, str] = {}
        for name in by_name:
            if name in self.seen:
                first.setdefault(self.seen[name].key, name)
        asked = [by_name[name] for name in first.values()]
        ends: dict[str, asyncio.Task[Result]] = {}
        for ask in sorted(asked, key=lambda a: self._turn(a.asked, of)):
            ends[ask.asked] = asyncio.create_task(self._whole(ask, of.get(ask.asked), ends))
        await asyncio.gather(*ends.values())
        for name in by_name:
            if name not in self.results:
                same = self.results[first[self.seen[name].key]]
                self._end(replace(same, row=replace(same.row, asked=name)), kept=True)
        return [self.results[name] for name in by_name]

    def _turn(self, name: str, bases: Mapping[str, str]) -> tuple[bool, int]:
        """Return by what models are sorted before they are measured.

        Those that others wait for come first, so that nobody waits for who has not begun; then, of
        several at a time, the largest, so that at the end nobody waits for one that began last.
        """
        size = self.seen[name].parameters or 0
        return name not in bases.values(), -size if self.engine.waiting > 1 else 0

    async def _look(self, ask: Ask) -> None:
        try:
            seen = await self.engine.look(ask)
        except BiasError as error:
            self._end(_failed(ask.asked, error))
            return
        self.seen[ask.asked] = seen
        self.tell(Looked(ask.asked, 0 if seen.finished else len(seen.entries)))

    def _end(self, result: Result, *, kept: bool = False) -> None:
        self.results[result.row.asked] = result
        self.tell(Ended(result.row, kept))

    def _missing_bases(self) -> list[Ask]:
        """Return what asks for the base models that nobody asked for, each once."""
        there = {seen.reference for seen in self.seen.values()}
        found: dict[str, Ask] = {}
        for seen in self.seen.values():
            base = seen.base
            if base and base.asked not in there and base.asked not in self.seen:
                found.setdefault(base.asked, base)
        return list(found.values())

    def _bases(self) -> dict[str, str]:
        """Return which model of the fleet is the base of which, by their names, without circles."""
        names = {seen.reference: name for name, seen in self.seen.items()}
        found: dict[str, str] = {}
        for name, seen in self.seen.items():
            base = seen.base and (
                seen.base.asked if seen.base.asked in self.seen else names.get(seen.base.asked)
            )
            if base and base != name:
                found[name] = base
        return {n: b for n, b in found.items() if not _circular(n, found)}

    async def _whole(
        self, ask: Ask, base: str | None, ends: Mapping[str, "asyncio.Task[Result]"]
    ) -> Result:
        seen, parts, result = self.seen[ask.asked], 1, None
        try:
            if not seen.finished:
                async with self._room:
                    parts, result = await self._measure(ask, seen, finishes=base is None)
            if result is None:
                # Not in the model's own process: it would wait there, and others for its room.
                folder = (await ends[base]).row.folder if base else None
                result = await self.engine.finish(ask, seen, parts, folder)
        except BiasError as error:
            result = _failed(ask.asked, error, seen)
        self._end(result, kept=seen.finished)
        return result

    async def _measure(self, ask: Ask, seen: Seen, *, finishes: bool) -> tuple[int, Result | None]:
        """Measure all parts of a model, by as many processes as there is room for."""
        first = self.engine.bench(ask, seen)
        benches = [first]
        try:
            parts = await first.parts()
            self.tell(Began(ask.asked, parts))
            left = deque((n, parts) for n in range(1, parts + 1))
            benches += [self.engine.bench(ask, seen) for _ in range(parts - 1)]
            workers = [asyncio.create_task(self._work(ask, bench, left)) for bench in benches]
            try:
                await self._until_empty(workers, left)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
            return parts, await first.finish(parts) if finishes else None
        finally:
            for bench in benches:
                bench.close()

    async def _until_empty(
        self, workers: Sequence["asyncio.Task[None]"], left: deque[Part]
    ) -> None:
        """Wait until every part is measured; processes that never had room are not waited for."""
        waiting = set(workers)
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for worker in done:
                worker.result()
            if not left and not self._busy.intersection(waiting):
                return

    async def _work(self, ask: Ask, bench: Bench, left: deque[Part]) -> None:
        """Let one process take part after part."""
        await bench.parts()
        me = asyncio.current_task()
        assert me is not None, "this runs as a task"
        self._busy.add(me)
        try:
            while left:
                part = left.popleft()
                async for done in bench.measure(part):
                    self.tell(EntryDone(ask.asked, part, done.entry, done.status, done.kept))
        finally:
            self._busy.discard(me)


def _circular(name: str, bases: Mapping[str, str]) -> bool:
    """Whether a model is its own base, over however many others, or waits for one that is."""
    passed: set[str] = set()
    at: str | None = name
    while at is not None and at not in passed:
        passed.add(at)
        at = bases.get(at)
    return at is not None


def _failed(asked: str, error: BiasError, seen: Seen | None = None) -> Result:
    words = f"{error.message} {error.hint}" if error.hint else error.message
    return Result(failed(asked, words, seen.reference if seen else None), error.exit_code)
