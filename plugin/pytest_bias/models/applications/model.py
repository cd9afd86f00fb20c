"""Applications: queries of suites as calls of a function, and its texts as continuations."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

from pytest_bias.errors import MeasurementError, ModelError
from pytest_bias.models.applications.calls import Caller, LateAnswer, prints_apart
from pytest_bias.models.applications.function import SIGNATURE, Function, words_of
from pytest_bias.models.asked import AskedModel, check_writing, continuation
from pytest_bias.models.interface import Capability, Continuation
from pytest_bias.models.meter import Pace
from pytest_bias.models.served.questions import Answer, seed_of
from pytest_bias.models.served.rate import Rate
from pytest_bias.models.served.settings import RequestSettings
from pytest_bias.records.report import canonical_json, sha256

MOST_TEXT: Final = 1_000_000
"""Maximum number of characters of a text."""

MOST_FAILED: Final = 10
"""Failures in a row after which an application is taken for broken."""

MOST_LATE: Final = 3
"""Calls in a row that take too long after which it is taken for one that hangs."""

IGNORES_LIMIT: Final = (
    "The application decides by itself how long its texts are: no limit of tokens can be set."
)


@dataclass(frozen=True)
class Prompt:
    """One call.

    Parameters
    ----------
    text : str
        The prompt.
    system : str or None
        System text.
    seed : int or None
        Seed of a sample; None where one text is asked for, without sampling.
    """

    text: str
    system: str | None = None
    seed: int | None = None
    weight: int = field(default=0, init=False, compare=False)
    new: int = field(default=1, init=False, compare=False)
    key: str = field(init=False, compare=False)
    """Digest of the call, under which its answer is stored."""

    def __post_init__(self) -> None:
        key = sha256(canonical_json(["application", self.text, self.system, self.seed]))
        object.__setattr__(self, "key", key)


@dataclass
class ApplicationModel(AskedModel[Prompt]):
    """A function of the user's that answers prompts.

    Parameters
    ----------
    function : Function
        The function, as found.
    asking : RequestSettings
        Number of calls at a time, their limit of time, and the number per minute.
    """

    function: Function
    asking: RequestSettings

    asked_in: ClassVar[str] = "calls"

    def __post_init__(self) -> None:
        self._caller = Caller(self.asking.timeout)
        self._ended = threading.Event()
        self._rate = Rate(self.asking.requests_per_minute, self._ended.wait)
        self._lock = threading.Lock()
        self._failed: list[bool] = []

    @property
    def room(self) -> int:
        """Number of calls at a time."""
        return self.asking.concurrency

    def stop(self) -> None:
        """Begin no further call."""
        self._ended.set()

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
        """Call the function with every prompt; equal prompts are asked once.

        A sample's seed depends on `seed`, the prompt and the sample's number only. Without `sample`
        no seed is passed. `max_new_tokens` cannot be passed either.
        """
        if branch:
            self._lacks(Capability.BRANCH)
        if chat is False:
            raise ValueError("chat=False, and an application answers prompts, it continues none")
        check_writing(max_new_tokens, n, stop, sample=sample)
        if self.system is not None and "system" not in self.function.accepts:
            raise ModelError(
                f"a system text is set, and {self.identity.reference} takes none.",
                f"Give it a parameter of this name: {SIGNATURE}",
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
        """Call the function once.

        A call that raises is not made again: the function may be paid for each, and knows better
        what is worth another attempt.
        """
        self._rate.keep()
        if self._ended.is_set():
            return {"reason": "it is not waited for any more"}
        given = {"system": question.system, "seed": question.seed}
        keywords = {k: v for k, v in given.items() if k in self.function.accepts}
        is_late = False
        try:
            found = self._caller.call(partial(self.function.call, question.text, **keywords))
        except LateAnswer:
            reason, is_late = f"no answer within {self.asking.timeout:g} s", True
        except BaseException as error:
            reason = f"the application raises {words_of(error)}"
        else:
            reason = _wrong(found)
        self._check(reason, is_late=is_late)
        if reason:
            return {"reason": reason}
        # Half a character (a lone surrogate) could not be stored.
        text = str(found).encode("utf-8", "replace").decode()
        return {"text": text, "n_tokens": None, "finished": "eos"}

    def _check(self, reason: str, *, is_late: bool) -> None:
        """Raise `ModelError` if too many calls in a row have failed."""
        with self._lock:
            if not reason:
                self._failed.clear()
                return
            self._failed.append(is_late)
            failed, late = len(self._failed), sum(self._failed[-MOST_LATE:])
        name = self.identity.reference
        if late == MOST_LATE:
            raise ModelError(
                f"{name} does not answer: {late} calls in a row had {reason}.",
                "A longer limit: served: {timeout: SECONDS} in pytest-bias.yaml",
            )
        if failed >= MOST_FAILED:
            raise ModelError(
                f"{name} is broken: {failed} calls in a row failed, the last: {reason}"
            )


def _wrong(found: Any) -> str:
    """Return why what a function returned is no text; empty if it is one."""
    if found is None:
        return "the application returns None, not a text"
    if not isinstance(found, str):
        return f"the application returns {_article(type(found).__name__)}, not a text (str)"
    if len(found) > MOST_TEXT:
        return f"the text has {len(found):,} characters, more than {MOST_TEXT:,}"
    return ""


def _article(noun: str) -> str:
    return f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun}"
