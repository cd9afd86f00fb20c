"""Causal language models, which predict every token from the tokens before it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from pytest_bias.errors import ModelError
from pytest_bias.models.interface import Passage, Prediction, SequenceScore
from pytest_bias.models.reads import Reads
from pytest_bias.models.tokens import Encoded, Tokens, Unreadable
from pytest_bias.models.windows import behind, checked_stride, passage_scores
from pytest_bias.models.writing import WritingModel

AHEAD_NATS: Final = 0.01
"""Difference that rounding cannot explain, even in half precision."""


@dataclass
class CausalModel(WritingModel):
    """A model with a causal language modelling head."""

    def check(self) -> None:
        """Raise `ModelError` if predictions depend on later tokens."""
        ids = list(range(min(8, self.body.vocabulary)))
        reads = Reads()
        first = reads.add(ids, 1, ids[2], mask=False)
        second = reads.add([*ids[:-1], ids[0]], 1, ids[2], mask=False)
        logp = self.body.log_probabilities(reads)
        if abs(logp[first] - logp[second]) > AHEAD_NATS:
            raise ModelError(
                f"{self.identity.reference} is a {self.identity.architecture} that attends to the "
                "tokens after the one it predicts: it is not a causal language model.",
                "Name its real class under architectures in config.json, or set is_decoder.",
            )

    def log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        """Sum the log-probabilities of all tokens from one forward of the text."""
        plan = partial(_each_token, tokens=self.body.tokens)
        return self.body.sentence_scores(list(texts), plan)

    def score_long(
        self, passages: Sequence[str | Passage], *, stride: int | None = None
    ) -> list[SequenceScore]:
        """Sum the log-probabilities of tokens, using windows for long texts."""
        tokens = self.body.tokens
        step = checked_stride(stride, tokens.max_length)
        plan = partial(_in_windows, tokens=tokens, stride=step)
        return passage_scores(self.body, passages, plan, tokens, tokens.encode_long)

    def predict_next(self, prompts: Sequence[str], k: int) -> list[Prediction]:
        """Return the most likely next tokens of every prompt, from one forward."""
        self.body.tokens.prepare(prompts)
        found = self.body.predictions(prompts, k, self._end)
        self.body.tokens.forget()
        return found

    def _end(self, text: str) -> tuple[list[int], int, bool]:
        ids = self.prompt(self.body.tokens.encode(text))
        return ids, len(ids) - 1, False

    def start(self) -> None:
        """Return None: the prompt itself is continued."""

    def prompt(self, encoded: Encoded) -> list[int]:
        """Return the ids of a prompt without the special tokens at its end."""
        return encoded.ids[: encoded.core.stop]


def _each_token(encoded: Encoded, reads: Reads, *, tokens: Tokens) -> list[int | None]:
    n_tokens = len(encoded.ids) + _lacks_prefix(encoded, tokens)
    if n_tokens > tokens.max_length:
        raise Unreadable(f"{n_tokens} tokens, the model takes {tokens.max_length}")
    return _in_windows(encoded, encoded.core, reads, tokens=tokens, stride=n_tokens)


def _lacks_prefix(encoded: Encoded, tokens: Tokens) -> bool:
    """Whether a text needs an additional token on which its first token is conditioned."""
    return encoded.core.start == 0 and tokens.prefix is not None


def _in_windows(
    encoded: Encoded, wanted: Sequence[int], reads: Reads, *, tokens: Tokens, stride: int
) -> list[int | None]:
    """Score tokens at some positions, each in the first window that contains it."""
    ids, stop = encoded.ids, encoded.core.stop
    if _lacks_prefix(encoded, tokens):
        assert tokens.prefix is not None
        tokens.check([tokens.prefix[1]])
        ids, stop = [tokens.prefix[1], *ids], stop + 1
        wanted = [p + 1 for p in wanted]
    # The first token has no context.
    found: list[int | None] = [None] * (0 in wanted)
    places = {p for p in wanted if p > 0}
    if not places:
        raise Unreadable("one token, and nothing to condition it on")
    for window in behind(stop, tokens.max_length, stride):
        # The last scored token does not attend to later ones.
        base = reads.base(ids[window.begin : window.end - 1])
        found += [
            reads.add_to(base, p - 1 - window.begin, ids[p], mask=False)
            for p in window.scored
            if p in places
        ]
    return found
