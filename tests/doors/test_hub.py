"""Models from the Hub: revisions, refusals, and what the cache does without a network."""

from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path

import pytest

import tiny_models
from commands import Ran, finish, start
from hub_server import Hub, Repository, serving

SHA = {"v1": "1" * 40, "main": "2" * 40}
SUITE = ("--suite", "structure")
WEIGHTS = "model.safetensors"


def read_all(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for all runs, with one cache."""
    return tmp_path_factory.mktemp("hub")


@pytest.fixture(scope="module")
def hub(tiny: Callable[[str], Path], folder: Path) -> Iterator[Hub]:
    """Serve a model of two commits, and some that cannot be had."""
    now = read_all(tiny("bert"))
    then = now | {WEIGHTS: read_all(tiny_models.bert(folder / "then", seed=1))[WEIGHTS]}
    named = {"main": SHA["main"], "v1": SHA["v1"]}
    bare = {k: v for k, v in now.items() if k != WEIGHTS}
    repositories = {
        "org/model": Repository({SHA["main"]: now, SHA["v1"]: then}, named),
        "org/gated": Repository({}, {}, (403, "GatedRepo")),
        "org/private": Repository({}, {}, (401, "RepoNotFound")),
        "org/gone": Repository({}, {}, (404, "RepoNotFound")),
        "org/pickled": Repository({SHA["main"]: bare | {"pytorch_model.bin": b"pickled"}}, named),
        "org/bare": Repository({SHA["main"]: bare}, named),
        "org/empty": Repository({SHA["main"]: {"README.md": b"# To do"}}, named),
    }
    with serving(Hub(repositories)) as found:
        yield found


@pytest.fixture(scope="module")
def client(folder: Path, hub: Hub) -> dict[str, str]:
    """Return the environment of a client with a cache of its own."""
    return {**hub.env, "HF_HOME": str(folder / "home")}


def together(
    runs: Mapping[str, tuple[str, ...]], folder: Path, env: Mapping[str, str]
) -> dict[str, Ran]:
    """Run the command several times at once, each in a folder of its own."""
    started = {}
    for name, words in runs.items():
        (folder / name).mkdir()
        started[name] = start("run", *words, *SUITE, folder=folder / name, env=env)
    return {name: finish(process, folder / name) for name, process in started.items()}


@pytest.fixture(scope="module")
def online(hub: Hub, client: dict[str, str], folder: Path) -> dict[str, Ran]:
    """Return runs of both commits; the cache holds both after them."""
    return together({"main": ("org/model",), "tag": ("org/model@v1",)}, folder, client)


def test_revision_is_resolved(hub: Hub, online: dict[str, Ran]) -> None:
    main, tag = (online[name].done(0).report["model"] for name in ("main", "tag"))
    assert main["reference"] == tag["reference"] == "org/model"
    assert main["revision"] == SHA["main"]
    assert tag["revision"] == SHA["v1"]
    weights = hub.repositories["org/model"].commits[SHA["v1"]][WEIGHTS]
    assert tag["weights_sha256"] == sha256(weights).hexdigest()
    assert tag["weights_sha256"] != main["weights_sha256"]
    assert online["main"].at.name.startswith("org-model-")
    assert f"org/model@{SHA['main'][:7]}" in online["main"].said


def test_offline_by_commit(
    hub: Hub, client: dict[str, str], online: dict[str, Ran], tmp_path: Path
) -> None:
    hub.asked.clear()
    runs = {"option": (f"org/model@{SHA['main']}", "--offline")}
    found = together(runs, tmp_path, client)["option"].done(0)
    assert hub.asked == []
    assert found.report["digest"] == online["main"].report["digest"]


@pytest.mark.slow
def test_offline_by_name(
    hub: Hub, client: dict[str, str], online: dict[str, Ran], tmp_path: Path
) -> None:
    hub.asked.clear()
    found = together({"main": ("org/model", "--offline")}, tmp_path, client)
    offline = {**client, "HF_HUB_OFFLINE": "1"}
    found |= together({"tag": ("org/model@v1",)}, tmp_path, offline)
    assert hub.asked == []
    for name, ran in found.items():
        assert ran.done(0).report["digest"] == online[name].report["digest"]


def test_lost_network(client: dict[str, str], online: dict[str, Ran], tmp_path: Path) -> None:
    nowhere = {**client, "HF_ENDPOINT": "http://127.0.0.1:9"}
    ran = together({"main": ("org/model",)}, tmp_path, nowhere)["main"].done(0)
    assert "The Hub could not be asked about org/model" in ran.said
    assert ran.said.index("looking in the cache") < ran.said.index("Loading")
    assert ran.report["digest"] == online["main"].report["digest"]


@pytest.mark.slow
def test_refusals(hub: Hub, client: dict[str, str], tmp_path: Path) -> None:
    words = {
        "org/model@v9": ("org/model has no revision 'v9'", "/org/model/tree/main"),
        "org/modle": ("there is no model 'org/modle' on the Hub", "private", "hf auth login"),
        "org/gone": ("there is no model 'org/gone' on the Hub",),
        "org/private": ("there is no model 'org/private' on the Hub", "hf auth login"),
        "org/gated": ("org/gated is gated", "access", "hf auth login"),
        "org/bare": ("org/bare has no weights",),
        "org/empty": ("org/empty has no config.json",),
    }
    given = {f"run{number}": name for number, name in enumerate(words)}
    names = list(given)
    found: dict[str, Ran] = {}
    for some in (names[:4], names[4:]):
        found |= together({n: (given[n],) for n in some}, tmp_path, client)
    for name, ran in found.items():
        assert ran.refused(3, *words[given[name]]).reports == []


def test_pickled_weights_on_the_hub(client: dict[str, str], tmp_path: Path) -> None:
    found = together({"pickled": ("org/pickled",)}, tmp_path, client)["pickled"]
    found.refused(3, "only pickled weights", "--allow-pickle")


@pytest.mark.slow
def test_offline_with_half_a_model_in_the_cache(
    hub: Hub, client: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    cold = {**client, "HF_HOME": str(tmp_path / "home")}
    model = f"org/model@{SHA['main']}"
    # The wrong name is found when the description is here and the weights are not.
    runs = {"online": (model, "--suite", "no_such_suite")}
    together(runs, tmp_path, cold)["online"].refused(2, "no_such_suite")
    assert hub.asked != []
    hub.asked.clear()
    ran = together({"offline": (model, "--offline")}, tmp_path, cold)["offline"]
    assert hub.asked == []
    ran.refused(3, "org/model", "weights", "hf download org/model")
