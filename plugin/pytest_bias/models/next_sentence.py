"""Next-sentence head of BERT and related models: whether one text follows another.

Which of its two classes means "follows" differs between checkpoints and is not documented, so it
is determined with pairs whose answer is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from pytest_bias.models.interface import Following
from pytest_bias.models.rows import distinct, read
from pytest_bias.models.transformer import Inputs, Ints, Transformer

PROBES: Final = (
    ("The rain had stopped at last.", "The street was still wet, and people closed umbrellas."),
    ("She put the kettle on the stove.", "When the water boiled, she made a pot of tea."),
    ("The train was forty minutes late.", "So they missed their connection to the coast."),
    ("He could not find his keys anywhere.", "They were in the pocket of his other coat."),
    (
        "The museum opens at nine in the morning.",
        "It closes again at five, and on Mondays all day.",
    ),
    ("Our dog is afraid of thunder.", "It hides under the bed until the storm is over."),
)
"""Pairs of sentences of which the second follows the first."""

LEAST_NATS: Final = 0.1
"""Minimum mean difference of log-odds between pairs that follow and pairs that do not; below it
the head is considered untrained."""


def has_head(config: Any, architecture: str) -> bool:
    """Whether a class has such a head, according to the configuration."""
    from transformers.models.auto import modeling_auto as auto

    known = auto.MODEL_FOR_NEXT_SENTENCE_PREDICTION_MAPPING_NAMES
    return architecture.endswith("ForPreTraining") and config.model_type in known


def head_of(whole: Any) -> torch.nn.Module:
    """Return the module that maps hidden states to two logits."""
    return torch.nn.Sequential(whole.base_model.pooler, whole.cls)


@dataclass
class NextSentence:
    """Queries the next-sentence head of a masked model.

    `follows` is the class that means that the second text follows, None if the head does not
    distinguish; it is determined by `probe`.
    """

    body: Transformer
    head: torch.nn.Module
    follows: int | None = None

    def probe(self) -> None:
        """Query pairs that follow, and the same sentences in other combinations."""
        half = len(PROBES) // 2
        apart = [(a, PROBES[(n + half) % len(PROBES)][1]) for n, (a, _) in enumerate(PROBES)]
        logits, reasons = self._logits([*PROBES, *apart])
        self.follows = None
        if any(reasons):
            return
        leans = logits[:, 0] - logits[:, 1]
        difference = float(leans[: len(PROBES)].mean() - leans[len(PROBES) :].mean())
        if abs(difference) >= LEAST_NATS:
            self.follows = 0 if difference > 0 else 1

    def log_odds(self, pairs: Sequence[tuple[str, str]]) -> list[Following]:
        """Return the logit of "follows" minus that of the other class, for every pair."""
        if self.follows is None:
            why = "the model's head does not tell sentences that follow from others"
            return [Following(0.0, why)] * len(pairs)
        logits, reasons = self._logits(pairs)
        odds = logits[:, self.follows] - logits[:, 1 - self.follows]
        return [
            Following(float(value), reason) for value, reason in zip(odds, reasons, strict=True)
        ]

    def _logits(
        self, pairs: Sequence[tuple[str, str]]
    ) -> tuple[NDArray[np.float64], tuple[str | None, ...]]:
        rows, of, reasons = distinct(pairs, lambda pair: read(self.body.tokens, pair))
        device = next(self.head.parameters()).device

        def ask(inputs: Inputs, which: Ints) -> torch.Tensor:
            hidden = self.body.reader(**inputs).last_hidden_state
            logits: torch.Tensor = self.head(hidden.to(device))
            return logits.float()

        found = self.body.answers(
            "next sentence", rows, ask, np.zeros((max(1, len(rows)), 2), dtype=np.float64)
        )
        return found[of], reasons
