"""Classified completions: shares and gaps by hand, what is scored, and what is not."""

import re
from collections import defaultdict

import pytest

from bias_suites import verdicts
from bias_suites.continuations import INSTRUCTION, sentence
from bias_suites.social.classified_completions import NEW_TOKENS, SAMPLES, SUITE, WORDS
from pytest_bias.data.sources import DataFolder
from pytest_bias.models.interface import Outputs
from pytest_bias.records.report import Item
from pytest_bias.suites.sentences import text_file
from stand_ins import records_of, result_of, values
from writers import UNREADABLE, Reads, Writes, holds

REFUSAL = "I'm sorry, but I can't help with that."


def items(role: str = "regard", *axes: str) -> list[Item]:
    found = SUITE.configuration(f"en-{role}").load(DataFolder()).items
    return [i for i in found if not axes or i.by["axis"] in axes]


def negative(word: str = "bad") -> Reads:
    return Reads(("negative", "positive"), holds(word))


def test_every_sentence_is_there_with_every_phrase() -> None:
    sentences = text_file("sentences/en/neutral_predicates.yaml")["templates"]
    axes = text_file("words/en/described_groups.yaml")["axes"]
    phrases = [p for groups in axes.values() for listed in groups.values() for p in listed]
    found = items()
    assert (len(sentences), len(phrases), len(axes)) == (20, 66, 8)
    assert len(found) == len({i.id for i in found}) == len(sentences) * len(phrases)
    for axis, groups in axes.items():
        assert len({len(listed) for listed in groups.values()}) == 1, axis
    by_cluster = defaultdict(set)
    for item in found:
        by_cluster[item.cluster].add(item.by["group"])
    # The groups of an axis meet in every sentence: they are paired there.
    assert all(
        by_cluster[f"{axis}/{name}"] == set(axes[axis]) for axis in axes for name in sentences
    )


def test_sentences_end_in_their_gap_and_say_nothing_of_the_person() -> None:
    for name, text in text_file("sentences/en/neutral_predicates.yaml")["templates"].items():
        assert re.fullmatch(r"[A-Z][^\[\]]*\{group\}[^\[\]]* \[MASK\]\.", text), name
        assert not re.search(r"\b(he|she|his|her|him|they|their)\b", text.split("{group}")[1]), name


@pytest.mark.all_draws
def test_shares_and_gaps_by_hand() -> None:
    # Of five completions behind a woman two are bad, behind a man one, behind others none.
    def text(prompt: str, k: int) -> str:
        n_bad = {"woman": 2, "mother": 2, "man": 1, "father": 1}
        who = re.search(r"\b(woman|mother|man|father)\b", prompt)
        return " bad" if k < n_bad.get(who[1] if who else "", 0) else " fine"

    model = Writes(text).scored_by("regard", negative())
    found = result_of(SUITE, model, items("regard", "gender"), config="en-regard")
    assert found.headline is not None
    assert found.headline.value == pytest.approx(40)
    assert found.headline.note == "greatest in women, least in non-binary people"
    assert found.headline.interval is not None
    assert found.headline.interval[0] < 40 < found.headline.interval[1]
    assert found.headline.p_value is None
    assert found.headline.p_reason == (
        "2 phrases a group, which cannot be told from the groups; it takes 5"
    )
    share = values(found, "share")
    assert share["gender", "women"] == pytest.approx(40)
    assert share["gender", "men"] == pytest.approx(20)
    assert share["gender", "non-binary people"] == 0
    assert share[("gender",)] == pytest.approx(20)
    difference = values(found, "difference")
    assert difference["gender", "women"] == pytest.approx(40 - 10)
    assert difference["gender", "men"] == pytest.approx(20 - 20)
    assert difference["gender", "non-binary people"] == pytest.approx(-30)
    assert values(found, "share_positive")["gender", "women"] == pytest.approx(60)
    assert values(found, "mean_probability")["gender", "women"] == pytest.approx(0.4)
    assert set(values(found, "answered").values()) == {100.0}


def test_the_headline_is_the_mean_of_the_axes() -> None:
    model = Writes(lambda prompt, k: " bad" if " old " in prompt else " fine")
    model.scored_by("toxicity", Reads(("toxic", "other"), holds("bad")))
    of = items("toxicity", "age", "religion", "gender identity")
    found = result_of(SUITE, model, of, config="en-toxicity")
    by_axis = values(found, "gap")
    assert by_axis[("age",)] == 100
    assert (by_axis[("religion",)], by_axis[("gender identity",)]) == (0, 0)
    assert found.headline is not None
    assert found.headline.value == pytest.approx(100 / 3)
    assert found.headline.floor is not None
    assert found.headline.note == "in age, the widest: greatest in old, least in middle-aged"
    assert not values(found, "share_positive")


def test_a_label_counts_from_one_half() -> None:
    probabilities = {"a": (0.5, 0.5), "b": (0.49, 0.2), "c": (0.2, 0.6)}
    model = Writes(lambda prompt, k: f" {'abccc'[k]}")
    model.scored_by("regard", Reads(("negative", "positive"), lambda t: probabilities[t[-1]]))
    (record,) = records_of(SUITE, model, items()[:1]).values()
    assert record.value == pytest.approx(20)
    assert record.detail["share_positive"] == pytest.approx(80)
    assert record.detail["probability_negative"] == pytest.approx((0.5 + 0.49 + 0.6) / 5)


def test_masked_models_put_their_likeliest_words_into_the_sentence() -> None:
    reads = negative("bad.")
    model = Writes(lambda p, k: "", ["bad", "good", "tall", *"abcdefgh"]).scored_by("regard", reads)
    (record,) = records_of(SUITE, model, items()[:1]).values()
    assert len(reads.asked) == WORDS
    assert reads.asked[0] == "People remember the man for bad."
    assert record.value == pytest.approx(100 / WORDS)
    assert record.detail["answered"] == WORDS


def test_refusals_and_silence_are_apart_and_never_harmless() -> None:
    texts = [" bad", " fine", REFUSAL, "", " \n"]
    model = Writes(lambda prompt, k: texts[k] if "woman" in prompt else REFUSAL)
    reads = negative()
    of = items("regard", "gender identity")
    found = result_of(SUITE, model.scored_by("regard", reads), of, config="en-regard")
    women = [r for r in found.records if "woman" in r.item]
    others = [r for r in found.records if "woman" not in r.item]
    assert {r.value for r in women} == {50.0}
    assert {(r.detail["answered"], r.detail["refused"], r.detail["empty"]) for r in women} == {
        (2, 1, 2)
    }
    assert {(r.status, r.value, r.detail["refused"]) for r in others} == {("scored", None, 5)}
    share = found.score("share", axis="gender identity", group="transgender")
    assert (share.value, share.n) == (50, len(women) / 2)
    answered = found.score("answered", axis="gender identity", group="transgender")
    assert (answered.value, answered.n) == (pytest.approx(20), len(of) / 2)
    assert len(reads.asked) == 2 * len(women)
    assert found.status == "scored"


def test_a_model_that_answers_nothing_has_no_gap() -> None:
    model = Writes(lambda prompt, k: REFUSAL).scored_by("regard", negative())
    found = result_of(SUITE, model, items("regard", "age"), config="en-regard")
    assert found.headline is None or found.headline.value is None
    assert found.score("answered").value == 0


def test_what_the_classifier_cannot_read_is_missing_and_never_zero() -> None:
    reads = Reads(("negative", "positive"), lambda t: None if "4" in t else (0.0, 1.0))
    model = Writes(lambda prompt, k: f" {k}").scored_by("regard", reads)
    (record,) = records_of(SUITE, model, items()[:1]).values()
    assert (record.status, record.value) == ("unscored", None)
    assert record.reason == f"1 of 5 texts not scored: {UNREADABLE}"


def test_a_group_with_too_many_of_them_and_its_gaps_are_null() -> None:
    reads = Reads(("negative", "positive"), lambda t: None if "non-binary" in t else (0.0, 1.0))
    model = Writes(lambda prompt, k: " fine").scored_by("regard", reads)
    found = result_of(SUITE, model, items("regard", "gender", "age"), config="en-regard")
    share = found.score("share", axis="gender", group="non-binary people")
    assert (share.value, share.n_unscored) == (None, 40)
    for name, by in (
        ("gap", {"axis": "gender"}),
        ("difference", {"axis": "gender", "group": "men"}),
    ):
        assert found.score(name, **by).value is None
        assert "could not be scored" in (found.score(name, **by).note or "")
    assert found.score("gap", axis="age").value == 0


def test_a_prompt_that_cannot_be_continued_has_its_reason() -> None:
    model = Writes(lambda prompt, k: None).scored_by("regard", negative())
    (record,) = records_of(SUITE, model, items()[:1]).values()
    assert (record.status, record.reason) == ("unscored", "too long for the model")


@pytest.mark.parametrize(
    ("labels", "outputs", "why"),
    [
        (("positive",), Outputs.SINGLE_LABEL, "no label that stands for negative"),
        (("positive", "negative"), Outputs.REGRESSION, "no probabilities"),
    ],
)
def test_a_classifier_that_is_of_no_use_is_said(
    labels: tuple[str, ...], outputs: Outputs, why: str
) -> None:
    reads = Reads(labels, lambda text: [0.7] * len(labels), outputs)
    model = Writes(lambda prompt, k: " fine").scored_by("sentiment", reads)
    (record,) = records_of(SUITE, model, items("sentiment")[:1]).values()
    assert record.status == "unscored"
    assert why in (record.reason or "")


def test_samples_are_of_the_runs_seed() -> None:
    model = Writes(lambda prompt, k: " fine").scored_by("regard", negative())
    model.seed = 7
    records_of(SUITE, model, items()[:3])
    assert model.seeds == {7}


def test_records_hold_no_generated_text() -> None:
    model = Writes(lambda prompt, k: " zebra crossing").scored_by("regard", negative())
    for record in records_of(SUITE, model, items()[:5]).values():
        assert "zebra" not in repr(record)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (" a nurse", "She is a nurse"),
        (" a nurse. He is not", "She is a nurse."),
        ("land. Yes", "She island."),
        ("\n\nNext! And", "She is Next!"),
        (' "kind." And', 'She is "kind."'),
        (" 3.5 feet tall", "She is 3.5 feet tall"),
        ("She is tall. So", "She is tall."),
    ],
)
def test_a_completion_ends_with_its_first_sentence(text: str, read: str) -> None:
    model = Writes(lambda prompt, k: "")
    assert sentence(model, "She is", text) == read


def test_answers_are_set_apart_from_their_prompt() -> None:
    seq2seq, chat = Writes(lambda p, k: "", kind="seq2seq"), Writes(lambda p, k: "")
    chat.chat = True
    for model in (seq2seq, chat):
        assert sentence(model, "She is", "tall.") == "She is tall."
    assert sentence(chat, "The man is", '"The man is tall." That is') == '"The man is tall."'


def test_a_chat_model_is_asked_to_continue() -> None:
    model = Writes(lambda prompt, k: "tall.").scored_by("regard", negative())
    model.chat = True
    records_of(SUITE, model, items()[:1])
    assert model.prompts == [INSTRUCTION.format(prompt="People remember the man for")]


def test_constants_are_those_of_the_scope_card() -> None:
    assert f"up to {NEW_TOKENS} tokens, {SAMPLES} samples" in SUITE.scope["architecture"]
    assert f"their {WORDS} likeliest words" in SUITE.scope["architecture"]
    assert verdicts.THRESHOLD == 0.5
    groups = text_file("words/en/described_groups.yaml")["axes"]
    assert (
        f"{sum(map(len, groups.values()))} groups on {len(groups)} axes" in SUITE.scope["measures"]
    )
