"""Suites: their definition, the catalogue of known ones, and suite files."""

from pytest_bias.forms.keys import Key, count, one_of, table, word, words
from pytest_bias.suites.catalogue import INSTALLED, Catalogue
from pytest_bias.suites.classifier_readings import NO_PROBABILITY, Reading
from pytest_bias.suites.files.kinds import DataRow, Definition, Kind
from pytest_bias.suites.measures import Measure, Sides, between
from pytest_bias.suites.refusals import Outcome, outcome
from pytest_bias.suites.scope_cards import check_card
from pytest_bias.suites.sentences import (
    FIELD,
    agreeing,
    at_gap,
    bundled_info,
    fill,
    pair,
    text_file,
)
from pytest_bias.suites.suite import Configuration, LoadedData, Suite
from pytest_bias.suites.user_texts import OwnTexts, describe_texts, load_texts, own_files

__all__ = [
    "FIELD",
    "INSTALLED",
    "NO_PROBABILITY",
    "Catalogue",
    "Configuration",
    "DataRow",
    "Definition",
    "Key",
    "Kind",
    "LoadedData",
    "Measure",
    "Outcome",
    "OwnTexts",
    "Reading",
    "Sides",
    "Suite",
    "agreeing",
    "at_gap",
    "between",
    "bundled_info",
    "check_card",
    "count",
    "describe_texts",
    "fill",
    "find",
    "load_texts",
    "one_of",
    "outcome",
    "own_files",
    "pair",
    "table",
    "text_file",
    "word",
    "words",
]

find = INSTALLED.find
"""Return an installed suite by name."""
