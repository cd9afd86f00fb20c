"""A run that has to end in time: samples that say so, and the same report where time suffices."""

import signal
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from commands import Command, Ran, finish, headline, read, start, suite
from pytest_bias.records.report import Report
from pytest_bias.reports.folder import read_report

NAMES = ("template_association[en]", "seat[en]", "gendered_pair_entropy[en]")
SUITES = tuple(word for name in NAMES for word in ("--suite", name))


def items(report: Report) -> dict[str, set[str]]:
    return {s.entry: {r.item for r in s.records} for s in report.suites if s.records}


def test_a_tiny_budget_measures_samples_and_says_so(bias: Command) -> None:
    ran = bias("run", "demo", *SUITES, "--budget", "1s").done(0)
    assert "; --budget is enough for about " in ran.out
    for name, n_available in (("template_association", 830), ("gendered_pair_entropy", 2059)):
        found = suite(ran.report, name)
        assert 16 <= found["sampled"] < found["n_available"] == n_available
        assert headline(ran.report, name)["n"] == found["sampled"]
        mark = f"sample: {found['sampled']} of {n_available} items"
        badge = read(ran.at / "badges" / f"{name}-en.json")
        assert badge["message"].endswith(mark)
        assert badge["color"] == "#666"
        assert mark in (ran.at / "summary.md").read_text(encoding="utf-8")
        assert ran.out.count(mark) == 2
    assert suite(ran.report, "structure")["sampled"] is None
    assert len(items(read_report(ran.at))["structure[all]"]) == 6
    assert "budget" not in ran.report["settings"]
    said = bias("verify", ran.at).done(0).out
    assert "fails" not in said


@pytest.mark.slow
def test_enough_time_gives_the_report_of_a_run_without_a_budget(
    bias: Command, demo: Ran, tmp_path: Path
) -> None:
    bias("run", "demo", "--budget", "1h", "--out", "out").done(0)
    report = read(tmp_path / "out" / "report.json")
    assert report["digest"] == demo.report["digest"]
    assert {s["sampled"] for s in report["suites"]} == {None}


@pytest.mark.nightly
def test_a_budget_takes_a_superset_of_a_smaller_one_and_quick_is_one_of_them(
    bias: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for first in (16, 64, 300):
        monkeypatch.setattr("pytest_bias.engine.schedule.FIRST_PART", first)
        bias("run", "demo", *SUITES, "--budget", "0.1", "--out", str(first)).done(0)
        found.append(items(read_report(tmp_path / str(first))))
    bias("run", "demo", *SUITES, "--profile", "quick", "--out", "quick").done(0)
    taken = items(read_report(tmp_path / "quick"))
    for less, more in pairwise(found):
        assert all(less[entry] <= more[entry] for entry in less)
    for entry, names in taken.items():
        assert all(f[entry] <= names or names <= f[entry] for f in found), entry


def test_a_whole_report_is_not_replaced_by_a_sample(bias: Command) -> None:
    words = ("run", "demo", "--suite", "seat[en]")
    whole = bias(*words).done(0).at
    assert len(bias(*words, "--budget", "1s").done(0).reports) == 2
    bias(*words, "--budget", "1s", "--out", whole).refused(2, "--fresh")


def test_samples_of_two_sizes_are_not_compared(
    bias: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("run", "demo", "--suite", "template_association", "--budget", "0.1")
    bias(*words, "--out", "before").done(0)
    monkeypatch.setattr("pytest_bias.engine.schedule.FIRST_PART", 64)
    ran = bias(*words, "--baseline", "before", "--out", "now").done(0)
    assert "without --budget" in " ".join(ran.out.split())


def test_wrong_budgets(bias: Command) -> None:
    bias("run", "demo", "--budget", "soon").refused(2, "--budget 'soon' is not a time", "1h30m")
    bias("run", "demo", "--budget", "10m", "--shard", "1/2").refused(2, "--budget with --shard")


@pytest.mark.nightly
def test_a_forecast_before_the_first_suite(bias: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_bias.emit.progress.WORTH_TELLING_S", 0.0)
    out = bias("run", "demo", *SUITES).done(0).out
    structure, forecast, seat = (out.index(t) for t in ("Structure:", "About ", "SEAT en:"))
    assert structure < forecast < seat
    line = next(line for line in out.splitlines() if line.startswith("About "))
    assert " on cpu; --profile quick: about " in line


@pytest.mark.slow
def test_a_run_ends_in_time(bert_tiny: Path, data_dir: Path, tmp_path: Path) -> None:
    words = ("run", bert_tiny, "--suite", "crows_pairs", "--suite", "seat[en]")
    began = time.perf_counter()
    ran = finish(
        start(*words, "--data-dir", data_dir, "--budget", "20s", folder=tmp_path), tmp_path
    ).done(0)
    # The whole takes twice as long; other processes may take the machine meanwhile.
    assert time.perf_counter() - began < 40
    assert suite(ran.report, "seat")["scores"]
    assert 16 <= suite(ran.report, "crows_pairs")["sampled"] < 1508


@pytest.mark.slow
def test_a_killed_run_finds_its_parts_again(
    tiny: Callable[[str], Path], data_dir: Path, tmp_path: Path
) -> None:
    name = Path("crows_pairs", "crows_pairs_anonymized.csv")
    own = tmp_path / "data" / name
    own.parent.mkdir(parents=True)
    lines = (data_dir / name).read_text(encoding="utf-8").splitlines(keepends=True)
    own.write_text("".join(lines[:101]), encoding="utf-8")
    words = ("run", tiny("bert"), "--suite", "crows_pairs", "--data-dir", tmp_path / "data")
    words = (*words, "--budget", "1h", "--out", "out")
    process = start(*words, folder=tmp_path)
    kept = tmp_path / "out" / "unfinished"
    for _ in range(1200):
        if len(list(kept.glob("*/*.npz"))) >= 2:
            break
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    ran = finish(start(*words, folder=tmp_path), tmp_path).done(0)
    assert "sequences were completed by an earlier run" in ran.out
    assert not kept.exists()
    assert suite(ran.report, "crows_pairs")["sampled"] is None
    finish(start(*words[:-4], "--out", "whole", folder=tmp_path), tmp_path).done(0)
    whole = read(tmp_path / "whole" / "report.json")
    assert read(tmp_path / "out" / "report.json")["digest"] == whole["digest"]


@pytest.mark.nightly
@pytest.mark.parametrize(
    "workers",
    [
        pytest.param((), id="one process"),
        pytest.param(("-n", "2"), id="two workers", marks=pytest.mark.slow),
    ],
)
def test_under_pytest(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    words = ("--pyargs", "bias_suites", "--bias-model", "demo", "--bias-budget", "1s")
    named = [w.replace("--suite", "--bias-suite") for w in SUITES]
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", *words, *named, *workers)
    text = result.stdout.str()
    assert result.ret == 0, text
    assert "sample: " in text
    (path,) = pytester.path.rglob("report.json")
    found = {s["name"]: s for s in read(path)["suites"]}
    assert found["structure"]["sampled"] is None
    assert 16 <= found["gendered_pair_entropy"]["sampled"] < 2059


def test_pytest_says_what_a_budget_is(pytester: pytest.Pytester) -> None:
    words = ("--pyargs", "bias_suites", "--bias-model", "demo", "--bias-budget", "soon")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", *words)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "--bias-budget 'soon' is not a time" in result.stderr.str()
