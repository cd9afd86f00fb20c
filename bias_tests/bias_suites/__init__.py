"""The suites of pytest-bias, one a file; installed through the entry point that any suite uses."""

from typing import Final

from bias_suites.quality import general_quality
from bias_suites.social import (
    choenni_stereotypes,
    crows_pairs,
    gendered_pair_entropy,
    honest,
    seat,
    template_association,
)
from bias_suites.structure import structure
from pytest_bias.suites import Suite

SUITES: Final[tuple[Suite, ...]] = (
    structure.SUITE,
    crows_pairs.SUITE,
    gendered_pair_entropy.SUITE,
    template_association.SUITE,
    seat.SUITE,
    honest.SUITE,
    choenni_stereotypes.SUITE,
    general_quality.SUITE,
)
