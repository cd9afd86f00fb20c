"""A model of every kind whose answers are a hash of what it is asked."""

import hashlib
import math
from collections.abc import Hashable, Sequence
from typing import Any, Final

import numpy as np

from pytest_bias.models.interface import (
    Answer,
    Capability,
    Classification,
    Cloze,
    ClozeScore,
    Continuation,
    Embeddings,
    Following,
    LabelScores,
    Model,
    Outputs,
    PairScore,
    Passage,
    Prediction,
    Question,
    SequenceScore,
    Text,
)
from pytest_bias.models.labels import ROLES
from pytest_bias.records.report import ModelIdentity


class Hashed(Model):
    """A model of every kind whose answers depend on the question alone, with ties among them.

    Parameters
    ----------
    salt : str
        Another salt, other answers.
    levels : int
        How many different numbers it gives; 1 for the same answer to everything.
    scale : float
        What log-probabilities are multiplied by.
    """

    def __init__(self, salt: str = "", levels: int = 32, scale: float = 1.0) -> None:
        super().__init__(ModelIdentity("hashed", "masked", "Hashed"), frozenset(Capability))
        self.salt, self.levels, self.scale = salt, levels, scale
        self.scorers = dict.fromkeys(ROLES, self)
        self.label_names = {role: {c: c for c in of.concepts} for role, of in ROLES.items()}

    def log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        return [self._score("log", t) for t in texts]

    def score_long(
        self, passages: Sequence[str | Passage], *, stride: int | None = None
    ) -> list[SequenceScore]:
        whole = [p if isinstance(p, Passage) else Passage(p) for p in passages]
        return [
            SequenceScore(-self.scale * self._number("long", p.text, str(p.parts)), n)
            for p in whole
            for n in [len(p.parts or p.text.split())]
        ]

    def pseudo_log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        return [self._score("pseudo", t) for t in texts]

    def unmasked_log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        return [self._score("unmasked", t) for t in texts]

    def pair_log_likelihood(self, pairs: Sequence[tuple[str, str]]) -> list[PairScore]:
        return [PairScore(*(self._score("shared", t) for t in pair)) for pair in pairs]

    def slot(self, clozes: Sequence[Cloze]) -> list[ClozeScore]:
        return [self._at_slot(c) for c in clozes]

    def _at_slot(self, cloze: Cloze) -> ClozeScore:
        about = cloze.text, cloze.hidden or ""
        logp = tuple(-self.scale * self._number(*about, word) for word in cloze.choices)
        return ClozeScore(logp, (1,) * len(logp), tokens=tuple((p,) for p in logp))

    def next_sentence(self, pairs: Sequence[tuple[str, str]]) -> list[Following]:
        return [Following(self._number("next", *pair) - 4) for pair in pairs]

    def embed(self, texts: Sequence[str]) -> Embeddings:
        vectors = [[self._number(t, str(n)) - 4 for n in range(6)] for t in texts]
        return Embeddings(np.array(vectors, dtype=np.float32), (None,) * len(texts))

    def answer(self, questions: Sequence[Question], *, max_answer_tokens: int = 30) -> list[Answer]:
        found = []
        for question, context in questions:
            words = context.split()
            word = words[int(4 * self._number("word", question, context)) % len(words)]
            start = context.index(word)
            score, null_score = -self._number("span", question), -self._number("null", question) - 3
            found.append(Answer(word, start, start + len(word), score, null_score))
        return found

    def classify(self, texts: Sequence[Text]) -> Classification:
        # A quarter to eight, in eighths of one.
        rows = np.array(
            [[self._number("classify", str(t), label) / 8 for label in LABELS] for t in texts]
        )
        # Of every third text one label alone is probable.
        alone = np.array([self._number("alone", str(t)) < 3 for t in texts], dtype=bool)
        likeliest = rows.argmax(axis=1, keepdims=True) == np.arange(len(LABELS))
        rows = np.where(alone[:, None] & ~likeliest, rows * 0.4, rows)
        return Classification(LABELS, Outputs.MULTI_LABEL, rows, (None,) * len(texts))

    def predict(self, texts: Sequence[str], k: int) -> list[Prediction]:
        words = [[self._one_of(WORDS, t, str(n)) for n in range(k)] for t in texts]
        return [Prediction(tuple(of), tuple(-float(n) for n in range(k))) for of in words]

    def predict_next(self, prompts: Sequence[str], k: int) -> list[Prediction]:
        return self.predict(prompts, k)

    def n_tokens(self, words: Sequence[str]) -> list[int]:
        return [1] * len(words)

    def choose(
        self,
        prompts: Sequence[str],
        labels: Sequence[Sequence[str]],
        questions: Sequence[Hashable] = (),
    ) -> list[LabelScores]:
        return [
            LabelScores(
                # Together at most 1.
                tuple(-math.log(len(of)) - self.scale * self._number("letter", p, w) for w in of)
            )
            for p, of in zip(prompts, labels, strict=True)
        ]

    def generate(self, prompts: Sequence[str], *, n: int = 1, **how: Any) -> list[Continuation]:
        written = [*WORDS[:6], "I cannot help.", ""]
        letters = ["A", "B", "C", "A", "B", "C", "I cannot help.", ""]
        words = ["Yes", "No", "Yes.", "No.", "**Yes**", "**No**", "I cannot help.", ""]
        texts = [
            self._one_of(
                letters if "\nA. " in p else words if "one word" in p else written, p, str(k)
            )
            for p in prompts
            for k in range(n)
        ]
        return [Continuation(text, len(text.split()), "eos") for text in texts]

    def fill(self, texts: Sequence[str], k: int = 5) -> list[list[tuple[str, float]]]:
        return [[(f"{self._number('fill', t, f'{n}'):g}", -1.0) for n in range(k)] for t in texts]

    def _score(self, how: str, text: str) -> SequenceScore:
        return SequenceScore(-self.scale * self._number(how, text), len(text.split()))

    def _one_of(self, words: Sequence[str], *about: str) -> str:
        return words[int(self._number(*about) * 4) % len(words)]

    def _number(self, *words: str) -> float:
        """Return a number from 0.25 to 8 in steps of a quarter, so that some are equal."""
        salted = (self.salt, *words) if self.salt else words
        digest = hashlib.sha256("\n".join(salted).encode()).digest()
        return 8 * (digest[0] % self.levels + 1) / self.levels


LABELS: Final = tuple(sorted({c for role in ROLES.values() for c in role.concepts}))
"""Labels of the hashed classifier, each probable for itself."""

WORDS: Final = ("zorkel", "nurse", "baker", "Zorkel", "poet", "clerk", "judge", "miner", "grumpf")
