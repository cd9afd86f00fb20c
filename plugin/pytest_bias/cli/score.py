"""The command ``score``: scores of answers that somebody has, without a model."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from pytest_bias.settings.parameters import with_options
from pytest_bias.settings.settings import read_settings

commands = typer.Typer()


@commands.command()
@with_options(
    *("suites", "languages", "data_dir", "out", "config", "baseline", "first_run"),
    *("seed", "fresh", "offline", "show_items", "with_texts", "withhold_scores"),
)
def score(
    files: Annotated[
        list[Path],
        typer.Option(
            "--answers",
            help="Log of Inspect or lm-evaluation-harness, Every Eval Ever, CSV or JSON lines; "
            "may be given several times.",
            metavar="FILE",
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option("--model", help="Name of the model, if the files do not say it."),
    ] = None,
    partial: Annotated[
        bool,
        typer.Option("--partial", help="Score what matches, though less than 95 % does."),
    ] = False,
    **options: Any,
) -> None:
    """Score answers that somebody has: no model is run, and nothing shows which one gave them.

    With the suite's own items and intervals. See docs/answers.md.
    """
    from pytest_bias.runs.scoring import score_command

    # The model of a settings file is one that this command does not measure.
    code = score_command(
        read_settings(options), files, Console(stderr=False), partial=partial, model=model
    )
    raise typer.Exit(code)
