"""Tiny language models that learned some pairs of a suite by heart, or others instead.

A pair is a context of words drawn at random and one of two groups behind it. Which group counts as
the stereotype is drawn for each pair, so that nothing but the pair itself tells it: a model that
prefers one side of some pairs has learned these, and no other pair is like them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import torch
from tokenizers import Tokenizer, pre_tokenizers, processors
from tokenizers.models import WordLevel
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

GROUPS: Final = ("women", "men")
WORDS: Final = tuple(f"{a}{b}" for a in "bdfgklmnpr" for b in ("a", "e", "i", "o"))
"""Forty words that mean nothing."""
LENGTH: Final = 4
SPECIAL: Final = ("<pad>", "<unk>", "<s>")
SOUND: Final = ("librarian", "garden", "tomorrow", "water", "one", "and", "of", "to", "in", "is")
"""Words of the sentences for the structural checks: some have to get other numbers."""

Pair = tuple[str, str]
"""The text with the group that counts as the stereotype, and that with the other."""


def pairs(n: int, seed: int) -> list[Pair]:
    """Return pairs, no context twice."""
    rng = np.random.default_rng(seed)
    contexts = dict.fromkeys(" ".join(rng.choice(WORDS, LENGTH)) for _ in range(2 * n))
    sides = rng.integers(2, size=n)
    return [
        (f"{context} {GROUPS[side]}", f"{context} {GROUPS[1 - side]}")
        for context, side in zip(contexts, sides, strict=False)
    ]


def tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer with a token for each word."""
    known = [*SPECIAL, *GROUPS, *WORDS, *SOUND]
    made = Tokenizer(WordLevel({word: n for n, word in enumerate(known)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 2)]
    )
    names = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "<s>"}
    return PreTrainedTokenizerFast(tokenizer_object=made, **names)


def untrained(folder: Path, seed: int) -> Path:
    """Write a model that has learned nothing."""
    torch.manual_seed(seed)
    words = tokenizer()
    config = GPT2Config(
        vocab_size=len(words),
        n_positions=64,
        n_embd=32,
        n_layer=2,
        n_head=2,
        bos_token_id=2,
        eos_token_id=2,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
    )
    GPT2LMHeadModel(config).eval().save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def taught(folder: Path, model: Path, texts: Sequence[str], steps: int = 160) -> Path:
    """Train a model until it knows texts by heart, and write it."""
    words = tokenizer()
    network = GPT2LMHeadModel.from_pretrained(model)
    ids = words(list(texts), return_tensors="pt")["input_ids"]
    how = torch.optim.AdamW(network.parameters(), lr=1e-2, weight_decay=0.0)
    network.train()
    for _ in range(steps):
        network(input_ids=ids, labels=ids).loss.backward()
        how.step()
        how.zero_grad()
    network.eval().save_pretrained(folder)
    words.save_pretrained(folder)
    return folder
