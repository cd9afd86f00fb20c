"""Linear layers on the CPU with oneDNN's kernels instead of MKL's.

PyTorch multiplies float32 matrices with MKL. oneDNN's kernels give the same bits for any number of
rows from two on, which batching.py requires, and are faster on AMD processors (benchmarks/cpu.py
measures both). The operator is the one that `torch.compile` uses when it freezes a model.
"""

import platform
from typing import Any, Final

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

MAX_PARAMETERS: Final = 10**9
"""Larger models are left unchanged, since packed weights are a second copy in memory."""


class _Packed(nn.Module):
    """A layer with a copy of its weight in oneDNN's layout."""

    packed: torch.Tensor

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Multiply and add, as the original layer does."""
        multiply = torch.ops.mkldnn._linear_pointwise
        output: torch.Tensor = multiply(input, self.packed, self.bias, "none", [], "")
        return output


class PackedLinear(_Packed, nn.Linear):
    """A linear layer that uses oneDNN."""


class PackedConv1D(_Packed, Conv1D):  # type: ignore[misc]
    """GPT-2's linear layer, with a weight of shape (inputs, outputs), that uses oneDNN."""


# Not for subclasses of these, which may be called differently.
PACKED: Final = {nn.Linear: PackedLinear, Conv1D: PackedConv1D}


def pack(network: Any) -> None:
    """Make the float32 linear layers of a network on the CPU use oneDNN, in place."""
    if not torch._C._has_mkldnn or platform.machine() not in ("x86_64", "AMD64"):
        return
    if sum(p.numel() for p in network.parameters()) > MAX_PARAMETERS:
        return
    for module in network.modules():
        packed = PACKED.get(type(module))
        # Offloaded layers are called differently.
        if packed is None or hasattr(module, "_hf_hook") or not _is_plain(module.weight):
            continue
        weight = module.weight.detach()
        if packed is PackedConv1D:
            weight = weight.T
        module.__class__ = packed
        module.packed = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), None)


def _is_plain(weight: torch.Tensor) -> bool:
    return weight.device.type == "cpu" and weight.dtype == torch.float32
