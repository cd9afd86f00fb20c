"""The formats of answers that are read, how each is recognised, and the one entry point."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pytest_bias.data.answer_logs import eee, harness, inspect_logs, plain
from pytest_bias.data.answer_logs.files import LogFile
from pytest_bias.data.answer_logs.log import AnswerLog
from pytest_bias.data.answer_logs.notices import one_of
from pytest_bias.errors import DataError
from pytest_bias.untrusted import clean

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Format:
    """One format of answers.

    Parameters
    ----------
    name : str
        Value of `AnswerLog.format`.
    title : str
        Name for messages.
    is_one : callable
        Whether a file has this format, from the file and its first JSON object; the object is
        empty if the file does not begin with one on one line.
    read : callable
        Reads the answers of one file.
    """

    name: str
    title: str
    is_one: Callable[[LogFile, Fields], bool]
    read: Callable[[LogFile], AnswerLog]


FORMATS: Final = (
    Format(
        "inspect",
        "a log of Inspect (.eval)",
        lambda file, _: inspect_logs.is_archive(file),
        inspect_logs.read_archive,
    ),
    Format(
        "inspect",
        "a log of Inspect (.json)",
        inspect_logs.is_json,
        inspect_logs.read_json,
    ),
    Format(
        "lm-eval",
        "samples of lm-evaluation-harness (samples_*.jsonl)",
        lambda _, first: harness.is_samples(first),
        harness.read,
    ),
    Format(
        "eee",
        "instances of Every Eval Ever (.jsonl)",
        lambda _, first: eee.is_instances(first),
        eee.read,
    ),
    Format(
        "jsonl",
        "JSON lines, one object with item and answer a line",
        lambda file, first: bool(first),
        plain.read_jsonl,
    ),
    Format(
        "csv",
        "a CSV table (.csv, .tsv) with a column of items and one of answers",
        lambda file, first: file.path.suffix.lower() in (".csv", ".tsv") and b"\0" not in file.head,
        plain.read_csv,
    ),
)
"""Every format, those that are recognised by more before those recognised by less."""


def read_answers(paths: Sequence[Path]) -> AnswerLog:
    """Read the answers of one model from files of one format.

    Parameters
    ----------
    paths : sequence of Path
        The files, in the order in which their answers are returned.

    Raises
    ------
    DataMissing
        If a file does not exist.
    DataError
        If a file cannot be read, is damaged or has an unknown format, if formats are mixed, if a
        file is named twice, or if there are answers of several models.
    """
    if not paths:
        raise DataError("There is no file of answers.")
    files = [LogFile(path) for path in paths]
    known = [_format(file) for file in files]
    if other := next((n for n, form in enumerate(known) if form.name != known[0].name), None):
        raise DataError(
            f"{files[0].name} is {known[0].title}; {files[other].name} is {known[other].title}. "
            "Files of one model have one format."
        )
    _check_distinct(files)
    return _together([form.read(file) for file, form in zip(files, known, strict=True)], files)


def _format(file: LogFile) -> Format:
    first = _first_object(file)
    if harness.is_results(file) or eee.is_aggregate(file):
        raise DataError(
            f"{file.name} has scores, and no answers; name the file of samples that belongs to it "
            "(samples_*.jsonl of lm-evaluation-harness, *_samples.jsonl of Every Eval Ever)."
        )
    found = next((form for form in FORMATS if form.is_one(file, first)), None)
    if found is not None:
        return found
    known = "; ".join(form.title for form in FORMATS)
    raise DataError(f"{file.name} {_beginning(file)}, which is no known format. Known: {known}.")


def _first_object(file: LogFile) -> Fields:
    """Return the JSON object on the first line; empty if there is none."""
    lines = file.head.lstrip().splitlines()
    if not lines or not lines[0].startswith(b"{"):
        return {}
    line = lines[0]
    try:
        if len(lines) == 1:
            # The line may be longer than the head.
            line = next(line for line in file.lines() if line.strip()).encode()
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _beginning(file: LogFile) -> str:
    """Return what a file begins with, for messages."""
    head = file.head
    if head.startswith(b"PK"):
        return "is a zip archive"
    if head.startswith(b"\x1f\x8b"):
        return "is compressed with gzip"
    if head.startswith(b"PAR1"):
        return "is a Parquet file"
    if re.match(rb"\s*\[\s*(?:[\[{\]\"\d]|null|true|false)", head):
        return "is a JSON list (write one object a line)"
    if head.lstrip().startswith(b"{"):
        return "is one JSON object over several lines, or is damaged in its first line"
    shown = clean(head[:60].decode("utf-8", "replace"), 40)
    return f"begins with {shown!r}" if shown.strip("\ufffd ") else "is a binary file"


def _check_distinct(files: Sequence[LogFile]) -> None:
    seen: dict[str, LogFile] = {}
    for file in files:
        if (before := seen.setdefault(file.sha256, file)) is not file:
            raise DataError(
                f"{before.name} and {file.name} have the same content; name each file once."
                if before.path.resolve() != file.path.resolve()
                else f"{file.name} is named twice."
            )


def _together(logs: Sequence[AnswerLog], files: Sequence[LogFile]) -> AnswerLog:
    """Return the answers of several files as one log."""
    first = logs[0]
    if empty := [f.name for f, log in zip(files, logs, strict=True) if not log.answers]:
        raise DataError(f"{empty[0]} has no answer.")
    if len(logs) == 1:
        return first
    models = {log.model: file.name for log, file in zip(logs, files, strict=True) if log.model}
    model = one_of("These files", "model", models)
    versions = list(dict.fromkeys(log.version for log in logs if log.version))
    notices = [notice for log in logs for notice in log.notices]
    if len(versions) > 1:
        shown = ", ".join(clean(v, 40) for v in versions)
        notices.append(f"The files were written by several versions of {first.tool}: {shown}.")
    names = [file.name for file in files]
    shas = {
        file.name
        if names.count(file.name) == 1
        else clean(f"{file.path.resolve().parent.name}/{file.path.name}"): file.sha256
        for file in files
    }
    if len(shas) < len(files):
        shas = {clean(str(file.path)): file.sha256 for file in files}
    return AnswerLog(
        first.format,
        tuple(answer for log in logs for answer in log.answers),
        shas,
        first.tool,
        ", ".join(versions) or None,
        model,
        ", ".join(dict.fromkeys(log.task for log in logs if log.task)) or None,
        tuple(notices),
        " ".join(log.unfinished for log in logs if log.unfinished) or None,
    )
