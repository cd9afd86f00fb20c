"""The lock of a model that others publish: whole commands against a Hub on this machine."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

import pytest_bias
from commands import Ran, environment, finish, read, start
from hub_server import Hub, Repository, serving
from pytest_bias.reports.publication_layout import CURRENT, CURRENT_SCHEMA, digest12
from pytest_bias.runs.finishing import run_job
from pytest_bias.settings.settings import Settings

pytestmark = pytest.mark.all_draws

DEMOS = Path(pytest_bias.__file__).parent / "models" / "demo"
SHA = {n: str(n) * 40 for n in range(1, 8)}
SUITE = ("--suite", "template_association")
FILE = "pytest-bias.lock"

Files = dict[str, bytes]


def files_of(demo: str) -> Files:
    found = {p.name: p.read_bytes() for p in (DEMOS / demo).iterdir() if p.is_file()}
    return found | {"README.md": b"---\nlanguage: en\n---\n# A model\n"}


PLANTED, NEUTRAL = files_of("planted"), files_of("neutral")


class Consumer:
    """Somebody who uses a model of the Hub, and the one who publishes it."""

    def __init__(self, hub: Hub, folder: Path) -> None:
        self.hub, self.folder = hub, folder
        self.env = {**hub.env, "HF_HOME": str(folder / "home")}

    def __call__(self, *words: str, **env: str) -> Ran:
        process = start(*words, folder=self.folder, env={**self.env, **env})
        return finish(process, self.folder)

    def push(self, files: Files, name: str = "org/model", branch: str = "main") -> str:
        """Publish other files, which become the head of a branch; returns the commit."""
        repository = self.hub.repositories.setdefault(name, Repository({}, {}))
        sha = SHA[len(repository.commits) + 1]
        repository.commits[sha] = files
        repository.names[branch] = sha
        return sha

    @property
    def file(self) -> dict[str, Any]:
        """The lock file."""
        return yaml.safe_load((self.folder / FILE).read_text(encoding="utf-8"))

    @property
    def models(self) -> dict[str, Any]:
        """What is locked, by name."""
        return self.file["models"]

    def weights_fetched(self) -> list[str]:
        """Return what was downloaded of weights."""
        return [a for a in self.hub.asked if a.startswith("GET") and a.endswith(".safetensors")]


@pytest.fixture
def consumer(tmp_path: Path) -> Iterator[Consumer]:
    """Return a consumer of a Hub that has one model."""
    with serving(Hub()) as hub:
        found = Consumer(hub, tmp_path)
        found.push(PLANTED)
        yield found


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Return the folders of reports of the two versions, as their publisher measured them."""
    folder = tmp_path_factory.mktemp("reports")
    for name, demo in {"planted": "demo", "neutral": "demo-neutral"}.items():
        settings = Settings(model=demo, suites=SUITE[1:], out=folder / name)
        run_job(settings, Console(file=StringIO()))
    return {name: folder / name for name in ("planted", "neutral")}


def published(folder: Path) -> Files:
    """Return the files of a repository that publish a report."""
    digest = read(folder / "report.json")["digest"]
    paths = [folder / "report.json", *folder.glob("records/*")]
    root = f"bias/{digest12(digest)}"
    found = {f"{root}/{p.relative_to(folder).as_posix()}": p.read_bytes() for p in paths}
    pointer = {"schema": CURRENT_SCHEMA, "report": digest}
    return found | {CURRENT: json.dumps(pointer).encode()}


# Locked, and still the same


def test_what_is_locked(consumer: Consumer, reports: Mapping[str, Path]) -> None:
    said = consumer("lock", "org/model").done(0).out
    assert f"org/model locked at {SHA[1][:12]} in {FILE}" in said
    assert "No report is published with it." in said
    assert "No scores are locked; --run measures it." in said
    assert consumer.file["schema"] == "pytest-bias/lock/1"
    entry = consumer.models["org/model"]
    assert entry["report"] is None
    head = consumer.push(PLANTED | published(reports["planted"]))
    said = consumer("lock", "org/model").done(0).out
    assert f"before: {SHA[1][:12]}" in said
    assert "the same model" in said
    assert "0.19 nats  0.12 – 0.28    830" in said
    assert consumer.weights_fetched() == []
    entry = consumer.models["org/model"]
    assert entry["revision"] == head
    assert set(entry["files"]) == set(consumer.hub.repositories["org/model"].head)
    measured = read(reports["planted"] / "report.json")
    for key in ("weights_sha256", "config_sha256", "tokenizer_sha256", "code_sha256"):
        assert entry[key] == measured["model"][key]
    report = entry["report"]
    assert (report["digest"], report["source"]) == (measured["digest"], "published")
    assert (report["suites"], report["languages"]) == (["template_association"], ["en"])
    (score,) = (s for s in measured["suites"][1]["scores"] if s["headline"])
    assert report["scores"] == {
        "template_association[en]": {
            k: score[k] for k in ("metric", "value", "unit", "ideal", "n", "interval")
        }
    }
    text = (consumer.folder / FILE).read_text(encoding="utf-8")
    assert text.startswith("# ")
    # Written again, it is the same file.
    consumer("lock", "org/model").done(0)
    assert (consumer.folder / FILE).read_text(encoding="utf-8") == text


def test_nothing_moved_or_only_what_speaks_of_it(
    consumer: Consumer, reports: Mapping[str, Path]
) -> None:
    consumer("lock", "org/model").done(0)
    text = (consumer.folder / FILE).read_bytes()
    said = consumer("lock", "--check").done(0).out
    assert f"org/model  unchanged  {SHA[1][:12]}, locked " in said
    # Publishing does not make another model of it.
    consumer.push(PLANTED | {"README.md": b"# New"} | published(reports["planted"]))
    said = consumer("lock", "--check").done(0).out
    assert f"org/model  moved  {SHA[1][:12]} → {SHA[2][:12]}" in said
    assert "the same model" in said
    assert "changed: README.md" in said
    assert "added: 4 files below bias/" in said
    assert "no digest" not in said
    assert "0.19 nats  0.12 – 0.28    830" in said
    consumer.push(PLANTED | {"1_Pooling/config.json": b"{}"})
    said = consumer("lock", "--check", "org/model", "--run").done(0).out
    assert "files differ that no digest of the model covers" in said
    assert "added: 1_Pooling/config.json" in said
    assert "nothing to measure: it is the same model" in said
    assert consumer.weights_fetched() == []
    # A check writes nothing.
    assert (consumer.folder / FILE).read_bytes() == text


def with_config(**more: object) -> Files:
    plain = json.loads(PLANTED["config.json"]) | more
    return {"config.json": json.dumps(plain).encode()}


CHANGES: Mapping[str, tuple[Files, str]] = {
    "weights": ({"model.safetensors": NEUTRAL["model.safetensors"]}, "model.safetensors"),
    "configuration": (with_config(layer_norm_eps=1e-3), "config.json"),
    "tokenizer": ({"tokenizer.json": PLANTED["tokenizer.json"] + b"\n"}, "tokenizer.json"),
    "chat template": ({"chat_template.jinja": b"{{ messages }}"}, "chat_template.jinja"),
    "remote code": ({"custom_generate/generate.py": b"x = 1"}, "custom_generate/generate.py"),
}


@pytest.mark.nightly
def test_what_makes_it_another_model(consumer: Consumer) -> None:
    consumer("lock", "org/model").done(0)
    for what, (files, name) in CHANGES.items():
        head = consumer.push(PLANTED | files)
        said = consumer("lock", "--check").done(1).out
        assert f"org/model  changed  {SHA[1][:12]} → {head[:12]}" in said
        assert f"another model: {what} changed\n" in said
        assert f"{'changed' if name in PLANTED else 'added'}: {name}\n" in said
    # Locked anew it is the same again.
    assert f"{what} changed" in consumer("lock", "org/model").done(0).out
    consumer("lock", "--check").done(0)


@pytest.mark.nightly
@pytest.mark.cold
def test_no_weights_and_no_torch(consumer: Consumer) -> None:
    code = "import sys; from pytest_bias.cli import main; main()"
    last = "import atexit, sys; atexit.register(lambda: print('|', *sys.modules, file=sys.stderr))"
    for words in (("org/model",), ("--check",)):
        done = subprocess.run(
            [sys.executable, "-c", f"{last}\n{code}", "lock", *words],
            cwd=consumer.folder,
            env=environment(consumer.env),
            capture_output=True,
            text=True,
            check=True,
        )
        found = {m.split(".")[0] for m in done.stderr.rpartition("|")[2].split()}
        assert "huggingface_hub" in found
        assert found & {"torch", "transformers"} == set()
    assert consumer.weights_fetched() == []


@pytest.mark.slow
def test_what_cannot_be_known(consumer: Consumer) -> None:
    for name in ("org/closed", "org/gone"):
        consumer.push(PLANTED, name)
        consumer("lock", name).done(0)
    consumer("lock", "org/model").done(0)
    repositories = consumer.hub.repositories
    del repositories["org/gone"]
    repositories["org/closed"].gated = "auto"
    repositories["org/model"].commits[SHA[2]] = NEUTRAL
    repositories["org/model"].names["main"] = SHA[2]
    env = {"HF_HOME": str(consumer.folder / "new")}
    said = consumer("lock", "--check", **env).done(3).said
    assert "org/gone unknown there is no model 'org/gone' on the Hub" in said
    assert "org/closed unknown org/closed is gated." in said
    # The others are looked at nevertheless.
    assert "org/model changed" in said
    consumer("lock", "--check", "org/model", **env).done(1)
    said = consumer("lock", "--check", "org/model", HF_ENDPOINT="http://127.0.0.1:9").done(3).said
    assert "unknown the Hub could not be asked about org/model" in said
    consumer("lock", "--check", HF_HUB_OFFLINE="1").refused(3, "this run is offline")
    consumer("lock", "org/model", HF_HUB_OFFLINE="1").refused(3, "this run is offline")


@pytest.mark.nightly
def test_names_that_are_followed(consumer: Consumer) -> None:
    consumer.push(NEUTRAL, branch="v1")
    consumer("lock", "org/model@v1").done(0)
    consumer("lock", f"org/model@{SHA[1][:10]}").refused(3, "no revision")
    said = consumer("lock", f"org/model@{SHA[1]}").done(0).out
    assert "org/model locked" in said
    assert {n: m["revision"] for n, m in consumer.models.items()} == {
        "org/model": SHA[1],
        "org/model@v1": SHA[2],
    }
    consumer.push(NEUTRAL)
    said = consumer("lock", "--check").done(1).said
    # A commit never moves, so it is the default branch that is looked at.
    assert "org/model changed" in said
    assert "org/model@v1 unchanged" in said


@pytest.mark.nightly
def test_an_adapter_with_its_base(consumer: Consumer) -> None:
    config = {"peft_type": "LORA", "base_model_name_or_path": "org/model", "r": 2}
    adapter = {
        "adapter_config.json": json.dumps(config).encode(),
        "adapter_model.safetensors": b"numbers",
    }
    consumer.push(adapter, "org/adapter")
    said = consumer("lock", "org/adapter").done(0).out
    assert f"org/adapter locked at {SHA[1][:12]} + {SHA[1][:12]}" in said
    entry = consumer.models["org/adapter"]
    assert (entry["base"], entry["adapter"]["reference"]) == ("org/model", "org/adapter")
    assert set(entry["files"]) == set(PLANTED)
    assert set(entry["adapter_files"]) == set(adapter)
    consumer.push(
        adapter | {"adapter_config.json": json.dumps(config | {"revision": None}).encode()},
        "org/adapter",
    )
    assert "org/adapter  moved" in consumer("lock", "--check").done(0).out
    consumer.push(adapter | {"adapter_model.safetensors": b"others"}, "org/adapter")
    consumer.push(NEUTRAL)
    said = consumer("lock", "--check").done(1).out
    assert "another model: weights and weights of the adapter changed" in said
    assert "changed: model.safetensors and org/adapter: adapter_model.safetensors" in said
    # Who may read it is said when it is locked.
    consumer.hub.repositories["org/adapter"].gated = "manual"
    consumer.hub.tokens["reader"] = "read"
    said = consumer("lock", "org/model+org/adapter", HF_TOKEN="reader").done(0).out
    assert "It is gated: checking the lock requires a token." in said
    assert set(consumer.models) == {"org/adapter", "org/model+org/adapter"}


@pytest.mark.slow
def test_a_report_of_another_version_is_none_of_this_one(
    consumer: Consumer, reports: Mapping[str, Path]
) -> None:
    old, new = (published(reports[name]) for name in ("planted", "neutral"))
    consumer.push(NEUTRAL | old)
    said = consumer("lock", "org/model").done(0).out
    assert "is of another version: other weights." in said
    assert consumer.models["org/model"]["report"] is None
    broken = {CURRENT: b"{"}
    consumer.push(PLANTED | old | broken)
    said = consumer("lock", "org/model").done(0).out
    assert "The bias/current.json of org/model cannot be read" in said
    # Published after the commit that is locked: it is of the same weights.
    consumer.push(PLANTED | old)
    consumer("lock", f"org/model@{SHA[1]}").done(0)
    assert consumer.models["org/model"]["report"]["source"] == "published"
    # A new one stands beside the one that was locked.
    consumer.push(NEUTRAL | old | new)
    said = consumer("lock", "--check").done(1).out
    assert "0.19 nats  0.12 – 0.28    830  0.00 nats" in said


# Measured


@pytest.mark.slow
def test_scores_that_changed(consumer: Consumer) -> None:
    consumer("lock", "org/model", *SUITE).refused(2, "--suite", "--run")
    said = consumer("lock", "org/model", "--run", *SUITE).done(0).out
    assert "Report   bias-report/org-model-" in said
    assert "report " in said.rpartition("locked at")[2]
    report = consumer.models["org/model"]["report"]
    (folder,) = consumer.folder.glob("bias-report/*")
    assert (report["source"], report["digest"]) == (
        "measured",
        read(folder / "report.json")["digest"],
    )
    # Scores stay with a model that stays the same.
    consumer.push(PLANTED | {"README.md": b"# New"})
    consumer("lock", "org/model").done(0)
    assert consumer.models["org/model"]["report"] == report

    consumer.push(NEUTRAL)
    ran = consumer("lock", "--check", "--run", "--seed", "3").done(2)
    assert "not measured: --seed: the locked scores of org/model were measured" in ran.said
    ran = consumer("lock", "--check", "--run").done(1)
    assert f"Since org/model@{SHA[2][:7]}" in ran.out
    assert "Template association 0.19 nats 0.00 nats -0.19" in " ".join(ran.out.split())
    assert len(list(consumer.folder.glob("bias-report/*"))) == 3
    # Nothing is locked by a check.
    assert consumer.models["org/model"]["report"] == report


@pytest.mark.slow
def test_scores_that_changed_since_those_that_were_published(
    consumer: Consumer, reports: Mapping[str, Path]
) -> None:
    old, new = (published(reports[name]) for name in ("planted", "neutral"))
    consumer.push(PLANTED | old)
    consumer("lock", "org/model").done(0)
    # The earlier report is not the one that counts any more, and is still there.
    consumer.push(NEUTRAL | old | new)
    consumer.hub.asked.clear()
    ran = consumer("lock", "--check", "--run").done(1)
    # As the publisher called it.
    assert "Since demo " in ran.out
    assert "Measuring the baseline" not in ran.out
    assert len(consumer.weights_fetched()) == 1
    (folder,) = consumer.folder.glob("bias-report/*")
    settings = read(folder / "report.json")["settings"]
    assert settings["requested"] == ["template_association"]
    # A run that cannot measure is graver than a change.
    shutil.rmtree(consumer.folder / "bias-report")
    (consumer.folder / "bias-report").write_text("")
    consumer("lock", "--check", "--run").done(2)


# Refused


@pytest.mark.nightly
def test_what_cannot_be_locked(consumer: Consumer) -> None:
    consumer("lock", "demo").refused(2, "demo is bundled", "only models of the Hub")
    shutil.copytree(DEMOS / "planted", consumer.folder / "mine")
    consumer("lock", "mine").refused(2, "mine is a folder here")
    consumer("lock").refused(2, "no model was named", "lock --check")
    consumer("lock", "org/none").refused(3, "there is no model 'org/none'")
    consumer("lock", "--check").refused(2, f"there is no {FILE}")
    assert not (consumer.folder / FILE).exists()
    consumer("lock", "org/model", "--lock-file", "models.lock").done(0)
    consumer("lock", "--check", "org/modl", "--lock-file", "models.lock").refused(
        2, "models.lock: model 'org/modl' is not known. Did you mean 'org/model'?"
    )
    consumer("lock", "org/model", "--lock-file", "no/such/file").refused(2, "cannot be written")
    (consumer.folder / "models.lock").write_text("models: [")
    consumer("lock", "--check", "--lock-file", "models.lock").refused(2, "not well-formed")
    # What cannot be read is not written over.
    consumer("lock", "org/model", "--lock-file", "models.lock").refused(2, "not well-formed")
