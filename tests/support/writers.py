"""Models that write by a function, and classifiers that read by one."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pytest_bias.models.interface import (
    Capability,
    Classification,
    Continuation,
    Model,
    Outputs,
    Text,
)
from pytest_bias.models.labels import labels_for
from pytest_bias.records.report import ModelIdentity as Identity

UNREADABLE = "longer than the classifier reads"


class Reads(Model):
    """A classifier by a function from a text to its probabilities; null means that it cannot."""

    def __init__(
        self,
        labels: Sequence[str],
        of: Callable[[str], Sequence[float] | None],
        outputs: Outputs = Outputs.SINGLE_LABEL,
    ) -> None:
        super().__init__(Identity("reads", "classifier", "Reads"), frozenset({Capability.CLASSIFY}))
        self.labels, self.of, self.outputs = tuple(labels), of, outputs
        self.asked: list[str] = []

    def classify(self, texts: Sequence[Text]) -> Classification:
        self.asked += map(str, texts)
        found = [self.of(str(text)) for text in texts]
        rows = [[np.nan] * len(self.labels) if f is None else list(f) for f in found]
        reasons = tuple(UNREADABLE if f is None else None for f in found)
        return Classification(self.labels, self.outputs, np.array(rows, dtype=np.float64), reasons)


class Writes(Model):
    """A causal model that writes by a function of prompt and number of the sample.

    Null means that the prompt cannot be continued. Its words at a mask are `words`.
    """

    def __init__(
        self,
        text: Callable[[str, int], str | None],
        words: Sequence[str] = (),
        kind: str = "causal",
    ) -> None:
        can = {Capability.FILL} if words else {Capability.GENERATE}
        super().__init__(Identity("writes", kind, "Writes"), frozenset(can))
        self.text, self.words = text, words
        self.seeds: set[int] = set()
        self.prompts: list[str] = []

    def scored_by(self, role: str, reads: Reads) -> "Writes":
        """Name the classifier of a role, as ``--scorer`` does."""
        reads.label_names = {role: labels_for(role, reads.labels, {}, "reads")}
        self.scorers = {**self.scorers, role: reads}
        return self

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
        assert sample
        self.seeds.add(seed)
        self.prompts += prompts
        texts = [self.text(prompt, k) for prompt in prompts for k in range(n)]
        return [
            Continuation("", 0, None, "too long for the model")
            if text is None
            else Continuation(text, len(text.split()), "length")
            for text in texts
        ]

    def fill(self, texts: Sequence[str], k: int = 5) -> list[list[tuple[str, float]]]:
        return [[(word, -1.0) for word in self.words[:k]] for _ in texts]


def holds(word: str) -> Callable[[str], tuple[float, float]]:
    """Return what a classifier of two labels says that is sure of one word."""
    mapping: Mapping[bool, tuple[float, float]] = {True: (1.0, 0.0), False: (0.0, 1.0)}
    return lambda text: mapping[word in text.split()]


def texts(model: Model, *prompts: str, **how: Any) -> list[str]:
    """Return what a model answers to prompts."""
    return [c.text for c in model.generate(prompts, max_new_tokens=8, **how)]


def reasons(model: Model, *prompts: str) -> list[str | None]:
    """Return why a model has no answers to prompts."""
    return [c.reason for c in model.generate(prompts, max_new_tokens=8)]
