"""The scores of a report as metadata of a model card: ``model-index``, which the Hub reads.

Each configuration of a suite is a separate result, distinguished by its dataset: type and
configuration. Otherwise the Hub's client merges several into one, and drops the sources of all but
the first. A metric's name states its ideal, since the format has no direction: values here cannot
be ranked by size.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pytest_bias.emit.card.front_matter import with_results
from pytest_bias.emit.card.results import MADE_BY, SOURCE
from pytest_bias.emit.wording import (
    count,
    date,
    ideal,
    interval,
    level,
    metric_words,
    number,
    sample,
    suite_label,
)
from pytest_bias.models.kind_table import hub_task
from pytest_bias.records.report import DataInfo, Report, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.reports.publication_layout import Place
from pytest_bias.untrusted import clean

LINE_END: Final = "\n"

KINDS: Final[Mapping[str, str]] = {
    "intrinsic": "Social bias, intrinsic",
    "downstream": "Social bias, downstream",
    "robustness": "Robustness",
    "quality": "General quality",
}
"""Name of the task by kind of suite; other kinds are not results."""


def render(report: Report, place: Place) -> str:
    """Return model-index.yaml, or an empty text where there are no scores to show."""
    found = entries(report, place)
    return f"{with_results('', found, LINE_END)}{LINE_END}" if found else ""


def entries(report: Report, place: Place) -> list[dict[str, Any]]:
    """Return the value of ``model-index``: one entry, or none where there are no scores.

    Scores of groups are only in the report, as are drafts, controls, which are not results of
    their own, and scores without a value. Answers of a log are no results of a known model.
    """
    if report.model.answers_from:
        return []
    results = [r for s in report.suites for r in _results(report, s, place)]
    return [{"name": clean(place.model), "results": results}] if results else []


def _results(report: Report, suite: SuiteResult, place: Place) -> Iterator[dict[str, Any]]:
    whole = [s for s in suite.scores if not s.by and s.value is not None and math.isfinite(s.value)]
    if not whole or suite.kind not in KINDS or suite.draft or suite.control_of:
        return
    found: dict[str, Any] = {
        "task": {"type": hub_task(report.model.kind), "name": KINDS[suite.kind]},
        "dataset": _dataset(report, suite),
        # The headline first: a reader that shows one number shows this one.
        "metrics": [_metric(suite, s) for s in sorted(whole, key=lambda s: not s.headline)],
    }
    if place.report.startswith(("https://", "http://")):
        found["source"] = {"url": place.report, "name": SOURCE}
    yield found


def _dataset(report: Report, suite: SuiteResult) -> dict[str, Any]:
    data = suite.data
    found: dict[str, Any] = {
        "type": _source(suite.name, data),
        "name": suite_label(suite),
        # A type of our own keeps results apart from those of others on the same data.
        "config": f"{suite.name}-{suite.config}",
    }
    if data and data.revision:
        found["revision"] = clean(data.revision)
    # These identify the result as ours to later reports, and its report to readers.
    found["args"] = {"made_by": MADE_BY, "report": clean(report.digest)}
    if day := date(report):
        found["args"]["date"] = day
    if data and data.sha256:
        found["args"]["sha256"] = clean(data.sha256)
    return found


def _source(name: str, data: DataInfo | None) -> str:
    """Return where the data are from, as ``owner/name`` if the report states it in that form."""
    first = clean(data.source).partition(" ")[0] if data else ""
    return first if re.fullmatch(r"[\w.-]+/[\w.-]+", first) else f"pytest-bias/{name}"


def _metric(suite: SuiteResult, score: Score) -> dict[str, Any]:
    assert score.value is not None
    about = [f"ideal {ideal(score)}"]
    if score.interval:
        about.append(f"{level(score)} interval {interval(score)}")
    about.append(f"n {count(score.n)}")
    if suite.sampled is not None:
        about.append(sample(suite))
    if suite.adapted:
        about.append("adapted")
    unit = f", {clean(score.unit, 20)}" if score.unit else ""
    return {
        "type": clean(score.metric),
        "name": f"{metric_words(score.metric)}{unit} ({', '.join(about)})",
        # Rounded as in all outputs, so that it is the number that the card shows.
        "value": float(number(score.value, score.unit)),
    }
