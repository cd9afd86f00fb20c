"""Every family of models that people publish, against plain loops: one tiny model of each."""

import pytest

import ours
import plain
import tiny_architectures
from pytest_bias.models.interface import Cloze

NATS = 2e-4
# By day the families that differ in what we look at: frames, positions, heads, soft-capping.
MASKED = ("bert", "xlm-roberta", "distilbert", "deberta-v2", "modernbert", "xlm")
CAUSAL = ("gpt2", "opt", "llama", "gemma2", "cohere", "mamba")
TEXTS = [
    "The nurse said that she was late.",
    "He is a carpenter.",
    "My uncle and my aunt are doctors, and they work at the hospital in the town.",
    "Old people are good with computers, young people are not.",
]
CLOZES = [
    Cloze("[MASK] is a nurse.", ("he", "she")),
    Cloze("The carpenter said that [MASK] was late.", ("he", "she")),
]


@pytest.fixture
def folder(model_type, tmp_path):
    return tiny_architectures.build(model_type, tmp_path / model_type)


def largest(found, expected):
    return max(abs(a - b) for a, b in zip(found, expected, strict=True))


def from_loop(scores, loop, slow):
    """Return how far our scores of the texts are from those of a loop."""
    assert all(s.reason is None for s in scores)
    expected = [loop(slow, t) for t in TEXTS]
    assert max(abs(e) for e in expected) > 1
    return largest([s.total for s in scores], expected)


# ALiBi, windows shorter than the text, and no attention at all.
APART = ("bloom", "mistral", "gemma2", "mamba")
BEGINNINGS = [
    "The nurse and the doctor came in, and it was late in the town. Who was it?",
    "An old man and a young woman were at the hospital. Who is good with computers?",
]
ENDS = ["A. this\nB. that", "A. that\nB. the other one", "A. the other one\nB. this"]
LETTERS = ("A", "B")


@pytest.mark.usefixtures("_head")
@pytest.mark.by_day(model_type=MASKED)
@pytest.mark.parametrize("model_type", tiny_architectures.MASKED)
def test_masked(model_type, folder, measured):
    model, slow = ours.model(folder), plain.masked(folder)
    difference = max(
        from_loop(model.pseudo_log_likelihood(TEXTS), plain.pseudo_log_likelihood, slow),
        from_loop(model.unmasked_log_likelihood(TEXTS), plain.unmasked_log_likelihood, slow),
    )
    for cloze, found in zip(CLOZES, model.slot(CLOZES), strict=True):
        words = [plain.slot(slow, cloze.text, word) for word in cloze.choices]
        difference = max(difference, largest(found.log_probabilities, words))
    vectors = model.embed(TEXTS).vectors
    assert vectors.shape == (len(TEXTS), 32)
    measured(model_type, difference)
    assert difference < NATS


@pytest.mark.usefixtures("_head")
@pytest.mark.by_day(model_type=CAUSAL)
@pytest.mark.parametrize("model_type", tiny_architectures.CAUSAL)
def test_causal(model_type, folder, measured):
    model, slow = ours.model(folder), plain.causal(folder)
    difference = from_loop(model.log_likelihood(TEXTS), plain.log_likelihood, slow)
    measured(model_type, difference)
    assert difference < NATS
    assert model.embed(TEXTS).vectors.shape == (len(TEXTS), 32)
    for text, found in zip(TEXTS, model.generate(TEXTS, max_new_tokens=3), strict=True):
        ids = slow.tokenizer(text, return_tensors="pt")
        length = ids["input_ids"].shape[1]
        (whole,) = slow.network.generate(**ids, max_new_tokens=3, do_sample=False, pad_token_id=0)
        new = [i for i in whole[length:].tolist() if i not in model.ends]
        assert found.n_tokens == len(new)
        assert found.text == slow.tokenizer.decode(new, skip_special_tokens=True)


@pytest.mark.by_day(model_type=CAUSAL)
@pytest.mark.parametrize("model_type", tiny_architectures.CAUSAL)
def test_a_common_beginning_is_forwarded_once_where_that_changes_nothing(
    model_type, folder, measured
):
    model = ours.model(folder)
    prompts = [f"{one}\n{other}" for one in BEGINNINGS for other in ENDS]
    labels = [LETTERS] * len(prompts)
    alone = model.choose(prompts, labels)
    before = model.meter.tokens
    together = model.choose(prompts, labels, [n // len(ENDS) for n in range(len(prompts))])
    pairs = zip(alone, together, strict=True)
    difference = max(largest(a.log_probabilities, t.log_probabilities) for a, t in pairs)
    measured(model_type, difference)
    assert difference < NATS
    assert model.shares is (model_type not in APART)
    if model.shares:
        assert model.meter.tokens - before < before / 1.3
