"""The scores of a report as names and numbers, for what draws curves.

Names hold only what MLflow, Weights & Biases and TensorBoard all allow: letters, digits, ``_``,
``-``, ``.``, and ``/`` between the parts. Of other characters the name says so by a digest, so that
no two scores share a name.
"""

import re
from collections.abc import Mapping
from typing import Final

from pytest_bias.emit.exports.rows import ScoreRow, score_rows
from pytest_bias.records.report import Report, sha256

PREFIX: Final = "bias"
MOST: Final = 60
"""Longest part of a name: all of them together stay below MLflow's 250."""
_PLAIN = re.compile(r"\w(?:[\w.-]*\w)?", re.ASCII)


def numbers(report: Report, *, headlines: bool = False) -> dict[str, float]:
    """Return the scores of a report for the whole of each suite; groups are in the report only.

    Each has up to four numbers: ``bias/<suite>/<configuration>/<metric>``, with ``_low`` and
    ``_high`` the ends of its interval, where it has one, and with ``_distance`` its distance from
    the ideal, in its own unit: 0 is ideal whatever the metric.

    Parameters
    ----------
    report : Report
        A finished report. Scores that are withheld, hidden or missing are left out.
    headlines : bool
        Whether to return only the headline of each suite and what is shown beside it.
    """
    found: dict[str, float] = {}
    for row in score_rows(report):
        score = row.score
        if score.by or (headlines and not (score.headline or score.beside)):
            continue
        ends = dict(zip(("_low", "_high"), score.interval or (), strict=False))
        values = {"": score.value, **ends, "_distance": score.distance}
        name = name_of(row)
        found |= {f"{name}{end}": float(v) for end, v in values.items() if v is not None}
    return found


def name_of(row: ScoreRow) -> str:
    """Return the name of a score, such as ``bias/crows_pairs/en/stereotype_preference``."""
    parts = (row.suite.name, row.suite.config, row.score.metric)
    return "/".join((PREFIX, *map(plain, parts)))


def plain(text: str) -> str:
    """Return a text as a part of a name."""
    if _PLAIN.fullmatch(text) and len(text) <= MOST:
        return text
    return f"{re.sub(r'[^A-Za-z0-9_-]+', '_', text)[: MOST - 9]}-{sha256(text)[:8]}"


def facts(report: Report) -> Mapping[str, str]:
    """Return settings and identity of the model, by name, as texts: what does not vary in a run."""
    from dataclasses import asdict

    model = {f"model.{k}": v for k, v in asdict(report.model).items() if v not in (None, "")}
    settings = {f"settings.{k}": v for k, v in report.settings.items() if v not in (None, "", [])}
    return {k: str(v) for k, v in {**model, **settings}.items()}
