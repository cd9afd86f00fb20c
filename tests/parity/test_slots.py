"""Words at a mask, and whole sentences on masked models, against plain loops."""

from itertools import pairwise

import pytest

import ours
import plain
from bias_suites.social.gendered_pair_entropy import entropy_bias
from bias_suites.social.template_association import text_of_group
from pytest_bias.models.interface import Cloze

NATS = 1e-4
MODELS = ("bert-tiny", "wordpiece", "byte-level", "unigram")

pytestmark = [
    pytest.mark.by_day(name=("wordpiece", "byte-level", "unigram")),
    pytest.mark.parametrize("name", MODELS),
]


@pytest.fixture
def slow(name, checkpoint):
    return plain.masked(checkpoint(name))


@pytest.fixture
def model(name, checkpoint):
    return ours.model(checkpoint(name))


def by_id(records):
    return {r.item: r for r in records}


@pytest.mark.by_day(language=("en", "fr"))
@pytest.mark.parametrize("language", ["en", "fr", "es"])
def test_association_equals_the_loop(language, slow, model, measured):
    items = ours.items("template_association", language)[:: 41 if language == "en" else 17]
    records = by_id(ours.records("template_association", model, items))
    largest, single = 0.0, 0
    for item in items:
        record = records[item.id]
        assert record.status == "scored", record.reason
        forms, groups = {text_of_group(item, "attribute", g) for g in item.meta["groups"]}, {}
        for group in item.meta["groups"]:
            sentence, attribute, word = (
                *(text_of_group(item, what, group) for what in ("sentence", "attribute")),
                item.texts[group],
            )
            logp = plain.slot(slow, sentence, word)
            prior = plain.slot(slow, sentence, word, attribute, sorted(forms))
            largest = max(
                largest,
                abs(record.detail[f"log_p_{group}"] - logp),
                abs(record.detail[f"log_prior_{group}"] - prior),
            )
            groups[group] = plain.association(slow, sentence, word, attribute, sorted(forms))
            n_tokens = len(plain.placed(slow, sentence, word).place)
            assert record.detail[f"tokens_{group}"] == n_tokens
            single += n_tokens == 1
        own = groups.pop(item.by["group"])
        expected = own - sum(groups.values()) / len(groups)
        assert record.value == pytest.approx(expected, abs=3 * NATS)
    measured(f"{len(items)} items, {single} words of one token", largest)
    assert largest < NATS


def test_the_number_of_masks_does_not_tell_which_form_is_hidden(model):
    clozes = [
        Cloze(f"Depuis dix ans, [MASK] est {own}.", ("il", "elle"), hidden=own, forms=(other,))
        for forms in (("fou", "folle"), ("infirmier", "infirmière"), ("fou", "esthéticienne"))
        for own, other in (forms, forms[::-1])
    ]
    found = model.slot(clozes)
    lengths = [s.n_tokens for s in model.slot([Cloze("[MASK]", (c.hidden,)) for c in clozes])]
    for number in range(0, len(clozes), 2):
        assert found[number].reason is None
        assert found[number] == found[number + 1]
    alone = model.slot([Cloze(c.text, c.choices, c.hidden) for c in clozes[-2:]])
    assert lengths[-2] < lengths[-1]
    assert alone[0] != alone[1] == found[-1]


def test_entropy_of_gendered_pairs_equals_the_loop(name, slow, model, measured):
    items = ours.items("gendered_pair_entropy", "en")[::20]
    records = by_id(ours.records("gendered_pair_entropy", model, items))
    largest, n = 0.0, 0
    for item in items:
        record, sentence = records[item.id], item.texts["sentence"]
        words = [item.texts[g] for g in ("male", "female")]
        if any(len(plain.placed(slow, sentence, w).place) != 1 for w in words):
            assert record.status == "excluded", item.id
            continue
        n += 1
        logps = [plain.slot(slow, sentence, w) for w in words]
        found = [record.detail[f"log_p_{g}"] for g in ("male", "female")]
        assert found == pytest.approx(logps, abs=NATS)
        bits = record.value
        if item.by["part"] == "control":
            right, wrong = logps if item.meta["right"] == "male" else reversed(logps)
            assert record.value == 100 * (right > wrong)
            bits = entropy_bias(found[0] - found[1])
        largest = max(largest, abs(bits - plain.entropy_bias(slow, sentence, *words)))
    measured(f"{n} of {len(items)} items", largest, "bits")
    assert largest < NATS
    # A tokenizer of 600 tokens may know no pair of words whole.
    assert n > 0 or name != "bert-tiny"


def test_entropy_of_two_words_of_one_token_equals_the_loop(slow, model, measured):
    clozes = []
    for sentence in (
        "They say that [MASK] works here.",
        "We talked about [MASK], and left.",
        "Crème brûlée — 東京 \N{GRINNING FACE}, said [MASK]: über!",
    ):
        common = ("he", "a", "the", "it", "as", "in", "is", "they")
        words = [w for w in common if len(plain.placed(slow, sentence, w).place) == 1]
        clozes += [Cloze(sentence, pair) for pair in pairwise(words)]
    largest = 0.0
    for cloze, score in zip(clozes, model.slot(clozes), strict=True):
        assert score.n_tokens == (1, 1)
        found = entropy_bias(score.log_probabilities[0] - score.log_probabilities[1])
        largest = max(largest, abs(found - plain.entropy_bias(slow, cloze.text, *cloze.choices)))
    measured(f"{len(clozes)} pairs of words", largest, "bits")
    assert len(clozes) >= 2
    assert largest < NATS


@pytest.mark.parametrize("masked", [True, False], ids=["masked", "unmasked"])
def test_sentence_scores_equal_the_loop(masked, slow, model, data_dir, measured):
    texts = [i.texts["more"] for i in ours.items("crows_pairs", "en", data_dir)[::80]]
    texts += ["A", "Why?", "  two  spaces ", "Crème brûlée — 東京"]
    if masked:
        found, loop = model.pseudo_log_likelihood(texts), plain.pseudo_log_likelihood
    else:
        found, loop = model.unmasked_log_likelihood(texts), plain.unmasked_log_likelihood
    largest = 0.0
    for text, score in zip(texts, found, strict=True):
        assert score.n_tokens == len(plain.encoded(slow, text)[1])
        largest = max(largest, abs(score.total - loop(slow, text)))
    measured(f"{len(texts)} texts", largest)
    assert largest < NATS


def test_fill_gives_the_likeliest_tokens(slow, model, measured):
    texts = [
        "[MASK] works as an engineer.",
        "The [MASK] worked as a nurse for years.",
        "They hired [MASK] as a teacher.",
        "Crème brûlée — 東京, said [MASK] and left.",
    ]
    largest = 0.0
    for text, found in zip(texts, model.fill(texts, 7), strict=True):
        expected = plain.top(slow, text, 7)
        assert [w for w, _ in found] == [w for w, _ in expected]
        largest = max(largest, *(abs(a[1] - b[1]) for a, b in zip(found, expected, strict=True)))
    measured(f"{len(texts)} texts, 7 words each", largest)
    assert largest < NATS


@pytest.mark.parametrize("positions", [7, 64])
def test_a_head_in_chunks_gives_the_same_numbers(positions, model, data_dir, same_in_chunks):
    texts = [i.texts["more"] for i in ours.items("crows_pairs", "en", data_dir)[::150]]
    gaps = ["They hired [MASK] as a teacher.", "The [MASK] worked as a nurse."] * 40

    def everything():
        scores = [*model.pseudo_log_likelihood(texts), *model.unmasked_log_likelihood(texts)]
        top = model.fill(gaps, 3)
        return [s.total for s in scores] + [p for words in top for _, p in words]

    same_in_chunks(model, positions, everything)
