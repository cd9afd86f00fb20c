"""On several GPUs: a run shared among them, and a model spread over them, give the same numbers."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import torch

import ours
import tiny_models
from gpu_numbers import SPLIT_NOISE, gap, numbers
from pytest_bias.models import load
from pytest_bias.records.report import Record, Report, records_digest
from pytest_bias.reports.folder import read_report

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs"),
]

ALONE = ("-p", "no:benchmark")
"""pytest-benchmark, where it is installed, warns of xdist, and this run's warnings are errors."""

SUITES = ("crows_pairs[en]", "template_association[en]", "seat[en]")


def command(folder: Path, *words: object) -> None:
    env = os.environ | {"HF_HUB_OFFLINE": "1", "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-m", *map(str, words)],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def asked(prefix: str, data: Path, *words: object) -> tuple[object, ...]:
    """Return options of the command, or with ``bias-`` before them those of the plugin."""
    suites = [w for name in SUITES for w in (f"--{prefix}suite", name)]
    return (*suites, f"--{prefix}data-dir", data, f"--{prefix}dtype", "float32", *words)


def largest(found: Iterable[Record], expected: Iterable[Record], suite: str) -> float:
    """Return the largest difference of numbers; outcomes are equal where noise cannot decide."""
    others = {r.item: r for r in expected}
    found = list(found)
    assert {r.item: r.status for r in found} == {i: r.status for i, r in others.items()}
    most = 0.0
    for record in found:
        other = others[record.item]
        for key, mine, theirs in numbers(record, other):
            if key == "value" and suite == "crows_pairs":
                margin = max(abs(gap(r)) for r in (record, other))
                assert mine == theirs or margin <= SPLIT_NOISE
            else:
                most = max(most, abs(mine - theirs))
    assert most < SPLIT_NOISE
    return most


@pytest.fixture(scope="module")
def one(bert_tiny: Path, data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Return the report of a run on one GPU."""
    folder = tmp_path_factory.mktemp("one")
    words = asked("", data_dir, "--device", "cuda:0", "--out", "one")
    command(folder, "pytest_bias", "run", bert_tiny, *words)
    return read_report(folder / "one")


def same(report: Report, one: Report, measured: Callable[..., None]) -> None:
    n = torch.cuda.device_count()
    name = torch.cuda.get_device_name(0)
    assert one.run["environment"]["device"] == name
    assert report.run["environment"]["device"] == f"{n} x {name}"
    assert [s.entry for s in report.suites] == [s.entry for s in one.suites]
    for suite, other in zip(report.suites, one.suites, strict=True):
        assert suite.status == other.status == "scored"
        if suite.kind != "structure":
            most = largest(suite.records, other.records, suite.name)
            measured(f"{suite.entry}, {n} GPUs against one", most, "")
            for score, theirs in zip(suite.scores, other.scores, strict=True):
                assert score.n == theirs.n
                assert score.value == pytest.approx(theirs.value, abs=score.tolerance)


def test_a_run_shared_among_all_gpus(
    one: Report, bert_tiny: Path, data_dir: Path, tmp_path: Path, measured: Callable[..., None]
) -> None:
    for name in ("two", "again"):
        words = asked("", data_dir, "--devices", "all", "--out", name)
        command(tmp_path, "pytest_bias", "run", bert_tiny, *words)
    report = read_report(tmp_path / "two")
    same(report, one, measured)
    assert report.digest == read_report(tmp_path / "again").digest
    devices = report.run["cost"]["devices"]
    assert [d["device"] for d in devices] == [f"cuda:{n}" for n in range(len(devices))]


def test_workers_take_a_gpu_each(
    one: Report, bert_tiny: Path, data_dir: Path, tmp_path: Path, measured: Callable[..., None]
) -> None:
    n = torch.cuda.device_count()
    words = asked("bias-", data_dir, "--bias-out", tmp_path / "two", "-p", "no:cacheprovider")
    suites = ("--pyargs", "bias_suites", "--bias-model", bert_tiny)
    command(tmp_path, "pytest", *ALONE, *suites, *words, "-n", n)
    same(read_report(tmp_path / "two"), one, measured)


FIXTURE = """
import pytest


@pytest.mark.parametrize("n", range(8))
def test_device(n, bias_model, worker_id):
    assert str(bias_model.model.body.device) == f"cuda:{worker_id.removeprefix('gw')}"
"""


def test_the_model_of_a_worker_lies_on_its_gpu(bert_tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "test_device.py").write_text(FIXTURE)
    command(tmp_path, "pytest", *ALONE, "test_device.py", "--bias-model", bert_tiny, "-n", 2)


@pytest.fixture
def deep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return a function from the name of a builder to a model of eight layers that can be split."""
    for name, value in {
        "hidden_size": 64,
        "num_hidden_layers": 8,
        "intermediate_size": 256,
    }.items():
        monkeypatch.setitem(tiny_models.SIZE, name, value)
    return lambda name: getattr(tiny_models, name)(tmp_path / name)


SPREAD = (
    ("bert", "crows_pairs"),
    ("bert", "seat"),
    ("roberta", "template_association"),
    ("llama", "crows_pairs"),
    ("llama", "gendered_pair_entropy"),
    ("encoder", "seat"),
)


@pytest.mark.parametrize("chunked_head", [False, True], ids=["whole", "chunks"])
@pytest.mark.parametrize(("name", "suite"), SPREAD)
def test_a_model_spread_over_two_gpus(
    name: str,
    suite: str,
    chunked_head: bool,
    deep: Callable[[str], Path],
    data_dir: Path,
    measured: Callable[..., None],
) -> None:
    items = ours.items(suite, "en", data_dir)[:200]
    folder = str(deep(name))
    plain = load(folder, device="cuda:0", dtype="float32")
    size = 4 * sum(p.numel() for p in plain.body.network.parameters())
    memory = {0: int(0.6 * size), 1: 2 * size}
    spread = load(folder, dtype="float32", device_map="auto", max_memory=memory)
    if chunked_head:
        spread.body.max_logits = 64 * spread.body.vocabulary
    assert set(spread.body.network.hf_device_map.values()) == {0, 1}
    assert list(spread.body.devices) == ["cuda:0", "cuda:1"]
    assert spread.notices == ()
    expected = ours.records(suite, plain, items)
    found = ours.records(suite, spread, items)
    measured(f"{name}, {suite} over two GPUs", largest(found, expected, suite), "")
    assert records_digest(found) == records_digest(ours.records(suite, spread, items))


def test_what_no_gpu_has_room_for_is_counted(
    deep: Callable[[str], Path], data_dir: Path, measured: Callable[..., None]
) -> None:
    items = ours.items("crows_pairs", "en", data_dir)[:100]
    folder = str(deep("llama"))
    plain = load(folder, device="cuda:0", dtype="float32")
    size = 4 * sum(p.numel() for p in plain.body.network.parameters())
    memory = {0: int(0.6 * size), "cpu": 4 * size}
    spread = load(folder, dtype="float32", device_map="auto", max_memory=memory)
    (said,) = spread.notices
    assert "lie in main memory" in said
    found = ours.records("crows_pairs", spread, items)
    most = largest(found, ours.records("crows_pairs", plain, items), "crows_pairs")
    measured("llama, partly in main memory", most, "")


def test_generation_of_a_spread_model(deep: Callable[[str], Path]) -> None:
    folder = str(deep("llama"))
    plain = load(folder, device="cuda:0", dtype="float32")
    size = 4 * sum(p.numel() for p in plain.body.network.parameters())
    memory = {0: int(0.6 * size), 1: 2 * size}
    spread = load(folder, dtype="float32", device_map="auto", max_memory=memory)
    prompts = ["The nurse said that", "My uncle is"]
    expected = plain.generate(prompts, max_new_tokens=8)
    assert spread.generate(prompts, max_new_tokens=8) == expected
