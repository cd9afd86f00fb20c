"""Outputs, annotations and the summary of a step, written safely for the runner.

Text from a model's author, a pull request or a file is untrusted: an output cannot end its own
value, and an annotation is one line.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TextIO

from pytest_bias.ci.provider import MOST_OUTPUT, Annotation, Level
from pytest_bias.emit.bounds import len_in_bytes, within
from pytest_bias.untrusted import clean

MOST_SUMMARY: Final = 1_000_000
"""Bytes of the summary of a step; GitHub shows nothing of more than 1 MiB."""
MOST_PATH: Final = 1_000
MOST_ANNOTATIONS: Final = 10
"""Annotations per level and step; GitHub shows no more."""
_OF_THE_RUNNER: Final = ("ENV", "OUTPUT", "PATH", "STATE", "STEP_SUMMARY")
"""Files through which a step communicates with the runner, as ``GITHUB_…``."""


def write_outputs(values: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Append values to GITHUB_OUTPUT, each between random delimiters."""
    if not (file := environment.get("GITHUB_OUTPUT")):
        return
    with Path(file).open("a", encoding="utf-8") as stream:
        for name, value in values.items():
            end = f"end-{secrets.token_hex(16)}"
            stream.write(f"{name}<<{end}\n{value[:MOST_OUTPUT]}\n{end}\n")


def write_summary(text: str, environment: Mapping[str, str]) -> None:
    """Append Markdown to the summary of the step, below the limit above which GitHub drops it."""
    if file := environment.get("GITHUB_STEP_SUMMARY"):
        path = Path(file)
        room = MOST_SUMMARY - (path.stat().st_size if path.is_file() else 0)
        with path.open("a", encoding="utf-8") as stream:
            stream.write(f"{within(text.rstrip(), room, len_of=len_in_bytes)}\n\n")


def annotation(
    level: Level, text: str, *, title: str = "pytest-bias", file: str = "", line: int = 0
) -> str:
    """Return a workflow command that shows a message on the run's page or at a line of a file."""
    is_place = file and len(file) <= MOST_PATH
    at = [*([f"file={_property(file)}"] if is_place else [])]
    at += [f"line={line}"] if line and is_place else []
    properties = ",".join([*at, f"title={_property(clean(title))}"])
    message = clean(text, 1000).replace("%", "%25")
    return f"::{level} {properties}::{message}"


def annotations(found: Sequence[Annotation]) -> Iterator[str]:
    """Yield the annotations that GitHub shows; the last counts those that it does not show."""
    most = MOST_ANNOTATIONS if len(found) <= MOST_ANNOTATIONS else MOST_ANNOTATIONS - 1
    for one in found[:most]:
        yield annotation(one.level, one.text, title=one.title, file=one.file, line=one.line)
    if left := found[most:]:
        text = f"and {len(left)} more, in the summary"
        yield annotation(left[0].level, text, title=left[0].title)


def _property(text: str) -> str:
    for char, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"), (":", "%3A"), (",", "%2C")):
        text = text.replace(char, code)
    return text


@contextmanager
def quiet(stream: TextIO) -> Iterator[None]:
    """Keep the runner from taking lines printed meanwhile for workflow commands."""
    pause = secrets.token_hex(16)
    stream.write(f"::stop-commands::{pause}\n")
    stream.flush()
    try:
        yield
    finally:
        stream.write(f"::{pause}::\n")
        stream.flush()


def for_a_model(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a process that may run code of a model: no GitHub token or file.

    The token of the Hub remains, since models and data are fetched with it. Output is UTF-8 on
    every system.
    """
    kept = {**environment, "PYTHONUTF8": "1"}
    for name in environment:
        speaks = name.removeprefix("GITHUB_") in _OF_THE_RUNNER and name.startswith("GITHUB_")
        others = name in ("GITHUB_TOKEN", "PYTHONIOENCODING")
        if speaks or others or name.startswith(("ACTIONS_", "INPUT_", "BIAS_")):
            del kept[name]
    return kept
