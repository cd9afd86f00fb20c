"""A report of pytest-bias in the terms of EvalHub: metrics by name, what belongs to them beside."""

import math
from typing import Any

from pytest_bias import Report
from pytest_bias.emit.exports.rows import absent, score_rows

OF_DISTANCE = "_distance_from_ideal"
PARAMETERS = ("profile", "seed", "chat", "answers", "data_dir")
"""Options of pytest-bias that a job may set; others change what a score means."""


def suite_of(benchmark: str) -> str:
    """Return the suite of a benchmark: ``bbq[en-options]`` for ``bbq-en-options``.

    Examples
    --------
    >>> suite_of("bbq-en-options")
    'bbq[en-options]'
    """
    name, _, configuration = benchmark.partition("-")
    return f"{name}[{configuration}]"


def options_of(parameters: dict[str, Any], num_examples: int | None) -> dict[str, Any]:
    """Return the options of a run, or raise ValueError about what a job must not set."""
    if unknown := sorted(set(parameters) - set(PARAMETERS)):
        raise ValueError(f"unknown parameters {unknown}; known: {', '.join(PARAMETERS)}")
    if num_examples is not None:
        raise ValueError("num_examples: a sample is drawn by profile=quick, not by a number")
    return dict(parameters)


def results_of(report: Report, entry: str) -> list[dict[str, Any]]:
    """Return every score of a suite, and its distance from the ideal, as evaluation results.

    Raises
    ------
    ValueError
        If the suite has no score, with the reason.
    """
    found: list[dict[str, Any]] = []
    for row in score_rows(report):
        score = row.score
        if row.suite.entry != entry or score.value is None:
            continue
        groups = ", ".join(f"{key}={name}" for key, name in sorted(score.by.items()))
        beside = f"[{groups}]" if groups else ""
        about: dict[str, Any] = {"ideal": score.ideal, "unit": score.unit, "level": score.level}
        if row.suite.sampled is not None:
            about |= {"sampled": row.suite.sampled, "n_available": row.suite.n_available}
        # The field is of 95 % intervals; others are in the metadata alone.
        interval = score.interval if score.level == 0.95 else None
        result = {
            "metric_name": f"{score.metric}{beside}",
            "metric_value": score.value,
            "confidence_interval": interval,
            "num_samples": score.n,
            "metadata": {**about, "interval": score.interval},
        }
        found.append(result)
        distance = abs(score.value - score.ideal)
        if math.isfinite(distance):
            name = f"{score.metric}{OF_DISTANCE}{beside}"
            found.append(
                {
                    "metric_name": name,
                    "metric_value": distance,
                    "num_samples": score.n,
                    "metadata": {"ideal": 0, "unit": score.unit},
                }
            )
    if not found:
        reasons = [one.reason for one in absent(report) if one.suite.entry == entry]
        raise ValueError(f"{entry} has no score: {'; '.join(reasons) or 'it was not measured'}")
    return found


def info_of(report: Report, results: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what EvalHub's map of metrics has no place for: ideals and intervals."""
    about = {r["metric_name"]: {**r["metadata"], "n": r["num_samples"]} for r in results}
    return {"report": report.digest, "metrics": about}
