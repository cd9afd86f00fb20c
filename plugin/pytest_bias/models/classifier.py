"""Text classifiers: the outputs of a head for a text or a pair of texts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import torch
from torch.nn.functional import pad

from pytest_bias.errors import ModelError
from pytest_bias.models.encoder import EncoderModel
from pytest_bias.models.interface import Classification, Outputs, Text
from pytest_bias.models.rows import Row, distinct, read
from pytest_bias.models.tokens import Tokens, Unreadable
from pytest_bias.models.transformer import Inputs, Ints

PADDING: Final = {"float32": 1e-3}
"""Difference of logits, relative and absolute, that rounding cannot explain; else 0.1."""

PROBE: Final = "the"

STATED: Final = {
    "single_label_classification": Outputs.SINGLE_LABEL,
    "multi_label_classification": Outputs.MULTI_LABEL,
    "regression": Outputs.REGRESSION,
}


def labels_of(config: Any, name: str) -> tuple[str, ...]:
    """Return the labels in the order of the outputs.

    Raises
    ------
    ModelError
        If a label is missing, is not a text, or is used for two outputs.
    """
    named = dict(config.id2label or {})
    labels = [named.get(i) for i in range(int(config.num_labels))]
    wrong = [i for i, label in enumerate(labels) if not isinstance(label, str | int)]
    twice = [v for i, v in enumerate(labels) if str(v) in map(str, labels[:i])]
    if not labels or wrong or twice:
        what = "there are none"
        if labels:
            what = f"output {wrong[0]} has no name" if wrong else f"{twice[0]!r} appears twice"
        raise ModelError(
            f"{name} does not name its outputs: under id2label in config.json {what}.",
            'Name every output once: "id2label": {"0": "negative", "1": "positive"}',
        )
    return tuple(map(str, labels))


def check_labels(config: Any, tokens: Tokens, name: str) -> None:
    """Raise `ModelError` if the labels are unknown."""
    labels_of(config, name)


def outputs_of(config: Any) -> Outputs:
    """Return the type of the outputs: ``problem_type`` if stated, else inferred from their number.

    A single output is a regression: the softmax of one number is always 1.
    """
    if config.problem_type in STATED:
        return STATED[config.problem_type]
    return Outputs.REGRESSION if config.num_labels == 1 else Outputs.SINGLE_LABEL


@dataclass
class ClassifierModel(EncoderModel):
    """A model with a head that classifies whole texts."""

    labels: tuple[str, ...] = field(init=False)
    outputs: Outputs = field(init=False)
    pad_id: int | None = field(init=False)
    """Padding token of the head; some heads use the last token that is not padding."""

    def __post_init__(self) -> None:
        super().__post_init__()
        config = self.body.network.config
        self.labels = labels_of(config, self.identity.reference)
        self.outputs = outputs_of(config)
        stated = getattr(config.get_text_config(), "pad_token_id", None)
        # Old configurations use -1 for none, and some name an id without weights.
        there = stated is not None and stated >= 0 and self.body.tokens.knows(stated)
        self.pad_id = stated if there else None

    def check(self) -> None:
        """Raise `ModelError` if padding changes the outputs for a text."""
        try:
            ids = read(self.body.tokens, PROBE).ids
        except Unreadable:
            # Then no text can be scored, and every record has the reason.
            return
        alone = torch.tensor([ids], device=self.body.device)
        mask = torch.ones_like(alone)

        def logits(more: int) -> torch.Tensor:
            inputs = {"input_ids": pad(alone, (0, more)), "attention_mask": pad(mask, (0, more))}
            return self._logits([Row(ids)], inputs, np.array([0]))

        tolerance = PADDING.get(self.identity.dtype, 0.1)
        with self.body.without_gradients():
            first, second = logits(0), logits(5)
        if not torch.allclose(first, second, tolerance, tolerance, equal_nan=True):
            raise ModelError(
                f"{self.identity.reference} is a {self.identity.architecture} whose outputs change "
                "with padding: those of a text would depend on the other texts of its batch."
            )

    def classify(self, texts: Sequence[Text]) -> Classification:
        """Forward every text or pair once; logits become probabilities in float64."""
        tokens = self.body.tokens
        rows, of, reasons = distinct(texts, lambda text: read(tokens, text))
        eos: Any = getattr(self.body.network.config.get_text_config(), "eos_token_id", None)

        def ask(inputs: Inputs, which: Ints) -> torch.Tensor:
            return self._logits(rows, inputs, which)

        logits = self.body.answers(
            "logits",
            rows,
            ask,
            np.zeros((max(1, len(rows)), len(self.labels))),
            # Heads of encoder-decoders need the same number of these in every row of a batch.
            apart=[row.ids.count(eos) for row in rows],
            max_rows=self.body.vocabulary - 2,
        )
        numbers = torch.from_numpy(logits)
        if self.outputs is Outputs.SINGLE_LABEL:
            numbers = numbers.softmax(-1)
        elif self.outputs is Outputs.MULTI_LABEL:
            numbers = numbers.sigmoid()
        return Classification(self.labels, self.outputs, numbers.numpy()[of], reasons)

    def _logits(self, rows: Sequence[Row], inputs: Inputs, which: Ints) -> torch.Tensor:
        """Return logits in float32, shape (rows, n_labels), padded as the head expects it."""
        config = self.body.network.config.get_text_config()
        pad_id = self.pad_id
        if pad_id is None:
            # The head locates the padding token but there is none: use any id that no text ends
            # with, since padding is not attended to.
            last = {rows[i].ids[-1] for i in which}
            pad_id = next(i for i in range(self.body.vocabulary) if i not in last)
            config.pad_token_id = pad_id
        ids = inputs["input_ids"].masked_fill(inputs["attention_mask"] == 0, pad_id)
        logits: torch.Tensor = self.body.network(**inputs | {"input_ids": ids}).logits
        return logits.float()
