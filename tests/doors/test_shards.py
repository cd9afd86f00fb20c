"""Parts of a run on several machines, joined to the report that one machine would have left."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import Command, finish, read, start

SUITES = ("--suite", "template_association", "--suite", "seat[en]")
LIMIT = "limits:\n  template_association.association: {max_distance: 0.1}\n"


def run(folder: Path, *words: object, code: int = 0) -> str:
    ran = finish(start(*words, folder=folder), folder)
    assert ran.code == code, ran.said
    return ran.said


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a whole run of the demo, and with three shards of it."""
    folder = tmp_path_factory.mktemp("shards")
    run(folder, "run", "demo", *SUITES, "--out", "whole")
    for number in (1, 2, 3):
        said = run(folder, "run", "demo", *SUITES, "--shard", f"{number}/3", "--out", f"s{number}")
        assert f"Shard {number}/3: pytest-bias merge joins the shards" in said
    return folder


def digest(folder: Path) -> str:
    return read(folder / "report.json")["digest"]


@pytest.mark.slow
def test_joined_shards_have_the_digest_of_the_whole(shards: Path, tmp_path: Path) -> None:
    # In whatever order they are named.
    run(tmp_path, "merge", shards / "s3", shards / "s1", shards / "s2", "--out", "joined")
    assert digest(tmp_path / "joined") == digest(shards / "whole")
    run(tmp_path, "verify", "joined")
    for name in ("badges/social-bias-evaluated.svg", "summary.md"):
        assert (tmp_path / "joined" / name).is_file()


def test_every_item_is_in_one_shard_and_a_cluster_in_one_piece(shards: Path) -> None:
    from pytest_bias.reports.folder import read_report

    whole = read_report(shards / "whole")
    parts = [read_report(shards / f"s{n}") for n in (1, 2, 3)]
    for suite in whole.suites:
        if suite.kind == "structure" or not suite.records:
            continue
        found = [s for p in parts for s in p.suites if s.entry == suite.entry]
        items = [r.item for s in found for r in s.records]
        assert sorted(items) == [r.item for r in suite.records]
        clusters = [{r.cluster for r in s.records} for s in found]
        assert sum(map(len, clusters)) == len(set().union(*clusters))
        assert all(s.sampled == len(s.records) for s in found if s.records)


@pytest.mark.slow
def test_the_whole_decides_not_the_shard(shards: Path, tmp_path: Path) -> None:
    (tmp_path / "pytest-bias.yaml").write_text(LIMIT)
    run(tmp_path, "run", "demo", *SUITES, "--shard", "1/3", "--out", "s1")
    said = run(tmp_path, "merge", "s1", shards / "s2", shards / "s3", "--out", "joined", code=1)
    assert "EXCEEDED" in said
    assert read(tmp_path / "joined" / "decision.json")["status"] == "exceeded"


@pytest.mark.slow
def test_a_regression_needs_a_baseline_or_a_first_run(shards: Path, tmp_path: Path) -> None:
    limit = "limits:\n  template_association.association: {max_regression: {points: 1}}\n"
    (tmp_path / "pytest-bias.yaml").write_text(limit)
    words = ("merge", *(shards / f"s{n}" for n in (1, 2, 3)), "--out")
    run(tmp_path, *words, "joined", code=3)
    run(tmp_path, *words, "first", "--first-run")
    said = run(tmp_path, *words, "again", "--baseline", shards / "whole")
    assert "no item changed" in said


@pytest.mark.slow
def test_what_is_no_whole_is_refused(shards: Path, tmp_path: Path, bias: Command) -> None:
    s1, s2, s3 = (shards / f"s{n}" for n in (1, 2, 3))
    bias("merge", s1, s3).refused(3, "shards are missing: 2 of 3")
    bias("merge", s1, s2, s2).refused(3, "shard 2/3 is there twice")
    bias("merge", s1, s2, shards / "whole").refused(3, "is of no shard", "run --shard 1/2")
    run(tmp_path, "run", "demo-neutral", *SUITES, "--shard", "3/3", "--out", "other")
    bias("merge", s1, s2, tmp_path / "other").refused(3, "measured on different models")
    run(tmp_path, "run", "demo", *SUITES, "--seed", "1", "--shard", "3/3", "--out", "seed")
    bias("merge", s1, s2, tmp_path / "seed").refused(3, "different settings")
    run(tmp_path, "run", "demo", *SUITES, "--shard", "2/2", "--out", "two")
    bias("merge", s1, tmp_path / "two").refused(3, "shards of 2 and of 3")


def test_a_shard_that_was_changed_by_hand_is_refused(
    shards: Path, tmp_path: Path, bias: Command
) -> None:
    shutil.copytree(shards / "s3", tmp_path / "s3")
    report = tmp_path / "s3" / "report.json"
    report.write_text(report.read_text().replace('"seed": 0', '"seed": 7'))
    bias("merge", shards / "s1", shards / "s2", tmp_path / "s3").refused(3, "digest")


@pytest.mark.parametrize("shard", ["0/2", "3/2", "1", "a/b", "1/0", "-1/2", "1/2/3", ""])
def test_no_such_shard(shard: str, bias: Command) -> None:
    bias("run", "demo", "--shard", shard).refused(2, "is no part of a whole", "--shard 2/8")


def test_a_change_is_a_question_to_the_whole(shards: Path, bias: Command) -> None:
    bias("run", "demo", "--shard", "1/2", "--baseline", shards / "whole").refused(2, "--baseline")


@pytest.mark.slow
def test_a_sample_stays_a_sample(
    tiny: Callable[[str], Path], tmp_path: Path, data_dir: Path
) -> None:
    words = ("run", tiny("bert"), "--suite", "crows_pairs", "--suite", "seat[en]")
    words = (*words, "--profile", "quick", "--data-dir", data_dir)
    run(tmp_path, *words, "--out", "whole")
    for number in (1, 2):
        run(tmp_path, *words, "--shard", f"{number}/2", "--out", f"s{number}")
    run(tmp_path, "merge", "s1", "s2", "--out", "joined")
    assert digest(tmp_path / "joined") == digest(tmp_path / "whole")
    suites = read(tmp_path / "joined" / "report.json")["suites"]
    assert {(s["name"], s["config"]): s["sampled"] for s in suites}["crows_pairs", "en"] == 200
