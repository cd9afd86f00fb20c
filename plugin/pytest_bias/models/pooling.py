"""Pooling of the hidden states of a text into one vector."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch

from pytest_bias.errors import ModelError

Rule = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def _mean(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    weights = mask[..., None].to(hidden.dtype)
    return (hidden * weights).sum(1) / weights.sum(1).clamp(min=1)


def _first(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return hidden[:, 0]


def _last(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return hidden[torch.arange(len(hidden), device=hidden.device), mask.sum(1) - 1]


def _largest(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return hidden.masked_fill(mask[..., None] == 0, float("-inf")).amax(1)


def _root_mean(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    weights = mask[..., None].to(hidden.dtype)
    return (hidden * weights).sum(1) / weights.sum(1).clamp(min=1).sqrt()


RULES: Final[Mapping[str, Rule]] = {
    "mean": _mean,
    "cls": _first,
    "last": _last,
    "max": _largest,
    "mean_sqrt_len": _root_mean,
}

_SENTENCE_TRANSFORMERS: Final = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len",
    "pooling_mode_lasttoken": "last",
}


@dataclass(frozen=True)
class Pooling:
    """A pooling rule over all attended tokens, including special ones.

    Parameters
    ----------
    name : str
        One of `RULES`.
    origin : str
        Whether it is the checkpoint's or the default.
    """

    name: str = "mean"
    origin: str = "default"

    def __call__(self, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Pool hidden states (rows, length, dimension) to vectors (rows, dimension)."""
        return RULES[self.name](hidden, mask)

    def __str__(self) -> str:
        return f"{self.name} over all tokens, special ones included ({self.origin})"

    @classmethod
    def of(cls, folder: Path) -> "Pooling":
        """Return the rule in a checkpoint's ``1_Pooling/config.json``, else the mean.

        Raises
        ------
        ModelError
            If the checkpoint states an unknown rule.
        """
        path = folder / "1_Pooling" / "config.json"
        if not path.is_file():
            return cls()
        stated = json.loads(path.read_text(encoding="utf-8"))
        modes = [k for k, v in stated.items() if k.startswith("pooling_mode") and v is True]
        if len(modes) != 1 or modes[0] not in _SENTENCE_TRANSFORMERS:
            raise ModelError(
                f"{path} asks for {', '.join(modes) or 'no pooling'}; "
                f"known are {', '.join(_SENTENCE_TRANSFORMERS)}, one at a time."
            )
        return cls(_SENTENCE_TRANSFORMERS[modes[0]], "1_Pooling/config.json")
