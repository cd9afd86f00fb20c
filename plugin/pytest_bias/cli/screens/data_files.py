"""Locations of the data of suites, on a terminal and as plain lines."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pytest_bias.engine.preparation import EntryData, Outcome

WORDS: Final[Mapping[Outcome, str]] = {
    "own": "your own copy",
    "own changed": "your own copy, not the pinned bytes",
    "own unreadable": "your own copy cannot be read",
    "cached": "in the cache",
    "fetched": "fetched",
    "damaged": "damaged in the cache",
    "missing": "missing",
    "refused": "not fetched",
    "own copy only": "never fetched, your own copy only",
}
WRONG: Final = ("own unreadable", "damaged", "missing", "refused")
MOST_NAMES: Final = 3


def show(found: Sequence[EntryData], console: Console) -> None:
    """Print a table of entries."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("Suite", "Where", "Files"):
        table.add_column(column, overflow="fold")
    for data in found:
        for number, (where, files, style) in enumerate(_rows(data)):
            entry = "" if number else data.entry.id
            table.add_row(Text(entry), Text(where, style=style), Text(files, style="dim"))
    console.print(table)


def line(data: EntryData) -> str:
    """Return one entry as a plain line."""
    rows = [f"{where}: {files}" if files else where for where, files, _ in _rows(data)]
    return f"{data.entry.id}: {'; '.join(rows)}"


def show_troubles(found: Sequence[EntryData], console: Console) -> None:
    """Print why files could not be fetched and what helps, for the first of every entry."""
    told: set[str] = set()
    for data in found:
        errors = [e for e in (data.licence, *(f.error for f in data.files)) if e is not None]
        if not errors or str(errors[0]) in told:
            continue
        first, *more = errors
        told.add(str(first))
        console.print(Text(first.message), soft_wrap=True)
        if first.hint:
            console.print(Text(f"  {first.hint}", style="dim"), soft_wrap=True)
        if more:
            console.print(Text(f"  {data.entry.id}: {len(more)} more files did not come."))
    if any(data.paths("missing") or data.paths("damaged") for data in found if not data.licence):
        console.print(Text("pytest-bias data fetch downloads what is missing."))


def _rows(data: EntryData) -> Iterator[tuple[str, str, str]]:
    if data.licence:
        yield "licence not accepted", "", "yellow"
    if not data.files:
        yield "bundled", "", ""
    for outcome, words in WORDS.items():
        if paths := data.paths(outcome):
            is_wrong = outcome in WRONG and not data.licence
            yield words, _named(paths), "bold red" if is_wrong else ""


def _named(paths: Sequence[str]) -> str:
    if len(paths) <= MOST_NAMES:
        return ", ".join(paths)
    return f"{len(paths)} files, {paths[0]} to {paths[-1]}"
