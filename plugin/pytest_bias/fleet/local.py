"""The engine of one machine: one model after the other, in this process."""

from collections.abc import AsyncIterator

from pytest_bias.fleet import finishing, steps
from pytest_bias.fleet.asks import Ask, Done, Result, Seen
from pytest_bias.records.report import Part


class LocalBench:
    """A model in this process."""

    def __init__(self, ask: Ask, seen: Seen) -> None:
        self._own = (ask, seen)
        self._bench: steps.Bench | None = None

    def _loaded(self) -> steps.Bench:
        if self._bench is None:
            self._bench = steps.Bench(*self._own)
        return self._bench

    async def parts(self) -> int:
        """Settle in how many parts the model is measured: in one, since nobody else helps."""
        return self._loaded().parts(shared=False)

    async def measure(self, part: Part) -> AsyncIterator[Done]:
        """Measure a part of every entry."""
        for done in self._loaded().measure(part):
            yield done

    async def finish(self, parts: int) -> Result:
        """Put the model's parts together."""
        return self._loaded().finish(parts)

    def close(self) -> None:
        """Let the model go."""
        if self._bench:
            self._bench.session.unload()


class LocalEngine:
    """Does every step at once, and returns when it is done."""

    waiting = 1

    async def look(self, ask: Ask) -> Seen:
        """Look at a model."""
        return steps.look(ask)

    def bench(self, ask: Ask, seen: Seen) -> LocalBench:
        """Make room for a model."""
        return LocalBench(ask, seen)

    async def finish(self, ask: Ask, seen: Seen, parts: int, base: str | None) -> Result:
        """Put a model's parts together."""
        return finishing.finished(ask, seen, parts, base)
