"""General quality: pairs that chance finds half of, two scores, and a model that is broken."""

import re

import pytest
import torch

from bias_suites.quality.general_quality import SIDES, SUITE
from bias_suites.social.gendered_sentences import OCCUPATIONS
from pytest_bias.data.sources import DataFolder
from pytest_bias.models import load
from pytest_bias.records.report import Item
from pytest_bias.scoring.scores import Context, score_records
from pytest_bias.suites.measures import measure_items
from pytest_bias.suites.sentences import text_file
from stand_ins import Pseudo, Texts, result_of, values

ITEMS = SUITE.configuration("en").load(DataFolder(offline=True)).items
MODELS = pytest.mark.parametrize("kind", [Texts, Pseudo])


def scored(of, items=ITEMS, kind=Texts):
    return result_of(SUITE, kind(of), items)


def test_eight_phenomena_have_ten_pairs_each():
    phenomena = [i.by["phenomenon"] for i in ITEMS]
    assert len(ITEMS) == 80
    assert {p: phenomena.count(p) for p in phenomena} == dict.fromkeys(phenomena, 10)
    assert len(set(phenomena)) == 8
    assert len({i.id for i in ITEMS}) == len({i.cluster for i in ITEMS}) == 80


def test_a_broken_sentence_has_one_other_word_or_the_same_in_another_order():
    for item in ITEMS:
        plain, broken = (item.texts[side].rstrip(".?").lower().split() for side in SIDES)
        assert len(plain) == len(broken), item.id
        if sorted(plain) == sorted(broken):
            assert plain != broken, item.id
        else:
            assert sum(a != b for a, b in zip(plain, broken, strict=True)) == 1, item.id


@pytest.mark.parametrize(
    "count", [len, lambda t: len(t.split()), lambda t: len(re.findall(r"[aeiou]", t))]
)
@pytest.mark.parametrize("sign", [1, -1])
def test_what_only_counts_finds_about_half(count, sign):
    low, high = scored(lambda text: sign * float(count(text)) - 1000).headline.interval
    assert low < 50 < high


def test_no_sentence_speaks_of_a_group_of_people():
    gendered, occupations = text_file("words/en/gendered_pairs.yaml"), text_file(OCCUPATIONS)
    people = {"people", "person", "persons", "child", "children", "baby", "old man", "parents"}
    people |= set(" ".join([*gendered["pairs"], *gendered["filter"]]).replace("/", " ").split())
    people |= {word.lower() for word in occupations["women_percent"]}
    assert {"he", "she", "nurse"} <= people
    for item in ITEMS:
        words = set(re.findall(r"\w+", " ".join(item.texts.values()).lower()))
        assert not words & people, item.id


TABLE = {"p0": -4.0, "b0": -5.0, "p1": -8.0, "b1": -6.0, "p2": -3.0, "b2": -3.00005}


def made(*pairs):
    return [
        Item(
            id=f"quality/{n}",
            cluster=f"quality/{n}",
            texts={"plain": plain, "broken": broken},
            by={"phenomenon": "question" if n else "agreement"},
        )
        for n, (plain, broken) in enumerate(pairs)
    ]


THREE = made(("p0", "b0"), ("p1", "b1"), ("p2", "b2"))


@MODELS
def test_the_plain_sentence_has_to_be_likelier_and_a_tie_counts_one_half(kind):
    found = scored(TABLE.get, THREE, kind)
    assert {r.item: r.value for r in found.records} == {
        "quality/0": 100.0,
        "quality/1": 0.0,
        "quality/2": 50.0,
    }
    assert values(found, "accuracy") == {(): 50.0, ("agreement",): 100.0, ("question",): 25.0}
    assert (found.headline.metric, found.headline.ideal, found.headline.floor) == (
        *("accuracy", 100),
        50.0,
    )
    # Of sentences with two characters: (4 + 8 + 3) / 3 / 2.
    assert found.score("nats_per_character").value == 2.5
    assert found.score("nats_per_character").bounds == (0, None)


def test_nats_count_for_characters_and_not_for_sentences():
    found = scored(
        {"ab": -4.0, "ba": -5.0, "abcdefgh": -8.0, "hgfedcba": -9.0}.get,
        made(("ab", "ba"), ("abcdefgh", "hgfedcba")),
    )
    assert found.score("nats_per_character").value == (2 + 1) / 2


@MODELS
def test_what_a_model_cannot_read_is_unscored(kind):
    found = scored(lambda text: None if text == "b1" else TABLE[text], THREE, kind)
    assert [r.status for r in found.records] == ["scored", "unscored", "scored"]
    assert found.records[1].reason == "empty text"


def test_numbers_that_are_not_finite_are_unscored():
    found = scored(lambda text: float("nan") if text == "p1" else TABLE[text], THREE)
    assert [r.status for r in found.records] == ["scored", "unscored", "scored"]


@MODELS
def test_neither_kind_of_model_is_adapted(kind):
    measure = SUITE.measure_for(kind(len).capabilities)
    assert not measure.adapted
    assert ("pseudo" in measure.name) == (kind is Pseudo)


def test_there_is_no_test_against_a_perfect_model():
    found = scored(lambda text: -float(len(text)))
    assert {s.p_value for s in found.scores} == {None}


def whole(model):
    measure = SUITE.measure_for(model.capabilities)
    scores = score_records(
        measure_items(measure, model, ITEMS), measure.metrics, Context("q", "en")
    )
    return {s.metric: s for s in scores if not s.by}


def test_a_real_masked_model_is_above_chance_and_noise_brings_it_down(bert_tiny):
    sound = whole(load(str(bert_tiny), device="cpu"))
    assert sound["accuracy"].value == 67.5
    assert sound["accuracy"].interval[0] > 50
    assert sound["nats_per_character"].value == pytest.approx(1.832, abs=0.005)

    broken = load(str(bert_tiny), device="cpu")
    noise = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weights in broken.body.network.parameters():
            size = 2 * weights.std(correction=0)
            weights.add_(size * torch.randn(weights.shape, generator=noise))
    found = whole(broken)
    low, high = found["accuracy"].interval
    assert low < 50 < high
    assert found["nats_per_character"].value > sound["nats_per_character"].interval[1]


@pytest.mark.slow
def test_a_real_causal_model_finds_nearly_all(smollm2):
    found = whole(load(str(smollm2), device="cpu"))
    assert found["accuracy"].value > 95
    assert found["nats_per_character"].value == pytest.approx(1.341, abs=0.005)
