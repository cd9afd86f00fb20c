"""HANS: the merge of answers, accuracies by hand, and what its file may hold."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from bias_suites.robustness.hans import SUITE
from pair_classifiers import HEURISTICS, Pairs, always, hans, mnli, parquet
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataError, DataMissing
from pytest_bias.models.interface import Outputs
from pytest_bias.records.report import Item
from stand_ins import records_of, result_of, values


@pytest.fixture
def items(tmp_path: Path) -> tuple[Item, ...]:
    mnli(tmp_path)
    hans(tmp_path)
    return loaded(tmp_path)


def loaded(folder: Path) -> tuple[Item, ...]:
    return SUITE.configuration("en").load(DataFolder(folder, offline=True)).items


def test_both_sets_are_read(items: tuple[Item, ...]) -> None:
    assert len(items) == 12 + 6
    assert items[0].texts == {
        "premise": "The doctor not near the actor 0 danced .",
        "hypothesis": "The actor 0 danced .",
    }
    labels = [i.by["label"] for i in items if i.by["distribution"] == "in distribution"]
    ours = ["entailment"] * 2 + ["non-entailment"] * 3 + ["entailment"]
    assert labels == ours


def test_the_premise_comes_first(items: tuple[Item, ...]) -> None:
    model = Pairs("nli", always("neutral"))
    records_of(SUITE, model, items)
    assert model.asked[0] == (items[0].texts["premise"], items[0].texts["hypothesis"])


def test_who_always_says_entailment_is_right_where_the_heuristics_are(
    items: tuple[Item, ...],
) -> None:
    found = result_of(SUITE, Pairs("nli", always("entailment")), items)
    accuracy = values(found, "accuracy")
    assert found.headline is not None
    assert (found.headline.value, found.headline.n, found.headline.floor) == (50.0, 12, 50.0)
    for heuristic in HEURISTICS:
        assert accuracy[heuristic,] == 50.0
        assert accuracy[heuristic, "entailment"] == 100.0
        assert accuracy[heuristic, "non-entailment"] == 0.0
        assert values(found, "shortcut_gap")[heuristic,] == 100.0
    # Three of six pairs of MultiNLI are entailed.
    assert values(found, "in_distribution_accuracy")[()] == 50.0
    assert values(found, "gap")[()] == 0.0


@pytest.mark.parametrize(
    ("head", "of_entailment"),
    [(("entailment", "neutral", "contradiction"), 1 / 3), (("entailment", "not_entailment"), 0.5)],
)
def test_guessing_follows_from_the_labels_of_the_head(
    items: tuple[Item, ...], head: tuple[str, ...], of_entailment: float
) -> None:
    found = result_of(SUITE, Pairs("nli", always("entailment"), head), items)
    floors = {(s.metric, *s.by.values()): s.floor for s in found.scores if s.floor is not None}
    wanted = {"entailment": 100 * of_entailment, "non-entailment": 100 * (1 - of_entailment)}
    for name in ("accuracy", "in_distribution_accuracy"):
        # Half of HANS and of these pairs of MultiNLI is entailment.
        assert floors[name,] == pytest.approx(50)
        for label, floor in wanted.items():
            assert floors[name, label] == pytest.approx(floor)
    assert {s.floor_of for s in found.scores if s.floor is not None} == {"guessing"}


@pytest.mark.parametrize("other", ["neutral", "contradiction"])
def test_neutral_and_contradiction_are_both_no_entailment(
    items: tuple[Item, ...], other: str
) -> None:
    def by_word(premise: str, hypothesis: str) -> Mapping[str, float]:
        return {other: 0.9} if "not" in premise else {"entailment": 0.9}

    found = result_of(SUITE, Pairs("nli", by_word), items)
    assert values(found, "accuracy")[()] == 100.0
    assert values(found, "in_distribution_accuracy")[()] == 50.0
    assert values(found, "gap")[()] == -50.0
    record = records_of(SUITE, Pairs("nli", by_word), items)["hans/ex0"]
    assert record.detail["answer"] == "non-entailment"
    assert (record.detail[f"p_{other}"], record.detail["p_entailment"]) == (0.9, 0.0)


def test_answers_are_merged_after_the_likeliest_and_summed_beside_it(
    items: tuple[Item, ...],
) -> None:
    # Entailment is the likeliest of three, and less likely than the two others together.
    numbers = {"entailment": 0.4, "neutral": 0.3, "contradiction": 0.3}
    found = result_of(SUITE, Pairs("nli", lambda p, h: numbers), items)
    assert values(found, "accuracy")["non-entailment",] == 0.0
    assert values(found, "accuracy_summed")["non-entailment",] == 100.0
    assert values(found, "accuracy_summed")["entailment",] == 0.0


def test_a_head_of_two_labels_gives_the_same(items: tuple[Item, ...]) -> None:
    two = Pairs("nli", always("entailment"), ("not_entailment", "entailment"))
    three = Pairs("nli", always("entailment"))
    of_two, of_three = (result_of(SUITE, model, items) for model in (two, three))
    assert [s.value for s in of_two.scores] == [s.value for s in of_three.scores]


def test_a_pair_that_cannot_be_read_is_no_wrong_answer(items: tuple[Item, ...]) -> None:
    def reads(premise: str, hypothesis: str) -> Mapping[str, float] | None:
        return None if "actor 0" in hypothesis else {"entailment": 1.0}

    found = result_of(SUITE, Pairs("nli", reads), items)
    assert found.status == "inconclusive"
    score = found.score("accuracy", heuristic="lexical_overlap")
    assert (score.value, score.n, score.n_unscored) == (None, 3, 1)
    assert found.score("accuracy", heuristic="constituent").value == 50.0


def test_a_regression_has_no_likeliest_answer(items: tuple[Item, ...]) -> None:
    model = Pairs("nli", always("entailment"), outputs=Outputs.REGRESSION)
    found = records_of(SUITE, model, items)
    assert {r.status for r in found.values()} == {"unscored"}


def test_numbers_that_are_not_finite_are_unscored(items: tuple[Item, ...]) -> None:
    found = records_of(SUITE, Pairs("nli", always("neutral")), items[:1])
    assert found["hans/ex0"].status == "scored"
    broken = Pairs("nli", lambda p, h: {"entailment": float("nan")})
    assert records_of(SUITE, broken, items[:1])["hans/ex0"].reason == "non-finite"


def test_rows_with_another_label_or_no_text_are_unscored(tmp_path: Path) -> None:
    path = hans(tmp_path)
    lines = path.read_text().splitlines()
    lines[1] = lines[1].replace("non-entailment", "neutral")
    lines[2] = lines[2].replace("The actor 1 danced .", " ")
    path.write_text("\n".join(lines) + "\n")
    mnli(tmp_path, [("They met.", "They met.", 7)])
    found = {i.id: i for i in loaded(tmp_path) if i.status}
    assert {i: (item.status, item.reason) for i, item in found.items()} == {
        "hans/ex0": ("unscored", "its label is not one of the known ones"),
        "hans/ex1": ("unscored", "empty text"),
        "mnli/0000": ("unscored", "its label is not one of the known ones"),
    }


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match="hans/heuristics_evaluation_set"):
        loaded(tmp_path)
    path = hans(tmp_path)
    with pytest.raises(DataMissing, match="mnli/validation_matched"):
        loaded(tmp_path)
    parquet(tmp_path / "mnli/validation_matched-00000-of-00001.parquet", [{"premise": "a"}])
    with pytest.raises(DataError, match="has no hypothesis, label"):
        loaded(tmp_path)
    path.write_text("gold_label\tsentence1\n")
    with pytest.raises(DataError, match="holds no pairs"):
        loaded(tmp_path)
