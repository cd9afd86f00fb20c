"""Suites that are files, as a user meets them: previewed, run, collected, verified, compared."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import Command, headline, read, suite
from own_scope import SCOPE
from pytest_bias.cli.lock import _as_locked
from pytest_bias.errors import UsageError
from pytest_bias.evidence.lock import Locked, LockedReport
from pytest_bias.forms.yaml_with_lines import read_marked
from pytest_bias.models.fingerprint import ModelFingerprint
from pytest_bias.settings.settings import Settings
from pytest_bias.suites.files.kinds import kinds
from pytest_bias.suites.files.reading import NEEDED_SCOPE
from pytest_bias.suites.files.schema import DATA, WHOLE

Tiny = Callable[[str], Path]

ROOT = Path(__file__).parents[2]
SUITE = (
    """
suite: own_pairs
title: Own pairs
kind: pairs
language: en
data:
  path: pairs.csv
  by: {axis: axis}
  clusters: pairs
"""
    + SCOPE
)
CANARY = "quokka"
ROWS = '  rows: [{text: "[MASK] is wise."}, {text: "Now [MASK] is here."}]\n'


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Return a folder with a suite file and its rows."""
    jobs = ("nurse", "engineer", "teacher", "chef", "farmer", "lawyer")
    rows = [
        f"she {verb} the {job}.,he {verb} the {job}.,{'ab'[n % 2]}"
        for verb in ("is", "was", "saw", "met")
        for n, job in enumerate(jobs)
    ]
    rows += [f"she saw a {CANARY}.,she saw a {CANARY}.,a"]
    (tmp_path / "pairs.csv").write_text("\n".join(["more,less,axis", *rows, ""]), encoding="utf-8")
    (tmp_path / "own.bias.yaml").write_text(SUITE, encoding="utf-8")
    return tmp_path


def test_a_suite_file_is_previewed(own: Path, bias: Command) -> None:
    said = bias("suites", "own.bias.yaml").done().said
    assert "25 items, 24 of them measurable" in said
    assert "1 unscored: the two sentences are identical" in said
    assert "axis: a 13, b 12" in said
    assert re.search(r"\d+ of 20 items scored", said)
    assert "own_pairs/00000" in said
    assert CANARY not in said
    shown = bias("suites", "own.bias.yaml", "--show-items").done().said
    assert "she is the nurse." in shown


def test_a_suite_file_is_measured_like_any_other(own: Path, bias: Command, tiny: Tiny) -> None:
    limit = "limits: {own_pairs.preference: {max_distance: 60}}\nsuites: [own.bias.yaml]\n"
    (own / "pytest-bias.yaml").write_text(limit, encoding="utf-8")
    ran = bias("run", tiny("bert"), "--offline").done(0)
    found = headline(ran.report, "own_pairs")
    assert (found["n"], found["n_unscored"]) == (24, 1)
    assert ran.report["settings"]["requested"] == ["own_pairs"]
    assert suite(ran.report, "own_pairs")["version"].startswith("1+")
    (outcome,) = ran.decision["outcomes"]
    assert outcome["verdict"] == "held"
    assert (ran.at / "badges" / "own_pairs-en.svg").is_file()
    assert str(own) not in (ran.at / "report.json").read_text(encoding="utf-8")


def test_a_report_is_verified_and_compared_with_the_file(
    own: Path, bias: Command, tiny: Tiny, tmp_path: Path
) -> None:
    run = ("run", tiny("bert"), "--suite", "own.bias.yaml", "--offline", "--out")
    bias(*run, "first").done(0)
    bias(*run, "second").done(0)
    verified = bias("verify", "first", "--suite", "own.bias.yaml")
    assert "own_pairs" in verified.said
    assert verified.code == 0, verified.said
    compared = bias("compare", "second", "first", "--suite", "own.bias.yaml").done(0)
    assert "Own pairs" in compared.said
    again = ("reproduce", "first", "--model", tiny("bert"), "--suite", "own.bias.yaml", "--offline")
    bias(*again, "--out", "again").done(0)
    made = read(Path("again") / "reproduction.json")
    (found,) = [s for s in made["suites"] if s["entry"] == "own_pairs[en]"]
    assert (found["level"], found["n_same"]) == ("agrees", found["n"])
    changed = SUITE.replace("by: {axis: axis}", "by: {kind: axis}")
    (own / "own.bias.yaml").write_text(changed, encoding="utf-8")
    other = bias("verify", "first", "--suite", "own.bias.yaml")
    assert other.code == 3, other.said
    assert "is installed" in other.said


def test_names_of_a_report_are_measured_from_the_files_that_are_named(own: Path) -> None:
    file = str(own / "own.bias.yaml")
    given = Settings(suites=(file, "seat"))
    assert given.as_given(["own_pairs", "seat[en]"]) == (file, "seat[en]")
    assert given.as_given(["own_pairs[en]", "own_pairs"]) == (file,)
    assert Settings(collected=(file,)).as_given(["own_pairs"]) == (file,)
    report = LockedReport("", "measured", "", ("own_pairs",), ("en",), "standard", 0, "auto", {})
    locked = Locked("model", "2026-11-30", ModelFingerprint(None, *"abcde", {}), report)
    assert _as_locked(Settings(suites=(file,)), locked, ["suites"]).requested == ("own_pairs",)
    with pytest.raises(UsageError, match="--suite: the locked scores of model"):
        _as_locked(Settings(suites=("seat",)), locked, ["suites"])


def test_pytest_collects_suite_files_where_a_model_is_named(
    own: Path, pytester: pytest.Pytester, tiny: Tiny
) -> None:
    for path in own.iterdir():
        if path.is_file():
            shutil.copy(path, pytester.path / path.name)
    (pytester.path / "test_other.py").write_text("def test_it(): pass\n", encoding="utf-8")
    pytester.runpytest_inprocess().assert_outcomes(passed=1)
    options = (f"--bias-model={tiny('bert')}", "--bias-out", "out", "--bias-offline")
    result = pytester.runpytest_inprocess("-v", *options)
    result.assert_outcomes(passed=2)
    assert "own.bias.yaml::own_pairs[en]" in result.stdout.str()
    measured = [s["name"] for s in read(pytester.path / "out" / "report.json")["suites"]]
    assert measured == ["structure", "own_pairs"]
    limit = "limits: {own_pairs.preference: {max_distance: 0, undecided: fail}}"
    (pytester.path / "pytest-bias.yaml").write_text(limit, encoding="utf-8")
    pytester.runpytest_inprocess(*options, "--bias-fresh").assert_outcomes(passed=1, failed=1)


def test_a_wrong_file_is_one_message(own: Path, bias: Command) -> None:
    (own / "own.bias.yaml").write_text(SUITE.replace("kind: pairs", "kind: pear"), encoding="utf-8")
    for words in (("suites", "own.bias.yaml"), ("run", "demo", "--suite", "own.bias.yaml")):
        bias(*words).refused(2, "own.bias.yaml, line 4", "Did you mean 'pairs'")
    bias("run", "demo", "--suite", "no.bias.yaml").refused(2, "there is no suite file no.bias.yaml")
    bias("run", "demo", "--suite", "own_pair").refused(2, "--suite FILE")


def test_the_documentation_names_every_key() -> None:
    text = (ROOT / "docs" / "own-suites.md").read_text(encoding="utf-8")
    keys = [*WHOLE, *DATA, *NEEDED_SCOPE]
    for kind in kinds().values():
        keys += [kind.name, *kind.columns, *kind.options]
    assert [key for key in keys if f"`{key}`" not in text] == []
    (example,) = [part for part in text.split("```") if part.startswith("yaml")]
    assert read_marked(example.removeprefix("yaml"), "it").value["kind"] == "pairs"


def test_two_rows_decide_no_limit_and_no_regression(own: Path, bias: Command, tiny: Tiny) -> None:
    text = SUITE.replace("kind: pairs", "kind: slot\nchoices: [he, she]")
    text = text.replace("  path: pairs.csv\n  by: {axis: axis}\n  clusters: pairs\n", ROWS)
    (own / "own.bias.yaml").write_text(text, encoding="utf-8")
    limits = "max_distance: 0, max_regression: {points: 0}"
    (own / "pytest-bias.yaml").write_text(
        f"suites: [own.bias.yaml]\nlimits: {{own_pairs.imbalance: {{{limits}}}}}\n",
        encoding="utf-8",
    )
    bias("run", tiny("roberta"), "--offline", "--out", "before", "--first-run")
    bias("run", tiny("bert"), "--offline", "--out", "now", "--baseline", "before/report.json")
    decision = read(own / "now" / "decision.json")
    assert {o["rule"]: o["verdict"] for o in decision["outcomes"]} == {
        "max_distance": "undecided",
        "max_regression": "undecided",
    }
    score = headline(read(own / "now" / "report.json"), "own_pairs")
    assert score["value"] > 0
    assert (score["interval"], score["interval_reason"]) == (None, "2 clusters; it takes 8")
