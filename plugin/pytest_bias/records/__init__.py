"""Data types of a run: items, records, scores, suite results, reports."""

from pytest_bias.records.report import (
    DataInfo,
    Item,
    Record,
    Report,
    Status,
    SuiteResult,
    Value,
    canonical_json,
    sha256,
)
from pytest_bias.records.score import Score

__all__ = [
    "DataInfo",
    "Item",
    "Record",
    "Report",
    "Score",
    "Status",
    "SuiteResult",
    "Value",
    "canonical_json",
    "sha256",
]
