"""Applications: queries of suites as calls, and the texts of their answers as continuations."""

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from pytest_bias.errors import MeasurementError, ModelError
from pytest_bias.models.applications.calls import prints_apart
from pytest_bias.models.applications.transport import NoAnswer, Prompt, Transport
from pytest_bias.models.asked import AskedModel, check_writing, continuation
from pytest_bias.models.interface import Capability, Continuation
from pytest_bias.models.meter import Pace
from pytest_bias.models.served.questions import Answer, seed_of

MOST_TEXT: Final = 1_000_000
"""Maximum number of characters of a text."""

MOST_FAILED: Final = 10
"""Failures in a row after which an application is taken for broken."""

MOST_LATE: Final = 3
"""Calls in a row that take too long after which it is taken for one that hangs."""

IGNORES_LIMIT: Final = (
    "The application decides by itself how long its texts are: no limit of tokens can be set."
)


@dataclass
class ApplicationModel(AskedModel[Prompt]):
    """An application that answers prompts.

    Parameters
    ----------
    transport : Transport
        How it is asked.
    concurrency : int
        Number of calls at a time.
    """

    transport: Transport
    concurrency: int

    asked_in: ClassVar[str] = "calls"

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._failed: list[bool] = []
        self._has_answered = False

    @property
    def room(self) -> int:
        """Number of calls at a time."""
        return self.concurrency

    @property
    def again(self) -> Counter[str]:
        """Reasons of calls that were made again, with their counts."""
        return self.transport.again

    def stop(self) -> None:
        """Begin no further call."""
        self.transport.stop()

    def keep(self, folder: Path | None) -> None:
        """Store answers in a folder; with None stop."""
        super().keep(folder)
        # A failure of one suite says nothing about the next.
        self._failed.clear()

    def pace(self) -> Pace:
        """Return the seconds of a call, as measured so far: none is made for a forecast.

        Raises
        ------
        MeasurementError
            If there has been no call yet.
        """
        if not self.meter.forwards:
            raise MeasurementError("the time of a call is not known before the first one")
        return Pace(0.0, self.meter.seconds / self.meter.forwards)

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
        """Ask every prompt; equal ones are asked once.

        A sample's seed depends on `seed`, the prompt and the sample's number only. Without `sample`
        no seed is passed. `max_new_tokens` cannot be passed either.
        """
        if branch:
            self._lacks(Capability.BRANCH)
        if chat is False:
            raise ValueError("chat=False, and an application answers prompts, it continues none")
        check_writing(max_new_tokens, n, stop, sample=sample)
        if self.system is not None and "system" not in self.transport.accepts:
            raise ModelError(
                f"a system text is set, and {self.identity.reference} takes none.",
                self.transport.advice,
            )
        questions = [
            Prompt(prompt, self.system, seed_of(seed, prompt, number) if sample else None)
            for prompt in prompts
            for number in range(n)
        ]
        if self.counted(questions):
            return [Continuation("", 0, "eos") for _ in questions]
        with prints_apart():
            answers = self.ask(questions)
        return [continuation(answer, stop) for answer in answers]

    def answer_to(self, question: Prompt) -> Answer:
        """Make one call; see `Transport.ask` for those that are made again."""
        try:
            answer = self.transport.ask(question)
            if (text := answer.get("text")) is None:
                return answer
            if len(text) > MOST_TEXT:
                raise NoAnswer(f"the text has {len(text):,} characters, more than {MOST_TEXT:,}")
        except NoAnswer as why:
            self._check(why)
            return {"reason": str(why)}
        with self._lock:
            self._failed.clear()
            self._has_answered = True
        # Half a character (a lone surrogate) could not be stored.
        text = text.encode("utf-8", "replace").decode()
        return {**answer, "text": text, "finished": "eos"}

    def _check(self, why: NoAnswer) -> None:
        """Raise `ModelError` if too many calls in a row have failed, or all are asked wrongly."""
        name = self.identity.reference
        with self._lock:
            self._failed.append(why.is_late)
            failed, late = len(self._failed), sum(self._failed[-MOST_LATE:])
            has_answered = self._has_answered or bool(self.kept and self.kept.known)
        if why.hint and not has_answered:
            raise ModelError(f"{name}: {why}.", why.hint)
        if late == MOST_LATE:
            raise ModelError(
                f"{name} does not answer: {late} calls in a row had {why}.",
                "A longer limit: served: {timeout: SECONDS} in pytest-bias.yaml",
            )
        if failed >= MOST_FAILED:
            raise ModelError(f"{name} is broken: {failed} calls in a row failed, the last: {why}")
