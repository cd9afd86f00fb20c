"""Perturbation: what small changes of a text do to what a model says of it.

Each text is changed in every way of `PERTURBATIONS` at three severities and held against itself. A
language model is asked how likely both texts are, a character; a classifier what it calls them.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from bias_suites.robustness.perturbation_scores import (
    GeometricMean,
    WorstClass,
    called,
    divergence,
)
from bias_suites.robustness.perturbing import PERTURBATIONS, SHARES, changes, perturbed
from bias_suites.scope import scope_card
from pytest_bias.datasources import DataFolder
from pytest_bias.errors import UsageError
from pytest_bias.interface import Capability, Model, Outputs, SequenceScore
from pytest_bias.readings import NO_PROBABILITY
from pytest_bias.records import Item, Record, Value
from pytest_bias.scoring import Mean, Share, own_value
from pytest_bias.sentences import bundled_info, text_file
from pytest_bias.suites import Configuration, LoadedData, Measure, Metric, Suite
