"""Causal language models: every token from the tokens before it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from pytest_bias.errors import ModelError
from pytest_bias.interface import Prediction, SequenceScore
from pytest_bias.models.reads import Reads
from pytest_bias.models.tokens import Encoded, Tokens, Unreadable
from pytest_bias.models.writing import WritingModel

AHEAD_NATS: Final = 0.01
"""Difference that rounding cannot explain, in half precision either."""


@dataclass
class CausalModel(WritingModel):
    """A model with a causal language modelling head."""

    def check(self) -> None:
        """Raise `ModelError` if a later token changes what is predicted before it."""
        ids = list(range(min(8, self.body.vocabulary)))
        reads = Reads()
        first = reads.add(ids, 1, ids[2], mask=False)
        second = reads.add([*ids[:-1], ids[0]], 1, ids[2], mask=False)
        logp = self.body.log_probabilities(reads)
        if abs(logp[first] - logp[second]) > AHEAD_NATS:
            raise ModelError(
                f"{self.identity.reference} is a {self.identity.architecture} that sees the tokens "
                "behind the one it predicts: it is no causal language model.",
                "Name its real class under architectures in config.json, or set is_decoder.",
            )

    def log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        """Sum the log-probabilities of all tokens from one forward of the text."""
        plan = partial(_each_token, tokens=self.body.tokens)
        return self.body.sentence_scores(list(texts), plan)

    def predict_next(self, prompts: Sequence[str], k: int) -> list[Prediction]:
        """Return the likeliest tokens behind every prompt, from one forward of it."""
        self.body.tokens.prepare(prompts)
        found = self.body.predictions(prompts, k, self._end)
        self.body.tokens.forget()
        return found

    def _end(self, text: str) -> tuple[list[int], int, bool]:
        ids = self.prompt(self.body.tokens.encode(text))
        return ids, len(ids) - 1, False

    def start(self) -> None:
        """Return nothing: the prompt itself is continued."""

    def prompt(self, encoded: Encoded) -> list[int]:
        """Return the ids of a prompt without what the tokenizer puts behind a text."""
        return encoded.ids[: encoded.core.stop]


def _each_token(encoded: Encoded, reads: Reads, *, tokens: Tokens) -> list[int]:
    ids = encoded.ids
    core = encoded.core
    if core.start == 0 and tokens.prefix is not None:
        ids = [tokens.prefix[1], *ids]
        core = range(1, core.stop + 1)
    if len(ids) > tokens.max_length:
        raise Unreadable(f"{len(ids)} tokens, the model takes {tokens.max_length}")
    scored = [p for p in core if p > 0]
    if not scored:
        raise Unreadable("one token, and nothing to condition it on")
    # Nothing behind the last scored token is seen by it.
    seen = ids[: core.stop - 1]
    return [reads.add(seen, p - 1, ids[p], mask=False) for p in scored]
