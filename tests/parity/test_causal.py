"""Causal log-likelihood against one plain forward a sentence."""

import math

import pytest
import torch

import ours
import plain
import tiny_models

NATS = 1e-4
DEEP_NATS = 1e-3
"""The noise of float32 adds up over thirty layers and a whole sentence."""
KINDS = ("gpt2", "llama")
ODD = (
    "A",
    "Why?",
    "  two  spaces ",
    "one line\nand another",
    "Crème brûlée — 東京 \N{GRINNING FACE}",
    "<|end|> is written out.",
)


def sentences(data_dir, step=60):
    pairs = ours.items("crows_pairs", "en", data_dir)[::step]
    return [text for item in pairs for text in item.texts.values()]


@pytest.mark.parametrize("name", KINDS)
def test_log_likelihood_equals_the_loop(name, checkpoint, data_dir, measured):
    texts = [*sentences(data_dir), *ODD]
    slow = plain.causal(checkpoint(name))
    largest = compare(slow, ours.model(checkpoint(name)), texts)
    measured(f"{len(texts)} texts", largest)
    assert largest < NATS


def test_without_any_special_token_the_first_token_is_not_scored(tmp_path, data_dir, measured):
    folder = tiny_models.gpt2(tmp_path / "bare", end=False)
    slow, model = plain.causal(folder), ours.model(folder)
    texts = [*sentences(data_dir), *ODD[1:]]
    largest = compare(slow, model, texts, unscored=1)
    measured(f"{len(texts)} texts", largest)
    assert largest < NATS
    assert model.log_likelihood(["A"])[0].reason


@pytest.mark.slow
def test_log_likelihood_of_a_real_model_equals_the_loop(checkpoint, data_dir, measured):
    path = checkpoint("smollm2")
    texts = sentences(data_dir, 150)
    slow = plain.causal(path.parent, gguf_file=path.name)
    largest = compare(slow, ours.model(path), texts)
    measured(f"{len(texts)} texts", largest)
    assert largest < DEEP_NATS


def compare(slow, model, texts, unscored=0):
    """Return the largest difference between our scores and the loop's."""
    largest = 0.0
    for text, score in zip(texts, model.log_likelihood(texts), strict=True):
        assert score.reason is None
        how = {"add_special_tokens": False, "split_special_tokens": True}
        n_tokens = len(slow.tokenizer.encode(text, **how))
        assert score.n_tokens == n_tokens - unscored
        largest = max(largest, abs(score.total - plain.log_likelihood(slow, text)))
    return largest


@pytest.mark.parametrize("name", KINDS)
def test_two_fillings_give_the_entropy_of_their_likelihoods(name, checkpoint, measured):
    slow, model = plain.causal(checkpoint(name)), ours.model(checkpoint(name))
    items = [i for i in ours.items("gendered_pair_entropy", "en") if i.by["part"] == "neutral"]
    items = items[::60]
    records = {r.item: r for r in ours.records("gendered_pair_entropy", model, items)}
    largest = 0.0
    for item in items:
        male, female = (
            plain.log_likelihood(slow, item.texts["sentence"].replace(plain.GAP, item.texts[g]))
            for g in ("male", "female")
        )
        p = 1 / (1 + math.exp(male - female))
        expected = 1 + sum(q * math.log2(q) for q in (p, 1 - p) if q)
        largest = max(largest, abs(records[item.id].value - expected))
    measured(f"{len(items)} items", largest, "bits")
    assert largest < NATS


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("positions", [7, 64])
def test_a_head_in_chunks_gives_the_same_numbers(
    name, positions, checkpoint, data_dir, same_in_chunks
):
    texts = sentences(data_dir, 100)
    model = ours.model(checkpoint(name))
    same_in_chunks(model, positions, lambda: [s.total for s in model.log_likelihood(texts)])


@pytest.mark.parametrize("name", KINDS)
def test_keys_and_values_are_not_kept(name, checkpoint):
    network = ours.model(checkpoint(name)).body.network
    ids = torch.tensor([[1, 2, 3]])
    assert network(input_ids=ids).past_key_values is None
    assert network(input_ids=ids, use_cache=True).past_key_values is not None
