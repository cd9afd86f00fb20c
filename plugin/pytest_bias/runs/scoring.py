"""Answers of a log from files to a report: the command ``score``."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from pytest_bias.data.answer_logs import read_answers
from pytest_bias.data.sources import DataFolder
from pytest_bias.emit.progress import ProgressPrinter
from pytest_bias.engine.answers.choosing import choose, suite_of
from pytest_bias.engine.answers.scoring import Scoring
from pytest_bias.engine.events import Fetching, Listener, Notice
from pytest_bias.errors import UsageError
from pytest_bias.records.identity import tool_version
from pytest_bias.records.report import Report
from pytest_bias.reports.folder import default_folder, run_key
from pytest_bias.reports.limits import check_unambiguous, decision_level, limits_of
from pytest_bias.runs import baselines
from pytest_bias.runs.finishing import finish
from pytest_bias.runs.job import claim_for
from pytest_bias.settings.settings import Settings, require_data_dir


def score_command(
    settings: Settings,
    files: Sequence[Path],
    console: Console,
    *,
    partial: bool = False,
    model: str | None = None,
) -> int:
    """Score the answers of files, write and print the results; return the exit code.

    Raises
    ------
    BiasError
        If the files, the suite or its data are not usable, or too little of them matches.
    """
    require_data_dir(settings)
    limits = limits_of(settings)
    # Before large files are read.
    suite_of(settings)
    printer = ProgressPrinter(console, withholds=settings.withhold_scores)
    with printer:
        with printer.status("Reading the answers …"):
            log = read_answers(list(files))
            chosen = choose(log, settings)
        entry = chosen.entry
        own = (entry.suite.name, entry.configuration.name, entry.configuration.language)
        check_unambiguous(limits, [own])
        baseline = _baseline(settings)
        data = _data(settings, printer).of(entry.suite.name)
        loaded = entry.configuration.load(data)
        report = scored_log(Scoring(settings, log, chosen, loaded, partial, model), printer)
        out = settings.out or default_folder(report.model.reference, _key(report))
        held = claim_for(settings, out, _key(report), printer)
        try:
            items = {}
            if settings.with_texts or settings.show_items:
                items = {entry.id: {item.id: item for item in loaded.items}}
            level = decision_level(limits, [own], has_baseline=baseline is not None)
            done = finish(report, settings, limits, baseline, out, items, level)
        finally:
            held.close()
    done.show(console)
    return done.exit_code


def scored_log(scoring: Scoring, listener: Listener) -> Report:
    """Score a log, and tell its notices."""
    report = scoring.report()
    for text in report.notices:
        listener(Notice(text))
    return report


def _key(report: Report) -> str:
    """Return the digest of what the scores depend on."""
    suite = report.suites[0]
    return run_key(
        {
            "tool": tool_version(),
            "answers": asdict(report.model),
            "entry": [suite.entry, suite.version, suite.measure],
            "data": suite.data and suite.data.sha256,
            "seed": report.settings["seed"],
        }
    )


def _data(settings: Settings, listener: Listener) -> DataFolder:
    def tell(path: str, done: int, total: int | None) -> None:
        listener(Fetching(path, done, total))

    return DataFolder(
        settings.data_dir,
        settings.offline,
        settings.accept_licences,
        settings.texts,
        tell=tell,
    )


def _baseline(settings: Settings) -> Report | None:
    if not settings.baseline:
        return None
    if not Path(settings.baseline).expanduser().exists():
        raise UsageError(
            f"--baseline {settings.baseline}: there is no such report.",
            "Answers are compared with the report of other answers: --baseline DIR",
        )
    return baselines.saved(settings.baseline)
