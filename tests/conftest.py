"""Shared fixtures: public data, real models, tiny models; no network."""

import itertools
import os
import shutil
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import hypothesis
import pytest
from filelock import FileLock

import draws
import selection
import warm

# The same examples in every run, and no clock.
for profile, most in (("day", 25), ("night", 400)):
    hypothesis.settings.register_profile(
        profile, deadline=None, derandomize=True, max_examples=most
    )
hypothesis.settings.load_profile("day")

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

pytest_plugins = ["pytester"]
collect_ignore = ["support"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add options: some of the tests, and processes that start from nothing."""
    parser.addoption("--part", metavar="K/N", help="one of N parts of the tests, by their names")
    parser.addoption("--cold", action="store_true", help="import everything anew in each process")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Write the Python that has everything imported, for all workers."""
    config = session.config
    own = config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    is_worker = hasattr(config, "workerinput")
    if is_worker or not config.getoption("numprocesses", None):
        # Before a session of pytest within a test, which forgets what it imports, torch included.
        import tiny_models  # noqa: F401
    place = (own.parent, os.getppid()) if is_worker else (own, os.getpid())
    config.stash[WARM] = warm.REAL if config.getoption("--cold") else warm.prepare(*place)


WARM = pytest.StashKey[str]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Choose what a test asks for, before fixtures are made: how processes start, what is drawn."""
    few = not (item.config.getoption("--cold") or item.get_closest_marker("all_draws"))
    draws.choose(few=few)
    sys.executable = warm.REAL if item.get_closest_marker("cold") else item.config.stash[WARM]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None]:
    """Choose what runs by day, and keep the part that was asked for.

    A part does not change when other tests come or go.
    """
    selection.by_day(items)
    selection.once_each(i for i in items if PARITY in i.path.parents)
    # Syrupy has to see all tests, or it takes snapshots of other parts for unused ones.
    yield
    if part := config.getoption("--part"):
        number, of = map(int, part.split("/"))
        mine = [sum(item.nodeid.encode()) % of == number - 1 for item in items]
        config.hook.pytest_deselected(items=[i for i, m in zip(items, mine, strict=True) if not m])
        items[:] = [i for i, m in zip(items, mine, strict=True) if m]


ROOT = Path(__file__).parent.parent
PARITY = Path(__file__).parent / "parity"
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


@pytest.fixture
def pytester(pytester: pytest.Pytester) -> pytest.Pytester:
    """Return a `pytester` without syrupy, which keeps one session a process: ours."""
    pytester.plugins.append("no:syrupy")
    return pytester


Shared = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """Return a function from a name and what makes a folder to that folder, for all workers."""
    own = tmp_path_factory.getbasetemp()
    root = (own.parent if hasattr(request.config, "workerinput") else own) / "shared"
    root.mkdir(exist_ok=True)

    def made(name: str, make: Callable[[Path], object]) -> Path:
        folder, begun = root / name, root / f"{name}.begun" / name
        with FileLock(root / f"{name}.lock"):
            if not folder.exists():
                shutil.rmtree(begun.parent, ignore_errors=True)
                begun.parent.mkdir()
                make(begun)
                begun.rename(folder)
        return folder

    return made


@pytest.fixture(scope="session")
def tiny(shared: Shared) -> Callable[[str], Path]:
    """Return a function from the name of a builder in `tiny_models` to a model's folder."""
    # Whoever hands out the tests to workers needs no torch.
    import tiny_models

    return lambda name: shared(name, getattr(tiny_models, name))


@pytest.fixture(scope="session")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield places for caches; a folder for each test would take longer than most tests."""
    folder = tmp_path_factory.mktemp("caches")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def _own_cache(caches: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep tests away from the user's cache and settings."""
    for name in [name for name in os.environ if name.startswith("PYTEST_BIAS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PYTEST_BIAS_CACHE", str(next(caches)))
