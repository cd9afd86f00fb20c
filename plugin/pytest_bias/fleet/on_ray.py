"""The engine of a cluster: every step is a task or an actor of Ray, which finds the room for it.

A model is an actor: a process that loads it once and measures its parts. Ray starts it again, on
another machine if need be, when the process or its machine is gone, and calls again what was under
way; what the store has by then is not measured again.
"""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayError, RayTaskError

from pytest_bias.errors import BiasError, MeasurementError, UsageError
from pytest_bias.fleet.asks import Ask, Done, Result, Seen
from pytest_bias.fleet.needs import SERVED, Hosts, Needs, needs
from pytest_bias.identity import tool_version
from pytest_bias.records import Part

if TYPE_CHECKING:
    from pytest_bias.fleet.steps import Bench

RESTARTS: Final = 5
"""How often a process that ended, or whose machine did, is started again."""

RETRIES: Final = 3
WAITING: Final = 512
"""Models that wait for room at a time: Ray keeps an account of each."""

GPU_WAIT_S: Final = 60.0


class _Model:
    """What runs in an actor."""

    def __init__(self, ask: Ask, seen: Seen, share: float, spread: bool) -> None:
        if 0 < share < 1:
            from pytest_bias.models.memory import have_share

            have_share(share)
        # Where a step is done, and not where it is asked for: the command needs no torch.
        from pytest_bias.fleet.steps import Bench

        self._bench: Bench | BiasError
        try:
            self._bench = Bench(ask, seen, "auto" if spread else None)
        except BiasError as error:
            self._bench = error

    @property
    def bench(self) -> "Bench":
        if isinstance(self._bench, BiasError):
            raise self._bench
        return self._bench

    def parts(self) -> int | BiasError:
        found: int | BiasError = _caught(lambda: self.bench.parts())
        return found

    def finish(self, parts: int) -> Any:
        return _caught(lambda: self.bench.finish(parts))

    def measure(self, part: Part) -> Iterator[Done | BiasError]:
        try:
            yield from self.bench.measure(part)
        except BiasError as error:
            yield error


def _caught(do: Callable[[], Any]) -> Any:
    """Return what a step returns, or the error that it raises: nothing that Ray has to repeat."""
    try:
        return do()
    except BiasError as error:
        return error


def _look(ask: Ask) -> Any:
    from pytest_bias.fleet.steps import look

    return _caught(lambda: look(ask))


def _finished(ask: Ask, seen: Seen, parts: int, base: str | None) -> Any:
    from pytest_bias.fleet.finishing import finished

    return _caught(lambda: finished(ask, seen, parts, base))


def _gpu_memory() -> int:
    import torch

    return int(torch.cuda.get_device_properties(0).total_memory)


class RayBench:
    """A model in a process of the cluster."""

    def __init__(self, kind: Any, ask: Ask, seen: Seen, wants: Needs) -> None:
        self.name = ask.asked
        actor = kind.options(
            num_cpus=wants.cpus,
            num_gpus=wants.gpus,
            memory=wants.memory,
            max_restarts=RESTARTS,
            max_task_retries=-1,
        )
        self.actor = actor.remote(ask, seen, wants.gpus, wants.spread)

    async def parts(self) -> int:
        """Settle in how many parts the model is measured."""
        return int(await _answer(self.name, self.actor.parts.remote()))

    async def measure(self, part: Part) -> AsyncIterator[Done]:
        """Measure a part of every entry."""
        told = self.actor.measure.options(num_returns="streaming").remote(part)
        try:
            async for found in told:
                yield await _answer(self.name, found)
        except RayError as error:
            raise _lost(self.name, error) from None

    async def finish(self, parts: int) -> Result:
        """Put the model's parts together."""
        done: Result = await _answer(self.name, self.actor.finish.remote(parts))
        return done

    def close(self) -> None:
        """End the process."""
        ray.kill(self.actor)


class RayEngine:
    """Hands every step to a cluster.

    Parameters
    ----------
    address : str, optional
        Of a cluster that is there, or ``auto``; by default one is started on this machine, for as
        long as the command runs.
    cpus : int, optional
        Cores of a process, where the user says how many.
    uses_gpus : bool
        Whether models are put on GPUs, where there are some.
    """

    waiting = WAITING

    def __init__(
        self, address: str | None = None, cpus: int | None = None, *, uses_gpus: bool = True
    ) -> None:
        # What a cluster of our own would send to its makers, unless it was asked for.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self.cpus = cpus
        # Without an address Ray would take any cluster that somebody has on this machine.
        address = address or os.environ.get("RAY_ADDRESS") or "local"
        try:
            self.context = ray.init(address, log_to_driver=False, logging_level="ERROR")
        except (ConnectionError, RuntimeError, ValueError) as error:
            first = (str(error).strip().splitlines() or [""])[0]
            raise UsageError(
                f"--ray-address {address}: no cluster of Ray can be reached: {first:.300}",
                "`ray start --head` starts one; without --ray-address it is this machine alone.",
            ) from None
        self.hosts = _hosts(uses_gpus=uses_gpus)
        self._model = ray.remote(_Model)
        step = {"num_cpus": 1, "max_retries": RETRIES}
        self._look = ray.remote(_look).options(**step)
        self._finished = ray.remote(_finished).options(**step)

    @property
    def about(self) -> str:
        """The cluster in words."""
        nodes = [n for n in ray.nodes() if n["Alive"]]
        there = ray.cluster_resources()
        gpus = f", {there['GPU']:g} GPUs" if there.get("GPU") else ""
        machines = "1 machine" if len(nodes) == 1 else f"{len(nodes)} machines"
        dashboard = self.context.dashboard_url
        where = f"; dashboard http://{dashboard}" if dashboard else ""
        return f"Ray: {machines}, {there.get('CPU', 0):g} cores{gpus}{where}"

    async def look(self, ask: Ask) -> Seen:
        """Look at a model."""
        seen: Seen = await _answer(ask.asked, self._look.remote(ask))
        if seen.version != tool_version():
            raise MeasurementError(
                f"a machine of the cluster has pytest-bias {seen.version}, this one "
                f"{tool_version()}.",
                "Install the same version on all of them.",
            )
        return seen

    def bench(self, ask: Ask, seen: Seen) -> RayBench:
        """Ask for a process with a model."""
        wants = needs(seen.parameters, seen.width, self.hosts, self.cpus)
        if seen.served:
            wants = SERVED
        return RayBench(self._model, ask, seen, wants)

    async def finish(self, ask: Ask, seen: Seen, parts: int, base: str | None) -> Result:
        """Put a model's parts together."""
        done: Result = await _answer(ask.asked, self._finished.remote(ask, seen, parts, base))
        return done

    def close(self) -> None:
        """Let go of the cluster; one of our own ends."""
        ray.shutdown()


async def _answer(name: str, ref: Any) -> Any:
    """Wait for a step; raise what it says of the model, in words."""
    try:
        found = await ref
    except RayError as error:
        raise _lost(name, error) from None
    if isinstance(found, BiasError):
        raise found
    return found


def _lost(name: str, error: RayError) -> BiasError:
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


def _hosts(*, uses_gpus: bool) -> Hosts:
    """Ask what the machines have that models are put on."""
    nodes = [n["Resources"] for n in ray.nodes() if n["Alive"]]
    if with_gpus := [n for n in nodes if n.get("GPU", 0) >= 1 and uses_gpus]:
        nodes = with_gpus

    def most(what: str) -> int:
        return int(max((n.get(what, 0) for n in nodes), default=0))

    memory = _smallest_gpu() if with_gpus else 0
    return Hosts(max(1, most("CPU")), most("memory"), most("GPU") if with_gpus else 0, memory)


def _smallest_gpu() -> int:
    """Return the memory of the smallest GPU; 0 if they are too busy to tell."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ask = ray.remote(_gpu_memory)
    refs = [
        ask.options(
            num_cpus=0,
            num_gpus=0.01,
            scheduling_strategy=NodeAffinitySchedulingStrategy(n["NodeID"], soft=False),
        ).remote()
        for n in ray.nodes()
        if n["Alive"] and n["Resources"].get("GPU")
    ]
    try:
        return int(min(ray.get(refs, timeout=GPU_WAIT_S)))
    except (GetTimeoutError, RayError):
        return 0
