"""Served models: queries of suites as requests to a server, and its answers as numbers."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pytest_bias.errors import ModelError
from pytest_bias.models.asked import AskedModel, check_writing, continuation
from pytest_bias.models.interface import (
    Capability,
    Continuation,
    LabelScores,
    Passage,
    SequenceScore,
)
from pytest_bias.models.meter import Pace
from pytest_bias.models.served.client import (
    Client,
    Refused,
    Unanswered,
)
from pytest_bias.models.served.echoes import Echo, Unreadable, read_echo
from pytest_bias.models.served.probing import TEXTS, Found
from pytest_bias.models.served.questions import Answer, How, Likelihood, Question, Top, Writing
from pytest_bias.models.spellings import forms

REPEAT_TOLERANCE: Final = 0.1
"""Nats per token by which a server's answers may vary, as with batches in half precision."""

NOT_ABOUT_THE_TEXT: Final = ("429", "503")
"""Failures that are not caused by the text."""

MOST_TIMED: Final = 32
TIMED_TOKENS: Final = 8
"""Requests, and new tokens of each, with which the speed of a server is measured."""

NO_COUNT: Final = "The server does not say how many tokens it writes."


@dataclass
class ServedModel(AskedModel[Question]):
    """A model behind a server.

    Parameters
    ----------
    client : Client
        Client of the server.
    name : str
        The server's name for the model.
    found : Found
        Results of the probe.
    """

    client: Client
    name: str
    found: Found

    def __post_init__(self) -> None:
        self.repeat_tolerance = REPEAT_TOLERANCE
        self._told = Counter(self.client.again)

    @property
    def room(self) -> int:
        """Number of requests at a time."""
        return self.client.asking.concurrency

    @property
    def again(self) -> Counter[str]:
        """Reasons of requests that were made again, with their counts."""
        return self.client.again

    def stop(self) -> None:
        """Let no thread wait for the server any longer."""
        self.client.stopped.set()

    def pace(self) -> Pace:
        """Time a few requests, with the concurrency of a run."""
        # As long as most sentences, and all different, since a server may have a cache.
        rows = [f"{n} {' '.join(TEXTS)}" for n in range(min(2 * self.room, MOST_TIMED))]
        read_s = 0.0
        if Capability.LOG_LIKELIHOOD in self.capabilities:
            read_s = self.seconds([self._likelihood(text) for text in rows])
        read_s /= sum(map(len, rows))
        if Capability.GENERATE not in self.capabilities:
            return Pace(read_s, 0.0)
        how = How(TIMED_TOKENS, chat=self.chat, plain=self.found.plain)
        half = rows[: -(-len(rows) // 2)]
        written = self.seconds([Writing.of(self.name, text, 0, how) for text in half])
        return Pace(read_s, written / (len(half) * TIMED_TOKENS))

    def log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        """Sum the log-probabilities that the server returns for the tokens of every text."""
        return self._scores([(text, None) for text in texts])

    def score_long(
        self, passages: Sequence[str | Passage], *, stride: int | None = None
    ) -> list[SequenceScore]:
        """Score texts that the server accepts; for longer ones its error message is the reason.

        Windows are not supported, so the stride is ignored.
        """
        asked = [Passage(p) if isinstance(p, str) else p for p in passages]
        for text, parts in asked:
            if not all(0 <= a < b <= len(text) for a, b in parts or ()):
                raise ValueError("a part is not within its text")
        return self._scores(asked)

    def _scores(
        self, asked: Sequence[tuple[str, Sequence[tuple[int, int]] | None]]
    ) -> list[SequenceScore]:
        if Capability.LOG_LIKELIHOOD not in self.capabilities:
            self._lacks(Capability.LOG_LIKELIHOOD)
        echoes = self._echoes([text for text, _ in asked])
        return [
            SequenceScore(0.0, 0, echo) if isinstance(echo, str) else echo.score(parts)
            for echo, (_, parts) in zip(echoes, asked, strict=True)
        ]

    def _echoes(self, texts: Sequence[str]) -> list[Echo | str]:
        """Return the tokens of every text, or the reason why there are none."""
        questions = [self._likelihood(text) for text in texts]
        if self.counted(questions):
            return [Echo((text,), (0.0,), ((0, len(text)),)) for text in texts]

        def read(text: str, answer: Answer) -> Echo | str:
            if reason := answer.get("reason"):
                return str(reason)
            tokens, values = answer["tokens"], answer["logprobs"]
            try:
                return read_echo(tokens, values, answer["new"], text, self.found.prefix)
            except Unreadable as why:
                return str(why)

        return list(map(read, texts, self.ask(questions)))

    def _likelihood(self, text: str) -> Likelihood:
        return Likelihood.of(self.name, self.found.prefix + text)

    def round_trip(self, texts: Sequence[str]) -> list[str]:
        """Return the texts joined from the server's tokens."""
        if Capability.LOG_LIKELIHOOD not in self.capabilities:
            self._lacks(Capability.LOG_LIKELIHOOD)
        return [e if isinstance(e, str) else "".join(e.tokens) for e in self._echoes(texts)]

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
        """Let the server continue every prompt; equal prompts are requested once."""
        chat = self.chat if chat is None else chat
        if Capability.GENERATE not in self.capabilities:
            self._lacks(Capability.GENERATE)
        if branch:
            self._lacks(Capability.BRANCH)
        if chat and not self.found.chat:
            raise ValueError("chat=True, and the server answers no chat")
        check_writing(max_new_tokens, n, stop, sample=sample)
        how = How(max_new_tokens, sample, seed, chat, self.found.plain, self.system)
        questions = [
            Writing.of(self.name, prompt, number, how) for prompt in prompts for number in range(n)
        ]
        if self.counted(questions):
            return [Continuation("", 0, "length") for _ in questions]
        answers = self.ask(questions)
        if any("text" in a and a["n_tokens"] is None for a in answers):
            self.meter.notice(NO_COUNT)
        return [continuation(answer, stop) for answer in answers]

    def choose(
        self,
        prompts: Sequence[str],
        labels: Sequence[Sequence[str]],
        questions: Sequence[Hashable] = (),
    ) -> list[LabelScores]:
        """Sum the probabilities of each label among the likeliest tokens that the server gives.

        A label that is not among them has a log-probability of minus infinity.
        """
        if Capability.CHOOSE not in self.capabilities:
            self._lacks(Capability.CHOOSE)
        how = How(1, chat=self.chat, plain=self.found.plain, system=self.system)
        asked = [Top.of(self.name, prompt, self.found.top, how) for prompt in prompts]
        if self.counted(asked):
            return [LabelScores((0.0,) * len(of)) for of in labels]
        return list(map(_labels, self.ask(asked), labels))

    # Asking

    def answer_to(self, question: Question) -> Answer:
        """Return the answer to one question, or a reason if the text is the cause of a failure.

        A server that fails on one text but answers another has not stopped.
        """
        try:
            return question.read(self.client.ask(question.path, question.body))
        except Refused as why:
            return {"reason": str(why)}
        except Unanswered as why:
            if why.kind in NOT_ABOUT_THE_TEXT or not self._answers():
                raise ModelError(f"{self.client.server}: {why}") from None
            return {"reason": f"{why}; the server answers other requests"}

    def _answers(self) -> bool:
        how = How(1, chat=self.chat, plain=self.found.plain)
        question: Question = Writing.of(self.name, TEXTS[0], 0, how)
        if Capability.GENERATE not in self.capabilities:
            question = self._likelihood(TEXTS[0])
        try:
            return "reason" not in question.read(
                self.client.ask(question.path, question.body, retries=0)
            )
        except (Refused, Unanswered, ModelError):
            return False


def _labels(answer: Answer, labels: Sequence[str]) -> LabelScores:
    """Return the log-probabilities of labels, from the likeliest tokens."""
    if reason := answer.get("reason"):
        return LabelScores((), str(reason))
    found = dict.fromkeys(labels, -math.inf)
    label_of = {form: label for label in labels for form in forms(label)}
    for token, value in answer["top"]:
        if label := label_of.get(token.strip()):
            found[label] = float(np.logaddexp(found[label], value))
    return LabelScores(tuple(found[label] for label in labels))
