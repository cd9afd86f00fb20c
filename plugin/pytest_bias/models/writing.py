"""Models that generate text: causal ones, and those with a separate decoder."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pytest_bias.models.chat import user_turn
from pytest_bias.models.encoder import EncoderModel
from pytest_bias.models.generation import Decoding, Row, continued, taken_over
from pytest_bias.models.interface import Continuation, LabelScores
from pytest_bias.models.reads import Reads
from pytest_bias.models.spellings import spellings
from pytest_bias.models.tokens import Encoded, Unreadable


@dataclass
class WritingModel(EncoderModel):
    """A model that generates texts."""

    ends: tuple[int, ...] = field(init=False)
    """End-of-text tokens."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ends = taken_over(self.body.network, self.body.tokens)

    @abstractmethod
    def start(self) -> list[int] | None:
        """Return the start tokens of a separate decoder; None if the prompt is continued."""

    @abstractmethod
    def prompt(self, encoded: Encoded) -> list[int]:
        """Return the ids of a prompt that is not a chat turn."""

    def generate(
        self,
        prompts: Sequence[str],
        *,
        max_new_tokens: int,
        sample: bool = False,
        branch: bool = False,
        n: int = 1,
        seed: int = 0,
        stop: Sequence[str] = (),
        chat: bool | None = None,
    ) -> list[Continuation]:
        """Continue every prompt with the model's own `generate`; equal prompts are run once.

        Raises
        ------
        ValueError
            If a number is below 1, several equal continuations are requested, or more branches than
            there are tokens, or a chat of a model without a template.
        """
        chat = self.chat if chat is None else chat
        if chat and self.identity.chat_template_sha256 is None:
            raise ValueError("chat=True, and the tokenizer has no chat template")
        if n < 1 or (n > 1 and not (sample or branch)):
            raise ValueError(f"n is {n}; it must be 1, or above with sample=True or branch=True")
        if branch and n > self.body.vocabulary:
            raise ValueError(f"n is {n}; the vocabulary has {self.body.vocabulary} first tokens")
        how = Decoding(max_new_tokens, sample, seed, tuple(stop), self.ends, branch)
        start = self.start()
        self.body.tokens.prepare(prompts)
        read = {p: self._read(p, start, max_new_tokens, chat=chat) for p in dict.fromkeys(prompts)}
        self.body.tokens.forget()
        rows = [
            Row(prompt, k, ids, start)
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

    def choose(self, prompts: Sequence[str], labels: Sequence[Sequence[str]]) -> list[LabelScores]:
        """Return the log-probabilities of labels from one forward per prompt."""
        start = self.start()
        tokens = self.body.tokens
        spelled = {label: spellings(tokens, label) for label in {w for of in labels for w in of}}
        tokens.prepare(prompts)
        read = {p: self._read(p, start, 1, chat=self.chat) for p in dict.fromkeys(prompts)}
        tokens.forget()
        reads = Reads()
        planned: list[list[list[int]] | str] = []
        for prompt, wanted in zip(prompts, labels, strict=True):
            ids = read[prompt]
            if isinstance(ids, Unreadable):
                planned.append(str(ids))
            elif lacking := [label for label in wanted if not spelled[label]]:
                planned.append(f"no token of the model reads as {lacking[0]}")
            else:
                base, at = reads.base(ids), len(start or ids) - 1
                planned.append(
                    [[reads.add_to(base, at, t, mask=False) for t in spelled[w]] for w in wanted]
                )
        with self.body.prompted(start):
            logp = self.body.log_probabilities(reads, f"choose {start or ''}")
        return [
            LabelScores((), of)
            if isinstance(of, str)
            else LabelScores(tuple(float(np.logaddexp.reduce(logp[each])) for each in of))
            for of in planned
        ]

    def _read(
        self, prompt: str, start: list[int] | None, room: int, *, chat: bool
    ) -> list[int] | Unreadable:
        """Return the ids of a prompt that leaves space for the new tokens, or the reason."""
        tokens = self.body.tokens
        try:
            ids = self.prompt(tokens.encode(prompt))
            if chat:
                if named := tokens.names_special(prompt):
                    raise Unreadable(
                        f"{named} is written in the prompt, and the chat template would make the "
                        "special token of it"
                    )
                ids = user_turn(tokens.tokenizer, prompt, self.system)
            tokens.check(ids)
        except Unreadable as reason:
            return reason
        before = start or ids
        if len(before) + room > tokens.max_length:
            return Unreadable(
                f"{len(before)} tokens and {room} new ones, the model takes {tokens.max_length}"
            )
        return ids
