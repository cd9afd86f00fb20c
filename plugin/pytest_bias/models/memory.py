"""Limits of batch sizes, in tokens and logits, from the free memory of a device."""

import gc
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import torch

from pytest_bias.models.batching import MIN_TOKENS

CPU_TOKENS: Final = 4096
GPU_TOKENS: Final = 65536
"""Larger batches are not faster."""

MAX_LOGITS: Final = 2**26
"""Largest number of logits at a time on a CPU: 256 MB in float32."""

GPU_LOGITS: Final = 2**29

ACTIVATIONS: Final = 12
"""Upper bound of numbers per token in memory at once, in widths of the widest layer."""

BYTES_A_LOGIT: Final = 12
"""The head's output, its float32 copy, and its logarithm."""

CONTEXT: Final = 2**29
"""GPU memory that the libraries themselves use."""


class Room(NamedTuple):
    """Limits of one batch: tokens, including padding, and logits in memory at a time."""

    tokens: int
    logits: int


def room_for(network: Any, gpus: Sequence[str]) -> Room:
    """Return the limits of a batch for a network on its devices, set by the fullest GPU.

    On a CPU a small batch is as fast as a large one. On a GPU, half of the free memory is used for
    activations and a quarter for logits. Both are rounded down to a power of two, so that small
    differences of free memory do not change the last bits of a result.
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
    """Restrict this process to a share of its GPU, which other processes use too.

    Its batches are nevertheless those of a process that uses the GPU alone, so that its results are
    bit-identical; the share must be large enough for them.
    """
    if torch.cuda.is_available():
        torch.cuda.set_per_process_memory_fraction(share)
        _shared.append(share)


def _free(gpu: str) -> int:
    free, total = torch.cuda.mem_get_info(gpu)
    return total - torch.cuda.memory_reserved(gpu) - CONTEXT if _shared else free


def free() -> None:
    """Release the memory of models that are no longer referenced."""
    # Networks contain reference cycles, which would be collected only later.
    gc.collect()
    release()


def release() -> None:
    """Give back to the devices what PyTorch keeps of tensors that are gone."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _power_of_two(number: float, least: int, most: int) -> int:
    """Return the largest power of two up to a number, within limits."""
    return int(max(least, min(2 ** (max(1, int(number)).bit_length() - 1), most)))
