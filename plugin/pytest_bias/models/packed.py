"""Linear layers on the CPU with oneDNN's kernels instead of MKL's.

PyTorch multiplies float32 matrices with MKL. oneDNN's kernels give the same bits for every number
of rows from two on, which is what batching.py needs, and on AMD processors they are faster
(benchmarks/cpu.py measures both). The operator is the one that `torch.compile` uses when it freezes
a model.
"""

import platform
from typing import Any, Final

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

MAX_PARAMETERS: Final = 10**9
"""A larger model stays as it is: the packed weights lie in memory beside the others."""


class _Packed(nn.Module):
    """A layer that keeps a copy of its weight in the layout of oneDNN."""

    packed: torch.Tensor

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Multiply and add, as the layer itself does."""
        multiply = torch.ops.mkldnn._linear_pointwise
        output: torch.Tensor = multiply(input, self.packed, self.bias, "none", [], "")
        return output


class PackedLinear(_Packed, nn.Linear):
    """A linear layer that is multiplied by oneDNN."""


class PackedConv1D(_Packed, Conv1D):  # type: ignore[misc]
    """GPT-2's linear layer, whose weight is (inputs, outputs), multiplied by oneDNN."""


# Not for what is derived from these: that may be called in ways of its own.
PACKED: Final = {nn.Linear: PackedLinear, Conv1D: PackedConv1D}


def pack(network: Any) -> None:
    """Let the float32 linear layers of a network on the CPU use oneDNN, in place."""
    if not torch._C._has_mkldnn or platform.machine() not in ("x86_64", "AMD64"):
        return
    if sum(p.numel() for p in network.parameters()) > MAX_PARAMETERS:
        return
    for module in network.modules():
        packed = PACKED.get(type(module))
        # What is fetched when it is needed is called in ways of its own.
        if packed is None or hasattr(module, "_hf_hook") or not _is_plain(module.weight):
            continue
        weight = module.weight.detach()
        if packed is PackedConv1D:
            weight = weight.T
        module.__class__ = packed
        module.packed = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), None)


def _is_plain(weight: torch.Tensor) -> bool:
    return weight.device.type == "cpu" and weight.dtype == torch.float32
