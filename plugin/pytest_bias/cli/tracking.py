"""The command ``log``."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

commands = typer.Typer()


@commands.command()
def log(
    report: Annotated[
        Path, typer.Argument(help="Folder of a report, or the folder bias-steps of a training.")
    ],
    to: Annotated[
        str, typer.Option("--to", help="mlflow, wandb or tensorboard.", metavar="TRACKER")
    ],
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the run there.", metavar="RUN")
    ] = None,
) -> None:
    """Log a finished report to an experiment tracker: scores with intervals, settings, page.

    Of a training all steps are logged as one run. Withheld scores and those of hidden items stay
    out. Where to is said by the variables of each tracker, such as MLFLOW_TRACKING_URI.
    """
    from pytest_bias.training.trackers import log_command

    log_command(report, to, name, Console())
