"""A tokenizer with more ids than the weights have rows: scores as before, a reason for the rest.

That happens where a padding token or words are added and the model is not resized.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from pytest_bias.errors import ModelError
from pytest_bias.models import load
from pytest_bias.models.interface import Question
from tiny_architectures import CLASSIFIER, QA, SEQ2SEQ, head

TEXTS = ("My mother is a nurse.", "The doctor came late, and nobody was there to open.", "He is.")
WORD = "zorblax"
UNKNOWN = f"The {WORD} is a nurse."

Numbers = tuple[list[object], str | None]


def scores(model, texts) -> Numbers:
    found = model.score(texts)
    return [s.total for s in found[:-1]], found[-1].reason


def vectors(model, texts) -> Numbers:
    found = model.embed(texts)
    return found.vectors[:-1].tolist(), found.reasons[-1]


def classes(model, texts) -> Numbers:
    found = model.classify(texts)
    return found.probabilities[:-1].tolist(), found.reasons[-1]


def answers(model, texts) -> Numbers:
    found = model.answer([Question("Who is it?", text) for text in texts])
    return [a.text for a in found[:-1]], found[-1].reason


def writes(model, texts) -> Numbers:
    found = model.generate(texts, max_new_tokens=3)
    return [c.text for c in found[:-1]], found[-1].reason


KINDS: dict[str, tuple[str, Callable[..., Numbers]]] = {
    "masked": ("bert", scores),
    "causal": ("gpt2", scores),
    "written": ("gpt2", writes),
    "encoder": ("encoder", vectors),
    "seq2seq": ("t5", scores),
    "seq2seq written": ("t5", writes),
    "classifier": ("bert classifier", classes),
    "decoding classifier": ("gpt2 classifier", classes),
    "question answering": ("bert answers", answers),
}


@pytest.fixture
def folder(request, tiny, shared) -> Path:
    name = request.param
    table = {"t5": SEQ2SEQ, "bert classifier": CLASSIFIER, "gpt2 classifier": CLASSIFIER}
    if name in ("bert", "gpt2", "encoder"):
        return tiny(name)
    kind = table.get(name, QA)
    return shared(f"ids {name}", lambda path: head(kind, name.partition(" ")[0], path))


def grown(folder: Path, target: Path, *words: str, **special: str) -> Path:
    """Copy a model and give its tokenizer more words, not the model more rows."""
    shutil.copytree(folder, target)
    tokenizer = AutoTokenizer.from_pretrained(target)
    tokenizer.add_special_tokens(special)
    tokenizer.add_tokens(list(words))
    tokenizer.save_pretrained(target)
    return target


@pytest.mark.parametrize(
    ("folder", "ask"), KINDS.values(), indirect=["folder"], ids=[k.replace(" ", "-") for k in KINDS]
)
def test_scores_are_as_before_and_what_has_no_row_has_a_reason(folder, ask, tmp_path):
    before, _ = ask(load(str(folder)), [*TEXTS, TEXTS[0]])
    larger = grown(folder, tmp_path / "model", WORD, pad_token="<added>")
    model = load(str(larger))
    # Several texts of several lengths, so that rows are filled.
    after, reason = ask(model, [*TEXTS, UNKNOWN])
    assert after == before if isinstance(before[0], str) else np.allclose(after, before)
    assert reason is not None
    assert WORD in reason
    assert "the model has" in reason
    assert any("a text with one of the others is unscored" in text for text in model.notices)


def test_a_mask_without_a_row_is_refused(tiny, tmp_path):
    folder = grown(tiny("bert"), tmp_path / "model", mask_token="<newmask>")
    with pytest.raises(ModelError, match=r"its mask token has id 600, .* have 600 ids") as error:
        load(str(folder))
    assert "resize_token_embeddings" in (error.value.hint or "")


def test_a_beginning_without_a_row_is_a_reason(tiny, tmp_path):
    folder = grown(tiny("gpt2"), tmp_path / "model", bos_token="<begin>")
    found = load(str(folder)).score(list(TEXTS))
    assert {s.reason for s in found} == {"token '<begin>' has id 600, the model has 600 ids"}


def test_a_model_that_was_resized_knows_the_word(tiny, tmp_path):
    folder = grown(tiny("encoder"), tmp_path / "model", WORD)
    torch.manual_seed(0)
    network = AutoModel.from_pretrained(folder)
    network.resize_token_embeddings(601)
    network.save_pretrained(folder)
    model = load(str(folder))
    assert model.embed([UNKNOWN]).reasons == (None,)
    assert model.notices == ()
