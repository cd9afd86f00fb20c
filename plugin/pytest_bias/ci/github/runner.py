"""What a step says to the runner: outputs, annotations, the summary; and what it must not say.

Everything that a model's author, a pull request or a file can put into a text is hostile here: an
output cannot end its own value, and an annotation is one line.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TextIO

from pytest_bias.ci.provider import Annotation, Level
from pytest_bias.emit.bounds import len_in_bytes, within
from pytest_bias.untrusted import clean

MOST_SUMMARY: Final = 1_000_000
"""Bytes of the summary of a step; of more than 1 MiB GitHub shows nothing."""
MOST_OUTPUT: Final = 20_000
"""Characters of an output; all of a job together have 1 MB."""
MOST_PATH: Final = 1_000
MOST_ANNOTATIONS: Final = 10
"""Of one level in one step: GitHub shows no more."""
_OF_THE_RUNNER: Final = ("ENV", "OUTPUT", "PATH", "STATE", "STEP_SUMMARY")
"""Files through which a step speaks to the runner, as ``GITHUB_…``."""


def write_outputs(values: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Append values to GITHUB_OUTPUT, each between delimiters that nobody can guess."""
    if not (file := environment.get("GITHUB_OUTPUT")):
        return
    with Path(file).open("a", encoding="utf-8") as stream:
        for name, value in values.items():
            end = f"end-{secrets.token_hex(16)}"
            stream.write(f"{name}<<{end}\n{value[:MOST_OUTPUT]}\n{end}\n")


def write_summary(text: str, environment: Mapping[str, str]) -> None:
    """Append Markdown to the summary of the step, of which GitHub drops all above its limit."""
    if file := environment.get("GITHUB_STEP_SUMMARY"):
        path = Path(file)
        room = MOST_SUMMARY - (path.stat().st_size if path.is_file() else 0)
        with path.open("a", encoding="utf-8") as stream:
            stream.write(f"{within(text.rstrip(), room, len_of=len_in_bytes)}\n\n")


def annotation(
    level: Level, text: str, *, title: str = "pytest-bias", file: str = "", line: int = 0
) -> str:
    """Return a workflow command that shows a message at the run, or at a line of a file."""
    is_place = file and len(file) <= MOST_PATH
    at = [*([f"file={_property(file)}"] if is_place else [])]
    at += [f"line={line}"] if line and is_place else []
    properties = ",".join([*at, f"title={_property(clean(title))}"])
    message = clean(text, 1000).replace("%", "%25")
    return f"::{level} {properties}::{message}"


def annotations(found: Sequence[Annotation]) -> Iterator[str]:
    """Yield the annotations that GitHub shows, the last of which counts those that it does not."""
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
    """Let the runner take no line that is printed meanwhile for a command of its own."""
    pause = secrets.token_hex(16)
    stream.write(f"::stop-commands::{pause}\n")
    stream.flush()
    try:
        yield
    finally:
        stream.write(f"::{pause}::\n")
        stream.flush()


def for_a_model(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what a process sees in which code of a model may run: nothing to speak with.

    The token of the Hub remains, since models and data are fetched with it. What it prints is
    UTF-8 on every system.
    """
    kept = {**environment, "PYTHONUTF8": "1"}
    for name in environment:
        speaks = name.removeprefix("GITHUB_") in _OF_THE_RUNNER and name.startswith("GITHUB_")
        others = name in ("GITHUB_TOKEN", "PYTHONIOENCODING")
        if speaks or others or name.startswith(("ACTIONS_", "INPUT_", "BIAS_")):
            del kept[name]
    return kept
