"""BBQ: the likelihood of each answer, and the person that a span names, against plain loops."""

import pytest

import ours
import plain
from tiny_architectures import QA, SEQ2SEQ, head

NATS = 1e-3
KEYS = ("ans0", "ans1", "ans2")
FEW = 120
"""Positions that every tiny model has, with some room for the words around the texts."""


def sampled(data_dir, step, tokenizer, longest):
    """Return some of the items that fit into a model of few positions."""
    items = [
        item
        for item in ours.items("bbq", "en", data_dir)[::step]
        if item.status is None and len(tokenizer(" ".join(item.texts.values())).input_ids) < longest
    ]
    assert len(items) > 5
    return items


def check_likelihood(items, model, loop, measured):
    records = {r.item: r for r in ours.records("bbq", model, items)}
    largest, close = 0.0, 0
    for item in items:
        record, texts = records[item.id], item.texts
        before = f"{texts['context']}\nQuestion: {texts['question']}\nAnswer: "
        found = [record.detail[key] for key in KEYS]
        expected = [loop(f"{before}{texts[key]}.") for key in KEYS]
        largest = max(largest, *(abs(a - b) for a, b in zip(found, expected, strict=True)))
        first, second, _ = sorted(expected, reverse=True)
        if first - second < NATS:
            close += 1
            continue
        chosen = expected.index(first)
        assert record.value == 100 * (chosen == item.meta["label"]), item.id
        assert record.detail["named"] == (chosen != item.meta["unknown"])
        assert record.detail["biased"] == (chosen == item.meta["biased"])
    measured(f"{len(items)} items, {close} closer than {NATS}", largest)
    assert largest < NATS
    assert close < len(items)


@pytest.mark.by_day(name=("gpt2",))
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_causal(name, checkpoint, data_dir, measured):
    folder = checkpoint(name)
    slow = plain.causal(folder)
    loop = lambda text: plain.log_likelihood(slow, text)  # noqa: E731
    items = sampled(data_dir, 37, slow.tokenizer, FEW)[:20]
    check_likelihood(items, ours.model(folder), loop, measured)


def test_seq2seq(tmp_path, data_dir, measured):
    folder = head(SEQ2SEQ, "bart", tmp_path / "bart")
    slow = plain.seq2seq(folder)
    loop = lambda text: plain.written(slow, text)  # noqa: E731
    items = sampled(data_dir, 37, slow.tokenizer, FEW)[:20]
    check_likelihood(items, ours.model(folder), loop, measured)


@pytest.mark.slow
def test_a_real_causal_model(smollm2, data_dir, measured):
    slow = plain.causal(smollm2.parent, gguf_file=smollm2.name)
    loop = lambda text: plain.log_likelihood(slow, text)  # noqa: E731
    items = sampled(data_dir, 1499, slow.tokenizer, 1000)
    check_likelihood(items, ours.model(smollm2), loop, measured)


def named(span, item):
    """Return whom a span names: of the two people the one with more words in common, by F1."""

    def words(text):
        kept = "".join(c if c.isalnum() or c == "_" else " " for c in text.lower()).split()
        return sorted(w for w in kept if w not in ("the", "a", "an"))

    def fit(name):
        left, shared = words(name), 0
        for word in words(span):
            if word in left:
                left.remove(word)
                shared += 1
        if not shared:
            return 0.0
        precision, recall = shared / len(words(span)), shared / len(words(name))
        return 2 * precision * recall / (precision + recall)

    best = {
        n: max(fit(item.texts[key]), fit(item.meta["names"][n]))
        for n, key in enumerate(KEYS)
        if n != item.meta["unknown"]
    }
    (n, one), (m, other) = best.items()
    if abs(one - other) < 1e-12:
        return None
    return n if one > other else m


@pytest.mark.by_day(model_type=("bert",))
@pytest.mark.parametrize("model_type", ["bert", "roberta"])
def test_spans(model_type, tmp_path, data_dir, measured):
    folder = head(QA, model_type, tmp_path / model_type)
    model, slow = ours.model(folder), plain.answerer(folder)
    types = getattr(slow.network.config, "type_vocab_size", 0) > 1
    items = sampled(data_dir, 17, slow.tokenizer, FEW)[:60]
    records = {r.item: r for r in ours.records("bbq", model, items)}
    largest, outcomes = 0.0, set()
    for item in items:
        record = records[item.id]
        span, score, null = plain.pointed(
            slow, item.texts["question"], item.texts["context"], 30, types=types
        )
        largest = max(
            largest, abs(record.detail["score"] - score), abs(record.detail["null_score"] - null)
        )
        chosen = item.meta["unknown"] if null > score else named(span, item)
        outcomes.add("none" if chosen is None else "unknown" if null > score else "person")
        assert record.detail["unmatched"] == 100 * (chosen is None), item.id
        assert record.value == 100 * (chosen == item.meta["label"])
        assert record.detail["unknown"] == (chosen == item.meta["unknown"])
        assert record.detail["biased"] == (chosen == item.meta["biased"])
    measured(f"{len(items)} items: {', '.join(sorted(outcomes))}", largest)
    assert largest < NATS
