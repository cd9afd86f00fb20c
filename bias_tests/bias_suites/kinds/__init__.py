"""Kinds of suites that are data: what a ``*.bias.yaml`` names as its ``kind``, one a file."""

from typing import Final

from bias_suites.kinds import (
    association,
    classification,
    completions,
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
)
