"""Shared fixtures: public data, real models, tiny models; no network."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import draws
import tiny_models
import warm

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

pytest_plugins = ["pytester"]
collect_ignore = ["warm"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add options: some of the tests, and processes that start from nothing."""
    parser.addoption("--part", metavar="K/N", help="one of N parts of the tests, by their names")
    parser.addoption("--cold", action="store_true", help="import everything anew in each process")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Write the Python that has everything imported, for all workers."""
    config = session.config
    own = config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    is_worker = hasattr(config, "workerinput")
    place = (own.parent, os.getppid()) if is_worker else (own, os.getpid())
    config.stash[WARM] = warm.REAL if config.getoption("--cold") else warm.prepare(*place)


WARM = pytest.StashKey[str]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Choose what a test asks for, before fixtures are made: how processes start, what is drawn."""
    few = not (item.config.getoption("--cold") or item.get_closest_marker("all_draws"))
    draws.choose(few=few)
    sys.executable = warm.REAL if item.get_closest_marker("cold") else item.config.stash[WARM]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the part that was asked for: it does not change when other tests come or go."""
    if part := config.getoption("--part"):
        number, of = map(int, part.split("/"))
        mine = [sum(item.nodeid.encode()) % of == number - 1 for item in items]
        config.hook.pytest_deselected(items=[i for i, m in zip(items, mine, strict=True) if not m])
        items[:] = [i for i, m in zip(items, mine, strict=True) if m]


ROOT = Path(__file__).parent.parent
DATA = ROOT.parent / "shared" / "data"
MODELS = ROOT / "models"


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of public benchmark data, or skip."""
    if not DATA.is_dir():
        pytest.skip(f"no public data at {DATA}")
    return DATA


def _real(name: str) -> Path:
    path = MODELS / name
    if not path.exists():
        pytest.skip(f"no model at {path}: make models")
    return path


@pytest.fixture(scope="session")
def bert_tiny() -> Path:
    """Return BERT-tiny, a real masked model."""
    return _real("bert-tiny")


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """Return SmolLM2-135M, a real causal model as a GGUF file."""
    return _real("smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")


@pytest.fixture(scope="session")
def minilm() -> Path:
    """Return all-MiniLM-L6-v2, a real sentence encoder."""
    return _real("all-MiniLM-L6-v2")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function from the name of a builder in `tiny_models` to a model's folder."""
    built: dict[str, Path] = {}

    def build(name: str) -> Path:
        if name not in built:
            builder = getattr(tiny_models, name)
            built[name] = builder(tmp_path_factory.mktemp("models") / name)
        return built[name]

    return build


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep tests away from the user's cache and settings."""
    monkeypatch.setenv("PYTEST_BIAS_CACHE", str(tmp_path / "cache"))
    for name in list(os.environ):
        if name.startswith("PYTEST_BIAS_") and name != "PYTEST_BIAS_CACHE":
            monkeypatch.delenv(name)
