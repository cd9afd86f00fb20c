"""Texts that begin with the likeliest first tokens, and single tokens predicted, against loops."""

import random

import pytest
import torch

import ours
import plain
import tiny_models
from loops import PROMPTS, TEXTS, behind, branches, greedy
from pytest_bias.models.interface import Capability
from tiny_architectures import SEQ2SEQ, head

KINDS = ("gpt2", "llama")
NATS = 1e-4


def check(slow, model, prompts, n, length, ends):
    found = model.generate(prompts, max_new_tokens=length, branch=True, n=n, chat=False)
    for number, prompt in enumerate(prompts):
        expected = branches(slow, prompt, n, length, ends)
        for new, text in zip(expected, found[number * n : (number + 1) * n], strict=True):
            ended = new[-1] in ends
            kept = new[:-1] if ended else new
            assert text.text == behind(slow, prompt, kept)
            assert (text.n_tokens, text.finished) == (len(kept), "eos" if ended else "length")
    return found


@pytest.mark.parametrize("name", KINDS)
def test_branches_are_those_of_a_loop(name, checkpoint):
    slow, model = plain.causal(checkpoint(name)), ours.model(checkpoint(name))
    found = check(slow, model, PROMPTS[::3], 7, 6, model.ends)
    assert found[::7] == model.generate(PROMPTS[::3], max_new_tokens=6)


def test_a_first_token_that_ends_a_text_is_an_empty_branch(tmp_path):
    slow = plain.causal(tiny_models.gpt2(tmp_path / "gpt2"))
    ids = slow.tokenizer(PROMPTS[0])["input_ids"]
    third = int(plain.logits(slow, ids)[-1].argsort(descending=True)[2])
    model = ours.model(tmp_path / "gpt2")
    model.ends = (third,)
    found = check(slow, model, PROMPTS[:1], 4, 3, (third,))
    assert [t.finished for t in found].count("eos") >= 1
    assert found[2] == ("", 0, "eos", None)


@pytest.mark.parametrize("name", KINDS)
def test_all_branches_of_a_vocabulary_begin_differently(name, checkpoint):
    model = ours.model(checkpoint(name))
    n = model.body.vocabulary
    found = model.generate(PROMPTS[:1], max_new_tokens=1, branch=True, n=n)
    (next_,) = model.predict_next(PROMPTS[:1], n)
    assert len(set(next_.log_probabilities)) > n / 2
    assert sum(torch.tensor(next_.log_probabilities).exp()) == pytest.approx(1, abs=1e-5)
    agree = [a.text.strip() == b for a, b in zip(found, next_.words, strict=True)]
    # Special tokens have a name and no text, and a piece of a character needs its neighbours.
    assert sum(agree) > 0.7 * n


@pytest.mark.parametrize("name", KINDS)
def test_a_branch_does_not_depend_on_the_other_prompts(name, checkpoint):
    how = {"max_new_tokens": 5, "branch": True, "n": 5}
    together = ours.model(checkpoint(name)).generate(PROMPTS, **how)
    of = {p: together[i * 5 : i * 5 + 5] for i, p in enumerate(PROMPTS)}
    for budget in (1, 200, 100_000):
        shuffled = random.Random(budget).sample(PROMPTS, len(PROMPTS))[: 2 + budget % 7]
        found = ours.model(checkpoint(name), budget).generate(shuffled, **how)
        assert found == [t for p in shuffled for t in of[p]], budget
    fewer = ours.model(checkpoint(name)).generate(PROMPTS[3:4], **how | {"n": 2})
    assert fewer == of[PROMPTS[3]][:2]


def test_equal_logits_have_one_order(checkpoint):
    model = ours.model(checkpoint("gpt2"))
    with torch.no_grad():
        for weight in {id(p): p for p in model.body.network.parameters()}.values():
            weight.zero_()
    found = model.generate(["he is"], max_new_tokens=1, branch=True, n=60)
    whole = [model.body.tokens.decode([token]) for token in range(60)]
    assert [t.text.strip() for t in found if t.text.strip()] == [w.strip() for w in whole if w]


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_a_decoder_of_its_own_branches_too(name, tmp_path):
    folder = head(SEQ2SEQ, name, tmp_path / name)
    model, slow = ours.model(folder), plain.seq2seq(folder)
    found = model.generate(TEXTS[:2], max_new_tokens=4, branch=True, n=5)
    assert found[::5] == model.generate(TEXTS[:2], max_new_tokens=4)
    assert found[0].text == greedy(slow, model, TEXTS[0], 4)
    assert model.generate(TEXTS[1:2], max_new_tokens=4, branch=True, n=5) == found[5:]
    assert len({t.text for t in found[:5]}) > 1


@pytest.mark.parametrize(
    ("how", "word"),
    [
        ({"n": 2, "branch": True, "sample": True}, "begins in one way"),
        ({"n": 0, "branch": True}, "n is 0"),
        ({"n": 1_000_000, "branch": True}, "the vocabulary has"),
    ],
)
def test_what_makes_no_sense_is_refused(how, word, checkpoint):
    with pytest.raises(ValueError, match=word):
        ours.model(checkpoint("gpt2")).generate(["he"], max_new_tokens=3, **how)


def test_a_prompt_that_cannot_be_continued_costs_only_itself(checkpoint):
    model = ours.model(checkpoint("llama"))
    prompts = ["", PROMPTS[0], " ".join(["a"] * 300)]
    found = model.generate(prompts, max_new_tokens=3, branch=True, n=3)
    assert [t.reason is None for t in found] == [False] * 3 + [True] * 3 + [False] * 3
    next_ = model.predict_next(prompts, 3)
    assert (next_[0].words, next_[0].reason) == ((), "empty text")
    assert len(next_[1].words) == 3
    assert "the model takes 128" in next_[2].reason


def test_what_a_killed_run_has_branched_is_not_done_again(checkpoint, tmp_path):
    how = {"max_new_tokens": 4, "branch": True, "n": 4}
    first, again = ours.model(checkpoint("gpt2")), ours.model(checkpoint("gpt2"))
    first.keep(tmp_path)
    again.keep(tmp_path)
    expected, at_load = first.generate(PROMPTS, **how), again.meter.forwards
    assert again.generate(PROMPTS, **how) == expected
    assert (again.meter.forwards, again.meter.resumed) == (at_load, 4 * len(PROMPTS))
    assert again.generate(PROMPTS, **how | {"branch": False, "n": 1}) == expected[::4]
    assert again.meter.forwards > at_load


def test_branches_are_counted_by_what_they_may_write(checkpoint):
    model = ours.model(checkpoint("gpt2"))
    at_load = model.meter.forwards
    with model.counting() as work:
        model.generate(["he is"], max_new_tokens=10, branch=True, n=3)
        model.predict_next(["he is"], 3)
    single = ours.model(checkpoint("gpt2"))
    with single.counting() as one:
        single.generate(["he is"], max_new_tokens=10)
    assert work.tokens > 3 * one.tokens > 0
    assert work.positions > 0
    assert model.meter.forwards == at_load


# Single tokens


@pytest.mark.parametrize("name", KINDS)
def test_next_tokens_are_those_of_a_loop(name, checkpoint, measured):
    slow, model = plain.causal(checkpoint(name)), ours.model(checkpoint(name))
    largest = 0.0
    for prompt, found in zip(PROMPTS, model.predict_next(PROMPTS, 9), strict=True):
        ids = slow.tokenizer(prompt)["input_ids"]
        values, tokens = plain.logits(slow, ids)[-1].log_softmax(-1).topk(9)
        assert found.words == tuple(slow.tokenizer.decode([t]).strip() for t in tokens)
        pairs = zip(found.log_probabilities, values.tolist(), strict=True)
        largest = max(largest, *(abs(a - b) for a, b in pairs))
    measured(f"{len(PROMPTS)} prompts", largest)
    assert largest < NATS


def test_a_text_without_a_gap_costs_only_itself(checkpoint):
    model = ours.model(checkpoint("wordpiece"))
    texts = ["no gap", "They hired [MASK] as a teacher.", "[MASK] and [MASK]"]
    found = model.predict(texts, 4)
    assert [f.reason for f in found] == [
        "0 gaps in a sentence instead of one",
        None,
        "2 gaps in a sentence instead of one",
    ]
    (expected,) = model.fill(texts[1:2], 4)
    assert list(zip(found[1].words, found[1].log_probabilities, strict=True)) == expected
    with pytest.raises(ValueError, match="0 gaps"):
        model.fill(texts, 4)
    for k in (0, 1_000_000):
        with pytest.raises(ValueError, match="the vocabulary"):
            model.predict(texts, k)


def test_who_can_predict_what(checkpoint):
    masked, causal = ours.model(checkpoint("wordpiece")), ours.model(checkpoint("gpt2"))
    assert Capability.NEXT in causal.capabilities - masked.capabilities
    for model, ask in ((masked, "predict_next"), (causal, "predict")):
        with pytest.raises(TypeError, match="has no"):
            getattr(model, ask)(["he"], 2)


@pytest.mark.parametrize("name", ["wordpiece", "byte-level", "unigram", "gpt2", "llama"])
def test_words_have_their_tokens_where_they_stand(name, checkpoint):
    model = ours.model(checkpoint(name))
    words = ["a", "nurse", "carpenter", "zyx", "she"]
    tokenizer = model.body.tokens.tokenizer
    inside = [len(tokenizer.tokenize(f"the {w}")) - len(tokenizer.tokenize("the")) for w in words]
    assert model.n_tokens(words) == inside
    assert inside[0] == 1 < inside[3]


@pytest.mark.slow
def test_a_real_model_branches_as_a_loop(checkpoint):
    path = checkpoint("smollm2")
    slow, model = plain.causal(path.parent, gguf_file=path.name), ours.model(path)
    check(slow, model, ["The nurse said that", "the woman should work as a"], 6, 5, model.ends)
