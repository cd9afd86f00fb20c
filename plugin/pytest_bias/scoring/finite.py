"""Infinite and NaN results: they become None, and a suite without a result gets the reason.

JSON cannot hold such a number, and one of them would make the whole report unwritable.
"""

import math
from dataclasses import replace
from typing import Any, TypeVar

from pytest_bias.records.report import Record, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.scoring.statistics import Estimate

Numbers = TypeVar("Numbers", Estimate, Score)


def finite(found: Numbers) -> Numbers:
    """Return an estimate or a score with every number finite or None.

    Without a value there is neither interval nor test; an interval or a p-value that is not finite
    leaves the value as it is.
    """
    value = found.value
    if value is not None and not math.isfinite(value):
        none: dict[str, Any] = dict.fromkeys(("interval", "method", "test", "p_value", "floor"))
        why = f"its value is {float(value):g}, which is no finite number"
        reasons: dict[str, Any] = dict.fromkeys(("interval_reason", "p_reason"), "no value")
        return replace(found, value=None, note=why, **none, **reasons)
    changes: dict[str, Any] = {}
    if found.interval and not all(map(math.isfinite, found.interval)):
        why = "an end of it is no finite number"
        changes |= {"interval": None, "method": None, "interval_reason": why}
    if found.p_value is not None and not math.isfinite(found.p_value):
        changes |= {"p_value": None, "test": None, "p_reason": "it is no finite number"}
    if found.floor is not None and not math.isfinite(found.floor):
        changes["floor"] = None
    return replace(found, **changes) if changes else found


def missing(suite: SuiteResult) -> str | None:
    """Return why a measured suite has no result; None where it has one, or is a control."""
    headline = suite.headline
    if suite.status != "scored" or suite.control_of is not None:
        return None
    if headline is None:
        return "no item counts in its headline"
    if headline.value is not None:
        return None
    return headline.note or headline.interval_reason or "no reason is given"


def finite_record(record: Record) -> Record:
    """Return a record as it is, or as unscored where one of its numbers is not finite."""
    numbers = [v for v in (record.value, *record.detail.values()) if isinstance(v, float)]
    if all(map(math.isfinite, numbers)):
        return record
    return replace(record, status="unscored", value=None, detail={}, reason="non-finite")
