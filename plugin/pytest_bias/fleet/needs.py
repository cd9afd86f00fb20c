"""What a model is asked room for before it is loaded, and how its work is cut into parts."""

import math
from dataclasses import dataclass
from typing import Final

GIB: Final = 2**30

UNKNOWN: Final = 1_000_000_000
"""Parameters of a model that does not tell its own."""

PER_CPU: Final = 500_000_000
"""Parameters for which one core more is asked: a smaller model gains little from a second one."""

PACKED_BELOW: Final = 1_000_000_000
"""Smaller models have a second copy of their weights on a CPU, for oneDNN."""

AROUND: Final = 2 * GIB
"""What libraries, items and the activations of a batch take in the memory of a process."""

GPU_ROOM: Final = 12 * GIB
"""What the largest batches and the libraries take on a GPU beside the weights."""

SPARE: Final = 1.2

SMALLEST: Final = GIB // 4
"""What is asked at least for a model itself."""

SHARES: Final = 10_000
"""Into how many shares Ray divides a GPU."""

PART_S: Final = 600.0
"""Seconds of a part: what is lost at most with a machine, where answers are not kept."""

MOST_PARTS: Final = 1000


@dataclass(frozen=True)
class Hosts:
    """What the machines of a cluster have.

    Parameters
    ----------
    cpus : int
        Cores of the largest machine.
    memory : int
        Bytes of memory of the largest machine.
    gpus : int
        GPUs of the machine that has most.
    gpu_memory : int
        Bytes of the smallest GPU; 0 where there is none, or it is not known.
    """

    cpus: int
    memory: int
    gpus: int = 0
    gpu_memory: int = 0


@dataclass(frozen=True)
class Needs:
    """What one process with one model is given.

    Parameters
    ----------
    cpus : int
    gpus : float
        A share of one, or whole ones.
    memory : int
        Bytes of a machine's memory.
    spread : bool
        Whether the model is spread over its GPUs.
    """

    cpus: int
    gpus: float
    memory: int
    spread: bool = False


SERVED: Final = Needs(cpus=1, gpus=0, memory=AROUND)
"""What it takes to ask a server."""


def needs(parameters: int | None, width: int, hosts: Hosts, cpus: int | None = None) -> Needs:
    """Return what a model needs, at most what the largest machine has.

    Parameters
    ----------
    parameters : int or None
        Of the model; null counts as a billion.
    width : int
        Bytes of a parameter on a GPU; on a CPU it is 4.
    hosts : Hosts
        What there is.
    cpus : int, optional
        Cores, where the user says how many.
    """
    n = UNKNOWN if parameters is None else parameters
    cores = max(1, min(cpus or 1 + n // PER_CPU, hosts.cpus))
    if not hosts.gpus:
        copies = 2 if n < PACKED_BELOW else 1
        wanted = AROUND + _size(SPARE * copies * 4 * n)
        return Needs(cores, 0, min(wanted, hosts.memory))
    memory = min(AROUND + _size(width * n), hosts.memory)
    if not hosts.gpu_memory:
        return Needs(1, 1, memory)
    share = (SPARE * width * n + GPU_ROOM) / hosts.gpu_memory
    if share <= 1:
        # What as many of its size would leave is divided among them.
        return Needs(1, math.floor(1 / int(1 / share) * SHARES) / SHARES, memory)
    gpus = min(math.ceil(share), hosts.gpus)
    return Needs(min(gpus, hosts.cpus), gpus, memory, spread=gpus > 1)


def _size(wanted: float) -> int:
    """Round bytes up, by a fifth at most, so that models of about a size can have one process."""
    steps = math.ceil(4 * math.log2(max(SMALLEST, wanted)))
    return math.ceil(math.exp2(steps / 4))


def n_parts(seconds: float, n_clusters: int, part_s: float = PART_S) -> int:
    """Return in how many parts the suites of a model are measured.

    Parameters
    ----------
    seconds : float
        What all of it will take, by the forecast.
    n_clusters : int
        Clusters of the suite that has most: with more parts some would have none.
    part_s : float
        Seconds that one should take.
    """
    return max(1, min(math.ceil(seconds / part_s), n_clusters, MOST_PARTS))
