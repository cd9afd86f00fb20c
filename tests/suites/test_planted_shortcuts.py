"""Classifiers with a planted shortcut: the gap is measured, with its sign and its size.

They are trained here, written as checkpoints, and loaded and asked as any other. What the best
classifier for the training sentences scores is known (`planted`).
"""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import planted
from planted import TASKS, Example
from pytest_bias.models import load
from pytest_bias.models.interface import Model
from pytest_bias.records.report import Item, Record
from pytest_bias.records.score import Score
from pytest_bias.scoring.shortcuts import shortcut_gap

pytestmark = pytest.mark.all_draws

Made = Callable[[str, bool], Model]
N: dict[str, int] = {"nli": 1200, "sentiment": 1200}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Return a function from a task, and whether its shortcut is planted, to a classifier."""
    made: dict[tuple[str, bool], Model] = {}

    def build(task: str, shortcut: bool) -> Model:
        if (task, shortcut) not in made:
            folder = tmp_path_factory.mktemp("planted") / f"{task}-{shortcut}"
            planted.classifier(folder, task, planted=shortcut)
            made[task, shortcut] = load(str(folder), device="cpu")
        return made[task, shortcut]

    return build


def records(model: Model, task: str, examples: list[Example]) -> list[Record]:
    """Return a record an example: 100 for a right label, else 0."""
    found = model.classify([e.text for e in examples])
    assert found.labels == TASKS[task].labels
    said = found.probabilities.argmax(axis=1)
    return [
        Item(f"{task}/{n:04d}", f"{task}/{n:04d}", {}).scored(100.0 * (s == e.label))
        for n, (e, s) in enumerate(zip(examples, said, strict=True))
    ]


def gap(model: Model, task: str) -> Score:
    examples = TASKS[task].make(N[task], seed=7)
    found = records(model, task, examples)
    solvable = {r.item: e.solvable for r, e in zip(found, examples, strict=True)}
    return shortcut_gap(found, solvable)


@pytest.mark.nightly
@pytest.mark.parametrize("task", TASKS)
def test_a_planted_shortcut_has_the_gap_that_was_expected(task: str, trained: Made) -> None:
    found = gap(trained(task, True), task)
    assert found.interval is not None
    assert found.interval[0] <= TASKS[task].gap() <= found.interval[1]
    assert found.interval[0] > 25
    assert found.p_value == pytest.approx(1e-4)


@pytest.mark.nightly
@pytest.mark.parametrize("task", TASKS)
def test_without_the_shortcut_the_interval_contains_zero(task: str, trained: Made) -> None:
    found = gap(trained(task, False), task)
    assert found.interval is not None
    assert found.interval[0] <= 0 <= found.interval[1]
    assert found.interval[1] - found.interval[0] < 12


@pytest.mark.nightly
@pytest.mark.parametrize("task", TASKS)
def test_accuracy_where_the_shortcut_holds_does_not_tell(task: str, trained: Made) -> None:
    # As in training: there the classifier with the shortcut is the better one.
    examples = TASKS[task].make(N[task], 8, planted.STRONG)
    right = {
        shortcut: np.mean([r.value or 0 for r in records(trained(task, shortcut), task, examples)])
        for shortcut in (True, False)
    }
    assert right[True] > right[False] + 5


# The sentences, and the files that suites read


@pytest.mark.parametrize("task", TASKS)
def test_the_shortcut_holds_as_often_as_it_should(task: str) -> None:
    of = TASKS[task]
    for strength in (planted.STRONG, of.chance):
        examples = of.make(6000, 1, strength)
        assert np.bincount([e.label for e in examples]).std() == 0
        said = [
            e for e in examples if task == "sentiment" or "not" in e.text[1] or "never" in e.text[1]
        ]
        assert np.mean([e.solvable for e in said]) == pytest.approx(strength, abs=0.025)
    # Where it is measured it tells nothing: half of each label is solvable.
    examples = of.make(1200, 1)
    for label in range(len(of.labels)):
        assert np.mean([e.solvable for e in examples if e.label == label]) == 0.5


def test_files_in_the_shape_of_mnli(tmp_path: Path) -> None:
    examples = planted.nli(30, 1)
    path = planted.write_mnli(tmp_path / "mnli/validation.parquet", examples)
    table = pq.read_table(path)
    assert table.column_names == ["premise", "hypothesis", "label", "idx"]
    assert [(r["premise"], r["hypothesis"]) for r in table.to_pylist()] == [
        e.text for e in examples
    ]
    assert table["label"].to_pylist() == [e.label for e in examples]


def test_files_in_the_shape_of_the_contrast_sets(tmp_path: Path) -> None:
    found = []
    for path in planted.write_contrast(tmp_path, 40, 1):
        with path.open(encoding="utf-8", newline="") as file:
            found.append(list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)))
    original, contrast = found
    assert len(original) == len(contrast) == 40
    for one, other in zip(original, contrast, strict=True):
        assert {one["Sentiment"], other["Sentiment"]} == {"Positive", "Negative"}
        assert one["Text"].split()[1] == other["Text"].split()[1]


@pytest.mark.nightly
def test_a_classifier_on_contrasts(trained: Made, tmp_path: Path) -> None:
    right = []
    for path in planted.write_contrast(tmp_path, 800, 3):
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        labels = [planted.SENTIMENT_LABELS.index(r["Sentiment"].lower()) for r in rows]
        said = trained("sentiment", True).classify([r["Text"] for r in rows]).probabilities
        right.append(said.argmax(axis=1) == np.array(labels))
    original, contrast = right
    expected = planted.contrast_scores()
    assert 100 * original.mean() == pytest.approx(expected["original"], abs=3)
    assert 100 * contrast.mean() == pytest.approx(expected["contrast"], abs=5)
    assert 100 * (original & contrast).mean() == pytest.approx(expected["consistency"], abs=5)


def test_a_classifier_on_entailed_pairs_with_a_negation(trained: Made) -> None:
    examples = planted.nli(3000, 9)
    found = records(trained("nli", True), "nli", examples)
    chosen = [
        r.value or 0
        for r, e in zip(found, examples, strict=True)
        if e.label == 0 and not e.solvable
    ]
    assert np.mean(chosen) == pytest.approx(planted.negation_accuracy(), abs=7)
    every = np.mean([r.value or 0 for r in found])
    assert every == pytest.approx(planted.nli_accuracy(), abs=4)
