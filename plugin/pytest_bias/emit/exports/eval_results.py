"""Scores for the leaderboards of benchmarks on the Hub: files of ``.eval_results``.

A file names a dataset, one of the tasks that its ``eval.yaml`` defines, and one number, without
an interval or an ideal: these stand in the notes, and the report is its source.

Source: https://huggingface.co/docs/hub/eval-results
"""

from typing import Final

import yaml

from pytest_bias.emit.exports.origin import created
from pytest_bias.emit.exports.rows import ScoreRow, score_rows
from pytest_bias.models.snapshot import EVAL_RESULTS
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.reports.publication_layout import Place, is_badge_eligible
from pytest_bias.suites.catalogue import Catalogue
from pytest_bias.untrusted import clean

FRAMEWORK: Final = "pytest-bias"
"""Value of ``evaluation_framework`` in the ``eval.yaml`` of a benchmark that is scored by us."""
OURS: Final = f"{EVAL_RESULTS}/{FRAMEWORK}-"
"""Beginning of the paths of our files."""


def task_of(suite: SuiteResult) -> str:
    """Return the id that a task of a benchmark needs in order to get scores of a suite."""
    return f"{suite.name}-{suite.config}"


def path_of(suite: SuiteResult) -> str:
    """Return the path of a suite's file in the repository of a model."""
    return f"{OURS}{task_of(suite)}.yaml"


def headlines(report: Report) -> dict[str, ScoreRow]:
    """Return the headlines that may be shown to others, by entry."""
    rows = score_rows(report)
    return {r.suite.entry: r for r in rows if r.score.headline and not r.score.by}


def unfit(report: Report, suite: SuiteResult) -> str | None:
    """Return why a suite has no result for any leaderboard; None if it may have one."""
    if suite.entry not in headlines(report):
        return "no score of it can be shown to others"
    if not is_badge_eligible(suite):
        return "it is a draft, a control, or not about bias"
    if suite.sampled is not None:
        return "a sample was measured"
    return "your own copy of the data was measured" if suite.data and suite.data.local else None


def dataset_of(suite: SuiteResult, catalogue: Catalogue) -> str | None:
    """Return the dataset of the Hub that all data of a suite are from; None if there is none."""
    known = catalogue.get(suite.name)
    if known is None or known.version != suite.version:
        return None
    files = next((c.files for c in known.configurations if c.name == suite.config), ())
    places = {file.hub.repository if file.hub else None for file in files}
    return places.pop() if len(places) == 1 else None


def render(report: Report, row: ScoreRow, dataset: str, place: Place) -> str:
    """Return the file of one suite, whose task the dataset has to define."""
    suite, score, time = row.suite, row.score, created(report)
    revision = suite.data.revision if suite.data else None
    entry = {
        "dataset": {
            "id": dataset,
            "task_id": task_of(suite),
            **({"revision": clean(revision)} if revision else {}),
        },
        "value": score.value,
        **({"date": time.isoformat()} if time else {}),
        "source": {"url": place.report, "name": "pytest-bias report"},
        "notes": _notes(row),
    }
    return yaml.safe_dump([entry], sort_keys=False, allow_unicode=True, width=1000)


def _notes(row: ScoreRow) -> str:
    score = row.score
    unit = f", {clean(score.unit, 20)}" if score.unit else ""
    about = [f"{clean(score.metric)}{unit}", f"best at its ideal, {score.ideal!r}"]
    if score.interval:
        low, high = score.interval
        about.append(f"{100 * score.level:g} % interval {low!r} to {high!r}")
    else:
        about.append(f"no interval ({clean(score.interval_reason or 'no reason is given')})")
    about.append(f"n {score.n}")
    return "; ".join([*about, *(["adapted to this kind of model"] if row.suite.adapted else [])])
