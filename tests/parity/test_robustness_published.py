"""Published predictions give the published accuracies, through the suites' own records and metrics.

HANS: predictions of the authors' BERT (McCoy et al. 2019), and what 100 more of them got right in
each subcase (McCoy et al. 2020). The sentences are not needed: an item's number says its subcase.
Adversarial NLI: probabilities of models in the annotated files (Williams et al. 2022). For
FEVER-Symmetric, PAWS and the pairs of reviews nobody has published predictions that we have; there
the numbers of a real classifier equal plain forwards.
"""

import ast
import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import ours
import plain
from bias_suites.robustness import anli, hans
from bias_suites.robustness.sentence_pairs import judged
from pytest_bias.data.sources import DataFolder
from pytest_bias.data.tables import csv_rows
from pytest_bias.models.interface import Outputs
from pytest_bias.records.report import Item, Record
from pytest_bias.records.score import Score
from pytest_bias.suites.classifier_readings import Reading
from tiny_architectures import CLASSIFIER, head

ANSWERS = ("entailment", "neutral", "contradiction")
HEURISTICS = {"l": "lexical_overlap", "s": "subsequence", "c": "constituent"}
PAPER = {
    ("lexical_overlap", "entailment"): 94.6,
    ("subsequence", "entailment"): 99.3,
    ("constituent", "entailment"): 98.4,
    ("lexical_overlap", "non-entailment"): 16.4,
    ("subsequence", "non-entailment"): 3.9,
    ("constituent", "non-entailment"): 16.1,
}
RUN = "berts_of_a_feather_accuracies_by_run.csv"
COLUMNS = {
    ("lexical_overlap", "entailment"): "Lexical (entailed)",
    ("subsequence", "entailment"): "Subseq (entailed)",
    ("constituent", "entailment"): "Constituent (entailed)",
    ("lexical_overlap", "non-entailment"): "Lexical (nonent)",
    ("subsequence", "non-entailment"): "Subseq (nonent)",
    ("constituent", "non-entailment"): "Constituent (nonent)",
}
OF_A_SUBCASE = 1000

README = {
    "preds-anli-roberta-large": "roberta-large",
    "preds-anli-xlnet-large": "xlnet-large-cased",
}
"""Columns of the models of which the README of ANLI has accuracies."""
ROUNDED = 0.25
"""Points by which the README and the files differ: they were made by two runs."""


def by_group(found: Sequence[Score], metric: str = "accuracy") -> dict[tuple[str, ...], float]:
    return {tuple(s.by.values()): s.value for s in found if s.metric == metric}


def certain(answers: Sequence[str]) -> Reading:
    """Return a reading that is sure of every answer."""
    values = {c: np.array([float(a == c) for a in answers]) for c in ANSWERS}
    return Reading(values, (None,) * len(answers), Outputs.SINGLE_LABEL)


@pytest.fixture(scope="module")
def subcases(data_dir: Path) -> list[str]:
    """Return the names of the 30 subcases in the order of the set, 1,000 pairs each."""
    text = (data_dir / "hans" / RUN).read_text(encoding="utf-8-sig")
    return [c for c in text.splitlines()[0].split(",") if c[:3] in _BEGINNINGS]


_BEGINNINGS = {f"{h}{label}_" for h in HEURISTICS for label in "en"}


def hans_items(subcases: Sequence[str]) -> list[Item]:
    return [
        hans.item(
            {
                "gold_label": "entailment" if name[1] == "e" else "non-entailment",
                "sentence1": "premise",
                "sentence2": "hypothesis",
                "pairID": f"ex{OF_A_SUBCASE * k + n}",
                "heuristic": HEURISTICS[name[0]],
                "subcase": name,
            }
        )
        for k, name in enumerate(subcases)
        for n in range(OF_A_SUBCASE)
    ]


@pytest.mark.nightly
def test_predictions_of_the_berts_of_hans(data_dir: Path, subcases: list[str]) -> None:
    items = hans_items(subcases)
    with (data_dir / "hans/bert_preds.txt").open() as file:
        predicted = {f"hans/{row['pairID']}": row["gold_label"] for row in csv.DictReader(file)}
    assert {i.id for i in items} == predicted.keys()
    reading = certain([predicted[i.id] for i in items])
    records = judged(items, reading, hans.MERGED)
    found = by_group(ours.scores("hans", records, only="accuracy"))
    assert {k: round(found[k], 1) for k in PAPER} == PAPER
    # The whole is the mean of the six.
    assert found[()] == pytest.approx(np.mean([found[k] for k in PAPER]))
    # Where a classifier is sure of its answer, its probabilities say the same when they are summed.
    summed = by_group(ours.scores("hans", records, only="accuracy_summed"), "accuracy_summed")
    assert {k: summed[k] for k in PAPER} == {k: found[k] for k in PAPER}


@pytest.mark.nightly
@pytest.mark.parametrize("run", [0, 99])
def test_one_of_the_berts_of_a_feather(data_dir: Path, subcases: list[str], run: int) -> None:
    with (data_dir / "hans" / RUN).open(encoding="utf-8-sig") as file:
        row = list(csv.DictReader(file))[run]
    assert row["Run"] == f"Run {run}"
    items = hans_items(subcases)
    answers = []
    for name in subcases:
        # Which pairs of a subcase were right is not published, only how many.
        right = round(OF_A_SUBCASE * float(row[name]))
        gold, other = ("entailment", "neutral") if name[1] == "e" else ("neutral", "entailment")
        answers += [gold] * right + [other] * (OF_A_SUBCASE - right)
    records = judged(items, certain(answers), hans.MERGED)
    found = by_group(ours.scores("hans", records, only="accuracy"))
    published = {k: 100 * float(row[column]) for k, column in COLUMNS.items()}
    assert {k: found[k] for k in COLUMNS} == pytest.approx(published)
    assert found[()] == pytest.approx(100 * float(row["Overall accuracy"]), abs=1e-4)


def anli_records(data_dir: Path) -> dict[str, list[Record]]:
    """Return the records of every model of which the files of all rounds have predictions."""
    folder = DataFolder(data_dir, offline=True)
    items: list[Item] = []
    rows: list[Mapping[str, str]] = []
    for number, file in enumerate(anli.FILES, start=1):
        of_round = csv_rows(folder.find(file), anli.COLUMNS)
        items += [anli.item(f"r{number}", row) for row in of_round]
        rows += of_round
    models = [c for c in rows[0] if c.startswith("preds-") and f"{c}PredLabel" in rows[0]]
    found = {}
    for model in models:
        numbers = np.array([ast.literal_eval(row[model]) for row in rows])
        values = {c: numbers[:, k] for k, c in enumerate(ANSWERS)}
        found[model] = judged(items, Reading(values, (None,) * len(rows), Outputs.SINGLE_LABEL), {})
        # The likeliest answer is the one that the file gives.
        answers = [str(r.detail["answer"])[0] for r in found[model]]
        assert answers == [row[f"{model}PredLabel"] for row in rows], model
    return found


@pytest.mark.nightly
def test_predictions_of_eight_models_for_adversarial_nli(data_dir: Path) -> None:
    records = anli_records(data_dir)
    assert len(records) == 8
    with (data_dir / "published_scores.csv").open(encoding="utf-8") as file:
        published = {
            (row["model"].split("/")[1].partition("-snli")[0], row["config"]): float(row["value"])
            for row in csv.DictReader(file)
            if row["benchmark"] == "anli" and row["config"].endswith(" dev") and "/" in row["model"]
        }
    for model in (*README, "preds-bert-r1"):
        of = records[model]
        found = by_group(ours.scores("anli", of, only="accuracy"))
        # Rows of a round that are right, counted without any of our code but the answers.
        for turn in ("r1", "r2", "r3"):
            right = [r.detail["answer"] == r.by["label"] for r in of if r.by["round"] == turn]
            assert found[turn,] == pytest.approx(100 * sum(right) / len(right))
        for n in (1, 2, 3) if model in README else ():
            there = published[README[model], f"A{n} dev"]
            assert found[f"r{n}",] == pytest.approx(there, abs=ROUNDED), (model, n)
        if model == "preds-bert-r1":
            # Round 1 is what people wrote until this model was wrong.
            assert found["r1",] == 0.0


# Numbers of a real classifier


PROBABILITY = 1e-5
PAIRS = {
    "fever_symmetric": ("claim", "evidence", "fact_checking", ("SUPPORTS", "REFUTES", "NEI")),
    "anli": ("premise", "hypothesis", "nli", ("neutral", "contradiction", "entailment")),
}
CONFIGURATIONS = {"fever_symmetric": "en", "anli": "en-rounds"}


@pytest.mark.parametrize("suite", PAIRS)
@pytest.mark.parametrize(("architecture", "types"), [("bert", True), ("roberta", False)])
def test_pairs_equal_plain_forwards_of_both_texts(
    suite: str, architecture: str, types: bool, data_dir: Path, tmp_path: Path, measured
) -> None:
    first, second, role, labels = PAIRS[suite]
    # Room for the contexts of Adversarial NLI, in pieces of a tiny vocabulary.
    room = {"max_position_embeddings": 1030, "id2label": dict(enumerate(labels))}
    folder = head(CLASSIFIER, architecture, tmp_path / "model", **room)
    model, slow = ours.model(folder), plain.classifier(folder)
    concepts = {"NEI": "not_enough_info"}
    named = {concepts.get(label, label.lower()): label for label in labels}
    model.label_names = {role: named}
    items = ours.items(suite, CONFIGURATIONS[suite], data_dir)[::97]
    records = {r.item: r for r in ours.records(suite, model, items)}
    difference = 0.0
    for item in items:
        record = records[item.id]
        assert record.status == "scored", record.reason
        logits = plain.head(slow, item.texts[first], item.texts[second], types=types)
        expected = logits.softmax(-1).numpy()
        found = np.array([record.detail[f"p_{c}"] for c in named])
        difference = max(difference, float(np.abs(found - expected).max()))
        assert record.detail["answer"] == list(named)[int(expected.argmax())]
    measured(suite, difference, "of 1")
    assert difference < PROBABILITY
