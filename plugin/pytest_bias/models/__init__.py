"""Models: a name in, numbers out. Importing this package imports no torch."""

from typing import TYPE_CHECKING, Any

from pytest_bias.models.reference import ModelRef

if TYPE_CHECKING:
    from pytest_bias.models.description import Described
    from pytest_bias.models.loading import Description, Trust, describe, load

__all__ = ["Described", "Description", "ModelRef", "Trust", "describe", "load"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from pytest_bias.models import loading

        return getattr(loading, name)
    raise AttributeError(name)
