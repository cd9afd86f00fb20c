"""The suites of pytest-bias, one a file; installed through the entry point that any suite uses."""

from typing import Final

from bias_suites.quality import general_quality
from bias_suites.social import (
    crows_pairs,
    equity_evaluation,
    gendered_pair_entropy,
    hatecheck,
    identity_terms,
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
    hatecheck.SUITE,
    identity_terms.SUITE,
    equity_evaluation.SUITE,
    general_quality.SUITE,
)
