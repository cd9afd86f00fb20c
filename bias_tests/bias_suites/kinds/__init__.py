"""Kinds of suite files: the values of ``kind`` in a ``*.bias.yaml``, one per module."""

from typing import Final

from bias_suites.kinds import (
    association,
    classification,
    completions,
    counterfactual,
    embedding_association,
    pairs,
    slot,
)
from pytest_bias.suites import Kind

KINDS: Final[tuple[Kind, ...]] = (
    pairs.KIND,
    association.KIND,
    slot.KIND,
    completions.KIND,
    classification.KIND,
    embedding_association.KIND,
    counterfactual.KIND,
)
