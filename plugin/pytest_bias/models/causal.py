"""Causal language models, which predict every token from the tokens before it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np

from pytest_bias.errors import ModelError
from pytest_bias.models.interface import Passage, Prediction, SequenceScore
from pytest_bias.models.reads import Branches, Reads
from pytest_bias.models.tokens import Encoded, Tokens, Unreadable
from pytest_bias.models.windows import behind, checked_stride, passage_scores
from pytest_bias.models.writing import WritingModel

AHEAD_NATS: Final = 0.01
"""Difference that rounding cannot explain, even in half precision."""

SHARED_NATS: Final[Mapping[str, float]] = {"float32": 1e-4, "float64": 1e-4}
"""Difference up to which a beginning may be computed once; in half precision `AHEAD_NATS`."""
SHARED_TOKENS: Final = 2048
"""Maximum length of sequences with a common beginning: masks grow with its square."""
WINDOWS: Final = ("sliding_window", "attention_chunk_size")
"""Keys of configurations with the number of tokens that some layers see."""
SHARED_TIMES: Final = 1.3
"""How many times fewer tokens there must be with it than without."""


@dataclass
class CausalModel(WritingModel):
    """A model with a causal language modelling head."""

    shares: bool = field(default=False, init=False)
    """Whether sequences that begin alike can be forwarded as one."""

    def check(self) -> None:
        """Raise `ModelError` if predictions depend on later tokens; see whether it `shares`."""
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
        self.shares = self._shares()

    def _shares(self) -> bool:
        """Whether sequences have the same predictions with a common beginning as without.

        Not all networks read masks and positions as they are given: linear attention, ALiBi.
        """
        first, *more = (n % self.body.vocabulary for n in range(2, 14))
        sequences = [[first, *more[:6]], [first, *more[:3], *more[6:]]]
        found = []
        for ends in (self._joined, super().ends_of):
            reads = Reads()
            which = [
                reads.add_to(base, at, sequences[1][-1], mask=False)
                for base, at in ends(reads, sequences, None)
            ]
            try:
                found.append(self.body.log_probabilities(reads)[which])
            except Exception:
                # A network of any kind, given what it may not have been made for.
                return False
        most = SHARED_NATS.get(str(self.body.network.dtype).removeprefix("torch."), AHEAD_NATS)
        return bool(np.abs(found[0] - found[1]).max() <= most)

    def ends_of(
        self, reads: Reads, sequences: Sequence[list[int]], start: list[int] | None
    ) -> list[tuple[int, int]]:
        """Return base and position of the end of each of several sequences that begin alike.

        They are one base if the network `shares`, their common beginning is long enough to save
        time, and no layer's window is shorter than they are.
        """
        if not self.shares or len(sequences) < 2:
            return super().ends_of(reads, sequences, start)
        joined = Branches.of(sequences)
        most = min(SHARED_TOKENS, sum(map(len, sequences)) / SHARED_TIMES)
        if len(joined.ids) > most or joined.longest > self._window:
            return super().ends_of(reads, sequences, start)
        return self._joined(reads, sequences)

    def _joined(
        self, reads: Reads, sequences: Sequence[list[int]], start: list[int] | None = None
    ) -> list[tuple[int, int]]:
        joined = Branches.of(sequences)
        base = reads.base(joined)
        return [(base, end) for end in joined.ends]

    @property
    def _window(self) -> float:
        """Number of tokens that every layer sees."""
        config = self.body.network.config.get_text_config()
        windows = (getattr(config, name, None) for name in WINDOWS)
        return min((w for w in windows if w), default=math.inf)

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
