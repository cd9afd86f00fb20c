"""A run from settings to files: the run command, and the end of a pytest session."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

from pytest_bias.emit import badges, change, terminal, timings
from pytest_bias.emit.exports import junit
from pytest_bias.emit.outputs import OF_RUN, Shown
from pytest_bias.emit.progress import ProgressPrinter
from pytest_bias.emit.verdict import decided
from pytest_bias.engine.events import Notice
from pytest_bias.engine.isolation import isolated
from pytest_bias.engine.merging import joined
from pytest_bias.engine.timeline import Timeline
from pytest_bias.errors import OutputError, ReportError
from pytest_bias.exit_codes import EXIT_INTERRUPTED
from pytest_bias.records.documents import write_whole
from pytest_bias.records.report import Item, Report
from pytest_bias.reports.comparison import Comparison, compare
from pytest_bias.reports.decision import Decision
from pytest_bias.reports.folder import (
    DECISION,
    MODEL_INDEX,
    REPORT,
    Written,
    default_folder,
    read_plain_report,
    read_report,
    remove,
    remove_unfinished,
    run_key,
    written,
)
from pytest_bias.reports.limits import Limit, decide, decision_level, limits_of, named_by
from pytest_bias.reports.withholding import SALT, salt_for, withheld, without_numbers
from pytest_bias.runs import baselines
from pytest_bias.runs.job import Job, claim_for, prepare
from pytest_bias.scoring.finite import missing
from pytest_bias.settings.settings import Settings
from pytest_bias.suites.about import with_about

if TYPE_CHECKING:
    from pytest_bias.engine.planning import Plan
    from pytest_bias.engine.session import Session


ABOUT_SALT: Final = (
    "keep it private; with it and the full report anybody can check later what was measured."
)


@dataclass(frozen=True)
class Finished:
    """A run that was written; `items` are those whose texts the user asked to see."""

    report: Report
    decision: Decision
    comparison: Comparison | None
    out: Path
    items: Mapping[str, Mapping[str, Item]]
    junit: Path | None = None

    @property
    def exit_code(self) -> int:
        """Exit code of the command."""
        interrupted = self.report.run.get("interrupted")
        return EXIT_INTERRUPTED if interrupted else self.decision.exit_code

    def show(self, console: Console) -> None:
        """Print what was measured, decided and written."""
        terminal.show(self.report.without_hidden_records(), self.decision, console, self.comparison)
        if self.items:
            terminal.show_items(self.report, self.items, console)
        console.print()
        names = [("Report", self.out / REPORT), *((o.title, self.out / o.path) for o in OF_RUN)]
        names += [("JUnit", self.junit)] if self.junit else []
        width = max(len(name) for name, _ in names)
        for name, path in names:
            console.print(Text(f"{name:<{width}}  {path}"), soft_wrap=True)
        sentence = decided(self.decision)
        console.print(Text(f"{'Result':<{width}}  {sentence}", style="bold"), soft_wrap=True)
        if self.report.withheld:
            told = f"{'Salt':<{width}}  {self.out / SALT}: {ABOUT_SALT}"
            console.print(Text(told), soft_wrap=True)


def finish(
    report: Report,
    settings: Settings,
    limits: Sequence[Limit],
    baseline: Report | None,
    out: Path,
    items: Mapping[str, Mapping[str, Item]],
    level: float,
) -> Finished:
    """Compare, decide at `level` and write; `items` are kept and shown as the settings say.

    Where scores are withheld, the decision is taken on them, and then they are dropped.
    """
    salt = salt_for(report, out) if settings.withhold_scores else None
    texts = items if settings.with_texts else {}
    allowed = {n: getattr(settings, n) for n in ("first_run", "allow_missing_data")}

    def make(report: Report) -> tuple[Finished, Written]:
        report = with_about(report, settings.catalogue, names_items=True)
        comparison = (
            compare(report, baseline, named_by(limits), level, settings.catalogue)
            if baseline
            else None
        )
        decision = decide(
            report, limits, comparison, **allowed, level=level, catalogue=settings.catalogue
        )
        decision = replace(decision, settings_file=_settings_file(settings))
        if salt:
            report = withheld(report, salt)
            decision, comparison = without_numbers(decision, report), None
        if comparison:
            decision = replace(decision, change=change.summary_dict(comparison))
        if not salt:
            empty = tuple(f"{s.entry}: {why}" for s in report.suites if (why := missing(s)))
            decision = replace(decision, without_value=empty)
        found = _written(report, decision, comparison, texts)
        shown = items if settings.show_items else {}
        return Finished(report, decision, comparison, out, shown), found

    finished, files = isolated(report, make)
    if salt:
        remove(_with_scores(report), out)
    with suppress(ReportError):
        # Files that the previous run left here.
        remove(_with_scores(read_plain_report(out / REPORT, check=False)), out)
    files.write(out)
    return finished


def _settings_file(settings: Settings) -> Mapping[str, str] | None:
    stated = settings.stated
    return {"name": Path(stated.name).name, "sha256": stated.sha256} if stated.sha256 else None


def run_command(settings: Settings, console: Console) -> int:
    """Measure a model, write and print the results; return the exit code."""
    return run_job(settings, console).exit_code


def run_job(
    settings: Settings, console: Console, check: Callable[[Plan], None] = lambda plan: None
) -> Finished:
    """Measure a model, write and print the results; `check` may refuse before weights load."""
    started, timeline = time.perf_counter(), Timeline()
    printer = ProgressPrinter(console, withholds=settings.withhold_scores)
    with printer.status("Importing torch and transformers …"), timeline.during("import"):
        from pytest_bias.models.placing import shared
    devices = shared(settings.devices) if settings.devices else ()
    if len(devices) == 1:
        settings = replace(settings, device=devices[0], devices=None)
    with ExitStack() as stack:
        with printer:
            job = stack.enter_context(claimed(prepare(settings, printer, timeline=timeline)))
            check(job.session.plan)
            # The time so far counts: imports, digests, data; but not that of the baseline.
            before = time.perf_counter() - started
            job = with_baseline(job, devices)
            job.session.started = time.perf_counter() - before
            report = measured(job.session, devices)
        with timeline.during("write"):
            done = finish_job(job, report)
    done.show(console)
    if settings.timings:
        console.print()
        console.print(timings.render(report, timeline.so_far()))
    return done


@contextmanager
def claimed(job: Job) -> Iterator[Job]:
    """Hold the folder of a job; if the job fails, give it up, so that no empty folder remains."""
    try:
        yield job
    except BaseException:
        job.give_up()
        raise
    job.close()


def measured(session: Session, devices: Sequence[str]) -> Report:
    """Measure everything in a session's plan, on one device or distributed over several."""
    from pytest_bias.engine import session as engine
    from pytest_bias.engine import workers

    if len(devices) > 1:
        return workers.run_on(session, devices)
    return engine.run(session)


def with_baseline(job: Job, devices: Sequence[str]) -> Job:
    """Return a job with its baseline, which is measured now if necessary."""
    first, tell = job.first, job.session.listener
    if first is None:
        return job
    # A model that is its own baseline has one folder, which the job holds already.
    held = None if first.out.resolve() == job.out.resolve() else first.claim()
    with claimed(replace(first, held=held)):
        tell(Notice(f"Measuring the baseline {first.model} …"))
        first.session.started = time.perf_counter()
        report = measured(first.session, devices)
        # Two models need not fit into memory together.
        first.session.unload()
        if report.run.get("interrupted"):
            raise KeyboardInterrupt
        report = finish_job(first, report).report
    tell(Notice(f"Baseline {first.model}: {first.out}"))
    return replace(job, baseline=report, first=None)


def finish_job(job: Job, report: Report) -> Finished:
    """Compare, decide and write; return the finished run for printing."""
    settings = job.session.settings
    items = job.session.items() if settings.with_texts or settings.show_items else {}
    keys = {"key": job.key, **({"whole": job.whole} if job.whole else {})}
    report = replace(report, run={**report.run, **keys})
    finished = finish(
        report, settings, job.limits, job.baseline, job.out, items, job.decision_level
    )
    finished = with_junit(finished, settings.junit)
    goes_on = report.run.get("interrupted") or report.run.get("stopped")
    # Scores could be computed again from the answers.
    stays = job.session.plan.model.keeps_answers and not settings.withhold_scores
    if not (goes_on or stays):
        remove_unfinished(job.out)
    return finished


def with_junit(done: Finished, file: Path | None) -> Finished:
    """Write a finished run as JUnit XML too, where a file for it is named."""
    if file is None:
        return done
    try:
        write_whole(file, junit.render(done.report, done.decision))
    except OSError as error:
        raise OutputError(f"{file} cannot be written: {error.strerror or error}.") from None
    return replace(done, junit=file)


def merge_command(reports: Sequence[Path], settings: Settings, console: Console) -> int:
    """Join the reports of shards into one with scores and a decision; return the exit code.

    A single report of a whole run is decided again, with the current limits and baseline.
    """
    limits = limits_of(settings)
    baseline = baselines.saved(settings.baseline) if settings.baseline else None
    parts = [read_report(path) for path in reports]
    is_whole = len(parts) == 1 and not (parts[0].run.get("shard") or parts[0].withheld)
    report = parts[0] if is_whole else joined(parts, settings.catalogue)
    key = _key_of(parts)
    out = settings.out or default_folder(report.model.reference, key)
    report = replace(report, run={**report.run, "key": key})
    entries = [(s.name, s.config, s.language) for s in report.suites]
    level = decision_level(limits, entries, has_baseline=baseline is not None)
    with closing(claim_for(settings, out, key)):
        done = finish(report, settings, limits, baseline, out, {}, level)
        done = with_junit(done, settings.junit)
    done.show(console)
    return done.decision.exit_code


def _key_of(parts: Sequence[Report]) -> str:
    """Return the key of the whole run, which is also that of the run in one piece.

    It depends on the inputs of the parts, not on their results, which may be withheld.
    """
    known = {
        str(p.run.get("whole") or (p.run.get("key") if len(parts) == 1 else "")) for p in parts
    }
    if len(known) == 1 and "" not in known:
        return known.pop()
    return run_key({"merged": sorted(str(p.run.get("key") or p.digest) for p in parts)})


def _written(
    report: Report,
    decision: Decision,
    comparison: Comparison | None,
    texts: Mapping[str, Mapping[str, Item]],
) -> Written:
    """Return all files that a run writes to its folder."""
    report = report.without_hidden_records()
    # Render for the terminal now, so that a failure does not first occur when it is printed.
    terminal.render(report, decision, comparison)
    shown = Shown(report, decision, comparison, texts)
    files = {path: text for o in OF_RUN for path, text in o.render(shown).items()}
    return written(report, files | {DECISION: decision.to_json()}, texts)


def _with_scores(report: Report) -> list[str]:
    """Return the files of a run that are absent or different when its scores are withheld."""
    drawn = isolated(report, badges.render)
    return [*drawn, MODEL_INDEX, *(s.records_path for s in report.suites)]


def write_files(files: Mapping[str, str], out: Path) -> None:
    """Write rendered files below a folder."""
    try:
        for name, content in files.items():
            path = out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8", newline="\n")
    except OSError as error:
        raise OutputError(f"{out} cannot be written: {error.strerror or error}.") from None
