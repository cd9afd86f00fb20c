"""Reasons for missing intervals, values and suites, worded alike in every output."""

from collections.abc import Mapping
from typing import Final

from pytest_bias.emit.wording import interval
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.records.suite_states import MOST_SEVERE
from pytest_bias.scoring.finite import missing
from pytest_bias.untrusted import clean

_IN_SHORT: Final[Mapping[str, str]] = {
    "too many resamples": "resamples without value",
    "the value lies outside": "outside its resamples",
    "this metric has no value for": "no single items",
    "all values are equal": "all values equal",
    "all items changed": "all changed alike",
    "an end of it": "not a number",
    "not told of": "items are hidden",
}
"""Beginning of the reason for a missing interval, to its short form of about three words."""


def short_reason(reason: str | None) -> str:
    """Return in about three words why there is no interval; empty where no reason is given."""
    first = clean(reason or "").partition(";")[0]
    for start, words in _IN_SHORT.items():
        if first.startswith(start):
            return words
    found = first.split(" ")
    return f"{' '.join(found[:3])}{'…' if len(found) > 3 else ''}"


def uncertainty(score: Score) -> str:
    """Return the ends of a score's interval, or the short reason why there is none."""
    if score.interval is not None or score.value is None:
        return interval(score)
    why = short_reason(score.interval_reason)
    return f"none: {why}" if why else interval(score)


def without_value(score: Score) -> str:
    """Return that a score has no value, and why; empty where it has one."""
    if score.value is not None:
        return ""
    return f"no value: {clean(score.note or score.interval_reason or 'no reason is given', 300)}"


def unscored(report: Report) -> list[tuple[SuiteResult, str, str]]:
    """Return the suites without any score, with status and reason, the most severe first.

    A measured suite is included if none of its scores is a result; controls are not results.
    """
    found = []
    for suite in report.suites:
        words, reason = suite.status.replace("_", " "), suite.reason or ""
        if suite.headline is None and (why := missing(suite)):
            words, reason = "no value", why
        elif suite.status in ("scored", "withheld"):
            continue
        found.append((suite, words, reason))
    return sorted(found, key=lambda one: MOST_SEVERE.index(one[0].status))


def properties(result: SuiteResult) -> dict[str, float | str]:
    """Return the JUnit properties of a result: its numbers, or why there are none."""
    found: dict[str, float | str] = {}
    for score in (s for s in result.scores if s.headline):
        key = f"{result.entry}.{score.metric}"
        if score.value is None:
            found[f"{key}.reason"] = without_value(score)
            continue
        found[key] = score.value
        if score.interval:
            found |= {f"{key}.low": score.interval[0], f"{key}.high": score.interval[1]}
            found[f"{key}.level"] = score.level
        elif score.interval_reason:
            found[f"{key}.interval_reason"] = clean(score.interval_reason)
        found |= {f"{key}.ideal": score.ideal, f"{key}.distance": abs(score.value - score.ideal)}
        found |= {f"{key}.unit": clean(score.unit, 20), f"{key}.n": score.n}
    if result.headline is None and (why := missing(result)):
        found[f"{result.entry}.reason"] = f"no value: {why}"
    return found


def not_run(report: Report) -> list[str]:
    """Return the social suites that apply to the model and have no score here."""
    scored = {s.name for s in report.suites if s.status in ("scored", "withheld")}
    applies = report.coverage.get("social_suites")
    return [s for s in map(str, applies) if s not in scored] if isinstance(applies, list) else []
