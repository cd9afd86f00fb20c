"""The negation subset of MultiNLI: its fifteen words, and its scores by hand."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from bias_suites.robustness.mnli_negation import SUITE, WORDS, negations
from pair_classifiers import Pairs, always, mnli
from pytest_bias.data.sources import DataFolder
from pytest_bias.records.report import Item
from stand_ins import records_of, result_of, values


@pytest.fixture
def items(tmp_path: Path) -> tuple[Item, ...]:
    mnli(tmp_path)
    return SUITE.configuration("en").load(DataFolder(tmp_path, offline=True)).items


def test_there_are_fifteen_words() -> None:
    assert len(set(WORDS)) == len(WORDS) == 15


@pytest.mark.parametrize("word", WORDS)
def test_each_word_is_found_in_any_case_and_with_either_apostrophe(word: str) -> None:
    for written in (word, word.upper(), word.capitalize(), word.replace("'", "’")):
        assert negations(f"She said it {written}, again.") == [word]
        assert negations(written) == [word]


@pytest.mark.parametrize(
    "hypothesis",
    [
        "Nobody knows a noble note.",
        "It is nothingness.",
        "Another knot is nevertheless there.",
        "They can't, and wouldn't, and shouldn't.",
        "Mr. No's house.",
        "The donthing.",
    ],
)
def test_parts_of_words_and_other_negations_are_not_found(hypothesis: str) -> None:
    assert negations(hypothesis) == []


def test_marks_around_a_word_do_not_hide_it() -> None:
    assert negations("No-one said 'not', “never” or (none).") == ["no", "not", "never", "none"]
    assert negations("It can not be, and cannot.") == ["not", "cannot"]


def test_the_subset_is_entailed_and_stands_there_a_second_time(items: tuple[Item, ...]) -> None:
    subset = [i for i in items if i.by["distribution"] == "out of distribution"]
    assert [(i.id, i.cluster, i.by["word"]) for i in subset] == [
        ("negation/0001", "mnli/0001", "not"),
        ("negation/0005", "mnli/0005", "no"),
    ]
    assert len(items) == 6 + 2


def test_scores_by_hand(items: tuple[Item, ...]) -> None:
    def by_word(premise: str, hypothesis: str) -> Mapping[str, float]:
        return {"contradiction": 1.0} if negations(hypothesis) else {"entailment": 1.0}

    found = result_of(SUITE, Pairs("nli", by_word), items)
    assert found.headline is not None
    # It takes both entailed pairs with a word for contradictions.
    assert (found.headline.value, found.headline.n) == (0.0, 2)
    # Right are the entailed pair without a word and the contradiction with one, of six.
    assert values(found, "in_distribution_accuracy")[()] == pytest.approx(100 / 3)
    assert values(found, "in_distribution_accuracy")["entailment",] == pytest.approx(100 / 3)
    assert values(found, "gap")[()] == pytest.approx(100 / 3)
    assert values(found, "accuracy_without_negation")[()] == 100.0
    assert values(found, "negation_gap")[()] == 100.0
    assert values(found, "shortcut_gap")[()] == 100.0


def test_a_second_time_has_the_same_answer(items: tuple[Item, ...]) -> None:
    found = records_of(SUITE, Pairs("nli", always("neutral")), items)
    again, first = found["negation/0001"], found["mnli/0001"]
    assert (again.value, again.text_sha256) == (first.value, first.text_sha256)
