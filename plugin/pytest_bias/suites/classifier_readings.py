"""Classifier outputs for texts, by the concepts of a role: how toxic, how positive."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pytest_bias.models.interface import Model, Outputs, Text

NO_PROBABILITY: Final = (
    "the head gives values, no probabilities (one output, or problem_type: regression in "
    "config.json); multi_label_classification there makes one output a probability"
)


class Reading(NamedTuple):
    """Outputs of a classifier for texts, for the concepts of a role.

    `values` has for each concept, such as ``toxic``, one number per text, of shape (n_texts,): a
    probability in [0, 1], or the output of the head where `outputs` is a regression. `reasons` has
    one entry per text, None where the text could be read; values of a text with a reason are NaN.
    """

    values: Mapping[str, NDArray[np.float64]]
    reasons: tuple[str | None, ...]
    outputs: Outputs


def read(model: Model, role: str, texts: Sequence[Text]) -> Reading:
    """Return a classifier's outputs for texts, for a role whose concepts its labels cover.

    Parameters
    ----------
    model : Model
        The model under test where its measure `reads` the role, or one of ``model.scorers``.
    role : str
        Key of `models.labels.ROLES`.
    texts : sequence of str or of pairs of str
        A text that cannot be read, or whose outputs are not finite, has a reason, never 0.
    """
    named = model.label_names[role]
    if not texts:
        return Reading({c: np.empty(0) for c in named}, (), Outputs.SINGLE_LABEL)
    found = model.classify(texts)
    columns = {concept: found.labels.index(label) for concept, label in named.items()}
    numbers = found.probabilities[:, list(columns.values())]
    reasons = tuple(
        reason or (None if np.isfinite(row).all() else "non-finite")
        for reason, row in zip(found.reasons, numbers, strict=True)
    )
    void = np.array([reason is not None for reason in reasons])
    values = {c: np.where(void, np.nan, found.probabilities[:, i]) for c, i in columns.items()}
    return Reading(values, reasons, found.outputs)


def probabilities(model: Model, role: str, texts: Sequence[Text]) -> Reading:
    """Return what `read` does, but no values for a head whose outputs are not probabilities.

    A threshold, such as one half, has no meaning for the values of a regression.
    """
    found = read(model, role, texts)
    if found.outputs is not Outputs.REGRESSION:
        return found
    void = {concept: np.full(len(texts), np.nan) for concept in found.values}
    reasons = tuple(reason or NO_PROBABILITY for reason in found.reasons)
    return Reading(void, reasons, found.outputs)
