"""Models that generate text: causal ones, and those with a separate decoder."""

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from pytest_bias.models.chat import user_turns
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
        read = self._read(prompts, start, max_new_tokens, chat=chat)
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

    def choose(
        self,
        prompts: Sequence[str],
        labels: Sequence[Sequence[str]],
        questions: Sequence[Hashable] = (),
    ) -> list[LabelScores]:
        """Return the log-probabilities of labels from one forward per prompt or question."""
        start = self.start()
        tokens = self.body.tokens
        spelled = {label: spellings(tokens, label) for label in {w for of in labels for w in of}}
        read = self._read(prompts, start, 1, chat=self.chat)
        reasons: dict[int, str] = {}
        together: dict[Hashable, dict[int, list[int]]] = {}
        for n, (prompt, wanted) in enumerate(zip(prompts, labels, strict=True)):
            if isinstance(ids := read[prompt], Unreadable):
                reasons[n] = str(ids)
            elif lacking := [label for label in wanted if not spelled[label]]:
                reasons[n] = f"no token of the model reads as {lacking[0]}"
            else:
                together.setdefault(questions[n] if questions else n, {})[n] = ids
        reads = Reads()
        planned: dict[int, list[list[int]]] = {}
        for alike in together.values():
            ends = self.ends_of(reads, [*alike.values()], start)
            for n, (base, at) in zip(alike, ends, strict=True):
                planned[n] = [
                    [reads.add_to(base, at, token, mask=False) for token in spelled[label]]
                    for label in labels[n]
                ]
        with self.body.prompted(start):
            logp = self.body.log_probabilities(reads, f"choose {start or ''}")
        return [
            LabelScores((), reasons[n])
            if n in reasons
            else LabelScores(tuple(float(np.logaddexp.reduce(logp[each])) for each in planned[n]))
            for n in range(len(prompts))
        ]

    def ends_of(
        self, reads: Reads, sequences: Sequence[list[int]], start: list[int] | None
    ) -> list[tuple[int, int]]:
        """Return base and position of the end of each of several sequences that begin alike."""
        return [(reads.base(ids), len(start or ids) - 1) for ids in sequences]

    def _read(
        self, prompts: Sequence[str], start: list[int] | None, room: int, *, chat: bool
    ) -> dict[str, list[int] | Unreadable]:
        """Return the ids of prompts that leave space for the new tokens, or the reason."""
        tokens = self.body.tokens
        tokens.prepare(prompts)
        read = {p: self._checked(p, chat=chat) for p in dict.fromkeys(prompts)}
        tokens.forget()
        if chat:
            turns = [p for p, ids in read.items() if not isinstance(ids, Unreadable)]
            read |= zip(turns, user_turns(tokens.tokenizer, turns, self.system), strict=True)
        for prompt, ids in read.items():
            if isinstance(ids, Unreadable):
                continue
            before = start or ids
            try:
                tokens.check(ids)
            except Unreadable as reason:
                read[prompt] = reason
            else:
                if len(before) + room > tokens.max_length:
                    read[prompt] = Unreadable(
                        f"{len(before)} tokens and {room} new ones, the model takes "
                        f"{tokens.max_length}"
                    )
        return read

    def _checked(self, prompt: str, *, chat: bool) -> list[int] | Unreadable:
        """Return the ids of a prompt as a plain text, or why it cannot be asked."""
        tokens = self.body.tokens
        try:
            ids = self.prompt(tokens.encode(prompt))
        except Unreadable as reason:
            return reason
        if chat and (named := tokens.names_special(prompt)):
            return Unreadable(
                f"{named} is written in the prompt, and the chat template would make the special "
                "token of it"
            )
        return ids
