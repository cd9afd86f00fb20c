"""The reports of a training: a folder for each step, and one table of all of them."""

import csv
import io
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from rich.console import Console

from pytest_bias.emit import trajectory as table
from pytest_bias.emit.exports.rows import absent, score_rows
from pytest_bias.errors import OutputError, ReportError
from pytest_bias.records.documents import write_whole
from pytest_bias.records.report import Report
from pytest_bias.reports.folder import REPORT, read_plain_report, read_report, write_report
from pytest_bias.reports.trajectory import trajectory
from pytest_bias.suites.catalogue import INSTALLED, Catalogue
from pytest_bias.untrusted import clean

FOLDER: Final = "bias-steps"
"""Not ``bias``: below that a model has its published evidence."""
TABLE: Final = "steps.csv"
_STEP = re.compile(r"step-(\d{6,})")
COLUMNS: Final = (
    *("step", "epoch", "suite", "status", "metric", "value", "low", "high", "level", "unit"),
    *("ideal", "n", "sampled", "n_available", "reason"),
)


def folder_of(parent: Path, step: int) -> Path:
    """Return the folder of a step, such as ``step-000100``."""
    return parent / f"step-{step:06d}"


def steps_in(parent: Path) -> dict[int, Path]:
    """Return the steps that have a report below a folder, in their order."""
    found = {
        int(match[1]): path
        for path in (parent.iterdir() if parent.is_dir() else ())
        if (match := _STEP.fullmatch(path.name)) and (path / REPORT).is_file()
    }
    return dict(sorted(found.items()))


def step_of(report: Report) -> int | None:
    """Return the step of the training at which a report was made; None if it is of no training."""
    told = report.run.get("training")
    step = told.get("step") if isinstance(told, dict) else None
    return step if isinstance(step, int) and not isinstance(step, bool) else None


def begin(parent: Path, step: int, *, fresh: bool) -> list[Report]:
    """Make room for a training that begins at a step; return the reports of it so far.

    A training that goes on from a checkpoint keeps the steps up to there.

    Raises
    ------
    OutputError
        If there are steps of another training, unless `fresh` removes them.
    """
    there = steps_in(parent)
    others = {n: path for n, path in there.items() if step == 0 or n > step}
    if others and not fresh:
        more = f"{len(others)} steps of an earlier training" if step == 0 else "later steps"
        raise OutputError(
            f"{parent} holds {more}, as {next(iter(others.values())).name}.",
            "BiasCallback(…, fresh=True) replaces them; another output_dir keeps both.",
        )
    for path in others.values():
        shutil.rmtree(path, ignore_errors=True)
    try:
        parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{parent} cannot be written: {error.strerror or error}.") from None
    kept = (path for n, path in there.items() if n not in others)
    return [without_records(read_plain_report(path / REPORT)) for path in kept]


def without_records(report: Report) -> Report:
    """Return a report that takes little memory."""
    return replace(report, suites=tuple(replace(s, records=()) for s in report.suites))


def keep(report: Report, folder: Path) -> None:
    """Write the report of a step, with its records."""
    shutil.rmtree(folder, ignore_errors=True)
    write_report(report.without_hidden_records(), {}, folder)


def write_table(reports: Sequence[Report], parent: Path, failed: Mapping[int, str]) -> None:
    """Write the scores of all steps to one table, and of a suite without scores the reason.

    `failed` has the steps at which nothing could be measured, with the reason.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for report in reports:
        about = report.run.get("training") or {}
        at = {"step": about.get("step"), "epoch": about.get("epoch")}
        for row in score_rows(report):
            suite, score = row.suite, row.score
            if score.by:
                continue
            low, high = score.interval or (None, None)
            writer.writerow(
                {
                    **at,
                    **{"suite": suite.entry, "status": suite.status, "metric": score.metric},
                    **{"value": score.value, "low": low, "high": high, "level": score.level},
                    **{"unit": score.unit, "ideal": score.ideal, "n": score.n},
                    **{"sampled": suite.sampled, "n_available": suite.n_available},
                    "reason": clean(score.interval_reason or "", 300),
                }
            )
        for lacking in absent(report):
            suite = lacking.suite
            about_it = {"suite": suite.entry, "status": suite.status}
            writer.writerow({**at, **about_it, "reason": clean(lacking.reason, 300)})
    for step, reason in failed.items():
        writer.writerow({"step": step, "status": "error", "reason": clean(reason, 300)})
    write_whole(parent / TABLE, text.getvalue())


def show(
    reports: Sequence[Report], parent: Path, console: Console, catalogue: Catalogue = INSTALLED
) -> None:
    """Print all steps as one table, from the first to the last; the folder has their records."""
    if len(reports) > 1:
        first, *between, last = reports
        ends = [read_report(folder_of(parent, step_of(r) or 0)) for r in (first, last)]
        older = [ends[0], *(_whole(r, parent) for r in between)]
        console.print(table.render(trajectory(ends[1], older[::-1], catalogue)))
    console.print(f"Bias at {len(reports)} steps: {parent / TABLE}", markup=False, soft_wrap=True)


def _whole(report: Report, parent: Path) -> Report:
    """Return the report of a step with its records, or without where they can no longer be read."""
    try:
        return read_report(folder_of(parent, step_of(report) or 0))
    except ReportError:
        return report
