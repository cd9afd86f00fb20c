"""Processes of a cluster that hold one model at a time: actors of Ray.

Ray starts one again, on another machine if need be, when the process or its machine is gone, and
calls again what was under way; what the store has by then is not measured again. A process that is
done with a model goes on with another of its size: to start one can take as long as a small model.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError

from pytest_bias.errors import BiasError, MeasurementError
from pytest_bias.fleet.asks import Ask, Done, Result, Seen
from pytest_bias.fleet.needs import Needs
from pytest_bias.records.report import Part

if TYPE_CHECKING:
    from pytest_bias.fleet.steps import Bench

RESTARTS: Final = 5
"""How often a process that ended, or whose machine did, is started again."""


class _Process:
    """What runs in an actor. Every call says of which model it is: a restart forgets them all."""

    def __init__(self, share: float, spread: bool) -> None:
        if 0 < share < 1:
            from pytest_bias.models.memory import have_share

            have_share(share)
        self._device_map = "auto" if spread else None
        self._bench: tuple[Ask, Bench] | None = None

    def _of(self, ask: Ask, seen: Seen) -> "Bench":
        # Where a step is done, and not where it is asked for: the command needs no torch.
        from pytest_bias.fleet.steps import Bench

        if self._bench is None or self._bench[0] != ask:
            self._let_go()
            self._bench = ask, Bench(ask, seen, self._device_map)
        return self._bench[1]

    def _let_go(self) -> None:
        if self._bench:
            self._bench[1].session.unload()
            self._bench = None

    def begun(self) -> None:
        """Answer, once there is room."""

    def parts(self, ask: Ask, seen: Seen) -> int | BiasError:
        found: int | BiasError = caught(lambda: self._of(ask, seen).parts())
        return found

    def measure(self, ask: Ask, seen: Seen, part: Part) -> Iterator[Done | BiasError]:
        try:
            yield from self._of(ask, seen).measure(part)
        except BiasError as error:
            yield error

    def finish(self, ask: Ask, seen: Seen, parts: int) -> Any:
        return caught(lambda: self._of(ask, seen).finish(parts))

    def leave(self) -> bool:
        """Let the model go; returns whether this process is still the first."""
        self._let_go()
        return not ray.get_runtime_context().was_current_actor_reconstructed


class Actors:
    """The actors of one size: as many as models ask for, which go from model to model.

    Ray finds room for each of them. When a model is done, one fewer is wanted: one that has no room
    yet goes, if there is any, and the one that is free is given to whoever waits longest.

    Parameters
    ----------
    wants : Needs
        What each of them is given.
    apart : bool
        Whether none is given a second model.
    """

    def __init__(self, wants: Needs, *, apart: bool = False) -> None:
        self._apart = apart
        self._wants = wants
        self._kind = ray.remote(_Process).options(
            num_cpus=wants.cpus,
            num_gpus=wants.gpus,
            memory=wants.memory,
            max_restarts=RESTARTS,
            max_task_retries=-1,
        )
        self._waiting: dict[Any, asyncio.Task[None]] = {}
        """Those without room, and what waits for it."""
        self._free: asyncio.Queue[Any] = asyncio.Queue()
        self._leaving: set[asyncio.Task[None]] = set()

    def want(self) -> None:
        """Ask for one more."""
        actor = self._kind.remote(self._wants.gpus, self._wants.spread)
        self._waiting[actor] = asyncio.create_task(self._begin(actor))

    async def _begin(self, actor: Any) -> None:
        # If it could not begin, whoever is given it finds out why.
        with suppress(RayError):
            await actor.begun.remote()
        del self._waiting[actor]
        self._free.put_nowait(actor)

    async def take(self) -> Any:
        """Wait for one."""
        return await self._free.get()

    def want_one_less(self) -> None:
        """Take one back that nobody has been given."""
        if not self._take_back():
            ray.kill(self._free.get_nowait())

    def _take_back(self) -> bool:
        """Take back the last that was asked for and has no room yet; whether there was one."""
        if self._waiting:
            actor, task = self._waiting.popitem()
            task.cancel()
            ray.kill(actor)
            return True
        return False

    def give_back(self, actor: Any) -> None:
        """Have one that is done with its model go on with another, if one is waited for."""
        if self._apart or not self._waiting:
            ray.kill(actor)
            return
        task = asyncio.create_task(self._leave(actor))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _leave(self, actor: Any) -> None:
        is_first = False
        with suppress(RayError):
            is_first = await actor.leave.remote()
        # The next model is to be started again as often as the first.
        if is_first and self._take_back():
            self._free.put_nowait(actor)
        else:
            ray.kill(actor)


class RayBench:
    """A model in a process of the cluster.

    Parameters
    ----------
    ask, seen : Ask, Seen
        The model.
    actors : Actors
        Those of its size.
    """

    def __init__(self, ask: Ask, seen: Seen, actors: Actors) -> None:
        self._ask, self._seen, self._actors = ask, seen, actors
        self._actor: Any = None
        self._busy = False
        actors.want()

    async def parts(self) -> int:
        """Settle in how many parts the model is measured."""
        if self._actor is None:
            self._actor = await self._actors.take()
        with self._calling():
            return int(await answer(self._actor.parts.remote(self._ask, self._seen)))

    async def measure(self, part: Part) -> AsyncIterator[Done]:
        """Measure a part of every entry."""
        called = self._actor.measure.options(num_returns="streaming")
        with self._calling():
            try:
                async for found in called.remote(self._ask, self._seen, part):
                    yield await answer(found)
            except RayError as error:
                raise lost(error) from None

    async def finish(self, parts: int) -> Result:
        """Put the model's parts together."""
        with self._calling():
            done: Result = await answer(self._actor.finish.remote(self._ask, self._seen, parts))
        return done

    @contextmanager
    def _calling(self) -> Iterator[None]:
        """Note that a call is under way; one that fails, or is not waited for, stays so."""
        self._busy = True
        yield
        self._busy = False

    def close(self) -> None:
        """Let the process go; one in which something went wrong, or is under way, ends."""
        if self._actor is None:
            self._actors.want_one_less()
        elif self._busy:
            ray.kill(self._actor)
        else:
            self._actors.give_back(self._actor)


def caught(do: Callable[[], Any]) -> Any:
    """Return what a step returns, or the error that it raises: nothing that Ray has to repeat."""
    try:
        return do()
    except BiasError as error:
        return error


async def answer(ref: Any) -> Any:
    """Wait for a step; raise what it says of the model, in words."""
    try:
        found = await ref
    except RayError as error:
        raise lost(error) from None
    if isinstance(found, BiasError):
        raise found
    return found


def lost(error: RayError) -> BiasError:
    """Say what is known of a process that did not answer."""
    if isinstance(error, RayTaskError):
        cause = error.cause if error.cause else error
        first = (str(cause).strip().splitlines() or [""])[-1]
        return MeasurementError(f"unexpected {type(cause).__name__}: {first:.300}")
    first = " ".join(str(error).split())
    again = f", {RESTARTS + 1} times" if isinstance(error, RayActorError) else ""
    return MeasurementError(
        f"its process ended before it was measured{again}: {first:.300}",
        "The same command goes on with it.",
    )
