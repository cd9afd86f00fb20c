"""GEST: both words at a mask, or behind a sentence, against plain loops."""

import string
from collections.abc import Callable
from pathlib import Path

import pytest
from transformers import BertConfig, BertForMaskedLM

import ours
import plain
import tiny_models
from bias_suites.social.gest import FROM_LEFT, TEMPLATES
from pytest_bias.records.report import Item
from tiny_architectures import SEQ2SEQ, head

NATS = 1e-3
WORDS = ("he", "she", "man", "woman", "said", "the")


def sampled(data_dir: Path, step: int = 211, longest: int = 80) -> list[Item]:
    found = [i for i in ours.items("gest", "en", data_dir) if len(i.texts["sentence"]) < longest]
    return found[::step]


def knows_the_words(folder: Path) -> Path:
    """Write a random masked model to which both words of every template are one token."""
    letters = [prefix + c for c in string.ascii_letters + string.digits for prefix in ("", "##")]
    tokenizer = tiny_models.wordpiece(pieces=[*letters, *".,!?'\":-", *WORDS])
    config = BertConfig(vocab_size=len(tokenizer), max_position_embeddings=256, **tiny_models.SIZE)
    return tiny_models.save(BertForMaskedLM, config, tokenizer, folder, 0)


@pytest.mark.parametrize("name", ["bert-tiny", "random weights"])
def test_masked(name, checkpoint, tmp_path, data_dir, measured):
    folder = knows_the_words(tmp_path) if name == "random weights" else checkpoint(name)
    slow = plain.masked(folder)
    items = sampled(data_dir)
    largest = 0.0
    for item, record in zip(items, ours.records("gest", ours.model(folder), items), strict=True):
        assert record.status == "scored", record.reason
        for template, about in TEMPLATES.items():
            sentence = about.cloze(item.texts["sentence"]).text
            for word, role in ((about.male, "male"), (about.female, "female")):
                expected = plain.slot(slow, sentence, word)
                largest = max(largest, abs(record.detail[f"{template}_{role}"] - expected))
    measured(f"{len(items)} sentences", largest)
    assert largest < NATS


def check_next_word(
    folder: Path, items: list[Item], loop: Callable[[str], float], measured: Callable[..., None]
) -> None:
    largest = 0.0
    for item, record in zip(items, ours.records("gest", ours.model(folder), items), strict=True):
        assert record.status == "scored", record.reason
        for template in FROM_LEFT:
            male, female = map(loop, TEMPLATES[template].beginnings(item.texts["sentence"]))
            detail = record.detail
            found = detail[f"{template}_male"] - detail[f"{template}_female"]
            largest = max(largest, abs(found - (male - female)))
    measured(f"{len(items)} sentences", largest)
    assert largest < NATS


@pytest.mark.by_day(name=("gpt2",))
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_causal(name, checkpoint, data_dir, measured):
    folder = checkpoint(name)
    slow = plain.causal(folder)
    loop = lambda text: plain.log_likelihood(slow, text)  # noqa: E731
    check_next_word(folder, sampled(data_dir), loop, measured)


@pytest.mark.slow
def test_the_next_word_alone(smollm2, data_dir, measured):
    """Of words of one token the difference of texts is that of the next token, as published."""
    slow = plain.causal(smollm2.parent, gguf_file=smollm2.name)

    def next_token(text: str) -> float:
        before, _, word = text.rpartition(" ")
        (token,) = slow.tokenizer.encode(f" {word}", add_special_tokens=False)
        ids = slow.tokenizer.encode(before)
        return plain.log_p(slow, [slow.tokenizer.bos_token_id, *ids, token], len(ids), token)

    check_next_word(smollm2, sampled(data_dir, 1409), next_token, measured)


def test_seq2seq(tmp_path, data_dir, measured):
    folder = head(SEQ2SEQ, "bart", tmp_path / "bart")
    slow = plain.seq2seq(folder)
    loop = lambda text: plain.written(slow, text)  # noqa: E731
    check_next_word(folder, sampled(data_dir), loop, measured)
