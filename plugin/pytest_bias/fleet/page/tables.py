"""The rows of a fleet as tables: one line a model and suite entry, every number in full.

A model without suites, as one that failed, has one line. What is missing is empty in the CSV file
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
from pytest_bias.fleet.rows import FleetRow, named
from pytest_bias.records.path_redaction import without_own_paths
from pytest_bias.records.report import SuiteResult
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
    """One column: its name, where a line has it from, and its type.

    `path` begins in `_sources` and goes on with attributes, or a position in a tuple; where one of
    them is None, so is the value.
    """

    name: str
    path: str
    type: Type = "text"


def render(rows: Sequence[FleetRow], about: About) -> dict[str, bytes]:
    """Return the page and the tables, name of the file to its bytes.

    Parameters
    ----------
    rows : sequence of FleetRow
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


def lines(rows: Sequence[FleetRow]) -> Iterator[Line]:
    """Yield the lines of both tables, of values as `FIELDS` types them."""
    # The same few words stand in most lines.
    casts: dict[Type, Callable[[Any], Value]] = {**CASTS, "text": cache(_text)}
    columns = [(casts[f.type], f.path.split(".")) for f in FIELDS]
    for row in rows:
        suites: Sequence[SuiteResult | None] = row.suites or (None,)
        for suite in suites:
            sources = _sources(row, suite)
            yield tuple(cast(_value(sources, path)) for cast, path in columns)


def _sources(row: FleetRow, suite: SuiteResult | None) -> Mapping[str, Any]:
    """Return what the values of a line come from; None where the model or suite has no such."""
    model = row.report and row.report.model
    adapter = model and model.adapter
    score = suite and suite.headline
    return {
        "asked": _asked(row.asked),
        "row": row,
        "model": model,
        "adapter": adapter and named(adapter.reference, adapter.revision),
        "suite": suite,
        "hidden": suite and suite.is_hidden,
        "score": score,
        "note": score.note if score and score.value is None else None,
        "change": suite and row.change(suite.entry),
        "compared": suite and row.changes[suite.entry],
    }


def _value(sources: Mapping[str, Any], path: Sequence[str]) -> Any:
    found = sources[path[0]]
    for name in path[1:]:
        if found is None:
            return None
        found = found[int(name)] if name.isdigit() else getattr(found, name)
    return found


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


def _fields(what: str, *names: str, as_type: Type = "text") -> Iterator[Field]:
    return (Field(name, f"{what}.{name}", as_type) for name in names)


FIELDS: Final[Sequence[Field]] = (
    Field("asked", "asked"),
    Field("model_status", "row.status"),
    Field("model_reason", "row.reason"),
    Field("reference", "row.reference"),
    Field("revision", "model.revision"),
    Field("model_kind", "model.kind"),
    Field("architecture", "model.architecture"),
    Field("parameters", "model.parameters", "count"),
    Field("weights", "model.weights_sha256"),
    Field("dtype", "model.dtype"),
    Field("digest", "row.report.digest"),
    Field("base_model", "model.base_model"),
    Field("adapter", "adapter"),
    Field("compared_with", "row.base"),
    Field("report", "row.folder"),
    Field("decision", "row.decision"),
    Field("entry", "suite.entry"),
    Field("suite", "suite.name"),
    *_fields("suite", "config", "version", "title", "language", "kind", "validity", "status"),
    *_fields("suite", "reason", "measure"),
    *_fields("suite", "adapted", "draft", as_type="flag"),
    Field("hidden", "hidden", "flag"),
    Field("control_of", "suite.control_of"),
    Field("metric", "score.metric"),
    Field("value", "score.value", "number"),
    Field("low", "score.interval.0", "number"),
    Field("high", "score.interval.1", "number"),
    Field("interval_reason", "score.interval_reason"),
    *_fields("score", "level", "ideal", as_type="number"),
    Field("bound_low", "score.bounds.0", "number"),
    Field("bound_high", "score.bounds.1", "number"),
    Field("unit", "score.unit"),
    Field("floor", "score.floor", "number"),
    Field("floor_of", "score.floor_of"),
    *_fields("score", "n", "n_unscored", as_type="count"),
    *_fields("suite", "sampled", "n_available", as_type="count"),
    Field("note", "note"),
    Field("change", "change.value", "number"),
    Field("change_low", "change.interval.0", "number"),
    Field("change_high", "change.interval.1", "number"),
    Field("change_reason", "change.interval_reason"),
    Field("change_note", "compared.note"),
)
"""The columns of both tables, in order."""
