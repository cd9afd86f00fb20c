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

MAX_PARAMETERS: Final = 10**9
"""A larger model stays as it is: the packed weights lie in memory beside the others."""


class PackedLinear(nn.Linear):
    """A linear layer that keeps a copy of its weight in the layout of oneDNN."""

    packed: torch.Tensor

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Multiply, as `torch.nn.Linear` does."""
        multiply = torch.ops.mkldnn._linear_pointwise
        output: torch.Tensor = multiply(input, self.packed, self.bias, "none", [], "")
        return output


def pack(network: Any) -> None:
    """Let the float32 linear layers of a network on the CPU use oneDNN, in place."""
    if not torch._C._has_mkldnn or platform.machine() not in ("x86_64", "AMD64"):
        return
    if sum(p.numel() for p in network.parameters()) > MAX_PARAMETERS:
        return
    for module in network.modules():
        # Not for what is derived from it, or fetched when it is needed: that is called in ways of
        # its own.
        is_linear = type(module) is nn.Linear and not hasattr(module, "_hf_hook")
        if is_linear and _is_plain(module.weight):
            weight = module.weight.detach().contiguous()
            module.__class__ = PackedLinear
            module.packed = torch.ops.mkldnn._reorder_linear_weight(weight, None)


def _is_plain(weight: torch.Tensor) -> bool:
    return weight.device.type == "cpu" and weight.dtype == torch.float32
