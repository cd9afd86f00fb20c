"""Sequence-to-sequence models: an encoder reads one text, a decoder generates another.

The likelihood of a sentence is defined as that of generating it from an empty input. The encoder
reads the empty text as the tokenizer encodes it (special tokens only). The decoder starts with
``decoder_start_token_id``, followed by the text as the tokenizer encodes a target, as in training:
BART's ``<s>``, or a language code, precedes the first word and is not scored. The language is the
tokenizer's target language, else its source language.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import torch

from pytest_bias.errors import ModelError
from pytest_bias.models.batching import MIN_TOKENS, padded_length
from pytest_bias.models.interface import Passage, SequenceScore
from pytest_bias.models.reads import Reads
from pytest_bias.models.tokens import Encoded, Tokens
from pytest_bias.models.transformer import Transformer
from pytest_bias.models.windows import checked_stride, passage_scores
from pytest_bias.models.writing import WritingModel


def target(tokens: Tokens) -> Tokens:
    """Return the tokens for texts of the decoder."""
    tokenizer = tokens.tokenizer
    if getattr(tokenizer, "tgt_lang", "") is None:
        tokenizer.tgt_lang = tokenizer.src_lang
    return replace(tokens, target=True, _plain={}, _offsets={}, _refused={})


def decoder_start(config: Any, name: str) -> int:
    """Return the start token of a decoder, or raise `ModelError`."""
    found = getattr(config, "decoder_start_token_id", None)
    if found is None:
        raise ModelError(
            f"{name} does not state the start token of its decoder: config.json has no "
            "decoder_start_token_id.",
            "Add it: the id of the padding token for T5, of </s> for BART, of the language for "
            "mBART.",
        )
    return int(found)


def beginning(config: Any, tokens: Tokens, name: str) -> str:
    """Return the context of the first scored token, in token ids, for the report.

    Raises
    ------
    ModelError
        If the configuration does not state the decoder's start token, or the tokenizer encodes the
        empty text as no tokens.
    """
    start = decoder_start(config, name)
    if not tokens.empty:
        raise ModelError(
            f"the tokenizer of {name} adds no special tokens: it encodes an empty text as nothing, "
            "and an encoder needs at least one token.",
            "Save the tokenizer that the model was trained with; T5's ends every text with </s>.",
        )
    written = target(tokens)
    before = written.empty[: written.frame[0]]
    return f"encoder reads {tokens.empty}, decoder starts with {[start, *before]}"


@dataclass
class EncoderDecoder(Transformer):
    """Predicts with the decoder, conditioned on an empty text in the encoder.

    Within `prompted` the encoder reads the rows instead, and the decoder has its start only.
    """

    decoder: tuple[int, ...] | None = field(default=None, init=False)
    """Start of the decoder while rows are prompts."""

    @contextmanager
    def prompted(self, start: Sequence[int] | None) -> Iterator[None]:
        """Let the encoder read the rows; reads are at the last token of the decoder's start."""
        self.decoder = tuple(start or ())
        try:
            yield
        finally:
            self.decoder = None

    def inputs(self, ids: torch.Tensor, mask: torch.Tensor) -> dict[str, Any]:
        """Return the inputs of the decoder; the encoder's output is the same in every row."""
        if self.decoder is not None:
            begun = ids.new_tensor(self.decoder).expand(len(ids), -1)
            return {
                "input_ids": ids,
                "attention_mask": mask,
                "decoder_input_ids": begun,
                "use_cache": False,
            }
        output, attention = self._read
        hidden = output.last_hidden_state[:1].expand(len(ids), -1, -1)
        return {
            "encoder_outputs": replace(output, last_hidden_state=hidden),
            "attention_mask": attention[:1].expand(len(ids), -1),
            "decoder_input_ids": ids,
            "decoder_attention_mask": mask,
            "use_cache": False,
        }

    @cached_property
    def _read(self) -> tuple[Any, torch.Tensor]:
        """The encoder's output for the empty text, and its attention mask; all rows are equal."""
        empty = self.tokens.empty
        length = int(padded_length(len(empty), self.tokens.max_length))
        ids = torch.full((-(-MIN_TOKENS // length), length), self.tokens.pad_id)
        ids[:, : len(empty)] = torch.tensor(empty)
        mask = (torch.arange(length) < len(empty)).long().expand(len(ids), -1)
        ids, mask = ids.to(self.device), mask.to(self.device)
        return self.reader(input_ids=ids, attention_mask=mask), mask


@dataclass
class Seq2SeqModel(WritingModel):
    """A model that reads one text and generates another."""

    def log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        """Sum the log-probabilities of all tokens, from one forward of the decoder per text."""
        return self.score_long(texts)

    def score_long(
        self, passages: Sequence[str | Passage], *, stride: int | None = None
    ) -> list[SequenceScore]:
        """Sum the log-probabilities of tokens, for texts that fit the decoder."""
        written = target(self.body.tokens)
        checked_stride(stride, written.max_length)
        start = decoder_start(self.body.network.config, self.identity.reference)
        plan = partial(_each_token, start=start)
        return passage_scores(self.body, passages, plan, written, written.encode)

    def start(self) -> list[int]:
        """Return the start tokens of the decoder, including a language code."""
        written = target(self.body.tokens)
        start = decoder_start(self.body.network.config, self.identity.reference)
        return [start, *written.empty[: written.frame[0]]]

    def prompt(self, encoded: Encoded) -> list[int]:
        """Return the ids of a prompt for the encoder."""
        return encoded.ids


def _each_token(encoded: Encoded, wanted: Sequence[int], reads: Reads, *, start: int) -> list[int]:
    # The last token does not attend to later ones.
    base = reads.base([start, *encoded.ids[: encoded.core.stop - 1]])
    return [reads.add_to(base, p, encoded.ids[p], mask=False) for p in wanted]
