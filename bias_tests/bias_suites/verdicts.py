"""Decision of a classifier under test on a text, by its probability of one concept."""

from collections.abc import Sequence
from typing import Final

from pytest_bias.models import Model, Outputs
from pytest_bias.records import Item, Record
from pytest_bias.suites import classifier_readings

THRESHOLD: Final = 0.5
"""Probability threshold at which a text is called positive for a concept."""


def called(model: Model, items: Sequence[Item], *, role: str, concept: str) -> list[Record]:
    """Classify texts for a concept; a probability of one half or more is positive.

    The value of a record is 100 for a positive text, else 0. Where only the label is known, a
    record has no probability.
    """
    found = classifier_readings.probabilities(model, role, [i.texts["text"] for i in items])

    def details(p: float) -> dict[str, float]:
        return {} if found.outputs is Outputs.LABELS else {"probability": float(p)}

    return [
        item.record("unscored", reason=reason)
        if reason
        else item.scored(100.0 * bool(p >= THRESHOLD), {**details(p), **item.meta})
        for item, p, reason in zip(items, found.values[concept], found.reasons, strict=True)
    ]
