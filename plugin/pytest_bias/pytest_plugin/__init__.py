"""The pytest plugin: options, fixtures, one test per suite, one report per session.

pytest imports this module in every run of every project, so it imports the standard library and
pytest only; the work is in `pytest_bias.pytest_plugin.session`, imported when a model is named.
"""

import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bias.environment import SUITE_FILE
from pytest_bias.settings.options import OPTIONS, Option

if TYPE_CHECKING:
    from pytest_bias.pytest_plugin.run import BiasRun
    from pytest_bias.pytest_plugin.session import BiasSession
    from pytest_bias.pytest_plugin.testing import BiasModel

PACKAGE = "pytest_bias"
NO_MODEL = "no model was named: --bias-model=MODEL"

_PARSERS: dict[str, Callable[[str], Any]] = {
    "text": str,
    "texts": str,
    "pairs": str,
    "path": str,
    "path-or-name": str,
    "path-or-address": str,
    "text-or-path": str,
    "number": int,
    "budget": str,
}


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add ``--bias-model`` and every option of the command, as ``--bias-*``."""
    if pluginmanager.is_blocked(PACKAGE):
        return
    group = parser.getgroup(
        "bias",
        "social-bias and robustness tests of language models (plugin bias, or pytest_bias: "
        "-p no:bias leaves it out, --disable-plugin-autoload -p bias loads it alone)",
    )
    group.addoption(
        "--bias-model",
        metavar="MODEL",
        help="model to test: org/name, org/name@revision, a folder, a .gguf file, demo, "
        "demo-chat, app:module:function, or a server; with =, "
        "since pytest takes a path behind a space for tests",
    )
    for option in (o for o in OPTIONS if o.of_tests):
        group.addoption(f"--bias-{option.flag}", dest=f"bias_{option.name}", **_argument(option))


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    """Refuse a value that pytest took for a path to tests before it knew the option.

    It is the first hook after all plugins are loaded, so ``-p no:pytest_bias`` is respected here.

    pytest registers options of installed plugins after it has looked for the project's root and
    configuration, so in ``--bias-model ../model`` it has searched from the value as well.
    """
    manager = early_config.pluginmanager
    if manager.is_blocked(PACKAGE):
        # By its other name: pytest knows the plugin as `bias`.
        manager.unregister(name="bias")
        return
    words = [a for a in args if a.startswith("--bias-") and "=" not in a]
    taken = [(a, b) for a, b in pairwise(args) if a in words and _is_path(b)]
    if not taken:
        return
    root, file = _setup_without(early_config)
    word, value = taken[0]
    told = f"{word} {value}: pytest takes a value behind a space for a path to tests, so "
    hint = f"Write it with =, as in {word}={value}"
    if file != early_config.inipath:
        read = f"read {early_config.inipath or 'no configuration'} and not {file or 'none'}"
        raise pytest.UsageError(f"{told}it has {read}.\n  {hint}")
    if root != early_config.rootpath:
        told = f"{told}its rootdir is {early_config.rootpath} and not {root}. {hint}"
        warnings.warn(pytest.PytestConfigWarning(told), stacklevel=2)


def _is_path(word: str) -> bool:
    try:
        return Path(word.partition("::")[0]).exists()
    except (OSError, ValueError):
        return False


def _setup_without(config: pytest.Config) -> tuple[Path, Path | None]:
    """Return root and configuration as pytest finds them once all options are known."""
    from inspect import signature

    from _pytest.config.findpaths import determine_setup

    known = config.known_args_namespace
    given = {
        "inifile": known.inifilename,
        "override_ini": known.override_ini,
        "args": known.file_or_dir,
        "rootdir_cmd_arg": known.rootdir or None,
        "invocation_dir": config.invocation_params.dir,
    }
    # Which of them it accepts differs between versions of pytest.
    wanted = signature(determine_setup).parameters
    found: Any = determine_setup(**{n: v for n, v in given.items() if n in wanted})
    return found[0], found[1]


def _argument(option: Option) -> dict[str, Any]:
    if option.type == "flag":
        return {"action": "store_true", "default": False, "help": option.help}
    found: dict[str, Any] = {"default": None, "help": option.help, "type": _PARSERS[option.type]}
    if option.choices:
        found["choices"] = option.choices
    else:
        found["metavar"] = option.metavar
    if option.type in ("texts", "pairs"):
        found["action"] = "append"
    return found


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and the listener to workers if there are any."""
    config.addinivalue_line("markers", "bias: measures social bias or robustness of a model")
    if config.pluginmanager.hasplugin("xdist") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_FromWorkers(config), "bias-from-workers")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Name the model under test."""
    model = config.getoption("bias_model")
    return f"bias: testing {model}" if model else None


def pytest_sessionstart(session: pytest.Session) -> None:
    """Report errors in the model, the suites or the output folder before anything runs."""
    config = session.config
    on_worker = hasattr(config, "workerinput")
    if config.getoption("bias_model") and not on_worker and not config.option.collectonly:
        _ = _session(config).job


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize a test that requests `bias_entry` with every requested suite."""
    if "bias_entry" not in metafunc.fixturenames:
        return
    found = _session(metafunc.config)
    if found.settings.model is None:
        marks = pytest.mark.skip(NO_MODEL)
        metafunc.parametrize("bias_entry", [pytest.param("", marks=marks)])
    else:
        metafunc.parametrize("bias_entry", found.test_ids)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a ``*.bias.yaml`` file as a test, if a model is named."""
    if not file_path.name.endswith(SUITE_FILE) or not parent.config.getoption("bias_model"):
        return None
    from pytest_bias.pytest_plugin.suite_files import SuiteFile

    found: pytest.Collector = SuiteFile.from_parent(parent, path=file_path)
    return found


def pytest_collection_finish(session: pytest.Session) -> None:
    """Divide the time, calls and money of ``--bias-budget`` among the collected suites."""
    if found := _existing(session.config):
        found.expect(session.items)


@pytest.fixture(scope="session")
def bias_model(request: pytest.FixtureRequest) -> "BiasModel":
    """Return the model under test: score, fill, embed, compare, assert_alike."""
    return _named(request).bias_model


@pytest.fixture
def bias_run(request: pytest.FixtureRequest) -> "BiasRun":
    """Return a callable: ``bias_run("crows_pairs")`` measures a suite and returns its result."""
    from pytest_bias.pytest_plugin.run import BiasRun

    return BiasRun(_named(request), request.node)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send results to the controller, or write the report."""
    if found := _existing(session.config):
        found.finish(session)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the report."""
    if found := _existing(config):
        found.print_summary(terminalreporter)


class _FromWorkers:
    """Collects the results of pytest-xdist's workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        payload = getattr(node, "workeroutput", {}).get("pytest_bias")
        if payload:
            _session(self.config).receive(payload)


def _named(request: pytest.FixtureRequest) -> "BiasSession":
    session = _session(request.config)
    if session.settings.model is None:
        pytest.skip(NO_MODEL)
    return session


def _session(config: pytest.Config) -> "BiasSession":
    # Imported like every other module: pytest may have dropped the one that the package knows.
    from pytest_bias.pytest_plugin.session import of

    return of(config)


def _existing(config: pytest.Config) -> "BiasSession | None":
    import sys

    module = sys.modules.get("pytest_bias.pytest_plugin.session")
    return module.existing(config) if module else None
