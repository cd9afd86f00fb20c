"""A run that was killed goes on where it was, and ends with the same digest."""

import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import ours
from commands import finish, read, start
from pytest_bias.models.forwards import Forwards
from pytest_bias.records.report import records_digest

SUITES = ("--suite", "crows_pairs", "--suite", "seat[en]")

KILLS = 20


@pytest.fixture
def data(tmp_path: Path, data_dir: Path) -> Path:
    """Return a folder with the first pairs of CrowS-Pairs."""
    source = data_dir / "crows_pairs" / "crows_pairs_anonymized.csv"
    own = tmp_path / "data" / "crows_pairs" / source.name
    own.parent.mkdir(parents=True)
    own.write_text("".join(source.read_text(encoding="utf-8").splitlines(True)[:301]))
    return own.parent.parent


def killed(words: tuple[str | Path, ...], folder: Path, seconds: float) -> bool:
    """Kill a run so long after it has begun to measure; whether it was still at it."""
    process = start(*words, folder=folder, cold=True)
    assert process.stdout
    for line in process.stdout:
        if line.startswith("crows_pairs[en]:"):
            break
    time.sleep(seconds)
    alive = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    if process.stderr:
        process.stderr.close()
    return alive


@pytest.mark.nightly
@pytest.mark.cold
def test_two_runs_of_one_folder(tmp_path: Path) -> None:
    """The one that comes later is told, and the report of the other one is whole."""
    words = ("run", "demo", "--suite", "template_association", "--out", "out")
    first = start(*words, folder=tmp_path, cold=True)
    assert first.stdout
    while not first.stdout.readline().startswith("structure[all]"):
        pass
    first.send_signal(signal.SIGSTOP)
    for other in (("--seed", "1"), ("--fresh",), ()):
        second = finish(start(*words, *other, folder=tmp_path), tmp_path)
        second.refused(2, "another run is writing to out now", "--out DIR")
    first.send_signal(signal.SIGCONT)
    finish(first, tmp_path)
    assert first.returncode == 0
    finish(start("verify", "out", folder=tmp_path), tmp_path).done()
    assert not list((tmp_path / "out").glob(".*"))


@pytest.mark.slow
def test_kill_at_any_moment(bert_tiny: Path, tmp_path: Path, data: Path) -> None:
    words = ("run", bert_tiny, *SUITES, "--data-dir", data, "--out")
    whole = finish(start(*words, "whole", folder=tmp_path), tmp_path).done()
    expected = whole.report["digest"]
    rng = random.Random(7)
    n_alive = 0
    for number in range(KILLS):
        out = f"killed-{number}"
        n_alive += killed((*words, out), tmp_path, rng.uniform(2.2, 4.5))
        finish(start(*words, out, folder=tmp_path), tmp_path).done()
        assert read(tmp_path / out / "report.json")["digest"] == expected
        assert not (tmp_path / out / "unfinished").exists()
    assert n_alive > 0


@pytest.mark.parametrize(
    ("name", "suite"),
    [("wordpiece", "crows_pairs"), ("gpt2", "crows_pairs"), ("encoder", "seat")],
)
def test_only_what_is_missing_is_forwarded(
    name: str,
    suite: str,
    tiny: Callable[[str], Path],
    data_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pytest_bias.models.journal.SECONDS", 0.0)
    folder = tiny({"wordpiece": "bert"}.get(name, name))
    items = ours.items(suite, "en", data_dir)[:60]
    model = ours.model(folder)
    before = model.meter.forwards
    expected = records_digest(ours.records(suite, model, items))
    n_all = model.meter.forwards - before

    stopped = ours.model(folder, budget=512)
    stopped.keep(tmp_path)
    before, forward, calls = stopped.meter.forwards, Forwards.forward, iter(range(10**6))

    def dies(self, left, plan, work, page, keep):  # type: ignore[no-untyped-def]
        def last(batch):  # type: ignore[no-untyped-def]
            if next(calls) == 4:
                raise KeyboardInterrupt
            return work(batch)

        forward(self, left, plan, last, page, keep)

    with monkeypatch.context() as patched:
        patched.setattr(Forwards, "forward", dies)
        with pytest.raises(KeyboardInterrupt):
            ours.records(suite, stopped, items)
    n_first = stopped.meter.forwards - before
    assert 0 < n_first < n_all

    said: list[str] = []
    resumed = ours.model(folder)
    resumed.keep(tmp_path)
    resumed.meter.on_notice = said.append
    before = resumed.meter.forwards
    assert records_digest(ours.records(suite, resumed, items)) == expected
    assert resumed.meter.forwards - before == n_all - n_first
    assert any("were completed by an earlier run" in text for text in said)
