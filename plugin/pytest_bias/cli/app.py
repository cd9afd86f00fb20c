"""The command ``pytest-bias``: parse arguments, call the engine, print the result."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console
from rich.text import Text

from pytest_bias.cli import evidence, init, score, split
from pytest_bias.emit import streams
from pytest_bias.errors import BiasError, OutputError
from pytest_bias.exit_codes import EXIT_INTERRUPTED, EXIT_OK, EXIT_UNEXPECTED
from pytest_bias.records.command_result import VARIABLE, CommandResult
from pytest_bias.settings.parameters import ModelArgument, with_options
from pytest_bias.settings.settings import read_settings, require_data_dir, require_model
from pytest_bias.untrusted import clean

if TYPE_CHECKING:
    from pytest_bias.records.report import Report

app = typer.Typer(
    help="Social-bias and robustness tests for language models.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.command()
@with_options()
def run(
    model: ModelArgument = None,
    **options: Any,
) -> None:
    """Measure a model: scores with intervals, badges, a report, and a decision for CI.

    With --models, every model of a list: one report per model, one page and tables of all of them.
    """
    settings = read_settings({"model": model, **options})
    if settings.models:
        from pytest_bias.fleet.command import fleet_command

        raise typer.Exit(fleet_command(settings, Console(stderr=False)))
    from pytest_bias.runs.finishing import run_command

    require_model(settings)
    raise typer.Exit(run_command(settings, Console(stderr=False)))


@app.command()
@with_options("data_dir", "config", "offline", "show_items")
def suites(
    name: Annotated[
        str | None,
        typer.Argument(help="A suite or a suite file, to see its scope card.", metavar="NAME|FILE"),
    ] = None,
    **options: Any,
) -> None:
    """List the suites, show the scope card of one, or check a suite file and preview its items.

    The card of a suite states the smallest difference that its items can detect. A file *.bias.yaml
    is checked, its items are counted, and the demo model is tried on a few of them.
    """
    from pytest_bias.cli.suites import show_known, show_one

    if name is None:
        show_known(Console())
        return
    settings = read_settings(options)
    require_data_dir(settings)
    show_one(name, settings, Console())


@app.command()
@with_options("suites", "config")
def compare(
    current: Annotated[Path, typer.Argument(help="Report of the current model: a folder or file.")],
    baselines: Annotated[
        list[Path],
        typer.Argument(
            metavar="BASELINE",
            help="Reports to compare with: the previous version first, then older ones.",
        ),
    ],
    **options: Any,
) -> None:
    """Compare two reports, item by item.

    With several baselines, the first is the previous version, and a table shows all reports, oldest
    on the left: compare step3000 step2000 step1000 step0.
    """
    from pytest_bias.emit import terminal_changes
    from pytest_bias.emit import trajectory as table
    from pytest_bias.reports.comparison import compare as compared
    from pytest_bias.reports.folder import read_report
    from pytest_bias.reports.trajectory import trajectory

    catalogue = read_settings(options).catalogue
    now, *older = (read_report(path) for path in (current, *baselines))
    comparison = compared(now, older[0], catalogue=catalogue)
    console = Console()
    console.print(terminal_changes.render(comparison))
    comparable = any(s.reason is None for s in comparison.suites)
    if len(older) > 1:
        found = trajectory(now, older, catalogue)
        console.print()
        console.print(table.render(found))
        comparable = comparable or any(True for _ in found.suites)
    raise typer.Exit(0 if comparable else 3)


@app.command()
@with_options("suites", "config")
def render(
    report: Annotated[Path, typer.Argument(help="A report.json, or the folder that holds it.")],
    to: Annotated[str, typer.Option("--to", help="Format, such as card or csv: docs/formats.md.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write to.", metavar="DIR")],
    **options: Any,
) -> None:
    """Write a saved report in another format: what a run writes, or what other tools read.

    The decision is read from the decision.json beside the report, if it is of the same report.
    """
    from pytest_bias.emit.outputs import Shown, output
    from pytest_bias.engine.isolation import isolated
    from pytest_bias.reports.decision import decision_beside
    from pytest_bias.reports.folder import read_report
    from pytest_bias.runs.finishing import write_files
    from pytest_bias.suites.about import with_about

    chosen = output(to)
    catalogue = read_settings(options).catalogue

    def shown(found: "Report") -> dict[str, str]:
        return chosen.render(Shown(with_about(found, catalogue, names_items=True), decision))

    read = read_report(report)
    decision = decision_beside(report, read)
    files = isolated(read, shown)
    write_files(files, out)
    Console().print(Text(f"{len(files)} files in {out}"))


@app.command()
@with_options(
    "suites",
    "out",
    "config",
    "baseline",
    "first_run",
    "fresh",
    "withhold_scores",
    "allow_missing_data",
)
def merge(
    reports: Annotated[
        list[Path],
        typer.Argument(help="Reports of all shards; or one report of a whole run."),
    ],
    **options: Any,
) -> None:
    """Merge the reports of `run --shard` into the report of a single run.

    One report of a whole run is decided on again, by the current limits and baseline.
    """
    from pytest_bias.runs.finishing import merge_command

    raise typer.Exit(merge_command(reports, read_settings(options), Console()))


app.add_typer(evidence.commands)
app.add_typer(init.commands)
app.add_typer(score.commands)

app.add_typer(split.commands, name="split")

data = typer.Typer(help="Prepare the data of the suites.", no_args_is_help=True)
app.add_typer(data, name="data")

_DATA_OPTIONS: Final = ("suites", "languages", "data_dir", "config", "offline")


@data.command("fetch")
@with_options(*_DATA_OPTIONS)
def data_fetch(**options: Any) -> None:
    """Download the pinned files of the suites into the cache, or into the folder --data-dir.

    Suites are those of the settings, else all installed ones, in all languages unless restricted.
    Exit code 3 if something could not be fetched.
    """
    from pytest_bias.cli.data import data_command

    raise typer.Exit(data_command(read_settings(options), Console(), fetches=True))


@data.command("check")
@with_options(*_DATA_OPTIONS)
def data_check(**options: Any) -> None:
    """List present, damaged and missing files, without the network; exit 3 if any is not usable."""
    from pytest_bias.cli.data import data_command

    settings = read_settings(options)
    require_data_dir(settings)
    raise typer.Exit(data_command(settings, Console(), fetches=False))


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"pytest-bias {version('pytest-bias')}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command; a user error is one message, never a traceback."""
    streams.prepare()
    # Processes that this one starts must not write to the file.
    file, result = os.environ.pop(VARIABLE, None), CommandResult()
    result.exit_code = _run(result)
    if file:
        try:
            result.write(Path(file), os.environ)
        except OSError as error:
            told = OutputError(f"{VARIABLE}={file} cannot be written: {error.strerror}.")
            print_error(told, Console(stderr=True))
            result.exit_code = result.exit_code or told.exit_code
    sys.exit(result.exit_code)


def _run(result: CommandResult) -> int:
    """Run the command; returns the exit code, and stores an error in the result."""
    errors = Console(stderr=True)
    try:
        code = app(standalone_mode=False, obj=result)
        return code if isinstance(code, int) else EXIT_OK
    except BiasError as error:
        result.error, result.hint = error.message, error.hint
        print_error(error, errors)
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except typer.Abort:
        typer.echo("Aborted!", err=True)
        return 1
    except Exception as error:
        if hasattr(error, "format_message"):
            return _refused(error, result)
        if os.environ.get("PYTEST_BIAS_DEBUG"):
            raise
        unexpected = BiasError(
            f"unexpected {type(error).__name__}: {error}",
            "PYTEST_BIAS_DEBUG=1 shows where; please report it.",
        )
        result.error, result.hint = unexpected.message, unexpected.hint
        print_error(unexpected, errors)
        return EXIT_UNEXPECTED


def _refused(error: Any, result: CommandResult) -> int:
    """Show typer's message about an invalid argument; typer may or may not bundle click."""
    result.error = error.format_message()
    error.show()
    return int(error.exit_code)


def print_error(error: BiasError, console: Console) -> None:
    """Print an error, and what helps on a line of its own."""
    text = Text("error: ", style="bold red")
    # Not wrapped, so that a command in it can be copied.
    console.print(text.append(clean(error.message, 2000), style="not bold"), soft_wrap=True)
    if error.hint:
        console.print(Text(f"  {clean(error.hint, 2000)}"), soft_wrap=True)
