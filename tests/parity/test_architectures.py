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
