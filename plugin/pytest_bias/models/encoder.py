"""Encoders, which map a text to a vector; models with a head extend them with predictions."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from pytest_bias.models.devices import in_words
from pytest_bias.models.interface import Embeddings, Model
from pytest_bias.models.journal import Journal
from pytest_bias.models.meter import Pace, Work
from pytest_bias.models.pace import pace_of
from pytest_bias.models.pooling import Pooling
from pytest_bias.models.tokens import PLAIN_WORD
from pytest_bias.models.transformer import Transformer


@dataclass
class EncoderModel(Model):
    """A model without a head, such as a sentence encoder."""

    body: Transformer
    pooling: Pooling

    def __post_init__(self) -> None:
        self.meter = self.body.meter

    @property
    def devices(self) -> tuple[str, ...]:
        """Devices that hold the weights."""
        return tuple(self.body.devices)

    def check(self) -> None:
        """Raise `ModelError` if the loaded network does not behave like its kind."""

    def keep(self, folder: Path | None) -> None:
        """Store answers in a folder."""
        if folder is None:
            self.body.journal = None
            return
        names = ["pytest-bias", "torch", "transformers"]
        names += ["peft"] if self.identity.adapter else []
        facts = asdict(self.identity) | {
            "device": in_words(self.body.devices),
            "versions": [version(n) for n in names],
        }
        self.body.journal = Journal(folder, facts)

    @contextmanager
    def counting(self) -> Iterator[Work]:
        """Count forwards instead of running them."""
        self.body.work = work = Work()
        try:
            yield work
        finally:
            self.body.work = None

    def pace(self) -> Pace:
        """Time a few small batches."""
        return pace_of(self.body)

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Pool the last hidden states of every text."""
        return self.body.embeddings(list(texts), self.pooling)

    def n_tokens(self, words: Sequence[str]) -> list[int]:
        """Count the tokens that each word adds after another word."""
        tokens = self.body.tokens
        front = len(tokens.encode(PLAIN_WORD).core)
        whole = tokens.encode_all([f"{PLAIN_WORD} {word}" for word in words])
        tokens.forget()
        return [len(w.core) - front for w in whole]

    def as_read(self, texts: Sequence[str]) -> list[str]:
        """Return the token ids of every text, formatted as a text."""
        return self.body.tokens.as_read(texts)

    def round_trip(self, texts: Sequence[str]) -> list[str]:
        """Return the texts after encoding and decoding."""
        return [self.body.tokens.decode(self.body.tokens.encode(t).ids) for t in texts]
