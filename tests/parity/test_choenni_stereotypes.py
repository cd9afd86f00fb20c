"""Suggested words found among a plain loop's likeliest tokens, one forward a query."""

import pytest

import ours
import plain


def found(slow, query, *, mask):
    """Return the 200 likeliest tokens behind a query, in lower case."""
    tokenizer = slow.tokenizer
    if mask:
        ids = tokenizer(f"{query} {tokenizer.mask_token}?")["input_ids"]
        at = ids.index(tokenizer.mask_token_id)
    else:
        ids = tokenizer(query)["input_ids"]
        at = len(ids) - 1
    order = plain.logits(slow, ids)[at].topk(200).indices
    return [tokenizer.decode([t]).strip().casefold() for t in order]


def check(slow, model, items, *, mask):
    n = 0
    for item, record in zip(items, ours.records("choenni_stereotypes", model, items), strict=True):
        word = item.texts["stereotype"]
        pieces = slow.tokenizer.tokenize(f"the {word}")[len(slow.tokenizer.tokenize("the")) :]
        if len(pieces) > 1:
            assert record.status == "excluded"
            continue
        tokens = found(slow, item.texts["query"], mask=mask)
        rank = tokens.index(word) + 1 if word in tokens else 0
        assert record.detail["rank"] == rank
        others = [found(slow, q, mask=mask) for q in item.meta["others"]]
        assert record.detail["others_in_20"] == sum(word in tokens[:20] for tokens in others)
        assert record.detail["others_in_200"] == sum(word in tokens for tokens in others)
        n += 1
    return n


@pytest.mark.by_day(name=("wordpiece", "gpt2"))
@pytest.mark.parametrize(
    ("name", "step"), [("bert-tiny", 90), ("wordpiece", 40), ("gpt2", 40), ("llama", 40)]
)
def test_ranks_are_those_of_a_loop(name, step, checkpoint, data_dir):
    items = [i for i in ours.items("choenni_stereotypes", "en", data_dir) if i.status is None]
    mask = name in ("bert-tiny", "wordpiece")
    slow = (plain.masked if mask else plain.causal)(checkpoint(name))
    n = check(slow, ours.model(checkpoint(name)), items[::step], mask=mask)
    # Vocabularies of 600 tokens split nearly all of the words.
    assert n > 10 or name != "bert-tiny"


@pytest.mark.slow
def test_a_real_model_names_what_the_loop_names(checkpoint, data_dir):
    path = checkpoint("smollm2")
    items = [i for i in ours.items("choenni_stereotypes", "en", data_dir) if i.status is None]
    slow = plain.causal(path.parent, gguf_file=path.name)
    assert check(slow, ours.model(path), items[::300], mask=False) > 2
