"""WinoBias and Winogender: whom a pronoun stands for, against plain loops."""

import pytest

import ours
import plain
from tiny_architectures import SEQ2SEQ, head

NATS = 1e-3
SUITES = ("winobias", "winogender")
MASKED = ("bert-tiny", "wordpiece", "byte-level", "unigram")


def by_id(records):
    return {r.item: r for r in records}


def said(item, person):
    pronoun = item.texts["pronoun"]
    return f'{item.texts["sentence"]} "{pronoun[0].upper()}{pronoun[1:]}" refers to {person}.'


def check(items, records, loop, measured):
    """Compare both log-likelihoods and the choice of every item with a loop's."""
    largest, close = 0.0, 0
    for item in items:
        record = records[item.id]
        assert record.status == "scored", record.reason
        right, wrong = (loop(item, item.texts[side]) for side in ("right", "wrong"))
        found = record.detail["right"], record.detail["wrong"]
        largest = max(largest, abs(found[0] - right), abs(found[1] - wrong))
        if abs(right - wrong) >= NATS:
            assert record.value == 100 * (right > wrong), item.id
        else:
            close += 1
    measured(f"{len(items)} items, {close} closer than {NATS}", largest)
    assert largest < NATS
    assert close < len(items)


def sampled(suite, data_dir, step):
    return [i for i in ours.items(suite, "en", data_dir) if not i.status][::step]


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.by_day(
    name=(
        "wordpiece",
        "unigram",
    )
)
@pytest.mark.parametrize("name", MASKED)
def test_masked(name, suite, checkpoint, data_dir, measured):
    slow = plain.masked(checkpoint(name))
    items = sampled(suite, data_dir, 17)

    def loop(item, person):
        # "the" is no part of the gap where both have it.
        both = all(item.texts[side].startswith("the ") for side in ("right", "wrong"))
        article = "the " if both else ""
        sentence = said(item, f"{article}{plain.GAP}")
        return plain.slot(slow, sentence, person.removeprefix(article))

    records = by_id(ours.records(suite, ours.model(checkpoint(name)), items))
    check(items, records, loop, measured)


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_causal(name, suite, checkpoint, data_dir, measured):
    folder = checkpoint(name)
    slow = plain.causal(folder)
    items = sampled(suite, data_dir, 17)
    records = by_id(ours.records(suite, ours.model(folder), items))
    check(items, records, lambda i, p: plain.log_likelihood(slow, said(i, p)), measured)


@pytest.mark.parametrize("suite", SUITES)
def test_seq2seq(suite, tmp_path, data_dir, measured):
    folder = head(SEQ2SEQ, "bart", tmp_path / "bart")
    slow = plain.seq2seq(folder)
    items = sampled(suite, data_dir, 41)
    records = by_id(ours.records(suite, ours.model(folder), items))
    check(items, records, lambda i, p: plain.written(slow, said(i, p)), measured)


@pytest.mark.slow
@pytest.mark.parametrize("suite", SUITES)
def test_a_real_causal_model(suite, smollm2, data_dir, measured):
    slow = plain.causal(smollm2.parent, gguf_file=smollm2.name)
    items = sampled(suite, data_dir, 81)
    records = by_id(ours.records(suite, ours.model(smollm2), items))
    check(items, records, lambda i, p: plain.log_likelihood(slow, said(i, p)), measured)
