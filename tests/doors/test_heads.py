"""What a Hub model is now: known from its listing, the same as a run finds in its files."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModelForMaskedLM

import tiny_models
from commands import environment, finish, start
from hub_server import Hub, Repository, serving

SHA = "1" * 40
WEIGHTS = "model.safetensors"

LOOK = """
import json, sys
heavy = {"torch", "transformers"} - set(sys.modules)
from dataclasses import asdict
from pytest_bias.errors import BiasError
from pytest_bias.models.fingerprint import fingerprint
from pytest_bias.models.reference import ModelRef

found = {}
for text in sys.argv[2:]:
    try:
        found[text] = asdict(fingerprint(ModelRef.parse(text), offline=sys.argv[1] == "offline"))
    except BiasError as error:
        found[text] = f"{type(error).__name__}: {error}"
assert not heavy & set(sys.modules)
print(json.dumps(found))
"""

LOAD = """
import json, sys
from dataclasses import asdict
from pytest_bias.models import describe, load

print(json.dumps({text: asdict(load(describe(text)).identity) for text in sys.argv[1:]}))
"""


@dataclass(frozen=True)
class Client:
    """A process that asks a Hub, with a cache of its own."""

    hub: Hub
    folder: Path

    def look(self, *names: str, how: str = "online", **env: str) -> dict[str, Any]:
        return self._python(LOOK, how, *names, **env)

    def load(self, *names: str) -> dict[str, Any]:
        """Return what is known of models when they are loaded."""
        return self._python(LOAD, *names)

    def _python(self, code: str, *words: str, **env: str) -> dict[str, Any]:
        ran = subprocess.run(
            [sys.executable, "-c", code, *words],
            env=environment({**self.env, **env}),
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    @property
    def env(self) -> dict[str, str]:
        return {**self.hub.env, "HF_HOME": str(self.folder / "home"), "HF_TOKEN": "reader"}

    def measured(self, name: str, *words: str) -> Mapping[str, Any]:
        """Return what a run writes of a model."""
        folder = self.folder / "run"
        words = ("run", name, "--suite", "structure", "--fresh", "--out", "out", *words)
        folder.mkdir(exist_ok=True)
        ran = finish(start(*words, folder=folder, env=self.env), folder)
        return ran.done(0).report["model"]


def read_all(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


@pytest.fixture(scope="module")
def client(
    tiny: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    """Return a client of a Hub with models whose weights lie in one file, in shards, in git."""
    folder = tmp_path_factory.mktemp("heads")
    one = read_all(tiny("bert"))
    shards = Path(shutil.copytree(tiny("bert"), folder / "shards"))
    (shards / WEIGHTS).unlink()
    network = AutoModelForMaskedLM.from_pretrained(tiny("bert"))
    network.save_pretrained(shards, max_shard_size="50KB")
    other = read_all(tiny_models.bert(folder / "other", seed=1))
    config = json.loads(one["config.json"])
    config["auto_map"] = {"AutoModelForMaskedLM": "modeling_own.Own"}
    chat = {
        "chat_template.jinja": b"{{ messages }}",
        "additional_chat_templates/tool_use.jinja": b"tools",
        "modeling_own.py": b"raise RuntimeError",
        "parts/layers.py": b"",
        "config.json": json.dumps(config).encode(),
        "bias/current.json": b"{}",
        "README.md": b"# A model",
    }
    # Weights of a name that is no large file's here.
    index = {"weight_map": {"a": "part.weights"}}
    in_git = {k: v for k, v in one.items() if k != WEIGHTS} | {
        f"{WEIGHTS}.index.json": json.dumps(index).encode(),
        "part.weights": b"numbers",
    }
    bare = {k: v for k, v in one.items() if k != WEIGHTS}
    named = {"main": SHA, "v1": "2" * 40}
    hub = Hub(
        {
            "org/one": Repository({SHA: one, "2" * 40: other}, named),
            "org/shards": Repository({SHA: read_all(shards)}, named, private=True),
            "org/code": Repository({SHA: one | chat}, named, gated="auto"),
            "org/in-git": Repository({SHA: in_git}, named),
            "org/bare": Repository({SHA: bare}, named),
            "org/gated": Repository({}, {}, (403, "GatedRepo")),
        },
        tokens={"reader": "read"},
    )
    with serving(hub):
        yield Client(hub, folder)


def weights_asked(hub: Hub) -> list[str]:
    return [a for a in hub.asked if a.startswith("GET") and a.endswith(".safetensors")]


@pytest.mark.nightly
def test_it_is_what_a_run_finds(client: Client) -> None:
    names = ("org/one", "org/one@v1", "org/shards", "org/code")
    client.hub.asked.clear()
    found = client.look(*names)
    assert weights_asked(client.hub) == []
    assert not [a for a in client.hub.asked if "/bias/" in a]
    loaded = client.load(*names)
    assert client.measured("org/shards").items() >= loaded["org/shards"].items()
    for name in names:
        model = loaded[name]
        digests = {k for k in model if k.endswith("_sha256")}
        assert {"weights_sha256", "code_sha256", "chat_template_sha256"} < digests
        for key in (*digests, "revision", "adapter"):
            assert found[name][key] == model[key], (name, key)
    assert found["org/one@v1"]["weights_sha256"] != found["org/one"]["weights_sha256"]
    assert all(found["org/code"][k] for k in ("code_sha256", "chat_template_sha256"))
    public = {name: (found[name]["private"], found[name]["gated"]) for name in names[1:]}
    assert public == {
        "org/one@v1": (False, False),
        "org/shards": (True, False),
        "org/code": (False, True),
    }
    # And of what is in the cache now.
    offline = client.look(*names, how="offline")
    for name in names:
        for key in (*digests, "revision", "adapter"):
            assert offline[name][key] == found[name][key], (name, key)


def test_files_are_known_by_the_digests_of_the_listing(client: Client) -> None:
    files = client.look("org/code")["org/code"]["files"]
    content = client.hub.repositories["org/code"].commits[SHA]
    assert set(files) == set(content)
    folder = client.folder / "git"
    folder.mkdir()
    for name, text in content.items():
        (folder / "file").write_bytes(text)
        command = ["sha256sum", "file"] if name == WEIGHTS else ["git", "hash-object", "file"]
        out = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        kind = "sha256" if name == WEIGHTS else "git"
        assert files[name] == f"{kind}:{out.stdout.split()[0]}"


def test_small_weights_in_git_are_read(client: Client) -> None:
    from hashlib import sha256

    client.hub.asked.clear()
    found = client.look("org/in-git")["org/in-git"]
    assert found["weights_sha256"] == sha256(b"numbers").hexdigest()
    assert found["files"]["part.weights"].startswith("git:")
    assert any("part.weights" in a for a in client.hub.asked if a.startswith("GET"))


def test_what_is_not_known(client: Client) -> None:
    found = client.look("org/one", "org/gone", "org/gated", "org/bare", "org/one@v9")
    assert "weights_sha256" in found["org/one"]
    for name, words in {
        "org/gone": "ModelError: there is no model 'org/gone' on the Hub",
        "org/gated": "ModelError: org/gated is gated",
        "org/bare": "ModelError: org/bare has no weights",
        "org/one@v9": "ModelError: org/one has no revision 'v9'",
    }.items():
        assert found[name].startswith(words)
    # What it is called may be known where its files are not open.
    (hidden,) = client.look("org/code", HF_TOKEN="", HF_HOME=f"{client.folder}/other").values()
    assert hidden.startswith("ModelError: org/code is gated.")
    assert "hf auth login" in hidden
    # The cache has it, but not what it is now.
    lost = client.look("org/one", HF_ENDPOINT="http://127.0.0.1:9")
    assert lost["org/one"].startswith("HubNotReached: the Hub could not be asked about org/one")
