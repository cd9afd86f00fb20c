"""Social-bias and robustness tests for language models, as part of the pipeline.

Public names are loaded when they are used: importing the package imports neither torch nor numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pytest_bias.models import ModelRef, describe, load
    from pytest_bias.models.interface import Capability, Cloze, Model
    from pytest_bias.records.report import Item, Record, Report, SuiteResult
    from pytest_bias.records.score import Score
    from pytest_bias.suites.suite import Suite

_HOMES: Final = {
    "Capability": "interface",
    "Cloze": "interface",
    "Item": "records",
    "Model": "interface",
    "ModelRef": "models",
    "Record": "records",
    "Report": "records",
    "Score": "scores",
    "Suite": "suites",
    "SuiteResult": "records",
    "describe": "models",
    "load": "models",
}

__all__ = [
    "Capability",
    "Cloze",
    "Item",
    "Model",
    "ModelRef",
    "Record",
    "Report",
    "Score",
    "Suite",
    "SuiteResult",
    "describe",
    "load",
]


def pytest_plugin_registered(plugin: object, manager: Any) -> None:
    """Load the plugin for ``pytest -p pytest_bias``; its own name is ``bias``."""
    if getattr(plugin, "__name__", "") == __name__ and not manager.hasplugin("bias"):
        manager.register(import_module("pytest_bias.pytest_plugin"), "bias")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"pytest_bias.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'pytest_bias' has no attribute {name!r}")
