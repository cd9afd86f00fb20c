"""Labels of classifiers: what is understood by spelling, what is named, what is never guessed."""

import pytest

from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.forms.yaml_with_lines import Marked
from pytest_bias.models.labels import LABELS, ROLES, labels_for

THREE = ("entailment", "neutral", "contradiction")


def found(role, labels, chosen=None, also=()):
    return labels_for(role, labels, chosen or {}, "this classifier", also)


@pytest.mark.parametrize(
    "labels",
    [
        ("entailment", "neutral", "contradiction"),
        ("CONTRADICTION", "NEUTRAL", "ENTAILMENT"),
        ("Contradicts", "entails", "Neutral"),
    ],
)
def test_three_labels_of_inference_in_any_order_and_case(labels):
    concepts = found("nli", labels, also=THREE)
    assert sorted(concepts.values()) == sorted(labels)
    # A label begins as the concept that it stands for.
    assert all(label.lower()[:6] == concept[:6] for concept, label in concepts.items())


@pytest.mark.parametrize("other", ["not_entailment", "non-entailment", "NOT ENTAILMENT"])
def test_a_head_of_entailment_and_not(other):
    assert found("nli", (other, "entailment")) == {
        "entailment": "entailment",
        "not_entailment": other,
    }


@pytest.mark.parametrize(
    ("role", "labels", "concepts"),
    [
        ("paraphrase", ("not_duplicate", "duplicate"), ("not_paraphrase", "paraphrase")),
        ("paraphrase", ("not_equivalent", "equivalent"), ("not_paraphrase", "paraphrase")),
        ("fact_checking", ("SUPPORTS", "REFUTES"), ("supports", "refutes")),
        (
            "fact_checking",
            ("REFUTES", "NOT ENOUGH INFO", "SUPPORTS"),
            ("refutes", "not_enough_info", "supports"),
        ),
        ("sentiment", ("NEGATIVE", "POSITIVE"), ("negative", "positive")),
    ],
)
def test_known_spellings(role, labels, concepts):
    assert found(role, labels) == dict(zip(concepts, labels, strict=True))


def test_a_suite_of_three_answers_does_not_take_a_head_of_two():
    with pytest.raises(UsageError, match="must be entailment, neutral, contradiction, and no"):
        found("nli", ("entailment", "not_entailment"), also=THREE)


def test_a_label_without_a_meaning_is_not_left_out():
    # The likeliest of all labels is the answer: one that is not understood could be it.
    with pytest.raises(UsageError) as caught:
        found("fact_checking", ("SUPPORTS", "REFUTES", "LABEL_2"))
    assert "supports: SUPPORTS, refutes: REFUTES, not_enough_info: <label>" in caught.value.hint
    with pytest.raises(UsageError, match="and no others"):
        found("nli", (*THREE, "other"))
    with pytest.raises(UsageError, match="and no others"):
        found("nli", ("entailment",))


@pytest.mark.parametrize(
    ("role", "n", "lines"),
    [
        ("nli", 3, "nli: {entailment: <label>, neutral: <label>, contradiction: <label>}"),
        ("nli", 2, "nli: {entailment: <label>, not_entailment: <label>}"),
        ("paraphrase", 2, "paraphrase: {paraphrase: <label>, not_paraphrase: <label>}"),
        ("fact_checking", 2, "fact_checking: {supports: <label>, refutes: <label>}"),
        ("regard", 4, "regard: {negative: <label>, positive: <label>}"),
    ],
)
def test_numbered_labels_are_never_guessed_and_all_lines_are_shown(role, n, lines):
    labels = [f"LABEL_{i}" for i in range(n)]
    with pytest.raises(UsageError) as caught:
        found(role, labels)
    assert f"has the labels {', '.join(labels)};" in caught.value.message
    assert f"In pytest-bias.yaml: labels: {{{lines}}}" in caught.value.hint
    for concept in lines.partition("{")[2].strip("}").split(", "):
        spelling = ROLES[role].concepts[concept.partition(":")[0]][0]
        assert spelling in caught.value.message


def test_the_lines_with_the_labels_filled_in_are_accepted():
    chosen = {"entailment": "LABEL_2", "neutral": "LABEL_1", "contradiction": "LABEL_0"}
    assert LABELS(Marked(), ("labels",), {"nli": chosen}) == {"nli": chosen}
    assert found("nli", ("LABEL_0", "LABEL_1", "LABEL_2"), chosen, THREE) == chosen


def test_what_the_user_names_goes_before_the_spelling():
    chosen = {"not_entailment": "contradiction"}
    assert found("nli", ("entailment", "contradiction"), chosen) == {
        "entailment": "entailment",
        **chosen,
    }
    with pytest.raises(UnknownName, match="label of this classifier"):
        found("nli", ("entailment", "contradiction"), {"neutral": "LABEL_9"})


def test_one_label_cannot_stand_for_two_answers():
    with pytest.raises(UsageError, match="they must be, one each"):
        found("paraphrase", ("a", "b"), {"paraphrase": "a", "not_paraphrase": "a"})


def test_sentiment_for_pairs_of_reviews_needs_both_ends():
    assert found("sentiment", ("positive", "LABEL_0")) == {"positive": "positive"}
    with pytest.raises(UsageError, match="must be negative or neg") as caught:
        found("sentiment", ("LABEL_0", "positive"), also=("negative",))
    assert "labels: {sentiment: {negative: LABEL_0}}" in caught.value.hint


def test_every_head_is_made_of_concepts_that_the_role_knows():
    for role in ROLES.values():
        for head in role.heads:
            assert set(role.needed) <= set(role.concepts)
            assert set(head) <= set(role.concepts)
        spellings = [s for of in role.concepts.values() for s in of]
        assert len(set(spellings)) == len(spellings)
