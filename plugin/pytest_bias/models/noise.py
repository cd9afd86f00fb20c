"""Sampling noise that is a function of a key only, for the Gumbel-max trick.

The token with the largest sum of log-probability and Gumbel noise is a draw from the distribution
(Gumbel 1954; Maddison et al. 2014), so decoding stays greedy and only the noise has to be random.
The noise is a hash of a key and the token: it needs no state, is the same on every device and for
every batch, and is shared by two models with the same key, whose difference is then less noisy.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

import torch

LARGEST_BELOW_ONE: Final = 1 - 2**-24

_SPREAD: Final = -0x61C88647
"""The golden ratio in 32 bits, signed, which separates tokens."""
_FIRST: Final = 0x7FEB352D
_SECOND: Final = 0x846CA68B - 2**32
"""Constants of a 32-bit mixing function with low bias, signed (Wellons 2018, "lowbias32")."""


def key(*words: str | int) -> int:
    """Return a key of 64 bits: a hash of the words, including their boundaries."""
    text = "".join(f"{len(word)}:{word}" for word in map(str, words))
    return int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "little")


def uniform(keys: Sequence[int], n: int, device: torch.device | str = "cpu") -> torch.Tensor:
    """Return numbers between 0 and 1 for every key, shape (n_keys, n), float32.

    They are odd multiples of 2^-32, rounded to the 24 significant bits of float32: fine near 0, at
    most 1 - 2^-24 at the other end.
    """
    low, high = (
        torch.tensor([_signed(k >> shift & 0xFFFFFFFF) for k in keys], dtype=torch.int32)
        .to(device)
        .unsqueeze(1)
        for shift in (0, 32)
    )
    mixed = torch.arange(n, dtype=torch.int32, device=device).mul_(_SPREAD) + low
    _mix(mixed)
    mixed ^= high
    _mix(mixed)
    mixed &= 2**31 - 1
    return mixed.float().add_(0.5).mul_(2**-31).clamp_(max=LARGEST_BELOW_ONE)


def gumbel(keys: Sequence[int], n: int, device: torch.device | str = "cpu") -> torch.Tensor:
    """Return standard Gumbel noise for every key, shape (n_keys, n), float32."""
    # From numbers near 0, which float32 represents precisely: they give the largest noise.
    return uniform(keys, n, device).neg_().log1p_().neg_().log_().neg_()


def _mix(word: torch.Tensor) -> None:
    """Mix 32-bit words in place, so that every bit affects half of the others."""
    word ^= _shifted(word, 16)
    word *= _FIRST
    word ^= _shifted(word, 15)
    word *= _SECOND
    word ^= _shifted(word, 16)


def _signed(word: int) -> int:
    return word - 2**32 if word >= 2**31 else word


def _shifted(word: torch.Tensor, bits: int) -> torch.Tensor:
    """Shift 32 bits to the right logically, without sign extension."""
    return (word >> bits) & ((1 << (32 - bits)) - 1)
