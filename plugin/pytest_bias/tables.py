"""Data files to rows: CSV, TSV, JSON and Parquet, with an answer for a file that is none."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_bias.datasources import FoundFile
from pytest_bias.errors import DataError

Row = dict[str, Any]


def utf8(content: bytes) -> str:
    """Decode UTF-8, with or without a byte order mark."""
    return content.decode("utf-8-sig")


def text_of(found: FoundFile, decode: Callable[[bytes], str] = utf8) -> str:
    """Return the text of a file.

    Raises
    ------
    DataError
        If the bytes are not of the encoding.
    """
    try:
        return decode(found.content)
    except UnicodeDecodeError as error:
        encoding = "UTF-8" if error.encoding == "utf-8" else error.encoding
        raise DataError(f"{found.path} is not {encoding}: {error}") from None


def csv_rows(
    found: FoundFile,
    columns: Sequence[str],
    *,
    delimiter: str = ",",
    quoted: bool = True,
    decode: Callable[[bytes], str] = utf8,
) -> list[Row]:
    """Read the rows of a table that has these columns, and may have others.

    Where cells are not `quoted`, quotation marks are letters like others.

    Raises
    ------
    DataError
        If the file is no such table, or a column is missing.
    """
    text = text_of(found, decode)
    try:
        rows: list[Row] = list(
            csv.DictReader(
                io.StringIO(text, newline=""),
                delimiter=delimiter,
                quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
                strict=True,
            )
        )
    except csv.Error as error:
        raise DataError(f"{found.path} is not well-formed: {error}") from None
    return _with_columns(found.path, rows, columns)


def cells(found: FoundFile) -> list[list[str]]:
    """Read the cells of a table in which no row names the columns.

    Raises
    ------
    DataError
        If the file is no such table.
    """
    try:
        return list(csv.reader(io.StringIO(text_of(found), newline=""), strict=True))
    except csv.Error as error:
        raise DataError(f"{found.path} is not well-formed: {error}") from None


def json_lines(found: FoundFile, columns: Sequence[str]) -> list[Row]:
    """Read one JSON object a line, each with these keys."""
    rows: list[Row] = []
    for number, line in enumerate(text_of(found).splitlines(), 1):
        if not line.strip():
            continue
        row = _json(line, f"{found.path}, line {number},")
        if not isinstance(row, dict):
            raise DataError(f"{found.path}, line {number}, is no JSON object.")
        rows.append(_with_columns(f"{found.path}, line {number},", [row], columns)[0])
    return rows


def json_content(found: FoundFile) -> Any:
    """Read a file that is one JSON value."""
    return _json(text_of(found), found.path)


def json_rows(found: FoundFile, columns: Sequence[str]) -> list[Row]:
    """Read a file that is one JSON list of objects, each with these keys."""
    content = json_content(found)
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise DataError(f"{found.path} is no JSON list of objects.")
    return _with_columns(found.path, content, columns)


def parquet_rows(found: FoundFile, columns: Sequence[str]) -> list[Row]:
    """Read the rows of a Parquet file that has these columns."""
    import pyarrow.parquet as pq
    from pyarrow import ArrowException, BufferReader

    try:
        rows: list[Row] = pq.read_table(BufferReader(found.content)).to_pylist()
    except (ArrowException, OSError) as error:
        raise DataError(f"{found.path} is no Parquet file: {error}") from None
    return _with_columns(found.path, rows, columns)


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where} is not JSON: {error}") from None


def _with_columns(
    where: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]
) -> list[Row]:
    for row in rows[:1]:
        if missing := [c for c in columns if c not in row]:
            there = ", ".join(map(str, row))
            raise DataError(f"{where} has no {', '.join(missing)}; it has {there}.")
    return [dict(row) for row in rows]
