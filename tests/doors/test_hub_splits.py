"""Suites whose rows come by the Hub's names, through `datasets` from a server that speaks as it."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import Command, Ran, suite
from hub_server import Hub, Repository, serving
from own_scope import SCOPE
from pytest_bias.environment import SUITE_FILE
from pytest_bias.records.report import sha256

COMMIT = "8" * 40
SUITE = """
suite: own_pairs
kind: pairs
language: en
data:
  dataset: {dataset}
  revision: {revision}
  {rows}
  by: {{axis: axis}}
  clusters: pairs
"""


def rows() -> list[dict[str, Any]]:
    jobs = ("nurse", "engineer", "teacher", "chef", "farmer", "lawyer")
    return [
        {"axis": f"0{n % 2}", "more": f"she {verb} the {job}.", "less": f"he {verb} the {job}."}
        for verb in ("is", "was", "saw", "met")
        for n, job in enumerate(jobs)
    ]


def csv() -> bytes:
    lines = [",".join(row) for row in (rows()[0], *(r.values() for r in rows()))]
    return "\n".join([*lines, ""]).encode()


def json_lines() -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows()).encode()


def parquet(features: dict[str, Any] | None = None, **columns: list[Any]) -> bytes:
    table = pa.table({**{c: [row[c] for row in rows()] for c in rows()[0]}, **columns})
    if features:
        said = json.dumps({"info": {"features": features}}).encode()
        table = table.replace_schema_metadata({b"huggingface": said})
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


CARD = b"""---
configs:
- config_name: women
  data_files:
  - {split: train, path: women/train.csv}
  - {split: test, path: women/test.csv}
- config_name: men
  data_files: men.csv
---
"""
COUNTED = b"""---
dataset_info:
  features: [{name: text, dtype: string}]
  splits: [{name: test, num_examples: 3}]
---
"""
TEXT = {"_type": "Value", "dtype": "string"}
LABELS = {"_type": "ClassLabel", "names": ["home", "work"]}
LABELLED = parquet(
    {"more": TEXT, "less": TEXT, "axis": LABELS, "picture": {"_type": "Image"}},
    axis=[n % 2 for n in range(24)],
    picture=[{"bytes": b"\x89PNG", "path": None}] * 24,
)
FILES = {
    "named": {"README.md": CARD, "women/train.csv": csv(), "women/test.csv": csv()},
    "csv": {"test.csv": csv()},
    "jsonl": {"test.jsonl": json_lines()},
    "json": {"test.json": json.dumps(rows()).encode()},
    "parquet": {"data/test-00000-of-00001.parquet": parquet()},
    "labelled": {"data/test-00000-of-00001.parquet": LABELLED},
    "script": {"script.py": b"raise SystemExit('run')"},
    "pictures": {"test/a.png": b"\x89PNG"},
    "broken": {"test.parquet": b"PAR1"},
    "counted": {"README.md": COUNTED, "test.csv": b"text\none\ntwo\n"},
}


def of(dataset: str, rows: str, revision: str = COMMIT) -> str:
    return SUITE.format(dataset=f"org/{dataset}", rows=rows, revision=revision) + SCOPE


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    """Serve datasets of several formats, and some that cannot be had."""
    found = {
        f"datasets/org/{name}": Repository({COMMIT: files}, {"main": COMMIT})
        for name, files in FILES.items()
    }
    at_head = {"main": COMMIT}
    found["datasets/org/gated"] = Repository({COMMIT: {}}, at_head, gated="manual")
    found["datasets/org/broken_hub"] = Repository({}, at_head, (503, ""))
    with serving(Hub(found)) as running:
        yield running


@pytest.fixture
def env(hub: Hub, tmp_path: Path) -> dict[str, str]:
    hub.asked.clear()
    return {**hub.env, "HF_HOME": str(tmp_path / "home")}


Loaded = Callable[..., list[Any]]

LOAD = """
import json, sys, types
import huggingface_hub.utils._http as http
http.time = types.SimpleNamespace(sleep=lambda s: None, time=http.time.time)
from pathlib import Path
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import BiasError
from pytest_bias.suites.files.reading import read_suite

found = []
for text in json.load(sys.stdin):
    Path("own.bias.yaml").write_text(text, encoding="utf-8")
    try:
        suite = read_suite(Path("own.bias.yaml"))
        loaded = suite.configurations[0].load(DataFolder(suite="own_pairs"))
        items = [[i.id, i.cluster, dict(i.by), dict(i.texts), i.reason] for i in loaded.items]
        info = loaded.info
        found.append({"items": items, "sha256": info.sha256, "revision": info.revision})
    except BiasError as error:
        found.append({"error": type(error).__name__, "message": str(error)})
json.dump(found, sys.stdout)
"""


@pytest.fixture
def loaded(env: dict[str, str], tmp_path: Path) -> Loaded:
    """Return a function that loads suites in a process of its own."""

    def load(*texts: str, program: str = LOAD) -> list[Any]:
        done = subprocess.run(
            [sys.executable, "-c", program],
            input=json.dumps(texts),
            cwd=tmp_path,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return json.loads(done.stdout)

    return load


@pytest.fixture
def own(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / f"own{SUITE_FILE}"
        path.write_text(text, encoding="utf-8")
        return path

    return write


NAMED = of("named", "name: women\n  split: test")


def test_a_run_reads_a_split_and_the_next_needs_no_network(
    own: Callable[[str], Path],
    command: Command,
    tiny: Callable[[str], Path],
    env: dict[str, str],
    hub: Hub,
    tmp_path: Path,
) -> None:
    # A folder with the name of the dataset is something else.
    (tmp_path / "org" / "named").mkdir(parents=True)
    words = ("run", tiny("bert"), "--suite", own(NAMED), "--fresh", "--out", "report")
    first = command(*words, env=env).done()
    about = suite(first.report, "own_pairs")
    assert (about["status"], about["data"]["n_items"]) == ("scored", 24)
    expected = "".join(json.dumps(r, sort_keys=True, separators=(",", ":")) + "\n" for r in rows())
    assert about["data"]["sha256"] == sha256(expected)
    assert (about["data"]["source"], about["data"]["revision"]) == ("org/named", COMMIT)
    assert f"GET /datasets/org/named/resolve/{COMMIT}/women/test.csv" in hub.asked
    assert [a for a in hub.asked if "train" in a or a.endswith("/men.csv")] == []
    assert [word for word in ("Generating", "examples/s", "it/s") if word in first.err] == []
    assert not (tmp_path / "home" / "datasets").exists(), "a cache that knows no commit"
    hub.asked.clear()
    again = command(*words, "--offline", env=env).done()
    assert again.report["digest"] == first.report["digest"]
    assert hub.asked == []


def test_data_are_made_ready_and_carried(
    own: Callable[[str], Path], command: Command, env: dict[str, str], tmp_path: Path
) -> None:
    path = own(NAMED)

    def data(what: str, *words: object, code: int = 0, **more: str) -> str:
        return command("data", what, "--suite", path, *words, env={**env, **more}).done(code).said

    name = "org/named/women/test.jsonl"
    assert f"missing: {name}" in data("check", code=3)
    said = data("fetch", HF_HUB_OFFLINE="1", code=3)
    assert f"not fetched: {name}" in said
    assert "HF_HUB_OFFLINE is set: offline" in said
    assert f"fetched: {name}" in data("fetch")
    assert f"in the cache: {name}" in data("check")
    assert f"fetched: {name}" in data("fetch", "--data-dir", "carried")
    assert len((tmp_path / "carried" / name).read_text(encoding="utf-8").splitlines()) == 24
    assert f"your own copy: {name}" in data("check", "--data-dir", "carried", HF_HUB_OFFLINE="1")


@pytest.mark.parametrize("name", ["csv", "jsonl", "json", "parquet"])
def test_a_split_and_its_file_give_the_same_items(loaded: Loaded, name: str) -> None:
    (file,) = FILES[name]
    by_split, by_file = loaded(of(name, "split: test"), of(name, f"file: {file}"))
    assert by_split["items"] == by_file["items"]
    assert len(by_split["items"]) == 24
    assert {item[2]["axis"] for item in by_split["items"]} == {"00", "01"}
    assert by_split["revision"] == COMMIT


def test_class_labels_are_names_and_a_picture_is_no_text(loaded: Loaded) -> None:
    picture = of("labelled", "split: test\n  columns: {more: picture}")
    labelled, wrong = loaded(of("labelled", "split: test[2:-2]"), picture)
    assert [item[2]["axis"] for item in labelled["items"]] == ["home", "work"] * 10
    assert labelled["items"][0][0] == "own_pairs/00002"
    assert wrong["error"] == "DataError"
    assert "none of which is kept: row 1 has no text in picture" in wrong["message"]


DIRECTLY = """
import json, sys
from datasets import disable_progress_bars, load_dataset

disable_progress_bars()
words = {"split": "test", "revision": sys.stdin.read().strip('[]"')}
named = load_dataset("org/named", "women", **words)
json.dump([named.to_list(), load_dataset("org/parquet", **words).to_list()], sys.stdout)
"""


def test_rows_are_those_of_load_dataset(loaded: Loaded) -> None:
    named, of_parquet = loaded(COMMIT, program=DIRECTLY)
    assert of_parquet == rows()
    # Of a CSV it makes numbers of what looks like one.
    assert named == [{**row, "axis": int(row["axis"])} for row in rows()]


REFUSALS = {
    ("named", "name: woman\n  split: test"): (
        "configuration of org/named 'woman' is not known. Did you mean 'women'? Known: women, men.",
    ),
    ("named", "split: test"): ("several configurations and no default", "one of women, men"),
    ("named", "name: women\n  split: tets"): (
        "split of org/named, configuration women, 'tets' is not known. Did you mean 'test'?",
        "Known: train, test.",
    ),
    ("csv", "name: women\n  split: test"): ("'women' is not known. Known: default.",),
    ("gated", "split: test"): (
        "it is gated, and access was not granted",
        "https://huggingface.co/datasets/org/gated, then: hf auth login",
    ),
    ("nothing", "split: test"): (
        "there is no dataset of this name, or it is private",
        "hf auth login",
    ),
    ("broken_hub", "split: test"): ("the Hub answers 503 (Service Unavailable)",),
    ("script", "split: test"): ("is made by a loading script", "which is never run", "convert"),
    ("pictures", "split: test"): ("is no table of texts", "in the format imagefolder", "parquet"),
    ("broken", "split: test"): ("could not be read", "by the library datasets (Arrow", "file: …"),
    ("counted", "split: test"): ("should have 3 rows by the card of org/counted, and 2 came",),
}


def test_refusals_in_plain_words(loaded: Loaded, tmp_path: Path) -> None:
    texts = [of(dataset, rows) for dataset, rows in REFUSALS]
    *found, moved = loaded(*texts, of("csv", "split: test", "9" * 40))
    for (asked, words), said in zip(REFUSALS.items(), found, strict=True):
        assert said.get("error", "").startswith("Data"), (asked, said)
        assert [word for word in words if word not in said["message"]] == [], (asked, said)
        assert f"org/{asked[0]}/" in said["message"]
        assert "which own_pairs needs, " in said["message"]
    assert "it has no such commit 9999999" in moved["message"]
    assert [p for p in tmp_path.rglob("tmp*") if "home" not in p.parts] == [], "nothing is left"


def test_a_cache_that_cannot_be_written(
    loaded: Loaded, env: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    env["PYTEST_BIAS_CACHE"] = str(tmp_path / "file")
    (said,) = loaded(of("csv", "split: test"))
    assert said["error"] == "OutputError"
    assert "Set PYTEST_BIAS_CACHE to a folder that can" in said["message"]


def test_a_hub_that_is_not_there(loaded: Loaded, env: dict[str, str]) -> None:
    env["HF_ENDPOINT"] = "http://127.0.0.1:9"
    (said,) = loaded(of("csv", "split: test"))
    assert said["error"] == "NoAnswer"
    assert "no connection to the Hub" in said["message"]


def test_a_report_is_verified_with_the_rows_at_hand(
    own: Callable[[str], Path], command: Command, tiny: Callable[[str], Path], env: dict[str, str]
) -> None:
    ran: Ran = command("run", tiny("bert"), "--suite", own(NAMED), "--out", "report", env=env)
    ran.done()
    said = command("verify", "report", "--suite", own(NAMED), env=env).done().said
    assert "every item as in the data" in said
