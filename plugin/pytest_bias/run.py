"""The main job from settings to files: what the command does, and the pytest plugin at its end."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pytest_bias.compare import Comparison, compare
from pytest_bias.config import Settings, require_model
from pytest_bias.datasources import DataFolder
from pytest_bias.emit import badges, summary, terminal
from pytest_bias.emit.progress import ProgressPrinter
from pytest_bias.errors import DataError, DataMissing, OutputError
from pytest_bias.folder import (
    DECISION,
    SUMMARY,
    claim,
    default_folder,
    read_report,
    run_key,
    write_report,
)
from pytest_bias.limits import Decision, decide, read_limits
from pytest_bias.records import Item, Report
from pytest_bias.suites import find, installed

EXIT_INTERRUPTED: Final = 130

RENDERERS: Final[Mapping[str, Callable[[Report], dict[str, str]]]] = {
    "badges": badges.render,
    "summary": lambda report: {SUMMARY: summary.render(report)},
}


def run_command(settings: Settings, console: Console) -> int:
    """Measure a model, write and print what came of it; returns the exit code."""
    limits = read_limits(settings.limits)
    baseline = read_baseline(settings)
    printer = ProgressPrinter(console)
    with printer.status("Importing torch and transformers …"):
        from pytest_bias import engine
    plan = engine.plan(engine.describe_for(settings, require_model(settings)), settings)
    out, key = claim_folder(plan, settings)
    with printer:
        report = engine.run(plan, printer)
    report = replace(report, run={**report.run, "key": key})
    comparison = compare(report, baseline) if baseline else None
    decision = decide(report, limits, comparison, first_run=settings.first_run)
    items = engine.items_of(plan) if settings.with_texts or settings.show_items else {}
    save(report, decision, out, comparison, items if settings.with_texts else {})
    terminal.show(report, decision, console, comparison)
    if settings.show_items:
        terminal.show_items(report, items, console)
    console.print()
    say_where(out, decision, console)
    return EXIT_INTERRUPTED if report.run.get("interrupted") else decision.exit_code


def read_baseline(settings: Settings) -> Report | None:
    """Read the report to compare with, before anything is measured."""
    return read_report(settings.baseline) if settings.baseline else None


def claim_folder(plan: Any, settings: Settings) -> tuple[Path, str]:
    """Choose and claim the output folder before the model runs."""
    what = {
        "model": plan.model.snapshot.ref.name,
        "revision": plan.model.snapshot.revision,
        "config": plan.model.identity.config_sha256,
        "tokenizer": plan.model.identity.tokenizer_sha256,
        "weights": plan.model.weights_digest(),
        "entries": [p.entry.id for p in plan.entries],
        "profile": settings.profile,
        "seed": settings.seed,
        "dtype": settings.dtype,
    }
    out = settings.out or default_folder(plan.model.snapshot.ref.name, what)
    key = run_key(what)
    claim(out, key, fresh=settings.fresh)
    return out, key


def save(
    report: Report,
    decision: Decision,
    out: Path,
    comparison: Comparison | None = None,
    texts: Mapping[str, Mapping[str, Item]] | None = None,
) -> None:
    """Write everything that a run leaves."""
    files = {
        **badges.render(report),
        SUMMARY: summary.render(report, decision, comparison),
        DECISION: decision.to_json() + "\n",
    }
    for old in (out / "badges").glob("*"):
        old.unlink()
    write_report(report, files, out, texts)


def write_files(files: Mapping[str, str], out: Path) -> None:
    """Write rendered files below a folder."""
    try:
        for name, content in files.items():
            path = out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8", newline="\n")
    except OSError as error:
        raise OutputError(f"{out} cannot be written: {error.strerror or error}.") from None


def say_where(out: Path, decision: Decision, console: Console) -> None:
    """Print where the files are and what was decided."""
    names = (("Report", "report.json"), ("Badges", "badges/"), ("Summary", "summary.md"))
    width = max(len(name) for name, _ in names)
    for name, path in names:
        console.print(Text(f"{name:<{width}}  {out / path}"), soft_wrap=True)
    sentence = summary.STATUS_SENTENCES[decision.status]
    console.print(Text(f"{'Result':<{width}}  {sentence}", style="bold"), soft_wrap=True)


def check_data(
    names: Sequence[str], data_dir: Path | None, console: Console, *, fetch: bool
) -> int:
    """Find or fetch the files of suites; returns 3 if one is not to be had."""
    suites = [find(n) for n in names] or installed()
    offline = not fetch or bool(os.environ.get("HF_HUB_OFFLINE"))
    folder = DataFolder(data_dir, offline=offline)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("Suite", "File", "State"):
        table.add_column(column)
    missing = 0
    for suite in suites:
        for configuration in suite.configurations:
            for file in configuration.files:
                try:
                    found = folder.find(file)
                    state = "your own copy" if found.local else "in the cache, as pinned"
                except DataMissing:
                    state, missing = "missing", missing + 1
                except DataError as error:
                    state, missing = error.message, missing + 1
                entry = f"{suite.name}[{configuration.name}]"
                table.add_row(Text(entry), Text(file.path), Text(state))
    console.print(table)
    if missing and not fetch:
        console.print(Text(f"{missing} missing. pytest-bias data fetch downloads them."))
    return 3 if missing else 0
