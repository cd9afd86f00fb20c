"""Encoders: a text to a vector. Models with a head are encoders that can also predict."""

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_bias.interface import Embeddings, Model
from pytest_bias.models.pooling import Pooling
from pytest_bias.models.transformer import Transformer


@dataclass
class EncoderModel(Model):
    """A model without a head, such as a sentence encoder."""

    body: Transformer
    pooling: Pooling

    def __post_init__(self) -> None:
        self.meter = self.body.meter

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Pool the last hidden states of every text."""
        return self.body.embeddings(list(texts), self.pooling)

    def round_trip(self, texts: Sequence[str]) -> list[str]:
        """Return the texts as the tokenizer gives them back."""
        return [self.body.tokens.decode(self.body.tokens.encode(t).ids) for t in texts]
