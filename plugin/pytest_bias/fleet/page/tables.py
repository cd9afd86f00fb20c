"""The rows of a fleet as tables: one line a model and suite entry, every number in full.

A model without a cell, as one that failed, has one line. What is missing is empty in the CSV file
and null in the Parquet file. All texts are untrusted.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, TypeAlias

from pytest_bias.fleet.page import page
from pytest_bias.fleet.page.page import About
from pytest_bias.fleet.rows import Cell, Row
from pytest_bias.records.path_redaction import without_own_paths
from pytest_bias.untrusted import clean

PAGE: Final = "index.html"
CSV: Final = "table.csv"
PARQUET: Final = "table.parquet"

TEXT: Final = 2_000
"""Characters of a text."""
FORMULA: Final = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What begins a formula in a spreadsheet, full width too; a tab or line end is gone by then."""
MOST: Final = 2**63
"""No integer of a table is larger: one that a report states all the same is left out."""

Type: TypeAlias = Literal["text", "number", "count", "flag"]
Value: TypeAlias = str | float | int | bool | None
Line: TypeAlias = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """One column: its name, its type, and where a line has it from."""

    name: str
    type: Type
    of: Callable[[Row, Cell | None], Value]


def render(rows: Sequence[Row], about: About) -> dict[str, bytes]:
    """Return the page and the tables, name of the file to its bytes.

    Parameters
    ----------
    rows : sequence of Row
        In the order of the user's list.
    about : About
        What stands above the page.
    """
    table = list(lines(rows))
    return {
        PAGE: page.render(rows, about).encode(),
        CSV: csv_table(table).encode(),
        PARQUET: parquet_table(table),
    }


def csv_table(table: Iterable[Line]) -> str:
    """Return table.csv, RFC 4180, from `lines`.

    A text that a spreadsheet would take for a formula has an apostrophe in front.
    """
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow([f.name for f in FIELDS])
    for line in table:
        writer.writerow([_in_csv(value) for value in line])
    return file.getvalue()


def parquet_table(table: Iterable[Line]) -> bytes:
    """Return table.parquet, with typed columns, from `lines`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {"text": pa.string(), "number": pa.float64(), "count": pa.int64(), "flag": pa.bool_()}
    schema = pa.schema([(f.name, types[f.type]) for f in FIELDS])
    columns = list(zip(*table, strict=True)) or [()] * len(FIELDS)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), sink)
    return bytes(sink.getvalue())


def lines(rows: Sequence[Row]) -> Iterator[Line]:
    """Yield the lines of both tables, of values as `FIELDS` types them."""
    # The same few words stand in most cells.
    casts: dict[Type, Callable[[Any], Value]] = {**CASTS, "text": cache(_text)}
    for row in rows:
        cells: Sequence[Cell | None] = row.cells or (None,)
        for cell in cells:
            yield tuple(casts[f.type](f.of(row, cell)) for f in FIELDS)


def _in_csv(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA) else value
    return repr(value)


@cache
def _asked(asked: str) -> str:
    return without_own_paths(asked)


def _text(value: Any) -> str | None:
    return None if value is None else clean(value, TEXT)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _count(value: Any) -> int | None:
    return value if value is not None and abs(value) < MOST else None


def _flag(value: Any) -> bool | None:
    return None if value is None else bool(value)


CASTS: Final[Mapping[Type, Callable[[Any], Value]]] = {
    "text": _text,
    "number": _number,
    "count": _count,
    "flag": _flag,
}


def _of_row(name: str, attribute: str | None = None, as_type: Type = "text") -> Field:
    return Field(name, as_type, lambda row, _: getattr(row, attribute or name))


def _of_cell(name: str, as_type: Type = "text") -> Field:
    return Field(name, as_type, lambda _, cell: None if cell is None else getattr(cell, name))


def _bound(side: int) -> Callable[[Row, Cell | None], Value]:
    return lambda _, cell: cell.bounds[side] if cell and cell.bounds else None


FIELDS: Final[Sequence[Field]] = (
    Field("asked", "text", lambda row, _: _asked(row.asked)),
    _of_row("model_status", "status"),
    _of_row("model_reason", "reason"),
    *(_of_row(name) for name in ("reference", "revision")),
    _of_row("model_kind", "kind"),
    _of_row("architecture"),
    _of_row("parameters", as_type="count"),
    *(_of_row(name) for name in ("weights", "dtype", "digest", "base_model", "adapter")),
    *(_of_row(name) for name in ("compared_with", "report", "decision")),
    *(_of_cell(name) for name in ("entry", "suite", "config", "version", "title", "language")),
    *(_of_cell(name) for name in ("kind", "validity", "status", "reason", "measure")),
    *(_of_cell(name, "flag") for name in ("adapted", "draft", "hidden")),
    *(_of_cell(name) for name in ("control_of", "metric")),
    *(_of_cell(name, "number") for name in ("value", "low", "high")),
    _of_cell("interval_reason"),
    *(_of_cell(name, "number") for name in ("level", "ideal")),
    Field("bound_low", "number", _bound(0)),
    Field("bound_high", "number", _bound(1)),
    _of_cell("unit"),
    _of_cell("floor", "number"),
    _of_cell("floor_of"),
    *(_of_cell(name, "count") for name in ("n", "n_unscored", "sampled", "n_available")),
    _of_cell("note"),
    *(_of_cell(name, "number") for name in ("change", "change_low", "change_high")),
    *(_of_cell(name) for name in ("change_reason", "change_note")),
)
"""The columns of both tables, in order."""
