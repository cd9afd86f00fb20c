"""Rows of the option table as parameters of commands."""

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import typer

from pytest_bias.errors import UsageError
from pytest_bias.settings.options import OPTIONS, Option
from pytest_bias.settings.settings import Settings, read_settings

ModelArgument: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        help="org/name, org/name@revision, a folder, a .gguf file, demo, app:module:function, "
        "https://… (an application), or openai:http://… (a server)."
    ),
]

_TYPES: Final[dict[str, Any]] = {
    "text": str | None,
    "texts": list[str] | None,
    "pairs": list[str] | None,
    "path": Path | None,
    "path-or-name": str | None,
    "path-or-address": str | None,
    "text-or-path": str | None,
    "flag": bool,
    "number": int | None,
    "budget": str | None,
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


def with_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds options to a command as parameters: those named, else all."""
    options = [_parameter(o) for o in OPTIONS if o.name in names or not names]

    def give(command: Callable[..., None]) -> Callable[..., None]:
        there = inspect.signature(command).parameters.values()
        parameters = [*(p for p in there if p.kind is not p.VAR_KEYWORD), *options]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": None}
        return command

    return give


def settings_of_run(words: Sequence[str]) -> Settings:
    """Return the settings that ``pytest-bias run`` makes of these arguments.

    Raises
    ------
    UsageError
        If the command does not accept one of them.
    """
    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    @app.command()
    @with_options()
    def run(model: ModelArgument = None, **options: Any) -> None:
        """Measure a model."""

    command = typer.main.get_command(app)
    try:
        params = command.make_context("run", list(words)).params
    except Exception as error:
        # The usage errors of typer have this method.
        if not hasattr(error, "format_message"):
            raise
        raise UsageError(error.format_message(), "pytest-bias run --help lists them.") from None
    return read_settings(params)
