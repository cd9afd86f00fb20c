"""Models: loading by name, and querying. Importing this package does not import torch."""

from typing import TYPE_CHECKING, Any

from pytest_bias.models.interface import (
    GAP,
    Answer,
    Capability,
    Cloze,
    ClozeScore,
    Continuation,
    LabelScores,
    Model,
    ModelKind,
    Outputs,
    Passage,
    Prediction,
    Question,
    SequenceScore,
)
from pytest_bias.models.labels import ROLES
from pytest_bias.models.reference import ModelRef

if TYPE_CHECKING:
    from pytest_bias.models.description import Described
    from pytest_bias.models.loading import Description, Trust, describe, load

_HEAVY = ("Described", "Description", "Trust", "describe", "load")

__all__ = [
    "GAP",
    "ROLES",
    "Answer",
    "Capability",
    "Cloze",
    "ClozeScore",
    "Continuation",
    "Described",
    "Description",
    "LabelScores",
    "Model",
    "ModelKind",
    "ModelRef",
    "Outputs",
    "Passage",
    "Prediction",
    "Question",
    "SequenceScore",
    "Trust",
    "describe",
    "load",
]


def __getattr__(name: str) -> Any:
    if name in _HEAVY:
        from pytest_bias.models import loading

        return getattr(loading, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
