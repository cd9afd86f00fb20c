"""Formats of other tools, from the command: `render --to`, and `--junit` of run and merge."""

import csv
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from commands import Command, Ran, headline

SUITE = ("--suite", "template_association")
LIMIT = "template_association.association"


def test_scores_of_a_run_are_tables(bias: Command, demo: Ran) -> None:
    bias("render", demo.at, "--to", "csv", "--out", "out").done(0)
    ran = bias("render", demo.at, "--to", "jsonl", "--out", "out").done(0)
    with (ran.folder / "out" / "scores.csv").open(encoding="utf-8", newline="") as file:
        rows = {(r["entry"], r["metric"], r["by"]): r for r in csv.DictReader(file)}
    score = headline(demo.report, "template_association")
    row = rows["template_association[en]", "association", ""]
    assert float(row["value"]) == score["value"]
    assert [float(row["low"]), float(row["high"])] == score["interval"]
    lines = (ran.folder / "out" / "scores.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(rows)
    scored = [s for s in demo.report["suites"] if s["scores"]]
    others = len(demo.report["suites"]) - len(scored)
    assert len(lines) == others + sum(len(s["scores"]) for s in scored)
    assert json.loads(lines[0])["report"] == demo.report["digest"]


def counts(path: Path) -> tuple[str, str, str]:
    """Return the numbers of failures, of errors and of tests of a file."""
    (suite,) = ET.parse(path).getroot()
    return suite.attrib["failures"], suite.attrib["errors"], suite.attrib["tests"]


@pytest.mark.parametrize(
    ("limit", "code", "expected"),
    [
        ("max_distance: 0.01", 1, ("1", "0", "3")),
        pytest.param(
            *("max_distance: 0.19, undecided: fail", 3, ("0", "1", "3")), marks=pytest.mark.nightly
        ),
        pytest.param("max_distance: 0.9", 0, ("0", "0", "3"), marks=pytest.mark.nightly),
    ],
)
def test_junit_of_a_run_ends_as_its_exit_code_says(
    bias: Command, tmp_path: Path, limit: str, code: int, expected: tuple[str, str, str]
) -> None:
    text = f"limits:\n  {LIMIT}: {{{limit}}}\njunit: results/bias.xml\n"
    (tmp_path / "pytest-bias.yaml").write_text(text, encoding="utf-8")
    ran = bias("run", "demo", *SUITE).done(code)
    assert counts(tmp_path / "results" / "bias.xml") == expected
    assert "results/bias.xml" in ran.said
    # The same from the folder, and when it is decided on again.
    bias("render", ran.at, "--to", "junit", "--out", "again").done(0)
    written = (tmp_path / "results" / "bias.xml").read_bytes()
    assert (tmp_path / "again" / "junit.xml").read_bytes() == written
    bias("merge", ran.at, "--out", "merged", "--junit", "merged.xml").done(code)
    assert counts(tmp_path / "merged.xml") == expected


@pytest.mark.parametrize("command", ["run", "merge"])
def test_a_file_that_cannot_be_written_is_refused_before_the_model_loads(
    bias: Command, demo: Ran, tmp_path: Path, command: str
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    what = "demo" if command == "run" else demo.at
    for path, why in (("file/junit.xml", "file/junit.xml cannot be written"), (".", "directory")):
        ran = bias(command, what, "--junit", path, "--out", "out")
        ran.refused(2, "--junit", why, "Name a file in a folder")
        assert not (tmp_path / "out").exists()


def test_junit_is_of_one_whole_run(bias: Command) -> None:
    words = ("--junit", "x.xml")
    bias("run", "demo", "--shard", "1/2", *words).refused(2, "--junit x.xml and --shard", "merge")
    bias("run", "--models", "m.txt", *words).refused(2, "--models", "--junit x.xml", "render")
