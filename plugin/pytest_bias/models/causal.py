"""Causal language models: every token from the tokens before it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from pytest_bias.errors import ModelError
from pytest_bias.interface import Continuation, SequenceScore
from pytest_bias.models.chat import user_turn
from pytest_bias.models.encoder import EncoderModel
from pytest_bias.models.generation import Decoding, Row, continued, taken_over
from pytest_bias.models.reads import Reads
from pytest_bias.models.tokens import Encoded, Tokens, Unreadable

AHEAD_NATS: Final = 0.01
"""Difference that rounding cannot explain, in half precision either."""


@dataclass
class CausalModel(EncoderModel):
    """A model with a causal language modelling head."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ends = taken_over(self.body.network, self.body.tokens)

    def check_direction(self) -> None:
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

    def generate(
        self,
        prompts: Sequence[str],
        *,
        max_new_tokens: int,
        sample: bool = False,
        n: int = 1,
        seed: int = 0,
        stop: Sequence[str] = (),
        chat: bool | None = None,
    ) -> list[Continuation]:
        """Continue every prompt with the model's own generate, equal prompts once.

        Raises
        ------
        ValueError
            If a number is below 1, several continuations are asked for that would be the same, or
            a chat is asked of a model without a template.
        """
        chat = self.chat if chat is None else chat
        if chat and self.identity.chat_template_sha256 is None:
            raise ValueError("chat=True, and the tokenizer has no chat template")
        if n < 1 or (n > 1 and not sample):
            raise ValueError(f"n is {n}; it must be 1, or above with sample=True")
        how = Decoding(max_new_tokens, sample, seed, tuple(stop), self.ends)
        self.body.tokens.prepare(prompts)
        read = {p: self._read(p, max_new_tokens, chat=chat) for p in dict.fromkeys(prompts)}
        self.body.tokens.forget()
        rows = [
            Row(prompt, k, ids)
            for prompt, ids in read.items()
            if not isinstance(ids, Unreadable)
            for k in range(n)
        ]
        found = {
            (row.prompt, row.sample): text
            for row, text in zip(rows, continued(self.body, rows, how), strict=True)
        }
        return [
            found.get((prompt, k)) or Continuation("", 0, None, str(read[prompt]))
            for prompt in prompts
            for k in range(n)
        ]

    def _read(self, prompt: str, room: int, *, chat: bool) -> list[int] | Unreadable:
        """Return the ids of a prompt that leaves room for new tokens, or why there are none."""
        tokens = self.body.tokens
        try:
            encoded = tokens.encode(prompt)
            ids = encoded.ids[: encoded.core.stop]
            if chat:
                ids = user_turn(tokens.tokenizer, prompt)
        except Unreadable as reason:
            return reason
        if len(ids) + room > tokens.max_length:
            return Unreadable(
                f"{len(ids)} tokens and {room} new ones, the model takes {tokens.max_length}"
            )
        return ids


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
