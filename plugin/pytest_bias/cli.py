"""The command ``pytest-bias``: reads words, calls the engine, prints what came of it."""

import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.text import Text

from pytest_bias.config import read_settings, require_data_dir, require_model
from pytest_bias.errors import BiasError, UnknownName, UsageError
from pytest_bias.options import OPTIONS, Option

EXIT_INTERRUPTED: Final = 130
EXIT_UNEXPECTED: Final = 3

OF_LOCK: Final = (
    *("suites", "languages", "profile", "seed", "chat", "device", "devices", "device_map", "dtype"),
    *("data_dir", "scorers", "config", "fresh", "trust_remote_code", "allow_pickle"),
)
"""Options of a run that ``lock`` takes."""

app = typer.Typer(
    help="Social-bias and robustness tests for language models.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

_TYPES: Final[dict[str, Any]] = {
    "text": str | None,
    "texts": list[str] | None,
    "pairs": list[str] | None,
    "path": Path | None,
    "path-or-name": str | None,
    "flag": bool,
    "number": int | None,
    "duration": str | None,
}


def _parameter(option: Option) -> inspect.Parameter:
    kind: Any = _TYPES[option.type]
    annotation = Annotated[
        kind,
        typer.Option(
            f"--{option.flag}",
            help=option.help + (f" One of {', '.join(option.choices)}." if option.choices else ""),
            metavar=option.metavar,
            show_default=False,
        ),
    ]
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=False if option.type == "flag" else None,
        annotation=annotation,
    )


def _with_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command rows of the option table as parameters: those named, else all."""
    options = [_parameter(o) for o in OPTIONS if o.name in names or not names]

    def give(command: Callable[..., None]) -> Callable[..., None]:
        there = inspect.signature(command).parameters.values()
        parameters = [*(p for p in there if p.kind is not p.VAR_KEYWORD), *options]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": None}
        return command

    return give


@app.command()
@_with_options()
def run(
    model: Annotated[
        str | None,
        typer.Argument(help="org/name, org/name@revision, a folder, a .gguf file, or demo."),
    ] = None,
    **options: Any,
) -> None:
    """Measure a model: scores with intervals, badges, a report, and a decision for CI."""
    from pytest_bias.run import run_command

    settings = read_settings({"model": model, **options})
    require_model(settings)
    raise typer.Exit(run_command(settings, Console(stderr=False)))


@app.command()
@_with_options("data_dir", "config")
def suites(
    name: Annotated[str | None, typer.Argument(help="A suite, to see its scope card.")] = None,
    **options: Any,
) -> None:
    """List the suites, or show the scope card of one and what difference it can see."""
    from pytest_bias.datasources import DataFolder
    from pytest_bias.emit.scope import show_card, show_list
    from pytest_bias.resolution import resolutions
    from pytest_bias.suites import find, installed

    console = Console()
    if name is None:
        show_list(installed(), console)
        return
    word, _, configuration = name.partition("[")
    suite, settings = find(word), read_settings(options)
    require_data_dir(settings)
    folder = DataFolder(settings.data_dir, offline=True, accepted=settings.accept_licences)
    show_card(suite, console, resolutions(suite, folder, configuration.rstrip("]")))


@app.command()
def compare(
    current: Annotated[Path, typer.Argument(help="Report of the model now: a folder or file.")],
    baselines: Annotated[
        list[Path],
        typer.Argument(
            metavar="BASELINE",
            help="Reports to compare it with: the last version first, then older ones.",
        ),
    ],
) -> None:
    """Say what changed between two reports, item by item.

    Of several, the first is the last version, and a table shows them all, the oldest on the left:
    compare step3000 step2000 step1000 step0.
    """
    from pytest_bias.compare import compare as compared
    from pytest_bias.emit import change
    from pytest_bias.emit import trajectory as table
    from pytest_bias.folder import read_report
    from pytest_bias.trajectory import trajectory

    now, *older = (read_report(path) for path in (current, *baselines))
    comparison = compared(now, older[0])
    console = Console()
    console.print(change.render(comparison))
    comparable = any(s.reason is None for s in comparison.suites)
    if len(older) > 1:
        found = trajectory(now, older)
        console.print()
        console.print(table.render(found))
        comparable = comparable or any(True for _ in found.suites)
    raise typer.Exit(0 if comparable else 3)


@app.command()
def render(
    report: Annotated[Path, typer.Argument(help="A report.json, or the folder that holds it.")],
    to: Annotated[str, typer.Option("--to", help="badges, card, html or summary.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write to.", metavar="DIR")],
) -> None:
    """Write badges, the model card's section, the page or the summary from a saved report."""
    from pytest_bias.folder import read_report
    from pytest_bias.run import RENDERERS, write_files

    if to not in RENDERERS:
        raise UnknownName.among("--to", to, RENDERERS)
    files = RENDERERS[to](read_report(report))
    write_files(files, out)
    Console().print(Text(f"{len(files)} files in {out}"))


@app.command()
@_with_options("out", "config", "baseline", "first_run", "fresh", "withhold_scores")
def merge(
    reports: Annotated[list[Path], typer.Argument(help="Reports of the shards, all of them.")],
    **options: Any,
) -> None:
    """Join the reports of `run --shard`: the report that one run would have left."""
    from pytest_bias.run import merge_command

    raise typer.Exit(merge_command(reports, read_settings(options), Console()))


_TrustedRoot = Annotated[
    Path | None,
    typer.Option(
        "--trusted-root",
        help="Trust root of a Sigstore of your own.",
        metavar="FILE",
    ),
]
_Evidence = Annotated[
    str,
    typer.Argument(
        metavar="REPORT|MODEL",
        help="A report, a model's folder, an address, or a model of the Hub: org/name.",
    ),
]


@app.command()
@_with_options("data_dir", "config", "offline")
def verify(
    evidence: _Evidence,
    full: Annotated[
        Path | None,
        typer.Option("--full", help="The full report, if scores are withheld.", metavar="REPORT"),
    ] = None,
    trusted_root: _TrustedRoot = None,
    **options: Any,
) -> None:
    """Check what a report or a model's badges claim: exit 1 if something does not hold.

    Digests, scores from records, badges and card from scores, data, denominator, staleness,
    signatures, and what others found who ran it again. Exit 3 if something could not be checked.
    """
    from pytest_bias.evidence_commands import trust_of, verify_command

    settings = read_settings(options)
    trust = trust_of(trusted_root, settings)
    raise typer.Exit(verify_command(evidence, settings, trust, Console(), full))


@app.command()
@_with_options(
    *("device", "devices", "device_map", "data_dir", "out", "config", "fresh", "offline"),
    *("trust_remote_code", "allow_pickle"),
)
def reproduce(
    evidence: _Evidence,
    model: Annotated[
        str | None,
        typer.Option("--model", help="What to measure, if it is elsewhere.", metavar="MODEL"),
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", help="Who runs it, to be named.", metavar="NAME")
    ] = None,
    **options: Any,
) -> None:
    """Run again what a report claims, and write reproduction.json: exit 1 if it does not come out.

    The same suites on the same revision and data. A second team that signs the result in a workflow
    of pytest-bias earns the model Results Validated.
    """
    from pytest_bias.evidence_commands import reproduce_command, trust_of

    # A model that the settings file names is the user's own, not the one that was measured.
    settings = replace(read_settings(options), model=model)
    trust = trust_of(None, settings)
    raise typer.Exit(reproduce_command(evidence, settings, trust, Console(), by=by))


@app.command()
@_with_options("data_dir", "config", "offline")
def publish(
    report: Annotated[Path, typer.Argument(help="Folder that `run` or `reproduce` wrote.")],
    repo: Annotated[
        str, typer.Option("--repo", help="The model's repository or folder.", metavar="NAME|DIR")
    ],
    create_pr: Annotated[
        bool, typer.Option("--create-pr", help="Propose it, as a pull request on the Hub.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, and write nothing.")
    ] = False,
    trusted_root: _TrustedRoot = None,
    **options: Any,
) -> None:
    """Publish evidence, badges and the card's section to a model's repository, in one commit."""
    from pytest_bias.evidence_commands import publish_command, trust_of

    settings = read_settings(options)
    trust = trust_of(trusted_root, settings)
    code = publish_command(
        report, repo, settings, trust, Console(), create_pr=create_pr, dry_run=dry_run
    )
    raise typer.Exit(code)


@app.command()
@_with_options(*OF_LOCK)
def lock(
    model: Annotated[
        str | None,
        typer.Argument(help="org/name, or org/name@branch, which is followed instead of the head."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Say what changed since, of MODEL or of all.")
    ] = False,
    run: Annotated[
        bool, typer.Option("--run", help="Measure: the scores to lock, or what changed in them.")
    ] = False,
    lock_file: Annotated[
        Path, typer.Option("--lock-file", help="The lock file.", metavar="FILE")
    ] = Path("pytest-bias.lock"),
    **options: Any,
) -> None:
    """Pin a model of the Hub with its scores, and say when it is no longer the same.

    With --check: exit code 0 if all are the models that were locked, 1 if one is another, 3 if it
    cannot be known; README.md and what is published below bias/ do not count. With --run as well,
    what changed is measured, and a run that fails makes the exit code graver.
    """
    from pytest_bias.locking import check_command, check_options, lock_command

    given = [n for n, value in options.items() if value is not None and value is not False]
    check_options(given, runs=run)
    settings, console = read_settings(options), Console()
    if check:
        code = check_command(model, settings, console, file=lock_file, runs=run, given=given)
    elif model:
        code = lock_command(model, settings, console, file=lock_file, runs=run)
    else:
        raise UsageError(
            "no model was named.",
            "pytest-bias lock org/name locks one; pytest-bias lock --check asks about all.",
        )
    raise typer.Exit(code)


data = typer.Typer(help="Prepare the data of the suites.", no_args_is_help=True)
app.add_typer(data, name="data")

_DATA_OPTIONS: Final = ("suites", "languages", "data_dir", "config", "offline")


@data.command("fetch")
@_with_options(*_DATA_OPTIONS)
def data_fetch(**options: Any) -> None:
    """Download the pinned files of the suites into the cache, or into the folder --data-dir.

    All suites of the settings, else all that are installed, in all languages unless some are given.
    Exit code 3 if something could not be fetched.
    """
    from pytest_bias.run import data_command

    raise typer.Exit(data_command(read_settings(options), Console(), fetches=True))


@data.command("check")
@_with_options(*_DATA_OPTIONS)
def data_check(**options: Any) -> None:
    """Say which files are there, damaged or missing, without the network; exit 3 if one is."""
    from pytest_bias.run import data_command

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
    """Run the command; a user's mistake is one message, never a traceback."""
    errors = Console(stderr=True)
    try:
        app(standalone_mode=True)
    except BiasError as error:
        print_error(error, errors)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except Exception as error:
        if os.environ.get("PYTEST_BIAS_DEBUG"):
            raise
        message = f"unexpected {type(error).__name__}: {error}"
        print_error(
            BiasError(message, "PYTEST_BIAS_DEBUG=1 shows where; please report it."), errors
        )
        sys.exit(EXIT_UNEXPECTED)


def print_error(error: BiasError, console: Console) -> None:
    """Print what is wrong, and what helps on a line of its own."""
    from pytest_bias.emit.wording import clean

    text = Text("error: ", style="bold red")
    # Not wrapped, so that a command in it can be copied.
    console.print(text.append(clean(error.message, 2000), style="not bold"), soft_wrap=True)
    if error.hint:
        console.print(Text(f"  {clean(error.hint, 2000)}"), soft_wrap=True)
