"""Suites: their definition, the catalogue of known ones, and suite files."""

from pytest_bias.forms.keys import (
    Key,
    Read,
    count,
    flag,
    keyed,
    number,
    one_of,
    shown,
    table,
    word,
    words,
)
from pytest_bias.forms.yaml_with_lines import Marked, Place, Plain
from pytest_bias.suites.catalogue import INSTALLED, Catalogue
from pytest_bias.suites.choice_rules import AnswerStatus
from pytest_bias.suites.choice_text import make_plain
from pytest_bias.suites.choosing import (
    Answers,
    MultipleChoice,
    Shown,
    choose_by_letters,
    choose_by_text,
    control_metrics,
    control_percentage,
    details,
    not_asked,
    times_chosen,
)
from pytest_bias.suites.classifier_readings import NO_PROBABILITY, Reading
from pytest_bias.suites.files.kinds import DataRow, Definition, Kind
from pytest_bias.suites.measures import Calls, Measure, Sides, between
from pytest_bias.suites.refusals import Outcome, is_refusal, outcome, refusal_languages
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
from pytest_bias.suites.yes_no import YesNo

__all__ = [
    "FIELD",
    "INSTALLED",
    "NO_PROBABILITY",
    "AnswerStatus",
    "Answers",
    "Calls",
    "Catalogue",
    "Configuration",
    "DataRow",
    "Definition",
    "Key",
    "Kind",
    "LoadedData",
    "Marked",
    "Measure",
    "MultipleChoice",
    "Outcome",
    "OwnTexts",
    "Place",
    "Plain",
    "Read",
    "Reading",
    "Shown",
    "Sides",
    "Suite",
    "YesNo",
    "agreeing",
    "at_gap",
    "between",
    "bundled_info",
    "check_card",
    "choose_by_letters",
    "choose_by_text",
    "control_metrics",
    "control_percentage",
    "count",
    "describe_texts",
    "details",
    "fill",
    "find",
    "flag",
    "is_refusal",
    "keyed",
    "load_texts",
    "make_plain",
    "not_asked",
    "number",
    "one_of",
    "outcome",
    "own_files",
    "pair",
    "refusal_languages",
    "shown",
    "table",
    "text_file",
    "times_chosen",
    "word",
    "words",
]

find = INSTALLED.find
"""Return an installed suite by name."""
