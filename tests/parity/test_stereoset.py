"""StereoSet: against a plain loop, within sentences and between them, on real and tiny models."""

import math

import pytest
import torch
from transformers import BertForPreTraining

import ours
import plain
import tiny_models
from pytest_bias.models.interface import Capability

NATS = 1e-3


def sample(data_dir, step):
    items = ours.items("stereoset", "en", data_dir)
    twice = [i for i in items if i.texts["context"].count("BLANK") == 2]
    glued = [i for i in items if "BLANKed" in i.texts["context"]]
    return [*items[::step], *twice, *glued]


def read_in_order(slow, sentence, start, end):
    """Return log P of each token of ``sentence[start:end]``, itself masked and later ones left out.

    Nadeem et al. 2021, eval_discriminative_models.py, but the word is tokenised where it stands.
    """
    ids, place = plain.at(slow, sentence, start, end)
    mask = slow.tokenizer.mask_token_id
    found = []
    for position in place:
        cut = [*ids[:position], mask, *ids[place.stop :]]
        found.append(plain.log_p(slow, cut, position, ids[position]))
    return found


def both_places(slow, sentence, word):
    """Return the same for a word that is there twice, hidden in the place that is not read."""
    found = []
    first = sentence.index(word)
    places = (first, sentence.rindex(word))
    for read, other in (places, places[::-1]):
        ids, place = plain.at(slow, sentence, read, read + len(word))
        _, hidden = plain.at(slow, sentence, other, other + len(word))
        mask = slow.tokenizer.mask_token_id
        ids = plain.with_mask(slow, ids, *hidden)
        for position in place:
            cut = [*ids[:position], mask, *ids[place.stop :]]
            found.append(plain.log_p(slow, cut, position, ids[position]))
    return found


def words(item, side):
    """Return the sentence with the capitals of its context, and the candidate's word, by hand."""
    context = " ".join(item.texts["context"].split()).split(" ")
    said = " ".join(item.texts[side].split()).split(" ")
    at = [n for n, word in enumerate(context) if "BLANK" in word]
    word = said[at[0]]
    frame = context[at[0]].replace("BLANKed", "BLANK")
    before, behind = frame.split("BLANK")
    word = word[len(before) : len(word) - len(behind) or None]
    filled = [w.replace("BLANKed", "BLANK").replace("BLANK", word) for w in context]
    start = len(" ".join(filled[: at[0]])) + (at[0] > 0) + len(before)
    return " ".join(filled), word, start


@pytest.mark.by_day(name=("unigram",))
@pytest.mark.parametrize("name", ours.MASKED)
def test_words_at_the_blank_equal_the_loop(name, checkpoint, data_dir, measured):
    slow, model = plain.masked(checkpoint(name)), ours.model(checkpoint(name))
    items = [i for i in sample(data_dir, 59) if i.by["part"] == "intrasentence"]
    records = {r.item: r for r in ours.records("stereoset", model, items)}
    largest, several, twice = 0.0, 0, 0
    for item in items:
        record = records[item.id]
        assert record.status == "scored", record.reason
        for side in ("stereotype", "anti_stereotype", "unrelated"):
            sentence, word, start = words(item, side)
            if item.texts["context"].count("BLANK") == 2:
                logs = both_places(slow, sentence, word)
                twice += 1
            else:
                logs = read_in_order(slow, sentence, start, start + len(word))
            several += len(logs) > 1
            mean = math.log(sum(math.exp(p) for p in logs) / len(logs))
            assert record.detail[f"tokens_{side}"] == len(logs)
            differences = (
                record.detail[side] - mean,
                record.detail[f"log_mean_{side}"] - sum(logs) / len(logs),
            )
            largest = max(largest, *map(abs, differences))
    measured(f"{len(items)} sentences, {several} words of several tokens", largest)
    assert twice == 6
    assert several > 6
    assert largest < NATS


@pytest.mark.by_day(name=("llama",))
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_likelihoods_a_token_equal_the_loop(name, checkpoint, data_dir, measured):
    slow, model = plain.causal(checkpoint(name)), ours.model(checkpoint(name))
    likelihoods(slow, model, sample(data_dir, 59), measured)


@pytest.mark.slow
def test_likelihoods_a_token_of_smollm2_equal_the_loop(smollm2, data_dir, measured):
    slow = plain.causal(smollm2.parent, gguf_file=smollm2.name)
    likelihoods(slow, ours.model(smollm2), sample(data_dir, 399), measured)


def likelihoods(slow, model, items, measured):
    records = {r.item: r for r in ours.records("stereoset", model, items)}
    long = {r.item for r in records.values() if "the model takes 128" in (r.reason or "")}
    assert len(long) < 5
    largest = 0.0
    for item in (i for i in items if i.id not in long):
        for side in ("stereotype", "anti_stereotype", "unrelated"):
            context, said = item.texts["context"].strip(), item.texts[side].strip()
            if item.by["part"] == "intrasentence":
                expected = per_token(slow, item.texts[side])
            else:
                expected = per_token(slow, f"{context} {said}", given=context)
            largest = max(largest, abs(records[item.id].detail[side] - expected))
    measured(f"{len(items)} items", largest)
    assert largest < NATS


def per_token(slow, text, given=""):
    """Mean log P of the tokens of a text that stand behind what is given."""
    tokenizer = slow.tokenizer
    n, n_given = (len(tokenizer.encode(t, add_special_tokens=False)) for t in (text, given))
    total = plain.log_likelihood(slow, text)
    return (total - (plain.log_likelihood(slow, given) if given else 0.0)) / (n - n_given)


@torch.no_grad()
def pair_logits(network, tokenizer, first, second):
    """Return the two logits of the head for pairs, of one pair."""
    inputs = tokenizer(first, second, return_tensors="pt", return_token_type_ids=True)
    return network(**inputs).seq_relationship_logits[0].double()


@pytest.mark.parametrize("follows", [0, 1])
def test_next_sentences_equal_the_model_of_transformers(follows, tmp_path, data_dir, measured):
    folder = tiny_models.bert_with_pairs(tmp_path / "pairs", follows)
    model = ours.model(folder)
    assert Capability.NEXT_SENTENCE in model.capabilities
    slow = plain.masked(folder)
    network = BertForPreTraining.from_pretrained(folder).eval()
    items = [i for i in sample(data_dir, 59) if i.by["part"] == "intersentence"]
    records = {r.item: r for r in ours.records("stereoset", model, items)}
    largest = 0.0
    for item in items:
        for side in ("stereotype", "anti_stereotype", "unrelated"):
            logits = pair_logits(network, slow.tokenizer, item.texts["context"], item.texts[side])
            odds = float(logits[follows] - logits[1 - follows])
            largest = max(largest, abs(records[item.id].detail[side] - odds))
    measured(f"{len(items)} contexts", largest)
    assert largest < NATS
