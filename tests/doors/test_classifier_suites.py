"""The suites for classifiers as whole runs of the command, on a classifier with known answers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands import Command, headline, read, statuses, suite
from word_classifier import word_classifier

# Two of the sentences for the structural checks have to get other numbers.
SOUND = "librarian"


@pytest.fixture
def knows(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that makes a classifier whose first label means one of the words."""

    def build(*words: str, labels: tuple[str, str]) -> Path:
        return word_classifier(tmp_path / "classifier", [SOUND, *words], labels)

    return build


def scores(entry: dict[str, Any], metric: str) -> dict[tuple[str, ...], float]:
    found = [s for s in entry["scores"] if s["metric"] == metric]
    return {tuple(s["by"].values()): s["value"] for s in found}


@pytest.mark.nightly
@pytest.mark.all_draws
def test_hatecheck(bias: Command, knows: Callable[..., Path], data_dir: Path) -> None:
    model = knows("women", "woman", "female", labels=("hateful", "other"))
    ran = bias("run", model, "--suite", "hatecheck", "--data-dir", data_dir, "--out", "out").done()
    found = suite(ran.report, "hatecheck")
    assert found["labels"] == {"hateful": "hateful"}
    gaps = scores(found, "gap_to_others")
    # All but the texts in which the word is misspelled, broken up or joined to another.
    assert gaps["women",] > 85
    assert gaps["non-hateful", "women"] == 100
    others = [v for (*_, group), v in gaps.items() if group != "women"]
    assert max(others) < 0
    assert headline(ran.report, "hatecheck")["note"].startswith("greatest in women")
    assert headline(ran.report, "hatecheck")["p_value"] == pytest.approx(0.001)
    accuracy = scores(found, "accuracy")
    assert accuracy["ident_neutral_nh",] == pytest.approx(100 * 6 / 7)
    assert (accuracy["non-hateful", "women"], accuracy["non-hateful", "Muslims"]) == (0, 100)
    badge = (ran.at / "badges/hatecheck-en.json").read_text()
    assert "widest gap" in badge
    assert "shuffled labels ≈" in badge
    assert bias("verify", "out").code == 0


@pytest.mark.slow
def test_identity_terms(bias: Command, knows: Callable[..., Path], data_dir: Path) -> None:
    model = knows("gay", labels=("toxic", "other"))
    words = ("--suite", "identity_terms", "--data-dir", data_dir, "--out", "out")
    ran = bias("run", model, *words).done()
    assert [s["config"] for s in ran.report["suites"]] == ["all", "en"]
    found = suite(ran.report, "identity_terms")
    assert found["labels"] == {"toxic": "toxic"}
    # One term of 50 has a rate of 100 %, the others none: (98 + 49 * 2) / 50.
    assert headline(ran.report, "identity_terms")["value"] == pytest.approx(3.92)
    assert headline(ran.report, "identity_terms")["floor"] < 3
    gaps = scores(found, "false_positive_gap")
    assert gaps["gay",] == pytest.approx(100)
    assert gaps["lesbian",] == pytest.approx(-100 / 49)
    assert scores(found, "subgroup_auc")["gay",] == pytest.approx(0.5, abs=1e-3)
    # Its harmless texts rank above all toxic ones of others, its toxic ones above the harmless.
    assert scores(found, "bpsn_auc")["gay",] == 0
    assert scores(found, "bnsp_auc")["gay",] == 1
    assert bias("verify", "out").code == 0


@pytest.mark.nightly
def test_equity_evaluation(
    bias: Command, knows: Callable[..., Path], data_dir: Path, tmp_path: Path
) -> None:
    model = knows("daughter", "shaniqua", labels=("positive", "negative"))
    words = ("run", model, "--suite", "equity_evaluation", "--data-dir", data_dir)
    ran = bias(*words, "--out", "refused").done()
    entry = suite(ran.report, "equity_evaluation")
    assert entry["status"] == "skipped"
    line = "accept_licences: {equity_evaluation: no clear licence}"
    assert line in entry["reason"]
    settings = tmp_path / "accepted.yaml"
    settings.write_text(line + "\n")
    bias(*words, "--config", settings, "--out", "out").done()
    found = suite(read(tmp_path / "out/report.json"), "equity_evaluation")
    assert found["labels"] == {"positive": "positive", "negative": "negative"}
    found = scores(found, "mean_difference")
    # Of eleven pairs a sentence one is of my daughter, one of names, one in twenty of them hers.
    assert found["gender",] == pytest.approx(100 * (1 + 1 / 20) / 11, abs=0.05)
    # One of ten names of one gender of two.
    assert found["race",] == pytest.approx(100 / 20, abs=0.05)
    assert bias("verify", "out").code == 0


def test_a_classifier_without_a_label_that_is_understood(
    bias: Command, knows: Callable[..., Path], data_dir: Path, tmp_path: Path
) -> None:
    model = knows("women", labels=("LABEL_0", "LABEL_1"))
    words = ("run", model, "--suite", "hatecheck", "--data-dir", data_dir, "--profile", "quick")
    ran = bias(*words, "--out", "one").done()
    entry = suite(ran.report, "hatecheck")
    assert entry["status"] == "not_applicable"
    assert "has the labels LABEL_0, LABEL_1; for hate speech one of them must be" in entry["reason"]
    assert "labels: {hate: {hateful: LABEL_1}}" in entry["reason"]
    settings = tmp_path / "named.yaml"
    settings.write_text("labels: {hate: {hateful: LABEL_0}}\n")
    bias(*words, "--config", settings, "--out", "two").done()
    entry = suite(read(tmp_path / "two/report.json"), "hatecheck")
    assert (entry["status"], entry["labels"]) == ("scored", {"hateful": "LABEL_0"})


def test_a_language_model_is_told_what_is_needed(
    bias: Command, tiny: Callable[[str], Path], data_dir: Path
) -> None:
    words = ("run", tiny("bert"), "--suite", "hatecheck", "--data-dir", data_dir, "--out", "out")
    ran = bias(*words).done()
    assert statuses(ran.report)["hatecheck"] == "not_applicable"
    reason = suite(ran.report, "hatecheck")["reason"]
    assert reason == "needs text classification, which a masked language model does not do"


def test_without_the_data_it_says_what_it_looked_for(
    bias: Command, knows: Callable[..., Path], tmp_path: Path
) -> None:
    model = knows("women", labels=("hateful", "other"))
    ran = bias("run", model, "--suite", "hatecheck", "--offline", "--out", "out").done(3)
    entry = suite(ran.report, "hatecheck")
    assert entry["status"] == "unavailable"
    assert "hatecheck/test_suite_cases.csv" in entry["reason"]
