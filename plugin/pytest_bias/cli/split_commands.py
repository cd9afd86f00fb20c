"""The commands ``split make`` and ``split test``."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

from pytest_bias.cli.screens import split as words
from pytest_bias.data.sources import DataFolder
from pytest_bias.emit.progress import ProgressPrinter
from pytest_bias.engine.events import Listener
from pytest_bias.environment import SUITE_FILE
from pytest_bias.errors import MeasurementError, OutputError, UsageError
from pytest_bias.records.documents import to_document, write_whole
from pytest_bias.records.identity import tool_version
from pytest_bias.records.report import DataInfo, Report, SuiteResult
from pytest_bias.reports.overfitting import SplitTest, split_test
from pytest_bias.settings.settings import Settings
from pytest_bias.suites.files.reading import with_files
from pytest_bias.suites.files.splitting import COMMITMENT, HIDDEN, PARTS, PUBLIC, Commitment, split

if TYPE_CHECKING:
    from pytest_bias.engine.session import Session

SCHEMA: Final = "pytest-bias/split-test/1"
RESULT: Final = "split-test.json"


def make_command(file: Path, out: Path, settings: Settings, share: float, console: Console) -> None:
    """Split a suite and print what to do with its parts."""
    data = DataFolder(settings.data_dir, settings.offline, settings.accept_licences)
    words.show_made(split(file, out, data, share), out, console)


def test_command(folder: Path, reference: str, settings: Settings, console: Console) -> None:
    """Measure two models on both parts of a split, and test whether one was fitted to the public.

    Only the scores of the hidden part are kept or shown.
    """
    committed = Commitment.read(folder / COMMITMENT)
    files = _files(folder, committed)
    model = str(settings.model)
    catalogue, names = with_files([str(files[part]) for part in PARTS])
    with ProgressPrinter(console) as printer:
        sessions = [_planned(settings, name, files, printer) for name in (model, reference)]
        if len({s.plan.model.weights_digest() for s in sessions}) == 1:
            raise UsageError(f"{model} and {reference} have the same weights: nothing to compare.")
        committed.holds(dict(zip(PARTS, _data(sessions[0], names), strict=True)))
        found = [_measured(session) for session in sessions]
    parts = [_parts(report, names) for report in found]
    tested = split_test(parts[0], parts[1], settings.seed, catalogue)
    words.show_test(tested, model, reference, console)
    if settings.out:
        _write(settings.out, tested, found, committed)
        console.print(Text(f"{settings.out / RESULT}"), soft_wrap=True)


def _files(folder: Path, committed: Commitment) -> dict[str, Path]:
    found = {
        PUBLIC: folder / PUBLIC / f"{committed.public.suite}{SUITE_FILE}",
        HIDDEN: folder / HIDDEN / f"{committed.hidden.suite}{SUITE_FILE}",
    }
    for part, path in found.items():
        if not path.is_file():
            raise UsageError(
                f"the {part} part is not here: there is no {path}.",
                "The author of the split has it.",
            )
    return found


def _planned(
    settings: Settings, model: str, files: dict[str, Path], listener: Listener
) -> "Session":
    from pytest_bias.engine.planning import describe_for, plan
    from pytest_bias.engine.session import Session

    suites = tuple(str(files[part]) for part in PARTS)
    settings = replace(settings, model=model, suites=suites, collected=(), shard=None, budget=None)
    return Session(plan(describe_for(settings, model), settings), listener)


def _data(session: "Session", names: Sequence[str]) -> Iterator[DataInfo]:
    """Yield the description of each suite's data, in order."""
    planned = {p.entry.suite.name: p for p in session.plan.entries}
    for name in names:
        found = session.prepare(planned[name])
        if isinstance(found, SuiteResult):
            raise MeasurementError(f"{found.entry} cannot be measured: {found.reason}")
        yield found.info


def _measured(session: "Session") -> Report:
    from pytest_bias.engine.session import run

    report = run(session)
    # Two models may not fit into memory together.
    session.unload()
    if report.run.get("interrupted"):
        raise KeyboardInterrupt
    return report


def _parts(report: Report, names: tuple[str, ...]) -> tuple[SuiteResult, SuiteResult]:
    public, hidden = (report.suite(name) for name in names)
    for result in (public, hidden):
        if result.status != "scored":
            raise MeasurementError(
                f"{result.entry} was not scored on {report.model.reference}: {result.reason}"
            )
    return public, hidden


def _write(out: Path, tested: SplitTest, reports: list[Report], committed: Commitment) -> None:
    model, reference = (
        {
            "reference": report.model.reference,
            "revision": report.model.revision,
            "weights_sha256": report.model.weights_sha256,
        }
        for report in reports
    )
    plain = {
        "schema": SCHEMA,
        "tool": tool_version(),
        "model": model,
        "reference": reference,
        "commitment": json.loads(committed.to_json()),
        "test": asdict(tested),
    }
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_whole(out / RESULT, to_document(plain))
    except OSError as error:
        raise OutputError(f"{out} cannot be written: {error.strerror or error}.") from None
