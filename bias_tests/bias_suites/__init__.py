"""The suites of pytest-bias, one per file, registered with the entry point for all suites."""

from typing import Final

from bias_suites.quality import general_quality
from bias_suites.robustness import (
    anli,
    answer_shortcuts,
    domain_shift,
    fever_symmetric,
    hans,
    imdb_contrast,
    mnli_negation,
    paws,
    perturbation,
    structured_noise,
)
from bias_suites.social import (
    bbq,
    bold,
    choenni_stereotypes,
    classified_completions,
    crows_pairs,
    discrim_eval,
    equity_evaluation,
    gendered_pair_entropy,
    gest,
    hatecheck,
    honest,
    identity_terms,
    realtoxicityprompts,
    redditbias,
    seat,
    stereoset,
    template_association,
    winobias,
    winogender,
)
from bias_suites.structure import structure
from pytest_bias.suites import Suite

SUITES: Final[tuple[Suite, ...]] = (
    structure.SUITE,
    crows_pairs.SUITE,
    stereoset.SUITE,
    gendered_pair_entropy.SUITE,
    template_association.SUITE,
    seat.SUITE,
    honest.SUITE,
    classified_completions.SUITE,
    choenni_stereotypes.SUITE,
    gest.SUITE,
    redditbias.SUITE,
    realtoxicityprompts.SUITE,
    bold.SUITE,
    winobias.SUITE,
    winogender.SUITE,
    bbq.SUITE,
    discrim_eval.SUITE,
    hatecheck.SUITE,
    identity_terms.SUITE,
    equity_evaluation.SUITE,
    general_quality.SUITE,
    perturbation.SUITE,
    structured_noise.SUITE,
    domain_shift.SUITE,
    hans.SUITE,
    mnli_negation.SUITE,
    anli.SUITE,
    paws.SUITE,
    fever_symmetric.SUITE,
    imdb_contrast.SUITE,
    answer_shortcuts.SUITE,
)
