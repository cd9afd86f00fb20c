"""Models whose answers are in a log: what a suite asks of an item, and the log's replies to that.

A log knows no prompts of a suite. So the measure of a suite first asks a `Recorder`, item by item,
which notes what is asked about each; then it asks a `Replayed` model, which has the replies.
"""

from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from pytest_bias.errors import ModelError
from pytest_bias.models.interface import (
    Capability,
    Classification,
    Continuation,
    Model,
    Outputs,
    Passage,
    Presented,
    SequenceScore,
    Text,
)

RECORDED: Final = "recorded"
"""Reason of the answers of a `Recorder`, which are none."""

What: TypeAlias = Literal["question", "likelihood", "text", "label"]


class Query(NamedTuple):
    """Something that a measure asks about an item.

    `text` is the question without its `options`, the text whose likelihood is asked for, the
    prompt that is continued `n` times, or the text that is classified.
    """

    what: What
    text: str
    options: tuple[str, ...] = ()
    n: int = 1

    @property
    def key(self) -> Hashable:
        """What equal queries of two items have in common."""
        return self.what, self.text, self.options


@dataclass
class Recorder(Model):
    """A model that answers nothing and notes what it is asked."""

    asked: list[Query] = field(default_factory=list, init=False)

    def presented(
        self, questions: Sequence[tuple[str, tuple[str, ...]]]
    ) -> Sequence[Sequence[Presented]]:
        """Note questions."""
        self.asked += [Query("question", text, options) for text, options in questions]
        return [[Presented(reason=RECORDED)] for _ in questions]

    def log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        """Note texts whose likelihood is asked for."""
        self.asked += [Query("likelihood", text) for text in texts]
        return [SequenceScore(0.0, 0, RECORDED) for _ in texts]

    def score_long(
        self, passages: Sequence[str | Passage], *, stride: int | None = None
    ) -> list[SequenceScore]:
        """Note texts of any length."""
        return self.log_likelihood([_whole(p) for p in passages])

    def generate(self, prompts: Sequence[str], *, n: int = 1, **how: object) -> list[Continuation]:
        """Note prompts, and how many texts are to follow each."""
        self.asked += [Query("text", prompt, n=n) for prompt in prompts]
        return [Continuation("", 0, None, RECORDED) for _ in prompts for _ in range(n)]

    def classify(self, texts: Sequence[Text]) -> Classification:
        """Note texts that are to be classified."""
        self.asked += [Query("label", _one(text)) for text in texts]
        return _classified([Labelled(reason=RECORDED)] * len(texts), _labels(self))


class Labelled(NamedTuple):
    """What a classifier of others said of a text: probabilities of labels, or the label it gave."""

    probabilities: Mapping[str, float] = {}
    label: str | None = None
    reason: str | None = None


class Reply(NamedTuple):
    """The replies of a log to one query; those of the other kinds are empty."""

    presented: tuple[Presented, ...] = ()
    likelihood: SequenceScore = SequenceScore(0.0, 0, "not in the log")
    texts: tuple[Continuation, ...] = ()
    labelled: Labelled = Labelled(reason="not in the log")


@dataclass
class Replayed(Model):
    """A model that replays the replies of a log to the queries of a measure.

    Items may ask the same in the same words and have been answered differently, so the replies to
    equal queries are given in the order of the items, as measures ask.

    Attributes
    ----------
    replies : mapping
        Key of a query to its replies, in the order of the items.
    labels : tuple of str
        Labels of the classifier that the log is of.
    """

    replies: Mapping[Hashable, deque[Reply]]
    labels: tuple[str, ...] = ()

    def _reply(self, query: Query) -> Reply:
        found = self.replies.get(query.key)
        if not found:
            return Reply()
        found.rotate(-1)
        return found[-1]

    def presented(
        self, questions: Sequence[tuple[str, tuple[str, ...]]]
    ) -> Sequence[Sequence[Presented]]:
        """Return the answers of the log to questions with options."""
        queries = [Query("question", text, options) for text, options in questions]
        nothing = (Presented(reason="not in the log"),)
        return [self._reply(q).presented or nothing for q in queries]

    def log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        """Return the log-likelihoods of the log; where it has no numbers of tokens they are 0."""
        return [self._reply(Query("likelihood", text)).likelihood for text in texts]

    def score_long(
        self, passages: Sequence[str | Passage], *, stride: int | None = None
    ) -> list[SequenceScore]:
        """Return the log-likelihoods of texts of any length."""
        return self.log_likelihood([_whole(p) for p in passages])

    def generate(self, prompts: Sequence[str], *, n: int = 1, **how: object) -> list[Continuation]:
        """Return the texts of the log."""
        nothing = (Continuation("", 0, None, "not in the log"),) * n
        return [c for p in prompts for c in (self._reply(Query("text", p)).texts or nothing)[:n]]

    def classify(self, texts: Sequence[Text]) -> Classification:
        """Return the probabilities of the log, or 1 for the label that it gives."""
        found = [self._reply(Query("label", _one(text))).labelled for text in texts]
        return _classified(found, self.labels)


def _whole(passage: str | Passage) -> str:
    if isinstance(passage, str) or passage.parts is None:
        return passage if isinstance(passage, str) else passage.text
    raise ModelError(
        "this suite scores parts of texts by their likelihoods, which no log of answers has.",
        "pytest-bias run MODEL measures it.",
    )


def _one(text: Text) -> str:
    return text if isinstance(text, str) else "\n".join(text)


def _labels(model: Model) -> tuple[str, ...]:
    return tuple(dict.fromkeys(v for of in model.label_names.values() for v in of.values()))


def _classified(found: Sequence[Labelled], labels: tuple[str, ...]) -> Classification:
    hard = any(one.label is not None for one in found)
    rows = [
        [float(one.label == name) for name in labels]
        if one.label is not None
        else [one.probabilities.get(name, np.nan) for name in labels]
        for one in found
    ]
    values = np.array(rows, dtype=np.float64).reshape(len(found), len(labels))
    outputs = Outputs.LABELS if hard else Outputs.SINGLE_LABEL
    return Classification(labels, outputs, values, tuple(one.reason for one in found))


CAPABILITIES: Final[Mapping[str, frozenset[Capability]]] = {
    "texts": frozenset({Capability.GENERATE}),
    "likelihoods": frozenset({Capability.CHOOSE, Capability.LOG_LIKELIHOOD}),
    "labels": frozenset({Capability.CLASSIFY}),
}
"""What a log has to what a measure may ask of it."""
