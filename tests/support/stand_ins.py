"""Models that are functions: text in, numbers from a table or a rule."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pytest_bias.models.interface import (
    Capability,
    Cloze,
    ClozeScore,
    Continuation,
    Embeddings,
    Model,
    PairScore,
    Passage,
    Prediction,
    SequenceScore,
)
from pytest_bias.records.report import Item, Record, SuiteResult
from pytest_bias.records.report import ModelIdentity as Identity
from pytest_bias.records.score import Score
from pytest_bias.suites.measures import measure_items
from pytest_bias.suites.results import scored
from pytest_bias.suites.suite import Suite

UNREADABLE = "empty text"


class Pairs(Model):
    """A masked model that scores the shared tokens of a pair, and whole texts, by two functions."""

    def __init__(
        self,
        shared: Callable[[str, str], tuple[float, float]],
        whole: Callable[[str], float] = lambda text: -float(len(text)),
    ) -> None:
        super().__init__(
            Identity("pairs", "masked", "Pairs"), frozenset({Capability.PSEUDO_LOG_LIKELIHOOD})
        )
        self.shared, self.whole = shared, whole
        self.asked: list[tuple[str, str]] = []

    def pair_log_likelihood(self, pairs: Sequence[tuple[str, str]]) -> list[PairScore]:
        self.asked += pairs
        return [
            PairScore(
                *(SequenceScore(s, 4, None if s == s else UNREADABLE) for s in self.shared(*p))
            )
            for p in pairs
        ]

    def unmasked_log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        return [SequenceScore(self.whole(t), len(t.split())) for t in texts]


class Texts(Model):
    """A causal model that scores whole texts by a function; null means that it cannot."""

    def __init__(self, score: Callable[[str], float | None]) -> None:
        super().__init__(
            Identity("texts", "causal", "Texts"), frozenset({Capability.LOG_LIKELIHOOD})
        )
        self.of = score

    def log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        found = [(self.of(t), len(t.split())) for t in texts]
        return [
            SequenceScore(0.0, 0, UNREADABLE) if s is None else SequenceScore(s, n)
            for s, n in found
        ]

    def score_long(
        self, passages: Sequence[str | Passage], *, stride: int | None = None
    ) -> list[SequenceScore]:
        whole = [p if isinstance(p, Passage) else Passage(p) for p in passages]
        found = zip(whole, self.log_likelihood([p.text for p in whole]), strict=True)
        return [s if p.parts is None else s._replace(n_tokens=len(p.parts)) for p, s in found]


class Pseudo(Texts):
    """A masked model that scores whole texts by a function; null means that it cannot."""

    def __init__(self, score: Callable[[str], float | None]) -> None:
        super().__init__(score)
        self.identity = Identity("pseudo", "masked", "Pseudo")
        self.capabilities = frozenset({Capability.PSEUDO_LOG_LIKELIHOOD})

    def pseudo_log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        return self.log_likelihood(texts)


class Slots(Model):
    """A masked model that gives a choice at a gap its probability by a function.

    `n_tokens` says how many tokens a choice is.
    """

    def __init__(
        self,
        probability: Callable[[Cloze, str], float],
        n_tokens: Callable[[str], int] = lambda choice: 1,
    ) -> None:
        super().__init__(Identity("slots", "masked", "Slots"), frozenset({Capability.SLOT}))
        self.probability, self.n_tokens = probability, n_tokens
        self.asked: list[Cloze] = []

    def slot(self, clozes: Sequence[Cloze]) -> list[ClozeScore]:
        self.asked += clozes
        return [self._one(c) for c in clozes]

    def _one(self, cloze: Cloze) -> ClozeScore:
        with np.errstate(divide="ignore"):
            logp = [float(np.log(self.probability(cloze, c))) for c in cloze.choices]
        n_tokens = tuple(self.n_tokens(c) for c in cloze.choices)
        # Every token of a choice is as likely as the others.
        tokens = tuple((p / n,) * n for p, n in zip(logp, n_tokens, strict=True))
        return ClozeScore(tuple(logp), n_tokens, tokens=tokens)


class Tokens(Model):
    """A masked model that names tokens at a gap by a function; null means that it cannot read.

    Its words are one token each, but for those that `n_tokens_of` counts otherwise.
    """

    capability = Capability.FILL

    def __init__(
        self,
        words: Callable[[str], Sequence[str] | None],
        n_tokens_of: Callable[[str], int] = lambda word: 1,
    ) -> None:
        super().__init__(Identity("tokens", "masked", "Tokens"), frozenset({self.capability}))
        self.words, self.n_tokens_of = words, n_tokens_of
        self.asked: list[tuple[str, int]] = []

    def predict(self, texts: Sequence[str], k: int) -> list[Prediction]:
        self.asked += [(t, k) for t in texts]
        found = [self.words(t) for t in texts]
        return [
            Prediction((), (), UNREADABLE)
            if words is None
            else Prediction(tuple(words[:k]), tuple(-float(n) for n in range(len(words[:k]))))
            for words in found
        ]

    def n_tokens(self, words: Sequence[str]) -> list[int]:
        return [self.n_tokens_of(w) for w in words]


class NextTokens(Tokens):
    """A causal model that names the tokens behind a text by a function."""

    capability = Capability.NEXT

    def predict_next(self, prompts: Sequence[str], k: int) -> list[Prediction]:
        return self.predict(prompts, k)


class Writer(Model):
    """A causal model that writes texts by a function; null means that it cannot read the prompt."""

    def __init__(self, texts: Callable[[str], Sequence[str] | None], *, chat: bool = False) -> None:
        super().__init__(
            Identity("writer", "causal", "Writer"),
            frozenset({Capability.GENERATE, Capability.BRANCH}),
        )
        self.texts, self.chat = texts, chat
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def generate(self, prompts: Sequence[str], **how: Any) -> list[Continuation]:
        self.asked += [(p, how) for p in prompts]
        written = []
        n = how.get("n", 1)
        for prompt in prompts:
            texts = self.texts(prompt)
            if texts is None:
                written += [Continuation("", 0, None, UNREADABLE)] * n
            else:
                given = [*texts, *["something"] * n][:n]
                written += [Continuation(t, len(t.split()), "eos") for t in given]
        return written


class Vectors(Model):
    """An encoder with a table of vectors; a text that is not in it cannot be read."""

    def __init__(self, table: Mapping[str, Sequence[float]]) -> None:
        super().__init__(Identity("vectors", "encoder", "Vectors"), frozenset({Capability.EMBED}))
        self.table = table
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Embeddings:
        self.asked += texts
        width = len(next(iter(self.table.values())))
        vectors = [self.table.get(t, [0.0] * width) for t in texts]
        reasons = tuple(None if t in self.table else UNREADABLE for t in texts)
        return Embeddings(np.array(vectors, dtype=np.float32), reasons)


def records_of(suite: Suite, model: Model, items: Sequence[Item]) -> dict[str, Record]:
    """Measure items as the engine does, and return the records by item."""
    measure = suite.measure_for(model.capabilities)
    assert measure is not None
    return {r.item: r for r in measure_items(measure, model, items)}


def result_of(suite: Suite, model: Model, items: Sequence[Item], **more: Any) -> SuiteResult:
    """Measure and score items as the engine does."""
    measure = suite.measure_for(model.capabilities)
    assert measure is not None
    empty = SuiteResult(
        suite.name,
        more.get("config", "en"),
        suite.version,
        suite.kind,
        "scored",
        measure=measure.name,
        records=measure_items(measure, model, items),
    )
    return scored(empty, suite, more.get("seed", 0))


def values(result: SuiteResult, metric: str) -> dict[tuple[str, ...], float | None]:
    """Return the values of a metric by group."""
    found: list[Score] = [s for s in result.scores if s.metric == metric]
    return {tuple(s.by.values()): s.value for s in found}
