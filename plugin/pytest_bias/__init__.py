"""Social-bias and robustness tests for language models, for use in CI pipelines.

`measure` a model, `read_report` a saved report, and `compare` two reports. Public names are loaded
on first use: importing the package imports neither torch nor numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pytest_bias.errors import BiasError
    from pytest_bias.models import Description, Model, ModelRef, describe, load
    from pytest_bias.pytest_plugin.run import BiasRun
    from pytest_bias.pytest_plugin.testing import BiasModel
    from pytest_bias.records import Item, Record, Report, Score, SuiteResult
    from pytest_bias.reports.comparison import Comparison
    from pytest_bias.reports.folder import read_report
    from pytest_bias.runs.comparing import compare
    from pytest_bias.runs.measuring import measure

    __version__: str

_HOMES: Final = {
    "BiasError": "errors",
    "BiasModel": "pytest_plugin.testing",
    "BiasRun": "pytest_plugin.run",
    "Comparison": "reports.comparison",
    "Description": "models",
    "Item": "records",
    "Model": "models",
    "ModelRef": "models",
    "Record": "records",
    "Report": "records",
    "Score": "records",
    "SuiteResult": "records",
    "compare": "runs.comparing",
    "describe": "models",
    "load": "models",
    "measure": "runs.measuring",
    "read_report": "reports.folder",
}

__all__ = [
    "BiasError",
    "BiasModel",
    "BiasRun",
    "Comparison",
    "Description",
    "Item",
    "Model",
    "ModelRef",
    "Record",
    "Report",
    "Score",
    "SuiteResult",
    "__version__",
    "compare",
    "describe",
    "load",
    "measure",
    "read_report",
]


def pytest_plugin_registered(plugin: object, manager: Any) -> None:
    """Register the plugin for ``pytest -p pytest_bias``; its own name is ``bias``."""
    if getattr(plugin, "__name__", "") == __name__ and not manager.hasplugin("bias"):
        manager.register(import_module("pytest_bias.pytest_plugin"), "bias")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"pytest_bias.{_HOMES[name]}"), name)
    if name == "__version__":
        from importlib.metadata import version

        return version("pytest-bias")
    raise AttributeError(f"module 'pytest_bias' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
