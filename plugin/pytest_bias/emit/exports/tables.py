"""A report as tables for plots: one row a score, as CSV and as JSON lines.

Numbers are written in full, so that they are read as the same floats. JSON lines hold texts as they
are; CSV holds them on one line, made safe for spreadsheets.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pytest_bias.emit.exports.rows import absent
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.untrusted import clean

CSV: Final = "scores.csv"
JSONL: Final = "scores.jsonl"

MOST: Final = 10_000
"""Largest number of characters of a cell; a spreadsheet's has 32,767."""
RUN: Final = "=+-@\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}\N{FULLWIDTH COMMERCIAL AT}"
"""First characters of what spreadsheets run; tabs and line ends are no part of a cell."""


def rows(report: Report) -> Iterator[dict[str, Any]]:
    """Yield one row for each score of a report, and one for each suite that shows none.

    All rows have the same columns. What is missing is None; a score without a value has its row,
    whose note says why.
    """
    reasons = {a.suite.entry: a.reason for a in absent(report)}
    for suite in report.suites:
        about = {**_run(report), **suite_columns(suite)}
        if suite.entry in reasons:
            nothing = dict.fromkeys(score_columns(_NO_SCORE))
            yield {**about, **nothing, "status": suite.status, "reason": reasons[suite.entry]}
            continue
        for score in suite.scores:
            yield {**about, **score_columns(score), "status": suite.status, "reason": suite.reason}


def to_csv(report: Report) -> str:
    """Return the rows as CSV with a header, in UTF-8 with commas (RFC 4180).

    Control characters are left out of texts and each stands on one line. A text that a spreadsheet
    would take for a formula begins with an apostrophe; numbers do not.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows(report):
        writer.writerow(map(_cell, row.values()))
    return file.getvalue()


def to_jsonl(report: Report) -> str:
    """Return the rows as JSON lines: strict JSON, null for what is missing."""
    # Escaped, so that no reader takes a separator within a text for the end of a line.
    return "".join(f"{json.dumps(row, allow_nan=False)}\n" for row in rows(report))


def _run(report: Report) -> dict[str, Any]:
    model = report.model
    return {
        "model": model.reference,
        "revision": model.revision,
        "weights_sha256": model.weights_sha256,
        "report": report.digest,
    }


def suite_columns(suite: SuiteResult) -> dict[str, Any]:
    """Return what a row says of the suite of a score."""
    return {
        "suite": suite.name,
        "config": suite.config,
        "entry": suite.entry,
        "version": suite.version,
        "language": suite.language,
        "kind": suite.kind,
        "validity": suite.validity,
        "sampled": suite.sampled,
        "n_available": suite.n_available,
    }


def score_columns(score: Score) -> dict[str, Any]:
    """Return what a row says of a score: all that is needed to read its value."""
    low, high = score.interval or (None, None)
    least, most = score.bounds
    return {
        "metric": score.metric,
        "by": dict(score.by),
        "headline": score.headline,
        "value": score.value,
        "low": low,
        "high": high,
        "level": score.level if score.interval else None,
        "interval_reason": score.interval_reason,
        "method": score.method,
        "unit": score.unit,
        "ideal": score.ideal,
        "distance": score.distance,
        "bound_low": least,
        "bound_high": most,
        "tolerance": score.tolerance,
        "floor": score.floor,
        "floor_of": score.floor_of,
        "n": score.n,
        "n_unscored": score.n_unscored,
        "n_excluded": score.n_excluded,
        "n_clusters": score.n_clusters,
        "test": score.test,
        "p_value": score.p_value,
        "p_adjusted": score.p_adjusted,
        "family": score.family,
        "note": score.note,
    }


_NO_SCORE: Final = Score("", None, 0, (None, None), "", 0)
COLUMNS: Final = (
    *("model", "revision", "weights_sha256", "report"),
    *suite_columns(SuiteResult("no", "no", "", "quality", "skipped")),
    *score_columns(_NO_SCORE),
    *("status", "reason"),
)
"""Names of the columns, in their order."""


def _cell(value: Any) -> str:
    """Return a value as the text of a CSV cell; empty where it is missing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        value = "; ".join(f"{key}={name}" for key, name in value.items())
    text = clean(value, MOST)
    return f"'{text}" if text.startswith(tuple(RUN)) else text
