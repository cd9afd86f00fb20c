"""Files of datasets on the Hub, fetched by the Hub's own client from a server that speaks as it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hub_server import Hub, Repository, serving
from pytest_bias.records.report import sha256

COMMIT = "3" * 40
SMALL, LARGE = b'{"prompt": {"text": "one"}}\n', b"PAR1" * 5000

ASK = """
import json, sys, types
import huggingface_hub.utils._http as http
http.time = types.SimpleNamespace(sleep=lambda s: None, time=http.time.time)
from pytest_bias.data.sources import DataFile, DataFolder, HubFile
from pytest_bias.errors import BiasError

given = json.load(sys.stdin)
folder = DataFolder(offline=given["offline"], suite="realtoxicityprompts")
found = []
for repository, revision, path, digest in given["files"]:
    file = DataFile(f"rtp/{path}", None, digest, HubFile(repository, revision, path))
    try:
        got = folder.find(file)
        found.append([got.sha256, len(got.content), got.local, folder.state(file)])
    except BiasError as error:
        found.append([type(error).__name__, error.message, error.hint, folder.state(file)])
json.dump(found, sys.stdout)
"""
"""A program that looks for files without waiting between two attempts."""

Ask = Callable[..., list[list[Any]]]


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    """Serve a dataset, and some that cannot be had."""
    files = {"prompts.jsonl": SMALL, "data/test.parquet": LARGE, "data/dev.parquet": LARGE[4:]}
    repositories = {
        "org/data": Repository({COMMIT: files}, {}),
        "org/gated": Repository({}, {}, (403, "GatedRepo")),
        "org/forbidden": Repository({}, {}, (403, "")),
        "org/private": Repository({COMMIT: files}, {}, (401, "RepoNotFound"), token="hf_key"),
        "org/busy": Repository({}, {}, (429, ""), {"Retry-After": "90"}),
        "org/broken": Repository({}, {}, (503, "")),
    }
    with serving(Hub({f"datasets/{k}": v for k, v in repositories.items()})) as found:
        yield found


@pytest.fixture
def ask(hub: Hub, tmp_path: Path) -> Ask:
    """Return a function that looks for files in a process of its own."""

    def run(*files: tuple[object, ...], offline: bool = False, **env: str) -> list[list[Any]]:
        surroundings = {**os.environ, **hub.env, "HF_HOME": str(tmp_path / "home"), **env}
        done = subprocess.run(
            [sys.executable, "-c", ASK],
            input=json.dumps({"files": files, "offline": offline}),
            env=surroundings,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def kept(tmp_path: Path, path: str) -> Path:
    (found,) = (tmp_path / "home").rglob(f"snapshots/{COMMIT}/{path}")
    return found


def at(path: str, digest: str | None = None, *, of: str = "org/data") -> tuple[object, ...]:
    return (of, COMMIT, path, digest)


def test_files_are_fetched_once_and_serve_offline(hub: Hub, ask: Ask, tmp_path: Path) -> None:
    files = (at("prompts.jsonl"), at("data/test.parquet", sha256(LARGE)))
    expected = [
        [sha256(SMALL), len(SMALL), False, "cached"],
        [sha256(LARGE), len(LARGE), False, "cached"],
    ]
    hub.asked.clear()
    assert ask(*files) == expected
    address = f"/datasets/org/data/resolve/{COMMIT}/prompts.jsonl"
    assert f"GET {address}" in hub.asked
    hub.asked.clear()
    assert ask(*files) == expected
    assert ask(*files, offline=True) == expected
    assert ask(*files, HF_HUB_OFFLINE="1") == expected
    assert hub.asked == []


def test_damaged_copies_are_replaced_with_and_without_a_sum(ask: Ask, tmp_path: Path) -> None:
    contents = {"prompts.jsonl": SMALL, "data/test.parquet": LARGE, "data/dev.parquet": LARGE[4:]}
    files = [at(path) for path in contents]
    files[2] = at("data/dev.parquet", sha256(LARGE[4:]))
    good = [[sha256(c), len(c), False, "cached"] for c in contents.values()]
    assert ask(*files) == good
    for path, content in contents.items():
        kept(tmp_path, path).write_bytes(content[:10])
    for kind, message, _, state in ask(*files, offline=True):
        assert (kind, state) == ("DataMissing", "damaged")
        assert "the cache of the Hub's client, where a damaged copy stands" in message
    assert ask(*files) == good
    assert [kept(tmp_path, p).read_bytes() for p in contents] == list(contents.values())


def test_a_token_opens_what_is_private(ask: Ask) -> None:
    ((digest, *_),) = ask(at("prompts.jsonl", of="org/private"), HF_TOKEN="hf_key")
    assert digest == sha256(SMALL)


def test_bytes_that_are_not_the_pinned_ones_are_refused(ask: Ask) -> None:
    ((kind, message, _, state),) = ask(at("prompts.jsonl", "0" * 64))
    assert (kind, state) == ("DataError", "damaged")
    assert "rtp/prompts.jsonl, which realtoxicityprompts needs, was refused" in message
    assert f"its SHA-256 is {sha256(SMALL)}, not {'0' * 64}." in message


REFUSALS = {
    "org/gated": ("it is gated", "https://huggingface.co/datasets/org/gated", "hf auth login"),
    "org/forbidden": ("the Hub answers 403 (Forbidden)", "hf auth login", "HF_TOKEN"),
    "org/private": ("there is no dataset of this name, or it is private", "hf auth login"),
    "org/nothing": ("there is no dataset of this name, or it is private", "--data-dir"),
    "org/busy": ("429 (Too Many Requests) and asks to wait 90 s", "Later: hf download org/busy"),
    "org/broken": ("the Hub answers 503 (Service Unavailable)", "Later: hf download org/broken"),
}


def test_refusals_in_plain_words(ask: Ask) -> None:
    found = ask(*(at("prompts.jsonl", of=name) for name in REFUSALS))
    for (name, words), (kind, message, hint, state) in zip(REFUSALS.items(), found, strict=True):
        assert (kind, state) == ("DataMissing", "missing"), name
        assert message.startswith(
            "rtp/prompts.jsonl, which realtoxicityprompts needs, could not be fetched from the "
            f"Hub's dataset {name}: "
        )
        assert [w for w in words if w not in f"{message} {hint}"] == []


def test_what_a_dataset_does_not_have(ask: Ask) -> None:
    no_file, no_commit = ask(at("nothing.jsonl"), ("org/data", "4" * 40, "prompts.jsonl", None))
    assert no_file[0] == no_commit[0] == "DataMissing"
    assert f"it has no nothing.jsonl at {COMMIT}" in no_file[1]
    assert f"it has no such commit {'4' * 40}" in no_commit[1]
    assert "--data-dir" in no_file[2]


def test_offline_without_a_copy(hub: Hub, ask: Ask) -> None:
    hub.asked.clear()
    ((kind, message, hint, state),) = ask(at("prompts.jsonl"), offline=True)
    assert (kind, state, hub.asked) == ("DataMissing", "missing", [])
    assert "is not in the cache of the Hub's client, and this run is offline" in message
    assert "pytest-bias data fetch --suite realtoxicityprompts" in hint
    assert f"https://huggingface.co/datasets/org/data/blob/{COMMIT}/prompts.jsonl" in hint


def test_a_hub_that_is_not_there_is_asked_once(ask: Ask) -> None:
    first, second = ask(at("prompts.jsonl"), at("other"), HF_ENDPOINT="http://127.0.0.1:9")
    assert first[0] == "NoAnswer"
    assert "no connection to the Hub (ConnectError: [Errno 111] Connection refused)" in first[1]
    assert f"hf download org/data prompts.jsonl --repo-type dataset --revision {COMMIT}" in first[2]
    assert second[0] == "DataMissing"
    assert "the Hub was silent before" in second[1]


def test_a_cache_that_cannot_be_written(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    ((kind, message, hint, _),) = ask(at("prompts.jsonl"), HF_HOME=str(tmp_path / "file"))
    assert kind == "OutputError"
    assert "the cache of the Hub's client cannot be written" in message
    assert "HF_HOME" in hint
