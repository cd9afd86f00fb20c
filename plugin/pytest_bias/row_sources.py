"""Tables of a user's own: a file, a file of a dataset on the Hub, or rows that are written down."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import Any, Final

from pytest_bias.datasources import DataFile, DataFolder, FoundFile, content_of
from pytest_bias.errors import DataError, DataMissing
from pytest_bias.hub_files import HubFile
from pytest_bias.records import canonical_json, sha256
from pytest_bias.tables import Row, csv_rows, json_lines, json_rows, parquet_rows, text_of

UNITS: Final[Mapping[str, Callable[[str], list[str]]]] = {
    "line": str.splitlines,
    "paragraph": lambda text: text.replace("\r\n", "\n").split("\n\n"),
    "file": lambda text: [text],
}
"""What one text of a plain text file is."""

SHAPES: Final = ("csv", "tsv", "jsonl", "json", "parquet", "text")
"""What a file may be; by default its ending says it, and every other ending is plain text."""

TEXT: Final = "text"
"""The one column of a plain text file."""


@dataclass(frozen=True, slots=True)
class RowSource:
    """Where rows come from: `path`, `hub` or `rows`.

    Parameters
    ----------
    name : str
        The user's name for it, for messages.
    path : Path or None
        A file of the user's, or its gzip copy; a relative one is looked for in `base`, then below
        ``--data-dir``.
    base : Path
        Folder of the file that names it.
    hub : HubFile or None
        A file of a dataset on the Hub.
    rows : tuple of mapping
        The rows themselves, column to text.
    shape : str
        One of `SHAPES`; empty to go by the file's ending.
    delimiter : str
        What stands between the cells of a line; empty for that of the shape.
    encoding : str
        Python's name of the encoding of a file of text.
    quoted : bool
        Whether cells may stand in quotation marks, which else are letters like others.
    each : str
        What one text of a plain text file is: key of `UNITS`.
    """

    name: str
    path: Path | None = None
    base: Path = Path()
    hub: HubFile | None = None
    rows: tuple[Mapping[str, str], ...] = ()
    shape: str = ""
    delimiter: str = ""
    encoding: str = "utf-8-sig"
    quoted: bool = True
    each: str = "line"

    @property
    def file(self) -> DataFile | None:
        """The file of the Hub, as suites name files; null where there is none."""
        if self.hub is None:
            return None
        return DataFile(f"{self.hub.repository}/{self.hub.path}", None, None, self.hub)


def read_rows(
    source: RowSource, columns: Sequence[str], data: DataFolder
) -> tuple[FoundFile, list[tuple[int, Row]]]:
    """Read the rows of a source, each with its number in the file, from 0.

    Blank lines of a plain text file are no rows.

    Raises
    ------
    DataMissing
        If a file is not there.
    DataError
        If it cannot be read, is not of its shape, or lacks a column; then those that it has are
        named.
    """
    found = found_file(source, data)
    if source.rows:
        return found, list(enumerate(map(dict, source.rows)))
    shape = source.shape or PurePath(found.path).suffix[1:].lower()
    read = _readers(source).get(shape)
    if read is not None:
        return found, list(enumerate(read(found, columns)))
    if missing := [c for c in columns if c != TEXT]:
        raise DataError(
            f"{found.path} is plain text, which has no {', '.join(missing)}; it has {TEXT}."
        )
    texts = UNITS[source.each](text_of(found, partial(_decoded, source.encoding)))
    return found, [(n, {TEXT: text.strip()}) for n, text in enumerate(texts) if text.strip()]


def _readers(source: RowSource) -> dict[str, Callable[[FoundFile, Sequence[str]], list[Row]]]:
    decode = partial(_decoded, source.encoding)
    table = partial(csv_rows, quoted=source.quoted, decode=decode)
    return {
        "csv": partial(table, delimiter=source.delimiter or ","),
        "tsv": partial(table, delimiter=source.delimiter or "\t"),
        "jsonl": json_lines,
        "json": json_rows,
        "parquet": parquet_rows,
    }


def _decoded(encoding: str, content: bytes) -> str:
    return content.decode(encoding)


def found_file(source: RowSource, data: DataFolder) -> FoundFile:
    """Return the file of a source, or its rows as one.

    Raises
    ------
    DataMissing
        If it is not there.
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
    """Return a cell as a text without the spaces around it, null where there is none."""
    return None if value is None else str(value).strip()
