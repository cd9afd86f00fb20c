"""Arguments of the commands ``verify``, ``reproduce``, ``publish`` and ``lock``."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from pytest_bias.errors import UsageError
from pytest_bias.settings.parameters import with_options
from pytest_bias.settings.settings import ASKING, read_settings

OF_LOCK: Final = (
    *("suites", "languages", "profile", "seed", "chat", *ASKING),
    *("device", "devices", "device_map", "dtype"),
    *("data_dir", "scorers", "config", "fresh", "trust_remote_code", "allow_pickle"),
)
"""Options of a run that ``lock`` accepts."""

commands = typer.Typer()

_TrustedRoot = Annotated[
    Path | None,
    typer.Option(
        "--trusted-root",
        help="Trust root of a private Sigstore.",
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


@commands.command()
@with_options("suites", "data_dir", "config", "offline")
def verify(
    evidence: _Evidence,
    full: Annotated[
        Path | None,
        typer.Option("--full", help="The full report, if scores are withheld.", metavar="REPORT"),
    ] = None,
    trusted_root: _TrustedRoot = None,
    model_key: Annotated[
        Path | None,
        typer.Option(
            "--model-key", help="Public key that signed the model's files.", metavar="FILE"
        ),
    ] = None,
    svr: Annotated[
        Path | None,
        typer.Option(
            "--svr",
            help="Write the checks that hold as an in-toto statement, if none fails.",
            metavar="FILE",
        ),
    ] = None,
    **options: Any,
) -> None:
    """Check what a report or a model's badges claim: exit 1 if a check fails.

    Checks digests, scores from records, badges and card from scores, data, denominator, staleness,
    signatures, and reproductions by others. Exit 3 if something could not be checked.
    """
    from pytest_bias.cli.evidence_commands import trust_of, verify_command

    settings = read_settings(options)
    trust = trust_of(trusted_root, settings, model_key)
    raise typer.Exit(verify_command(evidence, settings, trust, Console(), full, svr))


@commands.command()
@with_options(
    *("suites", "device", "devices", "device_map", "data_dir", "out", "config", "fresh"),
    "offline",
    *("trust_remote_code", "allow_pickle"),
)
def reproduce(
    evidence: _Evidence,
    model: Annotated[
        str | None,
        typer.Option("--model", help="The model, if it has moved.", metavar="MODEL"),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", help="Name of the person or team.", metavar="NAME"),
    ] = None,
    **options: Any,
) -> None:
    """Measure again what a report claims, and write reproduction.json: exit 1 if results differ.

    It runs the same suites on the same revision and data. If a second team signs the result in a
    workflow of pytest-bias, the model earns Results Validated.
    """
    from pytest_bias.cli.evidence_commands import reproduce_command, trust_of

    # A model that the settings file names is the user's own, not the one that was measured.
    settings = replace(read_settings(options), model=model)
    trust = trust_of(None, settings)
    raise typer.Exit(reproduce_command(evidence, settings, trust, Console(), by=by))


@commands.command()
@with_options("suites", "data_dir", "config", "offline")
def publish(
    context: typer.Context,
    report: Annotated[Path, typer.Argument(help="Folder that `run` or `reproduce` wrote.")],
    repo: Annotated[
        str, typer.Option("--repo", help="The model's repository or folder.", metavar="NAME|DIR")
    ],
    create_pr: Annotated[
        bool, typer.Option("--create-pr", help="Open a pull request on the Hub instead.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, and write nothing.")
    ] = False,
    keep_earlier: Annotated[
        bool,
        typer.Option(
            "--keep-earlier",
            help="Keep results of earlier reports that this one does not have, with their date.",
        ),
    ] = False,
    eval_results: Annotated[
        bool,
        typer.Option(
            "--eval-results",
            help="Publish results for leaderboards of registered benchmarks too: docs/formats.md.",
        ),
    ] = False,
    trusted_root: _TrustedRoot = None,
    **options: Any,
) -> None:
    """Publish evidence, badges and the card's section to a model's repository, in one commit."""
    from pytest_bias.cli.evidence_commands import publish_command, trust_of

    settings = read_settings(options)
    trust = trust_of(trusted_root, settings)
    found = publish_command(
        *(report, repo, settings, trust, Console()),
        create_pr=create_pr,
        dry_run=dry_run,
        keep_earlier=keep_earlier,
        with_results=eval_results,
    )
    context.obj.published, context.obj.proposed = found


@commands.command()
@with_options(*OF_LOCK)
def lock(
    model: Annotated[
        str | None,
        typer.Argument(help="org/name, or org/name@branch to follow a branch instead of the head."),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Report what changed, in MODEL or in all."),
    ] = False,
    run: Annotated[
        bool, typer.Option("--run", help="Measure the scores to lock, or how they have changed.")
    ] = False,
    lock_file: Annotated[
        Path, typer.Option("--lock-file", help="The lock file.", metavar="FILE")
    ] = Path("pytest-bias.lock"),
    **options: Any,
) -> None:
    """Pin a model of the Hub with its scores, and check whether it is still the same.

    With --check: exit code 0 if no model has changed, 1 if one has, 3 if that is not known;
    README.md, bias/ and .eval_results/ do not count. With --run as well, changed models are
    measured, and the exit code of a run that fails counts if it is more severe.
    """
    from pytest_bias.cli.lock import check_command, check_options, lock_command

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
            "pytest-bias lock org/name locks one; pytest-bias lock --check checks all of them.",
        )
    raise typer.Exit(code)
