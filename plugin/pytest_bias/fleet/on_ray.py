"""The engine of a cluster: every step is a task or an actor of Ray, which finds the room for it."""

import asyncio
import os
import socket
from typing import Any, Final

import ray
from ray.exceptions import GetTimeoutError, RayError

from pytest_bias.errors import MeasurementError, UsageError
from pytest_bias.fleet.actors import Actors, RayBench, answer, caught
from pytest_bias.fleet.asks import Ask, Result, Seen
from pytest_bias.fleet.needs import SERVED, Hosts, Needs, needs
from pytest_bias.records.identity import tool_version

RETRIES: Final = 3
WAITING: Final = 512
"""Models that wait for room at a time: Ray keeps an account of each."""

GPU_WAIT_S: Final = 60.0
KNOCK_S: Final = 10.0


def _look(ask: Ask) -> Any:
    from pytest_bias.fleet.steps import look

    return caught(lambda: look(ask))


def _finished(ask: Ask, seen: Seen, parts: int, base: str | None) -> Any:
    from pytest_bias.fleet.finishing import finished

    return caught(lambda: finished(ask, seen, parts, base))


def _gpu_memory() -> int:
    import torch

    return int(torch.cuda.get_device_properties(0).total_memory)


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
    apart : bool
        Whether no process is given a second model, as where models bring code along.
    """

    waiting = WAITING

    def __init__(
        self,
        address: str | None = None,
        cpus: int | None = None,
        *,
        uses_gpus: bool = True,
        apart: bool = False,
    ) -> None:
        # What a cluster of our own would send to its makers, unless it was asked for.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self.cpus, self.apart = cpus, apart
        # Without an address Ray would take any cluster that somebody has on this machine.
        address = address or os.environ.get("RAY_ADDRESS") or "local"
        try:
            _knock(address)
            self.context = ray.init(address, log_to_driver=False, logging_level="ERROR")
        except (OSError, RuntimeError, ValueError) as error:
            first = (str(error).strip().splitlines() or [""])[0]
            raise UsageError(
                f"--ray-address {address}: no cluster of Ray can be reached: {first:.300}",
                "`ray start --head` starts one; without --ray-address it is this machine alone.",
            ) from None
        self.hosts = _hosts(uses_gpus=uses_gpus)
        self._actors: dict[Needs, Actors] = {}
        self._look = ray.remote(_look).options(num_cpus=1, max_retries=RETRIES)
        # Models hold the cores until the last one; a report that is short work is not to wait.
        self._finished = ray.remote(_finished).options(num_cpus=0, max_retries=RETRIES)
        cores = int(ray.cluster_resources().get("CPU", 0))
        self._finishing = asyncio.Semaphore(max(len(ray.nodes()), cores // 2))

    @property
    def about(self) -> str:
        """The cluster in words."""
        nodes = [n for n in ray.nodes() if n["Alive"]]
        there = ray.cluster_resources()
        n = there.get("GPU", 0)
        gpus = f", {n:g} GPU{'s' * (n != 1)}" if n else ""
        machines = "1 machine" if len(nodes) == 1 else f"{len(nodes)} machines"
        dashboard = self.context.dashboard_url
        where = f"; dashboard http://{dashboard}" if dashboard else ""
        return f"Ray: {machines}, {there.get('CPU', 0):g} cores{gpus}{where}"

    async def look(self, ask: Ask) -> Seen:
        """Look at a model."""
        seen: Seen = await answer(self._look.remote(ask))
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
        if wants not in self._actors:
            self._actors[wants] = Actors(wants, apart=self.apart)
        return RayBench(ask, seen, self._actors[wants])

    async def finish(self, ask: Ask, seen: Seen, parts: int, base: str | None) -> Result:
        """Put a model's parts together."""
        async with self._finishing:
            done: Result = await answer(self._finished.remote(ask, seen, parts, base))
        return done

    def close(self) -> None:
        """Let go of the cluster; one of our own ends."""
        ray.shutdown()


def _knock(address: str) -> None:
    """Find out in seconds whether anybody listens; Ray itself tries for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK_S).close()


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
