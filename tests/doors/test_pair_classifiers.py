"""Robustness suites of classifiers as whole runs of the command, on classifiers with known answers.

A text or pair that holds the word gets the first label, any other the second.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import pair_classifiers as data
from commands import Command, headline, read, suite
from word_classifier import word_classifier

# Two of the sentences for the structural checks have to get other numbers.
SOUND = "librarian"
NLI = ("contradiction", "entailment", "neutral")


@pytest.fixture
def knows(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that makes a classifier whose first label means one of the words."""

    def build(*words: str, labels: Sequence[str]) -> Path:
        return word_classifier(tmp_path / "classifier", [SOUND, *words], labels)

    return build


def scores(entry: dict[str, Any], metric: str) -> dict[tuple[str, ...], float]:
    found = [s for s in entry["scores"] if s["metric"] == metric]
    return {tuple(s["by"].values()): s["value"] for s in found}


def test_hans_with_heads_of_three_labels_and_of_two(
    bias: Command, knows: Callable[..., Path], tmp_path: Path
) -> None:
    data.mnli(tmp_path / "data")
    data.hans(tmp_path / "data", n=30)
    for out, labels in (("three", NLI), ("two", ("not_entailment", "entailment"))):
        model = knows("not", labels=labels)
        words = ("--suite", "hans", "--data-dir", tmp_path / "data", "--out", out)
        bias("run", model, *words).done()
        report = read(tmp_path / out / "report.json")
        entry = suite(report, "hans")
        assert entry["status"] == "scored", entry["reason"]
        assert set(entry["labels"].values()) == set(labels)
        # Pairs that are not entailed have the word; of MultiNLI it misses three of six.
        assert headline(report, "hans")["value"] == 100
        assert scores(entry, "in_distribution_accuracy")[()] == pytest.approx(100 * 2 / 6)
        assert scores(entry, "gap")[()] == pytest.approx(-100 * 4 / 6)
        assert set(scores(entry, "shortcut_gap").values()) == {0}
        badge = (tmp_path / out / "badges/hans-en.json").read_text()
        assert '"robustness: HANS en"' in badge


def test_negation_words_are_taken_for_contradictions(
    bias: Command, knows: Callable[..., Path], tmp_path: Path
) -> None:
    rows = [(p, f"{h} {n}", label) for n in range(20) for p, h, label in data.MNLI[:5]]
    data.mnli(tmp_path / "data", rows)
    model = knows("not", "never", labels=NLI)
    words = ("run", model, "--suite", "mnli_negation", "--data-dir", tmp_path / "data")
    bias(*words, "--out", "out").done()
    report = read(tmp_path / "out/report.json")
    entry = suite(report, "mnli_negation")
    assert (headline(report, "mnli_negation")["value"], entry["status"]) == (0, "scored")
    assert scores(entry, "in_distribution_accuracy")[()] == pytest.approx(40)
    assert scores(entry, "gap")[()] == pytest.approx(40)
    assert scores(entry, "accuracy_without_negation")[()] == 100
    assert scores(entry, "negation_gap")[()] == scores(entry, "shortcut_gap")[()] == 100
    # A head of two answers cannot say what is asked here.
    model = knows("not", labels=("not_entailment", "entailment"))
    ran = bias(*words, "--out", "two").done()
    entry = suite(read(tmp_path / "two/report.json"), "mnli_negation")
    assert entry["status"] == "not_applicable"
    assert "must be entailment, neutral, contradiction, and no others" in entry["reason"]
    assert ran.code == 0


def test_labels_that_are_numbers_are_not_guessed(
    bias: Command, knows: Callable[..., Path], tmp_path: Path
) -> None:
    data.mnli(tmp_path / "data")
    data.hans(tmp_path / "data", n=30)
    model = knows("not", labels=("LABEL_0", "LABEL_1", "LABEL_2"))
    words = ("run", model, "--suite", "hans", "--data-dir", tmp_path / "data")
    bias(*words, "--out", "one").done()
    entry = suite(read(tmp_path / "one/report.json"), "hans")
    assert entry["status"] == "not_applicable"
    assert "has the labels LABEL_0, LABEL_1, LABEL_2; for natural language" in entry["reason"]
    lines = "labels: {nli: {entailment: <label>, neutral: <label>, contradiction: <label>}}"
    assert lines in entry["reason"]
    for label in ("LABEL_1", "LABEL_2", "LABEL_0"):
        lines = lines.replace("<label>", label, 1)
    settings = tmp_path / "named.yaml"
    settings.write_text(f"{lines}\n")
    bias(*words, "--config", settings, "--out", "two").done()
    report = read(tmp_path / "two/report.json")
    assert headline(report, "hans")["value"] == 100
    assert suite(report, "hans")["labels"]["contradiction"] == "LABEL_0"


def test_without_the_data_it_says_what_it_looked_for_and_where_it_is(
    bias: Command, knows: Callable[..., Path], tmp_path: Path
) -> None:
    model = knows("not", labels=NLI)
    data.hans(tmp_path / "data", n=1)
    words = ("--suite", "hans", "--data-dir", tmp_path / "data", "--offline", "--out", "out")
    bias("run", model, *words).done(3)
    entry = suite(read(tmp_path / "out/report.json"), "hans")
    assert entry["status"] == "unavailable"
    assert "mnli/validation_matched-00000-of-00001.parquet" in entry["reason"]


def test_consent_is_asked_for_by_name(
    bias: Command, knows: Callable[..., Path], tmp_path: Path
) -> None:
    model = knows("not", labels=NLI)
    words = ("run", model, "--suite", "anli", "--data-dir", tmp_path, "--offline")
    bias(*words, "--out", "out").done()
    entry = suite(read(tmp_path / "out/report.json"), "anli")
    assert entry["status"] == "skipped"
    assert "accept_licences: {anli: CC-BY-NC-4.0}" in entry["reason"]


@pytest.mark.slow
def test_the_originals_and_the_changed_reviews(
    bias: Command, knows: Callable[..., Path], data_dir: Path, tmp_path: Path
) -> None:
    model = knows("great", labels=("POSITIVE", "NEGATIVE"))
    words = ("--suite", "imdb_contrast[en-counterfactual]", "--data-dir", data_dir)
    bias("run", model, *words, "--out", "out").done()
    report = read(tmp_path / "out/report.json")
    entry = suite(report, "imdb_contrast")
    found = {m: scores(entry, m)[()] for m in ("accuracy", "in_distribution_accuracy", "gap")}
    assert found["gap"] == pytest.approx(found["in_distribution_accuracy"] - found["accuracy"])
    assert headline(report, "imdb_contrast")["n"] == 488
    assert scores(entry, "consistency")[()] < found["accuracy"]
    assert bias("verify", "out").code == 0
