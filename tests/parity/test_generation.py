"""Texts that a model continues: its own generate, its own distribution, whatever the batch."""

import json
import random
import shutil

import numpy as np
import pytest
import torch
from scipy import stats
from transformers import GenerationConfig

import ours
import plain
import tiny_models
from loops import PROMPTS, behind
from pytest_bias.errors import MeasurementError
from pytest_bias.models.interface import Capability

KINDS = ("gpt2", "llama")
HOSTILE = {
    "num_beams": 3,
    "do_sample": True,
    "temperature": 0.01,
    "top_k": 1,
    "repetition_penalty": 9.0,
    "no_repeat_ngram_size": 1,
    "min_new_tokens": 5,
    "max_length": 12,
    "forced_bos_token_id": 7,
    "forced_eos_token_id": 8,
    "suppress_tokens": list(range(40, 90)),
    "begin_suppress_tokens": list(range(90, 300)),
    "num_return_sequences": 2,
    "renormalize_logits": True,
    "return_dict_in_generate": True,
    "use_cache": False,
    "stop_strings": ["e"],
}


def texts(model, prompts=PROMPTS, **how):
    return model.generate(prompts, **{"max_new_tokens": 8, **how})


def alone(slow, prompt, **how):
    """Continue one prompt as transformers does; returns the new ids."""
    ids = slow.tokenizer(prompt, return_tensors="pt")
    config = GenerationConfig(**{"max_new_tokens": 8, "do_sample": False, **how})
    return slow.network.generate(**ids, generation_config=config)[0, ids["input_ids"].shape[1] :]


@pytest.mark.parametrize("name", KINDS)
def test_greedy_texts_are_those_of_a_loop(name, checkpoint):
    slow = plain.causal(checkpoint(name))
    for prompt, found in zip(PROMPTS, texts(ours.model(checkpoint(name))), strict=True):
        new = alone(slow, prompt).tolist()
        ended = new[-1] == slow.tokenizer.eos_token_id
        assert found.text == behind(slow, prompt, new)
        assert found.n_tokens == len(new) - ended
        assert found.finished == ("eos" if ended else "length")
        assert found.reason is None


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("how", [{}, {"sample": True, "n": 3, "seed": 5}], ids=["greedy", "sample"])
def test_a_text_does_not_depend_on_the_others(name, how, checkpoint):
    together = texts(ours.model(checkpoint(name)), **how)
    n = how.get("n", 1)
    of = {p: together[i * n : (i + 1) * n] for i, p in enumerate(PROMPTS)}
    assert len({t.text for t in together}) > len(together) / 2
    for budget in (1, 200, 100_000):
        shuffled = random.Random(budget).sample(PROMPTS, len(PROMPTS))[: 3 + budget % 11]
        found = texts(ours.model(checkpoint(name), budget), shuffled, **how)
        assert found == [t for p in shuffled for t in of[p]], budget
    model = ours.model(checkpoint(name))
    for prompt in PROMPTS[::5]:
        assert texts(model, [prompt], **how) == of[prompt]


def test_samples_are_named_by_seed_prompt_and_number(checkpoint):
    model = ours.model(checkpoint("gpt2"))
    of = {seed: texts(model, sample=True, n=4, seed=seed) for seed in (0, 1)}
    assert of[0] != of[1]
    assert len({t.text for t in of[0][:4]}) == 4
    assert texts(model, sample=True, n=2)[:2] == of[0][:2]
    assert texts(model, [PROMPTS[0]] * 2, sample=True)[0] == of[0][0]
    again = texts(model, [PROMPTS[0]] * 2, sample=True)
    assert again[0] == again[1]


# The distribution


@pytest.mark.parametrize("name", KINDS)
def test_samples_follow_the_models_distribution(name, checkpoint):
    model, slow = ours.model(checkpoint(name), 100_000), plain.causal(checkpoint(name))
    n, prompt = 4000, "The nurse said"
    ids = slow.tokenizer(prompt)["input_ids"]
    p = plain.logits(slow, ids)[-1].double().softmax(-1).numpy()
    pieces = {}
    for token in range(len(p)):
        kept = [] if token == slow.tokenizer.eos_token_id else [token]
        pieces.setdefault(behind(slow, prompt, kept), []).append(token)
    expected = {text: p[tokens].sum() * n for text, tokens in pieces.items()}
    found = dict.fromkeys(expected, 0)
    for text in texts(model, [prompt], max_new_tokens=1, sample=True, n=n):
        found[text.text] += 1
    common = [t for t in expected if expected[t] >= 5]
    rest = [t for t in expected if expected[t] < 5]
    observed = [*(found[t] for t in common), sum(found[t] for t in rest)]
    wanted = [*(expected[t] for t in common), sum(expected[t] for t in rest)]
    assert len(common) > 20
    assert stats.chisquare(observed, wanted).pvalue > 0.01


def test_later_tokens_follow_it_too(checkpoint, monkeypatch):
    """Sum of log-probabilities less their expectation, in standard deviations."""
    model, slow = ours.model(checkpoint("gpt2"), 100_000), plain.causal(checkpoint("gpt2"))
    rows = []
    decode = model.body.tokens.decode
    monkeypatch.setattr(model.body.tokens, "decode", lambda ids: rows.append(ids) or decode(ids))
    texts(model, ["The nurse said"], max_new_tokens=6, sample=True, n=300)
    start = len(slow.tokenizer("The nurse said")["input_ids"])
    difference, variance = np.zeros(6), np.zeros(6)
    for ids in {tuple(r) for r in rows if len(r) == start + 6}:
        logp = plain.logits(slow, ids).double().log_softmax(-1)
        for step in range(6):
            row = logp[start + step - 1]
            mean = (row.exp() * row).sum()
            difference[step] += float(row[ids[start + step]] - mean)
            variance[step] += float((row.exp() * (row - mean) ** 2).sum())
    assert (variance > 0).all()
    assert (abs(difference / np.sqrt(variance)) < 3).all()


# What a checkpoint brings along


@pytest.mark.parametrize("how", [{}, {"sample": True, "n": 2}], ids=["greedy", "sample"])
def test_a_checkpoints_own_settings_do_not_leak_in(how, checkpoint, tmp_path):
    expected = texts(ours.model(checkpoint("gpt2")), **how)
    folder = shutil.copytree(checkpoint("gpt2"), tmp_path / "hostile")
    path = folder / "generation_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | HOSTILE))
    slow = plain.causal(folder)
    assert slow.network.generation_config.repetition_penalty == 9.0
    assert texts(ours.model(folder), **how) == expected


def test_every_token_that_ends_a_text_ends_it(checkpoint, tmp_path):
    slow = plain.causal(checkpoint("gpt2"))
    new = alone(slow, PROMPTS[0]).tolist()
    folder = shutil.copytree(checkpoint("gpt2"), tmp_path / "ends")
    path = folder / "generation_config.json"
    path.write_text(json.dumps({"eos_token_id": [new[3], slow.tokenizer.eos_token_id]}))
    (found,) = texts(ours.model(folder), PROMPTS[:1])
    at = new.index(new[3])
    assert found == (behind(slow, PROMPTS[0], new[:at]), at, "eos", None)


def test_a_model_that_ends_at_once_gives_an_empty_text(checkpoint, tmp_path):
    slow = plain.causal(checkpoint("gpt2"))
    folder = shutil.copytree(checkpoint("gpt2"), tmp_path / "ends")
    ends = [int(alone(slow, p)[0]) for p in PROMPTS[:2]]
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": ends}))
    for found in texts(ours.model(folder), PROMPTS[:2]):
        assert found == ("", 0, "eos", None)


def test_code_on_the_instance_is_not_run(checkpoint):
    model = ours.model(checkpoint("gpt2"))
    expected = texts(model)
    model.body.network.generate = None
    assert texts(model) == expected


# Where a text stops


@pytest.mark.parametrize("name", KINDS)
def test_a_text_is_cut_before_the_first_stop_string(name, checkpoint):
    model = ours.model(checkpoint(name))
    whole = texts(model, max_new_tokens=12)
    stop = (whole[0].text[3:5], whole[1].text[-2:], "not in any text")
    stopped = 0
    for before, after in zip(whole, texts(model, max_new_tokens=12, stop=stop), strict=True):
        places = [before.text.find(s) for s in stop if s in before.text]
        if places:
            stopped += 1
            assert (after.text, after.finished) == (before.text[: min(places)], "stop")
            assert 0 < after.n_tokens <= before.n_tokens
        else:
            assert after == before
    assert stopped >= 2


def test_what_comes_after_a_stop_is_not_counted(checkpoint):
    model = ours.model(checkpoint("gpt2"))
    n_prompt = len(plain.causal(checkpoint("gpt2")).tokenizer(PROMPTS[0])["input_ids"])

    def cost(**how):
        before = model.meter.tokens, model.meter.forwards
        (found,) = texts(model, PROMPTS[:1], max_new_tokens=40, **how)
        assert model.meter.tokens - before[0] == n_prompt + found.n_tokens
        assert model.meter.forwards - before[1] == found.n_tokens
        return found

    whole = cost()
    assert cost(stop=[whole.text[1]]).n_tokens < whole.n_tokens == 40


# What cannot be done


def words(n):
    return " ".join(["a"] * n)


def test_a_prompt_that_cannot_be_continued_costs_only_itself(checkpoint):
    model = ours.model(checkpoint("llama"))
    prompts = ["", PROMPTS[0], " ", words(120), words(300)]
    found = texts(model, prompts)
    assert found[1] == texts(model, PROMPTS[:1])[0]
    for i in (0, 2, 3, 4):
        assert found[i][:3] == ("", 0, None)
    assert [found[i].reason for i in (0, 2)] == ["empty text"] * 2
    assert found[3].reason == "121 tokens and 8 new ones, the model takes 128"
    assert "the model takes 128" in found[4].reason
    assert texts(model, []) == []


def test_a_text_may_fill_the_model_to_its_last_position(checkpoint):
    model = ours.model(checkpoint("llama"))
    found = texts(model, [words(122), words(123)], max_new_tokens=5)
    assert [f.reason is None for f in found] == [True, False]
    assert found[0].finished == "length"


@pytest.mark.parametrize(
    ("how", "word"),
    [
        ({"n": 2}, "sample=True"),
        ({"n": 0, "sample": True}, "n is 0"),
        ({"max_new_tokens": 0}, "max_new_tokens is 0"),
        ({"stop": ["x", ""]}, "empty"),
    ],
)
def test_what_makes_no_sense_is_refused(how, word, checkpoint):
    with pytest.raises(ValueError, match=word):
        texts(ours.model(checkpoint("gpt2")), **how)


def test_a_model_without_generation_has_no_such_method(checkpoint):
    model = ours.model(checkpoint("wordpiece"))
    assert Capability.GENERATE not in model.capabilities
    with pytest.raises(TypeError, match="generate"):
        texts(model)


# Memory, journal, progress


def test_memory_that_runs_out_costs_no_text(checkpoint):
    expected = texts(ours.model(checkpoint("gpt2")), PROMPTS[:4], sample=True, n=40)
    model, said = ours.model(checkpoint("gpt2"), 8192), []

    def full(_module, _inputs, named):
        if named["input_ids"].numel() > 400:
            raise torch.OutOfMemoryError("400 tokens fit")

    hook = model.body.network.register_forward_pre_hook(full, with_kwargs=True)
    model.meter.on_notice = said.append
    assert texts(model, PROMPTS[:4], sample=True, n=40) == expected
    assert "ran out of memory: batches of at most" in said[0]
    hook.remove()
    model.body.network.register_forward_pre_hook(
        lambda *_: (_ for _ in ()).throw(torch.OutOfMemoryError("nothing fits"))
    )
    with pytest.raises(MeasurementError, match="out of memory on the smallest batch"):
        texts(model)


def test_what_a_killed_run_has_written_is_not_written_again(checkpoint, tmp_path):
    whole, model = ours.model(checkpoint("gpt2")), ours.model(checkpoint("gpt2"), 256)
    expected = texts(whole, sample=True, n=3)
    model.keep(tmp_path)
    seen, said = [], []

    def killed(done, total):
        model.body.journal and [page.flush() for page in pages]
        if done > total / 2:
            raise KeyboardInterrupt

    pages = []
    page_of = type(model.body).page
    model.body.page = lambda *a: pages.append(page_of(model.body, *a)) or pages[-1]
    model.meter.on_progress = killed
    with pytest.raises(KeyboardInterrupt):
        texts(model, sample=True, n=3)
    again = ours.model(checkpoint("gpt2"), 256)
    again.keep(tmp_path)
    again.meter.on_notice = said.append
    again.meter.on_progress = lambda done, total: seen.append((done, total))
    assert texts(again, sample=True, n=3) == expected
    assert again.meter.forwards < whole.meter.forwards
    assert "were completed by an earlier run" in said[0]
    assert seen[-1] == (48, 48)
    other = {"seed": 1}, {"stop": ("a",)}, {"max_new_tokens": 7}
    for how in other:
        assert texts(again, sample=True, n=3, **how) == texts(whole, sample=True, n=3, **how)


@pytest.mark.slow
def test_a_real_model_continues_as_in_a_loop(checkpoint):
    path = checkpoint("smollm2")
    slow, model = plain.causal(path.parent, gguf_file=path.name), ours.model(path)
    prompts = ["The nurse said that", "My favourite colour is", "In the town, he works as a"]
    # It is a chat model: its template is for tests/integration/test_chat.py.
    continued = texts(model, prompts, max_new_tokens=12, chat=False)
    for prompt, found in zip(prompts, continued, strict=True):
        new = alone(slow, prompt, max_new_tokens=12, eos_token_id=model.ends[0]).tolist()
        assert found.text == behind(slow, prompt, new)
        assert found.text.startswith(" ")


def test_ends_without_a_tokens_end(tmp_path):
    model = ours.model(tiny_models.gpt2(tmp_path / "bare", end=False))
    assert model.ends == ()
    assert {t.finished for t in texts(model)} == {"length"}
