"""One run on several devices: here two processes on the CPU. The digest is that of a plain run."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import pytest_bias
from commands import Command, environment, finish, read, start, statuses

TWO = ("--devices", "cpu,cpu")
SUITES = ("--suite", "template_association", "--suite", "seat[en]")
LIMIT = "limits:\n  template_association.association: {max_distance: 0.1}\n"
DEMO = Path(pytest_bias.__file__).parent / "models" / "demo" / "planted"


def files(folder: Path) -> set[Path]:
    return {p.relative_to(folder) for p in folder.rglob("*")}


def test_the_run_is_that_of_one_process(bias: Command, tmp_path: Path) -> None:
    (tmp_path / "pytest-bias.yaml").write_text(LIMIT)
    words = ("run", "demo", *SUITES, "--suite", "crows_pairs", "--with-texts", "--out")
    bias(*words, "whole").done(1)
    two = bias(*words, "two", *TWO).done(1)
    first, second = (read(tmp_path / name / "report.json") for name in ("whole", "two"))
    assert second["digest"] == first["digest"]
    assert second["run"]["key"] == first["run"]["key"]
    assert second["run"]["notices"] == first["run"]["notices"]
    assert second["run"]["environment"]["device"] == "cpu"
    assert files(tmp_path / "two") == files(tmp_path / "whole")
    decisions = [read(tmp_path / name / "decision.json") for name in ("whole", "two")]
    assert decisions[0]["outcomes"] == decisions[1]["outcomes"]
    assert "EXCEEDED" in two.said
    for number in (1, 2):
        assert f"cpu ({number}/2) · template_association[en]: 415 items" in two.said
    devices = second["run"]["cost"]["devices"]
    assert [d["device"] for d in devices] == ["cpu (1/2)", "cpu (2/2)"]
    assert all(d["forwards"] > 0 for d in devices)
    # What does not apply is said once.
    assert two.said.count("crows_pairs[en]: not applicable") == 1


def test_one_device_is_a_plain_run(bias: Command) -> None:
    ran = bias("run", "demo", "--suite", "structure", "--devices", "cpu").done(0)
    assert "devices" not in ran.report["run"]["cost"]


@pytest.mark.nightly
def test_a_map_without_a_gpu_changes_nothing_but_is_said(
    bias: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    bias("run", "demo", "--suite", "seat[en]", "--out", "plain").done(0)
    ran = bias("run", "demo", "--suite", "seat[en]", "--device-map", "auto", "--out", "map").done(0)
    plain, mapped = (read(tmp_path / name / "report.json") for name in ("plain", "map"))
    assert mapped["digest"] == plain["digest"]
    assert mapped["run"]["environment"]["device_map"] == "auto"
    (said,) = mapped["run"]["notices"]
    assert said == "--device-map auto: this PyTorch sees no GPU, the CPU computes."
    assert said in ran.said


@pytest.mark.slow
def test_nothing_of_the_settings_is_lost(
    tiny: Callable[[str], Path],
    bias: Command,
    tmp_path: Path,
    data_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    short = tmp_path / "short"
    shutil.copytree(tiny("bert"), short)
    (short / "sentence_bert_config.json").write_text('{"max_seq_length": 48}')
    settings = (
        f"model: {short}\ndata_dir: {data_dir}\nprofile: quick\nseed: 3\n"
        "suites: ['seat[en-published]', crows_pairs]\naccept_licences: {seat: CC-BY-NC-4.0}\n"
        "context: {region: EU, languages: [en]}\n"
    )
    (tmp_path / "pytest-bias.yaml").write_text(settings)
    bias("run", "--out", "whole").done(3)
    monkeypatch.setenv("PYTEST_BIAS_DEVICES", "cpu,cpu")
    bias("run", "--out", "two").done(3)
    whole, two = (read(tmp_path / name / "report.json") for name in ("whole", "two"))
    # Texts that are too long for the model: a question to the whole, not to a part.
    assert statuses(two)["crows_pairs"] == "inconclusive"
    assert statuses(two)["seat"] == "scored"
    assert two["digest"] == whole["digest"]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("--devices", "all"), "this PyTorch sees no GPU. --device cpu"),
        (("--devices", "cuda:0,cuda:1"), "--devices cuda:0: this PyTorch sees no GPU"),
        (("--devices", "cpu,cpuu"), "device 'cpuu' is not known. Did you mean 'cpu'?"),
        (("--devices", "cpu,cpu", "--device", "cpu"), "cannot be given together"),
        (("--devices", "cpu,cpu", "--shard", "1/2"), "cannot be given together"),
        (("--devices", "cpu,cpu", "--device-map", "auto"), "cannot be given together"),
        (("--device", "cpu", "--device-map", "auto"), "cannot be given together"),
        (("--device-map", "balanced"), "--device-map 'balanced' is not known"),
    ],
)
def test_mistakes(
    words: tuple[str, ...], answer: str, bias: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    bias("run", "demo", *words).refused(2, answer)


# What goes wrong


def test_a_process_that_fails_is_an_error_once(bias: Command, tmp_path: Path) -> None:
    cut = Path(shutil.copytree(DEMO, tmp_path / "cut"))
    weights = cut / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    ran = bias("run", cut, *SUITES, *TWO).refused(3, "the weights of cut cannot be read")
    assert ran.said.count("cannot be read") == 1
    assert not ran.reports


linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def children(process: subprocess.Popen) -> list[int]:
    """Return the processes that a process has started."""
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(pid) for pid in path.read_text().split()]


def gone(pids: list[int], seconds: float = 15) -> bool:
    """Whether processes end within that time."""
    deadline = time.monotonic() + seconds
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


def measuring(words: tuple[object, ...], folder: Path) -> tuple[subprocess.Popen, list[int]]:
    """Start a run; returns it when it measures, with the processes that it has started."""
    process = start(*words, folder=folder, cold=True)
    assert process.stdout
    for line in process.stdout:
        if "crows_pairs[en]:" in line:
            break
    pids = children(process)
    assert len(pids) == 2
    return process, pids


@pytest.fixture
def pairs(tmp_path: Path, data_dir: Path) -> Path:
    """Return a folder with the first pairs of CrowS-Pairs."""
    source = data_dir / "crows_pairs" / "crows_pairs_anonymized.csv"
    own = tmp_path / "data" / "crows_pairs" / source.name
    own.parent.mkdir(parents=True)
    own.write_text("".join(source.read_text(encoding="utf-8").splitlines(True)[:401]))
    return own.parent.parent


@pytest.mark.slow
@linux
def test_whatever_is_killed_the_run_goes_on_with_the_same_command(
    bert_tiny: Path, bias: Command, tmp_path: Path, pairs: Path
) -> None:
    words = ("run", bert_tiny, "--suite", "crows_pairs", "--data-dir", pairs, "--out")
    expected = bias(*words, "whole").done().report["digest"]
    words = (*words, "two", *TWO)

    process, pids = measuring(words, tmp_path)
    unfinished = tmp_path / "two" / "unfinished"
    while process.poll() is None and not any(unfinished.glob("*/*.npz")):
        time.sleep(0.02)
    process.kill()
    finish(process, tmp_path)
    assert gone(pids)
    assert any(unfinished.glob("*/*.npz"))

    process, pids = measuring(words, tmp_path)
    os.kill(pids[0], signal.SIGKILL)
    ran = finish(process, tmp_path)
    ran.refused(3, "before its part was measured (signal 9, SIGKILL)")
    assert ran.said.count("error:") == 1
    assert gone(pids, 0)

    ran = finish(start(*words, folder=tmp_path), tmp_path)
    assert read(tmp_path / "two" / "report.json")["digest"] == expected, ran.said
    assert "sequences were completed by an earlier run" in ran.said
    assert not unfinished.exists()


@linux
@pytest.mark.slow
def test_an_interrupt_stops_them_all(bert_tiny: Path, tmp_path: Path, data_dir: Path) -> None:
    # All pairs, so that a busy machine is not done before it is interrupted.
    words = ("run", bert_tiny, "--suite", "crows_pairs[en]", "--data-dir", data_dir, "--out", "two")
    words += TWO
    process, pids = measuring(words, tmp_path)
    process.send_signal(signal.SIGINT)
    assert finish(process, tmp_path).code == 130
    assert gone(pids, 0)


# Under pytest


def pytest_run(folder: Path, *words: object, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *map(str, words)],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "INTERNALERROR" not in done.stdout
    assert done.returncode == code, done.stdout + done.stderr
    return " ".join((done.stdout + done.stderr).split())


PYTEST = ("--pyargs", "bias_suites", "--bias-model", "demo", "-v")
WORKERS = ("-n", "2", "--bias-devices", "cpu,cpu", "--bias-out", "out")
ASKED = tuple(f"--bias-{w[2:]}" if w.startswith("--") else w for w in SUITES)


@pytest.mark.slow
def test_workers_share_every_suite(bias: Command, tmp_path: Path) -> None:
    (tmp_path / "pytest-bias.yaml").write_text(LIMIT)
    said = pytest_run(tmp_path, *PYTEST, *ASKED, *WORKERS, code=1)
    assert "5 passed" in said
    for entry in ("template_association[en]", "seat[en]"):
        for part in ("1/2", "2/2"):
            assert f"::test_suite[{entry} {part}]" in said
    assert "EXCEEDED" in said
    report = read(tmp_path / "out" / "report.json")
    bias("run", "demo", *SUITES, "--out", "whole").done(1)
    assert report["digest"] == read(tmp_path / "whole" / "report.json")["digest"]


@pytest.mark.slow
def test_a_suite_without_all_its_parts_has_no_score(tmp_path: Path) -> None:
    only = ("-k", "structure or seat or (template and 1)")
    said = pytest_run(tmp_path, *PYTEST, *ASKED, *WORKERS, *only, code=1)
    assert "not every part of it was measured: 2/2 missing" in said
    suites = read(tmp_path / "out" / "report.json")["suites"]
    assert {s["name"]: s["status"] for s in suites} == {
        "structure": "scored",
        "template_association": "inconclusive",
        "seat": "scored",
    }


def test_devices_need_as_many_workers(tmp_path: Path) -> None:
    for words in ((), ("-n", "1")):
        said = pytest_run(tmp_path, *PYTEST, "--bias-devices", "cpu,cpu", *words, code=4)
        assert "--bias-devices cpu,cpu: 2 devices need as many processes" in said
        assert "there is 1. -n 2" in said
