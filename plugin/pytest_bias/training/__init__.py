"""Bias measured while a model is trained, and reports logged to experiment trackers."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_bias.training.callback import BiasCallback

__all__ = ["BiasCallback"]


def __getattr__(name: str) -> Any:
    if name == "BiasCallback":
        # Not for those who log a finished report: it imports torch and transformers.
        from pytest_bias.training.callback import BiasCallback

        return BiasCallback
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
