"""Records to scores: estimators, intervals and tests. Pure: no model, no files, no suites."""

from pytest_bias.scoring.auc import Auc
from pytest_bias.scoring.estimators import (
    EVEN,
    Additive,
    Contribution,
    MacroMean,
    Mean,
    Place,
    Share,
    own_value,
)
from pytest_bias.scoring.factors import Factor, along
from pytest_bias.scoring.gaps import SHUFFLED, Deviation, Gap, Range, null_estimate, size_of_means
from pytest_bias.scoring.impact import AboveMedian, ImpactRatio
from pytest_bias.scoring.matched import Axis, Matched, MatchedSize
from pytest_bias.scoring.metric import Floor, Metric, own_cluster
from pytest_bias.scoring.rates import (
    Perplexity,
    PerplexityRatio,
    Rate,
    RateGap,
    exp,
    without_overflow,
)
from pytest_bias.scoring.resampling import Sums
from pytest_bias.scoring.shortcuts import (
    SOLVABLE,
    UNSOLVABLE,
    ChosenSplit,
    LargestGap,
    gap_by,
    side,
)
from pytest_bias.scoring.statistics import Estimate, Floats, Sampling, Test

__all__ = [
    "EVEN",
    "SHUFFLED",
    "SOLVABLE",
    "UNSOLVABLE",
    "AboveMedian",
    "Additive",
    "Auc",
    "Axis",
    "ChosenSplit",
    "Contribution",
    "Deviation",
    "Estimate",
    "Factor",
    "Floats",
    "Floor",
    "Gap",
    "ImpactRatio",
    "LargestGap",
    "MacroMean",
    "Matched",
    "MatchedSize",
    "Mean",
    "Metric",
    "Perplexity",
    "PerplexityRatio",
    "Place",
    "Range",
    "Rate",
    "RateGap",
    "Sampling",
    "Share",
    "Sums",
    "Test",
    "along",
    "exp",
    "gap_by",
    "null_estimate",
    "own_cluster",
    "own_value",
    "side",
    "size_of_means",
    "without_overflow",
]
