"""Parsing of data files into rows: CSV, TSV, JSON and Parquet, with errors for malformed files.

The same rules hold for all formats: column names are unique, and a row has one cell per column or
a problem that states its line (`TableRow.problem`). Lines end with LF or CRLF only; other line
separators of Unicode are part of the text.
"""

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pytest_bias.data.sources import FoundFile
from pytest_bias.errors import DataError

Row = dict[str, Any]


class TableRow(NamedTuple):
    """A row (column to cell), with its problem, if any, which makes its cells unreliable.

    `at` is its position, such as ``line 3``; `short` means that it has fewer cells than columns,
    and None for the others.
    """

    cells: Row
    problem: str | None = None
    at: str = ""
    short: bool = False


def utf8(content: bytes) -> str:
    """Decode UTF-8, with or without a byte order mark."""
    return content.decode("utf-8-sig")


def text_of(found: FoundFile, decode: Callable[[bytes], str] = utf8) -> str:
    """Return the text of a file.

    Raises
    ------
    DataError
        If the bytes do not have this encoding.
    """
    try:
        return decode(found.content)
    except UnicodeDecodeError as error:
        encoding = "UTF-8" if error.encoding == "utf-8" else error.encoding
        raise DataError(f"{found.path} is not {encoding}: {error}") from None


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, without line endings."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines if lines[-1] else lines[:-1]


def read_csv(
    found: FoundFile,
    columns: Sequence[str],
    *,
    optional: Collection[str] = (),
    delimiter: str = ",",
    quoted: bool = True,
    decode: Callable[[bytes], str] = utf8,
) -> list[TableRow]:
    """Read the rows of a table whose first row names its columns.

    If cells are not `quoted`, quotation marks are ordinary characters. `optional` has no effect,
    since every row has all columns.

    Raises
    ------
    DataError
        If the file is not such a table, or a column is missing or duplicated.
    """
    lines = io.StringIO(text_of(found, decode), newline="")
    numbered = list(csv_lines(found.path, lines, delimiter=delimiter, quoted=quoted))
    if not numbered:
        return []
    (_, header), *others = numbered
    check_header(found.path, header, columns if others else ())
    return [
        TableRow(
            dict(zip(header, [*row, *[None] * (len(header) - len(row))], strict=False)),
            unlike(header, row, line),
            f"line {line}",
            len(row) < len(header),
        )
        for line, row in others
        # A line of spaces is not a row, unless rows have one cell.
        if len(header) == 1 or len(row) > 1 or row[0].strip()
    ]


def csv_lines(
    path: str, lines: Iterable[str], *, delimiter: str = ",", quoted: bool = True
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, each with its first line, from 1.

    Raises
    ------
    DataError
        If a row is not well-formed.
    """
    reader = csv.reader(
        lines,
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=True,
    )
    before = 0
    try:
        for row in reader:
            if row:
                yield before + 1, row
            before = reader.line_num
    except csv.Error as error:
        raise DataError(f"{path} is not well-formed: {error}") from None


def unlike(header: Sequence[str], row: Sequence[str], line: int) -> str | None:
    """Return why a row is none below this header; None if it is one."""
    if len(row) != len(header):
        plural = "" if len(row) == 1 else "s"
        return f"line {line} has {len(row)} cell{plural}, and the header {len(header)}"
    return f"line {line} is the header once more" if list(row) == list(header) else None


def check_header(path: str, header: Sequence[str], columns: Sequence[str]) -> None:
    """Raise `DataError` if a column of a table is missing or duplicated."""
    twice = [name for name, n in Counter(header).items() if n > 1 and name.strip()]
    if twice:
        raise DataError(
            f"{path} has the column {twice[0]} {Counter(header)[twice[0]]} times; "
            "it is not known which one is meant."
        )
    if missing := [c for c in columns if c not in header]:
        raise DataError(f"{path} has no {', '.join(missing)}; it has {', '.join(header)}.")


def cells(found: FoundFile) -> list[list[str]]:
    """Read the cells of a table without a header.

    Raises
    ------
    DataError
        If the file is not such a table.
    """
    try:
        return list(csv.reader(io.StringIO(text_of(found), newline=""), strict=True))
    except csv.Error as error:
        raise DataError(f"{found.path} is not well-formed: {error}") from None


def read_json_lines(
    found: FoundFile, columns: Sequence[str], *, optional: Collection[str] = ()
) -> list[TableRow]:
    """Read one JSON object per line, each with these keys except the `optional` ones."""
    rows: list[tuple[str, Any]] = []
    for number, line in enumerate(lines_of(text_of(found)), 1):
        if line.strip():
            rows.append((f"line {number}", _json(line, f"{found.path}, line {number},")))
            if not isinstance(rows[-1][1], _Object):
                raise DataError(f"{found.path}, line {number}, is no JSON object.")
    return _objects(found.path, rows, columns, optional)


def json_content(found: FoundFile) -> Any:
    """Read a file with one JSON value."""
    return _json(text_of(found), found.path)


def read_json(
    found: FoundFile, columns: Sequence[str], *, optional: Collection[str] = ()
) -> list[TableRow]:
    """Read a file with one JSON list of objects, with keys as in `read_json_lines`."""
    content = json_content(found)
    if not isinstance(content, list) or not all(isinstance(row, _Object) for row in content):
        raise DataError(f"{found.path} is no JSON list of objects.")
    numbered = [(f"row {number}", row) for number, row in enumerate(content, 1)]
    return _objects(found.path, numbered, columns, optional)


def read_parquet(
    found: FoundFile, columns: Sequence[str], *, optional: Collection[str] = ()
) -> list[TableRow]:
    """Read the rows of a Parquet file that has these columns; `optional` has no effect."""
    import pyarrow.parquet as pq
    from pyarrow import ArrowException, BufferReader

    try:
        file = pq.ParquetFile(BufferReader(found.content))
        # Rows would keep only one of two columns with the same name.
        check_header(found.path, file.schema_arrow.names, columns)
        return [TableRow(row) for row in file.read().to_pylist()]
    except (ArrowException, OSError) as error:
        raise DataError(f"{found.path} is no Parquet file: {error}") from None


class _Object(dict[str, Any]):
    """A JSON object, with its duplicate keys."""

    twice: tuple[str, ...] = ()


def _object(pairs: Sequence[tuple[str, Any]]) -> _Object:
    found = _Object(pairs)
    if len(found) < len(pairs):
        found.twice = tuple(k for k, n in Counter(k for k, _ in pairs).items() if n > 1)
    return found


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where} is not JSON: {error}") from None


def _objects(
    path: str,
    rows: Sequence[tuple[str, _Object]],
    columns: Sequence[str],
    optional: Collection[str],
) -> list[TableRow]:
    there = dict.fromkeys(key for _, row in rows for key in row)
    if rows and (missing := [c for c in columns if c not in there]):
        raise DataError(f"{path} has no {', '.join(missing)}; it has {', '.join(there)}.")
    return [TableRow(dict(row), _wrong(at, row, columns, optional), at) for at, row in rows]


def _wrong(at: str, row: _Object, columns: Sequence[str], optional: Collection[str]) -> str | None:
    if row.twice:
        return f"{at} names {', '.join(row.twice)} more than once"
    if missing := [c for c in columns if c not in row and c not in optional]:
        return f"{at} has no {', '.join(missing)}; it has {', '.join(row)}"
    return None


def csv_rows(found: FoundFile, columns: Sequence[str], **how: Any) -> list[Row]:
    """Read the rows of a table in a known format, as `read_csv`.

    Missing cells are None, which the suite has to handle.

    Raises
    ------
    DataError
        If a row has too many cells.
    """
    return _sound(found.path, read_csv(found, columns, **how))


def json_lines(found: FoundFile, columns: Sequence[str]) -> list[Row]:
    """Read one JSON object per line, each with these keys; a malformed one is an error."""
    rows = read_json_lines(found, ())
    for row in rows:
        if missing := [c for c in columns if c not in row.cells]:
            there = ", ".join(row.cells)
            raise DataError(f"{found.path}, {row.at}, has no {', '.join(missing)}; it has {there}.")
    return _sound(found.path, rows)


def json_rows(found: FoundFile, columns: Sequence[str]) -> list[Row]:
    """Read a JSON list of objects, each with these keys; a malformed one is an error."""
    return _sound(found.path, read_json(found, columns))


def parquet_rows(found: FoundFile, columns: Sequence[str]) -> list[Row]:
    """Read the rows of a Parquet file that has these columns."""
    return _sound(found.path, read_parquet(found, columns))


def _sound(path: str, rows: Iterable[TableRow]) -> list[Row]:
    found = list(rows)
    if problem := next((row.problem for row in found if row.problem and not row.short), None):
        raise DataError(f"{path}, {problem}.")
    return [row.cells for row in found]
