"""Arguments of the commands ``split make`` and ``split test``."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from pytest_bias.settings.parameters import with_options
from pytest_bias.settings.settings import (
    ASKING,
    read_settings,
    require_data_dir,
    require_model,
)

commands = typer.Typer(
    help="Split a suite into a public and a hidden part, and test for over-fitting.",
    no_args_is_help=True,
)


@commands.command("make")
@with_options("data_dir", "config", "offline")
def make(
    file: Annotated[Path, typer.Argument(help="A suite file *.bias.yaml with all its rows.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to create.", metavar="DIR")],
    share: Annotated[
        float, typer.Option("--share", help="Percent of the clusters that are hidden.")
    ] = 50.0,
    **options: Any,
) -> None:
    """Split a suite at random, by cluster, and commit to the hidden part before it is used."""
    from pytest_bias.cli.split_commands import make_command

    settings = read_settings(options)
    require_data_dir(settings)
    make_command(file, out, settings, share, Console())


@commands.command("test")
@with_options(
    *(
        "device",
        "device_map",
        "dtype",
        "chat",
        *ASKING,
        "scorers",
        "data_dir",
        "out",
        "config",
        "seed",
    ),
    *("offline", "trust_remote_code", "allow_pickle"),
)
def test(
    model: Annotated[str, typer.Argument(help="The model that may have seen the public part.")],
    reference: Annotated[
        str,
        typer.Option("--reference", help="A model of the same kind that has not.", metavar="MODEL"),
    ],
    split: Annotated[
        Path, typer.Option("--split", help="Folder that split make wrote.", metavar="DIR")
    ],
    **options: Any,
) -> None:
    """Test whether a model was fitted to the public part of a suite.

    Both models are measured on both parts. The difference in differences is tested against random
    splits of the same clusters. No finding does not prove that there is no over-fitting: the
    smallest detectable gap is printed.
    """
    from pytest_bias.cli.split_commands import test_command

    settings = read_settings({"model": model, **options})
    require_model(settings)
    test_command(split, reference, settings, Console())
