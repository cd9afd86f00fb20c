"""Whatever goes out has a bound at the place where it goes out, whatever it was read from."""

import re

import pytest

from made import HOSTILE, report, result, score
from pytest_bias.ci.github.comments import MOST_CHARACTERS
from pytest_bias.ci.github.provider import GitHub
from pytest_bias.ci.github.runner import annotation, write_outputs
from pytest_bias.ci.steps import tell
from pytest_bias.emit import badges
from pytest_bias.emit.bounds import CUT, len_in_bytes, within

MIB = 2**20
LINE = "| é | " + "x" * 90 + " |\n"


def test_a_text_is_cut_between_its_lines_and_says_so():
    text = LINE * 100
    for most in (len(CUT) + 2, 500, len(text) - 1):
        cut = within(text, most)
        assert len(cut) <= most
        assert cut.endswith(CUT)
        assert set(cut.removesuffix(CUT).split("\n")) <= {LINE.strip("\n"), ""}
    assert within(text, len(text)) == text
    assert within(text, 3) == ""
    assert len_in_bytes(within(text, 1000, len_of=len_in_bytes)) <= 1000
    assert within("y" * 10_000, 100) == CUT


@pytest.mark.parametrize("before", [0, 900_000, 2 * MIB], ids=["", "most is full", "all is full"])
def test_the_summary_of_a_step_stays_below_what_github_shows(tmp_path, before):
    file, folder = tmp_path / "summary", tmp_path / "out"
    file.write_text("z" * before, encoding="utf-8")
    folder.mkdir()
    (folder / "summary.md").write_text(LINE * 60_000, encoding="utf-8")
    environment = {
        "GITHUB_STEP_SUMMARY": str(file),
        "BIAS_MEASURE_REPORT": str(folder / "report.json"),
    }
    step = GitHub(environment)
    step.summarize(tell.report_summary(step), "", ["A remark."], "")
    assert file.stat().st_size <= max(MIB, before + 2)
    if not before:
        assert CUT in file.read_text(encoding="utf-8")


def test_a_summary_that_is_not_there_or_no_text_is_told(tmp_path):
    environment = {"BIAS_MEASURE_REPORT": str(tmp_path / "report.json")}
    assert "summary.md cannot be read: No such file" in tell.report_summary(GitHub(environment))
    (tmp_path / "summary.md").write_bytes(b"## A \xff model\n")
    assert "model" in tell.report_summary(GitHub(environment))


def test_annotations_and_outputs_have_a_bound(tmp_path):
    long = "%\n" * 10_000
    assert len(annotation("error", long, title=long, file=long, line=3)) < 8_000
    assert "line" not in annotation("error", "x", file=long, line=3).partition("title")[0]
    file = tmp_path / "output"
    write_outputs({"problem": "x" * 10**7}, {"GITHUB_OUTPUT": str(file)})
    assert file.stat().st_size < 100_000


@pytest.mark.parametrize("name", [*HOSTILE.values(), "W" * 3_000, "中" * 500], ids=repr)
def test_badges_have_a_largest_width(name):
    made = report(
        result(
            title=name,
            scores=[score(unit=name, value=1e300, interval=(-1e300, 1e300))],
            sampled=10**100,
            n_available=10**200,
        ),
        model=name,
        coverage={"social_suites": ["crows_pairs"], "languages": [name] * 300},
    )
    found = list(badges.badges(made))
    assert found
    for badge in found:
        width = re.search(r'<svg[^>]* width="(\d+)', badge.svg())
        assert width is not None
        assert int(width[1]) <= 820


def test_a_comment_is_below_what_github_takes():
    assert MOST_CHARACTERS < 65_536
