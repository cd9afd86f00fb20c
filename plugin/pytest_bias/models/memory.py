"""How large a batch may be: tokens and logits, from the memory that a device has free."""

import gc
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import torch

from pytest_bias.models.batching import MIN_TOKENS

CPU_TOKENS: Final = 4096
GPU_TOKENS: Final = 65536
"""More tokens a batch are no faster."""

MAX_LOGITS: Final = 2**26
"""Largest number of logits at a time on a CPU: 256 MB in float32."""

GPU_LOGITS: Final = 2**29

ACTIVATIONS: Final = 12
"""Numbers a token that are in memory at once, in widths of the widest layer: more than it takes."""

BYTES_A_LOGIT: Final = 12
"""As the head gives it, in float32, and its logarithm."""

CONTEXT: Final = 2**29
"""What the libraries themselves take of a GPU."""


class Room(NamedTuple):
    """Limits of one batch: tokens, padding included, and logits that are there at a time."""

    tokens: int
    logits: int


def room_for(network: Any, gpus: Sequence[str]) -> Room:
    """Return what a batch of a network may have on its devices: the fullest GPU decides.

    On a CPU a small batch is as fast as a large one. On a GPU, half of the memory that is free goes
    to activations and a quarter to logits. Both are rounded down to a power of two, so that a few
    megabytes more or less do not move the last bits of a result.
    """
    if not gpus:
        return Room(CPU_TOKENS, MAX_LOGITS)
    free = min(map(_free, gpus))
    vocabulary = network.config.get_text_config().vocab_size
    sides = {side for p in network.parameters() if p.dim() > 1 for side in p.shape[-2:]}
    widest = max(sides - {vocabulary}, default=1)
    size = next(network.parameters()).element_size()
    return Room(
        _power_of_two(free / 2 / (ACTIVATIONS * widest * size), MIN_TOKENS, GPU_TOKENS),
        _power_of_two(free / 4 / BYTES_A_LOGIT, vocabulary, GPU_LOGITS),
    )


_shared: list[float] = []


def have_share(share: float) -> None:
    """Let this process have a share of its GPU, whose rest others have.

    Its batches are nevertheless those of a process that has the GPU alone, so that its results are
    the same to the bit; the share has to be large enough for them.
    """
    if torch.cuda.is_available():
        torch.cuda.set_per_process_memory_fraction(share)
        _shared.append(share)


def _free(gpu: str) -> int:
    free, total = torch.cuda.mem_get_info(gpu)
    return total - torch.cuda.memory_reserved(gpu) - CONTEXT if _shared else free


def free() -> None:
    """Give back what models held that nobody holds any more."""
    # A network's parts know one another: without this they would go at some later time.
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _power_of_two(number: float, least: int, most: int) -> int:
    """Return the largest power of two up to a number, within limits."""
    return int(max(least, min(2 ** (max(1, int(number)).bit_length() - 1), most)))
