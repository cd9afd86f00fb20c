"""Letters of options: the next token's own distribution, whatever the batch and the tokenizer."""

import random

import numpy as np
import pytest
import torch

import ours
import plain
import tiny_architectures
from loops import PROMPTS

LETTERS = ("A", "B", "C")


WRITERS = ("gpt2", "llama", "t5", "bart")


@pytest.fixture
def writer(checkpoint, tmp_path):
    """Return a function from a type to the folder of a model that generates text."""

    def build(name):
        if name not in tiny_architectures.SEQ2SEQ:
            return checkpoint(name)
        folder = tmp_path / name
        if not folder.exists():
            tiny_architectures.head(tiny_architectures.SEQ2SEQ, name, folder)
        return folder

    return build


@torch.no_grad()
def by_hand(slow, prompt, labels):
    """Sum the probabilities of all tokens of the vocabulary that read as a label."""
    ids = slow.tokenizer(prompt, return_tensors="pt")
    if slow.network.config.is_encoder_decoder:
        # What the decoder begins with: its start token, and what its tokenizer puts before a text.
        before = slow.tokenizer(text_target="").input_ids[
            : -1 if slow.tokenizer.eos_token_id else None
        ]
        start = torch.tensor([[slow.network.config.decoder_start_token_id, *before]])
        logits = slow.network(**ids, decoder_input_ids=start).logits[0, -1]
    else:
        logits = slow.network(input_ids=ids["input_ids"]).logits[0, -1]
    p = logits.double().softmax(-1)
    words = [slow.tokenizer.decode([t]).strip() for t in range(len(p))]
    return [np.log(sum(float(p[t]) for t, w in enumerate(words) if w == of)) for of in labels]


@pytest.mark.parametrize("name", WRITERS)
def test_letters_have_the_probabilities_of_all_their_tokens(name, writer):
    folder = writer(name)
    slow = (plain.seq2seq if name in tiny_architectures.SEQ2SEQ else plain.causal)(folder)
    found = ours.model(folder).choose(PROMPTS, [LETTERS] * len(PROMPTS))
    for prompt, scores in zip(PROMPTS, found, strict=True):
        assert scores.reason is None
        assert scores.log_probabilities == pytest.approx(by_hand(slow, prompt, LETTERS), abs=2e-4)


@pytest.mark.parametrize("name", WRITERS)
def test_letters_do_not_depend_on_the_others(name, writer):
    together = ours.model(writer(name)).choose(PROMPTS, [LETTERS] * len(PROMPTS))
    of = dict(zip(PROMPTS, together, strict=True))
    for budget in (1, 200, 100_000):
        some = random.Random(budget).sample(PROMPTS, len(PROMPTS))[: 3 + budget % 11]
        found = ours.model(writer(name), budget).choose(some, [LETTERS] * len(some))
        assert found == [of[p] for p in some], budget


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_questions_do_not_depend_on_the_others(name, writer):
    def asked(model, chosen):
        prompts = [f"{PROMPTS[n]} Who? {end}" for n in chosen for end in ("this", "that one", "no")]
        return model.choose(
            prompts, [LETTERS] * len(prompts), [n for n in chosen for _ in range(3)]
        )

    whole = range(len(PROMPTS))
    together = asked(ours.model(writer(name)), whole)
    for budget in (1, 200, 100_000):
        some = random.Random(budget).sample(whole, len(whole))[: 3 + budget % 11]
        found = asked(ours.model(writer(name), budget), some)
        assert found == [together[3 * n + k] for n in some for k in range(3)], budget


def test_a_prompt_that_is_too_long_has_a_reason(checkpoint):
    model = ours.model(checkpoint("gpt2"))
    long, short = model.choose(["word " * 5_000, "He is"], [LETTERS, LETTERS])
    assert "the model takes" in long.reason
    assert short.reason is None


def test_a_label_without_a_token_has_a_reason(checkpoint):
    (found,) = ours.model(checkpoint("gpt2")).choose(["He is"], [("A", "☃☃☃")])
    assert found.reason == "no token of the model reads as ☃☃☃"
