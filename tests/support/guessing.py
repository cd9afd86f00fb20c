"""Models that know nothing: every answer is drawn at random, whatever it is asked about."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pytest_bias.models.interface import (
    Answer,
    Capability,
    Classification,
    Cloze,
    ClozeScore,
    Continuation,
    Embeddings,
    Model,
    Outputs,
    Prediction,
    Question,
    SequenceScore,
    Text,
)
from pytest_bias.models.labels import ROLES, labels_for
from pytest_bias.records.report import Item, ModelIdentity

NATS_A_WORD = 2.0
"""How unlikely a word is on average, so that long texts are less likely."""


class Guessing(Model):
    """A model of any kind that guesses.

    Parameters
    ----------
    capabilities : frozenset of Capability
        What it can do.
    items : sequence of Item
        What it will be asked: words that it names are among their texts, and of questions it finds
        the right answer every other time.
    labels : sequence of str
        Its labels, of which each is equally likely to be the likeliest.
    seed : int
        Of all that it draws.
    """

    def __init__(
        self,
        capabilities: frozenset[Capability],
        items: Sequence[Item],
        labels: Sequence[str] = (),
        seed: int = 0,
    ) -> None:
        super().__init__(ModelIdentity("guessing", "masked", "Guessing"), capabilities)
        self.rng = np.random.default_rng(seed)
        self.labels = tuple(labels)
        self.said: dict[Text, np.ndarray[Any, Any]] = {}
        self.gold: Mapping[tuple[str, str], str] = {
            (i.texts["question"], i.texts["context"]): i.meta["gold"][0]
            for i in items
            if {"question", "context"} <= i.texts.keys() and i.meta.get("gold")
        }
        words = {i.texts["stereotype"]: None for i in items if "stereotype" in i.texts}
        self.words = (*words, *(f"word{n}" for n in range(300)))
        # Some words are likelier than others, about whomever.
        self.logits = self.rng.normal(0.0, 2.0, len(self.words))
        if Capability.GENERATE in capabilities or Capability.FILL in capabilities:
            classify = frozenset({Capability.CLASSIFY})
            for role in ROLES:
                scorer = Guessing(classify, (), labels_of(role, 2), seed)
                self.scorers = {**self.scorers, role: scorer.reading(role)}

    def reading(self, role: str, also: Sequence[str] = ()) -> "Guessing":
        """Let its labels be read under a role."""
        self.label_names = {role: labels_for(role, self.labels, {}, "guessing", also)}
        return self

    def log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        n = np.array([len(t.split()) for t in texts])
        totals = self.rng.normal(-NATS_A_WORD * n, np.sqrt(n))
        return [SequenceScore(float(t), int(k)) for t, k in zip(totals, n, strict=True)]

    pseudo_log_likelihood = log_likelihood

    def slot(self, clozes: Sequence[Cloze]) -> list[ClozeScore]:
        return [
            ClozeScore(tuple(p), (1,) * len(p), tokens=tuple((x,) for x in p))
            for p in (self.rng.normal(-6.0, 1.0, len(c.choices)).tolist() for c in clozes)
        ]

    def embed(self, texts: Sequence[str]) -> Embeddings:
        return Embeddings(self.rng.normal(size=(len(texts), 16)), (None,) * len(texts))

    def classify(self, texts: Sequence[Text]) -> Classification:
        new = [t for t in dict.fromkeys(texts) if t not in self.said]
        self.said |= zip(new, self.rng.dirichlet(np.ones(len(self.labels)), len(new)), strict=True)
        rows = np.array([self.said[t] for t in texts]).reshape(len(texts), -1)
        return Classification(self.labels, Outputs.SINGLE_LABEL, rows, (None,) * len(texts))

    def answer(self, questions: Sequence[Question], *, max_answer_tokens: int = 30) -> list[Answer]:
        right = self.rng.random(len(questions)) < 0.5
        said = [self.gold[q] if r else "?" for q, r in zip(questions, right, strict=True)]
        return [Answer(text, 0, len(text), 0.0, -1.0) for text in said]

    def predict(self, texts: Sequence[str], k: int) -> list[Prediction]:
        found = []
        for _ in texts:
            order = np.argsort(-(self.logits + self.rng.gumbel(size=len(self.words))))[:k]
            words = tuple(self.words[n] for n in order)
            found.append(Prediction(words, tuple(-float(n) for n in range(len(words)))))
        return found

    predict_next = predict

    def n_tokens(self, words: Sequence[str]) -> list[int]:
        return [1] * len(words)

    def generate(self, prompts: Sequence[str], *, n: int = 1, **how: Any) -> list[Continuation]:
        texts = (f"{prompt} {k}" for prompt in prompts for k in range(n))
        return [Continuation(text, len(text.split()), "eos") for text in texts]

    def fill(self, texts: Sequence[str], k: int = 5) -> list[list[tuple[str, float]]]:
        return [[(f"word{n}", -1.0) for n in range(k)] for _ in texts]


def labels_of(role: str, n: int) -> tuple[str, ...]:
    """Return so many labels that a classifier of a role can have."""
    if head := next((head for head in ROLES[role].heads if len(head) == n), None):
        return head
    more = ("one more", "two more", "three more")
    return (*list(ROLES[role].concepts)[:n], *more)[:n]
