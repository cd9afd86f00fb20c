"""The user's own tables: a file, a file or split of a dataset on the Hub, or inline rows."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import Any, Final, NamedTuple

from pytest_bias.data.hub_files import HubFile
from pytest_bias.data.hub_splits import HubSplit
from pytest_bias.data.sources import DataFile, DataFolder, FoundFile, content_of
from pytest_bias.data.tables import (
    Row,
    TableRow,
    lines_of,
    read_csv,
    read_json,
    read_json_lines,
    read_parquet,
    text_of,
)
from pytest_bias.errors import DataError, DataMissing
from pytest_bias.records.report import canonical_json, sha256

UNITS: Final[Mapping[str, Callable[[str], list[str]]]] = {
    "line": lines_of,
    "paragraph": lambda text: text.replace("\r\n", "\n").split("\n\n"),
    "file": lambda text: [text],
}
"""Units into which a plain text file is split."""

SHAPES: Final = ("csv", "tsv", "jsonl", "json", "parquet", "text")
"""Formats of files; by default from the suffix, where any other suffix means plain text."""

MOST_LISTED: Final = 10
MOST_SHOWN: Final = 40
"""Number of values that a message lists, and characters of each."""

TEXT: Final = "text"
"""The only column of a plain text file."""


@dataclass(frozen=True, slots=True)
class RowSource:
    """Source of rows: `path`, `hub` or `rows`.

    Parameters
    ----------
    name : str
        The user's name for the source, for messages.
    path : Path or None
        The user's file, or its gzip copy; a relative path is resolved in `base`, then in
        ``--data-dir``.
    base : Path
        Folder of the file that names it.
    hub : HubFile or HubSplit or None
        A file of a dataset on the Hub, or a split of one.
    part : tuple of int or None
        First row that is read and the one after the last, as in a Python slice.
    rows : tuple of mapping
        The rows themselves, column to text.
    shape : str
        One of `SHAPES`; empty to use the file's suffix.
    delimiter : str
        Separator of cells; empty for the default of the format.
    encoding : str
        Python's name of the encoding of a text file.
    quoted : bool
        Whether cells may be quoted; otherwise quotation marks are ordinary characters.
    each : str
        Unit of a plain text file: key of `UNITS`.
    """

    name: str
    path: Path | None = None
    base: Path = Path()
    hub: HubFile | HubSplit | None = None
    part: tuple[int | None, int | None] = (None, None)
    rows: tuple[Mapping[str, str], ...] = ()
    shape: str = ""
    delimiter: str = ""
    encoding: str = "utf-8-sig"
    quoted: bool = True
    each: str = "line"

    @property
    def file(self) -> DataFile | None:
        """The file or split on the Hub as a `DataFile`; None if there is none."""
        if self.hub is None:
            return None
        return DataFile(f"{self.hub.repository}/{self.hub.path}", None, None, self.hub)


NESTED: Final = (list, dict, tuple, set, bytes)
"""Values that are not a single readable cell."""


class OwnRow(NamedTuple):
    """A row with its number in the file, from 0, and its problem, if any."""

    number: int
    cells: Row
    problem: str | None = None


def read_rows(
    source: RowSource,
    columns: Sequence[str],
    data: DataFolder,
    optional: Collection[str] = (),
) -> tuple[FoundFile, list[OwnRow]]:
    """Read the rows of a source.

    Blank lines of a plain text file are not rows. A row of JSON may lack `optional` columns, as if
    the cell were empty; one that lacks others, or a table's row with too many or too few cells, has
    a problem.

    Raises
    ------
    DataMissing
        If a file is missing.
    DataError
        If it cannot be read, does not have its format, or lacks a column; then its columns are
        listed.
    """
    found = found_file(source, data)
    if source.rows:
        return found, [OwnRow(n, dict(row)) for n, row in enumerate(source.rows)]
    shape = source.shape or PurePath(found.path).suffix[1:].lower()
    read = _readers(source).get(shape)
    if read is not None:
        made = list(enumerate(read(found, columns, optional=optional)))
        if beyond := [n for n in source.part if n is not None and abs(n) > len(made)]:
            raise DataError(
                f"{found.path} has {len(made)} rows, so that {beyond[0]} is none of them."
            )
        return found, [
            OwnRow(n, row.cells, row.problem or _nested(n, row.cells, columns))
            for n, row in made[slice(*source.part)]
        ]
    if missing := [c for c in columns if c != TEXT]:
        raise DataError(
            f"{found.path} is plain text, which has no {', '.join(missing)}; it has {TEXT}."
        )
    texts = UNITS[source.each](text_of(found, partial(_decoded, source.encoding)))
    return found, [OwnRow(n, {TEXT: text.strip()}) for n, text in enumerate(texts) if text.strip()]


def _nested(number: int, row: Row, columns: Sequence[str]) -> str | None:
    nested = [c for c in columns if isinstance(row.get(c), NESTED)]
    return f"row {number + 1} has no text in {', '.join(nested)}" if nested else None


def _readers(source: RowSource) -> dict[str, Callable[..., list[TableRow]]]:
    decode = partial(_decoded, source.encoding)
    table = partial(read_csv, quoted=source.quoted, decode=decode)
    return {
        "csv": partial(table, delimiter=source.delimiter or ","),
        "tsv": partial(table, delimiter=source.delimiter or "\t"),
        "jsonl": read_json_lines,
        "json": read_json,
        "parquet": read_parquet,
    }


def _decoded(encoding: str, content: bytes) -> str:
    return content.decode(encoding)


def found_file(source: RowSource, data: DataFolder) -> FoundFile:
    """Return the file of a source, or its inline rows as a file.

    Raises
    ------
    DataMissing
        If it is missing.
    DataError
        If it cannot be read.
    """
    if source.file:
        return data.find(source.file)
    if source.path is None:
        rows = canonical_json([dict(row) for row in source.rows]).encode()
        return FoundFile(source.name, rows, sha256(rows), local=True)
    plain = source.path.with_suffix("") if source.path.suffix == ".gz" else source.path
    places = [source.base / plain, *([data.folder / plain] if data.folder else [])]
    for place in dict.fromkeys(places):
        if (content := content_of(place)) is not None:
            return FoundFile(str(place), content, sha256(content), local=True)
    looked = " or ".join(map(str, dict.fromkeys(places)))
    raise DataMissing(f"{source.name}: there is no file {looked}.")


def cell(value: Any) -> str | None:
    """Return a cell as a text without surrounding spaces, or None for a missing value.

    None, a blank text and NaN (which tables use for missing values) are missing values in every
    file format.

    Examples
    --------
    >>> cell(" a "), cell(True), cell(2.0), cell(float("nan")), cell("")
    ('a', 'true', '2', None, None)
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return f"{value:.0f}" if value.is_integer() else str(value)
    return None if value is None else str(value).strip() or None


_TRUTH: Final = ("true", "false")


def same(value: str) -> str:
    """Return a normalized spelling of a value, for those that programs write in several ways.

    Booleans are compared without their case and whole numbers without a fraction; every other
    value is unchanged.

    Examples
    --------
    >>> same("TRUE"), same("1.0"), same("01"), same("Yes")
    ('true', '1', '01', 'Yes')
    """
    if value.lower() in _TRUTH:
        return value.lower()
    whole, point, rest = value.partition(".")
    digits = whole.removeprefix("-").isdecimal()
    return whole if point and digits and not rest.strip("0") else value


def not_there(values: Sequence[str], listed: Collection[str], column: str, what: str) -> str | None:
    """Return the problem that a column has none of the listed values, or None.

    Parameters
    ----------
    values : sequence of str
        Values of the column.
    listed : collection of str
        Expected values.
    column, what : str
        The column; the key that lists the values, such as ``positive``.
    """
    if {same(v) for v in values} & {same(v) for v in listed}:
        return None
    return f"the column {column} has none of what {what} lists ({_few(listed)}); it has " + (
        f"{counted(values)}."
    )


def counted(values: Sequence[str]) -> str:
    """Return the distinct values with their counts, for a message."""
    found = Counter(map(same, values))
    return _few([f"{value} ({n})" for value, n in found.most_common()]) or "none"


def _few(values: Collection[str]) -> str:
    shown = [v if len(v) <= MOST_SHOWN else f"{v[: MOST_SHOWN - 1]}…" for v in values]
    left = len(shown) - MOST_LISTED
    return ", ".join([*shown[:MOST_LISTED], *([f"and {left} more"] if left > 0 else [])])
