"""Models that are asked from here and run elsewhere: by a server, or by code of the user's.

An answer may cost time and money, so distinct questions are asked once, in parallel, and their
answers are kept.
"""

import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import ClassVar, Final, Generic, Protocol, TypeVar

from pytest_bias.errors import ModelError, ModelStopped
from pytest_bias.models.interface import ANSWER_TOKENS, Continuation, Model
from pytest_bias.models.meter import Work
from pytest_bias.models.served.client import again_in_words
from pytest_bias.models.served.kept import Kept
from pytest_bias.models.served.parallel import in_parallel
from pytest_bias.models.served.questions import Answer
from pytest_bias.models.spending import about_tokens
from pytest_bias.records.identity import tool_version


class Asked(Protocol):
    """One question; `key` identifies its answer, the others are for forecasts."""

    @property
    def key(self) -> str:
        """Digest of all that determines the answer, besides the model."""

    @property
    def weight(self) -> int:
        """Size of the input."""

    @property
    def new(self) -> int:
        """Size of the output."""

    @property
    def sends(self) -> int:
        """About how many tokens are sent."""

    @property
    def writes(self) -> int | None:
        """Maximum number of tokens that come back; None if it has no limit."""


MOST_AVERAGED: Final = 100
"""Number of kept answers that show how long texts are."""

AskedT = TypeVar("AskedT", bound=Asked)


@dataclass
class AskedModel(Model, Generic[AskedT]):
    """A model whose answers are asked for one by one, and kept."""

    kept: Kept | None = field(default=None, init=False)
    work: Work | None = field(default=None, init=False)
    _told: Counter[str] = field(default_factory=Counter, init=False, repr=False)
    _estimate: float = field(default=0.0, init=False, repr=False)
    _own: set[str] = field(default_factory=set, init=False, repr=False)
    _stopped: ModelStopped | None = field(default=None, init=False, repr=False)

    asked_in: ClassVar[str] = "requests"
    """What questions are called in notices."""

    @property
    @abstractmethod
    def room(self) -> int:
        """Number of questions that are asked at a time."""

    @property
    def again(self) -> Counter[str]:
        """Reasons of questions that were asked again, with their counts."""
        return Counter()

    def stop(self) -> None:
        """Stop waiting for answers, since no further one is needed."""

    def keep(self, folder: Path | None) -> None:
        """Store answers in a folder; with None stop, and report the number of retries."""
        facts = {"identity": asdict(self.identity), "version": tool_version()}
        self.kept = None if folder is None else Kept(folder, facts)
        if folder is not None:
            return
        again = Counter(self.again)
        if told := again_in_words(again - self._told):
            self.meter.notice(told)
        self._told = again

    @contextmanager
    def counting(self) -> Iterator[Work]:
        """Count the sizes of questions instead of asking them."""
        self.work = work = Work()
        try:
            yield work
        finally:
            self.work = None

    def counted(self, questions: Sequence[Asked]) -> bool:
        """Return whether questions are only counted at present; if so, count them."""
        if self.work is None:
            return False
        known: Mapping[str, Answer] = self.kept.known if self.kept else {}
        usual, calibration = self._usually_written, self._calibration
        for question in {q.key: q for q in questions}.values():
            if question.key in known or question.key in self.work.seen:
                continue
            if self.kept:
                self.work.seen.add(question.key)
            self.work.tokens += question.weight
            self.work.positions += question.new
            written = usual if question.writes is None else question.writes
            self.work.asked.add(calibration * question.sends, written, estimated=True)
        return True

    @property
    def _calibration(self) -> float:
        """Tokens that were counted for each one that was estimated."""
        return self.meter.asked.sent / self._estimate if self._estimate else 1.0

    @property
    def _usually_written(self) -> float:
        """Mean number of tokens of a text, of those so far, else of some that were kept."""
        asked = self.meter.asked
        if asked.calls:
            return asked.written / asked.calls
        known = self.kept.known.values() if self.kept else ()
        counts = [_counted(answer)[0] for answer in islice(known, MOST_AVERAGED)]
        return sum(counts) / len(counts) if counts else ANSWER_TOKENS

    def _spend(self, question: AskedT, answer: Answer) -> None:
        """Add a call to the meter; where tokens were not counted, they are estimated."""
        sent, written, estimated = answer.get("sent"), *_counted(answer)
        self._estimate += question.sends
        sent, estimated = (question.sends, True) if sent is None else (sent, estimated)
        self.meter.asked.add(sent, written, estimated=estimated)
        self.meter.tokens += sent + written

    def ask(self, questions: Sequence[AskedT]) -> list[Answer]:
        """Return the answers to all questions, asking only distinct ones that are not stored.

        Raises
        ------
        ModelStopped
            If the model no longer answers.
        """
        if self._stopped:
            raise self._stopped
        asked = {q.key: q for q in questions}
        known: Mapping[str, Answer] = self.kept.known if self.kept else {}
        found = {key: known[key] for key in asked if key in known}
        if before := len(found.keys() - self._own):
            self.meter.resumed += before
            told = f"{before} of {len(asked)} {self.asked_in} were answered in an earlier run"
            self.meter.notice(told)
        left = [q for q in asked.values() if q.key not in found]
        start = time.perf_counter()
        try:
            for number, answer in in_parallel(left, self.answer_to, self.room):
                key = left[number].key
                found[key] = answer
                self.meter.forwards += 1
                self._spend(left[number], answer)
                if self.kept and "reason" not in answer:
                    self._own.add(key)
                    self.kept.add(key, answer)
                self.meter.progress(len(found), len(asked))
        except ModelError as error:
            self._stopped = self._given_up(error)
            raise self._stopped from None
        finally:
            self.meter.seconds += time.perf_counter() - start
            if self.kept:
                self.kept.flush()
        return [found[q.key] for q in questions]

    @abstractmethod
    def answer_to(self, question: AskedT) -> Answer:
        """Return the answer to one question, or a reason if the text is the cause of a failure.

        Raises
        ------
        ModelError
            If the model no longer answers.
        """

    def seconds(self, questions: Sequence[AskedT]) -> float:
        """Return the seconds that the answers to all questions take; none is kept."""
        start = time.perf_counter()
        for number, answer in in_parallel(questions, self.answer_to, self.room):
            self._spend(questions[number], answer)
        return time.perf_counter() - start

    def _given_up(self, error: ModelError) -> ModelStopped:
        """Return the error for a model that no longer answers, and stop waiting for it."""
        self.stop()
        kept = "no answers of this check are stored"
        if self.kept:
            self.kept.flush()
            n = len(self.kept.known)
            kept = f"{n} answer{' is' if n == 1 else 's are'} kept"
        message = error.message.rstrip(".")
        return ModelStopped(
            f"{message}; {kept}, and the same command goes on with what is missing.", error.hint
        )


def _counted(answer: Answer) -> tuple[int, bool]:
    """Return the tokens of an answer, and whether they are estimated."""
    written = answer.get("written")
    return (about_tokens(answer.get("text")), True) if written is None else (written, False)


def check_writing(max_new_tokens: int, n: int, stop: Sequence[str], *, sample: bool) -> None:
    """Raise `ValueError` if the settings of `generate` contradict one another."""
    if max_new_tokens < 1:
        raise ValueError(f"max_new_tokens is {max_new_tokens}; it must be at least 1")
    if n < 1 or (n > 1 and not sample):
        raise ValueError(f"n is {n}; it must be 1, or above with sample=True")
    if not all(stop):
        raise ValueError("a stop string is empty")


def continuation(answer: Answer, stop: Sequence[str]) -> Continuation:
    """Return the generated text, cut before the first stop string."""
    if reason := answer.get("reason"):
        return Continuation("", 0, None, str(reason))
    text, n_tokens = answer["text"], answer["n_tokens"] or 0
    if stops := [at for word in stop if (at := text.find(word)) >= 0]:
        return Continuation(text[: min(stops)], n_tokens, "stop")
    return Continuation(text, n_tokens, answer["finished"])
