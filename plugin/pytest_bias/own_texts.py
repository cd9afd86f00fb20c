"""Texts of the user's own: what settings name for a suite, read and described.

In the settings file, suite to sources, each with a name of the user's::

    texts:
      perturbation:
        tickets: {path: data/tickets.csv, text: body, label: queue}
      domain_shift:
        wiki: {path: wiki.txt, in_domain: true}
        forum: {dataset: org/name, revision: <commit>, file: test.parquet, text: post}
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final, NamedTuple

from pytest_bias.datasources import DataFile, DataFolder, FoundFile
from pytest_bias.errors import DataError, DataMissing, UnknownName, UsageError
from pytest_bias.hub_files import HubFile
from pytest_bias.records import DataInfo, sha256
from pytest_bias.tables import Row, csv_rows, json_lines, parquet_rows, text_of

UNITS: Final[Mapping[str, Callable[[str], list[str]]]] = {
    "line": str.splitlines,
    "paragraph": lambda text: text.replace("\r\n", "\n").split("\n\n"),
    "file": lambda text: [text],
}
"""What one text of a plain text file is."""

TABLES: Final[Mapping[str, Callable[[FoundFile, Sequence[str]], list[Row]]]] = {
    ".csv": csv_rows,
    ".tsv": lambda found, columns: csv_rows(found, columns, delimiter="\t"),
    ".jsonl": json_lines,
    ".parquet": parquet_rows,
}
"""Ending of a file to what reads its rows."""

_KEYS: Final[Mapping[str, type]] = {
    "path": str,
    "dataset": str,
    "revision": str,
    "file": str,
    "text": str,
    "label": str,
    "each": str,
    "in_domain": bool,
    "protect": list,
}
_HUB_KEYS: Final = ("dataset", "revision", "file")
_EXAMPLE: Final = "{path: texts.txt}"


@dataclass(frozen=True, slots=True)
class TextSource:
    """One source of texts, as the settings name it.

    Parameters
    ----------
    name : str
        The user's name for it.
    path : Path or None
        A file: plain text, or a table by its ending (`TABLES`).
    hub : HubFile or None
        A file of a dataset on the Hub, in place of `path`.
    text, label : str
        Columns of a table with the text and, where there is one, with the label that it has.
    each : str
        What one text of a plain text file is: key of `UNITS`.
    in_domain : bool
        Whether the texts are of the domain that the model was made for.
    protect : tuple of str
        Words that no perturbation may change.
    """

    name: str
    path: Path | None = None
    hub: HubFile | None = None
    text: str = "text"
    label: str | None = None
    each: str = "line"
    in_domain: bool = False
    protect: tuple[str, ...] = ()


class OwnText(NamedTuple):
    """One text of a source; `row` is its number in the file, from 0."""

    text: str
    label: str | None
    row: int


class OwnTexts(NamedTuple):
    """The texts of one source, with the file that they are from."""

    source: TextSource
    rows: tuple[OwnText, ...]
    file: FoundFile


def checked_texts(given: Mapping[str, Any], where: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Check what a settings file says of texts; a path alone stands for a table with it.

    Parameters
    ----------
    given : mapping
        Suite to name to source. Paths begin at the settings file.
    where : str
        The settings file, as messages name it.

    Raises
    ------
    UsageError
        If it is not of this form, or a source says neither or both of file and dataset.
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for suite, sources in given.items():
        if not isinstance(sources, Mapping) or not sources:
            raise UsageError(
                f"{where}: texts.{suite} must be a table of sources, each with a name.",
                f"For instance texts: {{{suite}: {{mine: {_EXAMPLE}}}}}",
            )
        found[str(suite)] = {
            str(name): _checked(source, f"{where}: texts.{suite}.{name}", Path(where).parent)
            for name, source in sources.items()
        }
    return found


def _checked(given: Any, where: str, folder: Path) -> dict[str, Any]:
    source = {"path": given} if isinstance(given, str) else given
    if not isinstance(source, Mapping):
        raise UsageError(f"{where} is {given!r}; it must be a path or a table.", _EXAMPLE)
    for key, value in source.items():
        if key not in _KEYS:
            raise UnknownName.among(where, str(key), _KEYS)
        if not isinstance(value, _KEYS[key]):
            kind = {str: "a text", bool: "true or false", list: "a list of texts"}[_KEYS[key]]
            raise UsageError(f"{where}.{key} is {value!r}; it must be {kind}.")
    if not all(isinstance(word, str) for word in source.get("protect", ())):
        raise UsageError(f"{where}.protect must be a list of texts.")
    if source.get("each", "line") not in UNITS:
        raise UnknownName.among(f"{where}.each", source["each"], UNITS)
    hub = [key for key in _HUB_KEYS if key in source]
    if ("path" in source) == bool(hub):
        raise UsageError(
            f"{where} must name a file by its path, or a dataset of the Hub, not both.",
            f"{_EXAMPLE}, or {{dataset: org/name, revision: <commit>, file: test.parquet}}",
        )
    if hub and len(hub) < len(_HUB_KEYS):
        missing = ", ".join(key for key in _HUB_KEYS if key not in source)
        raise UsageError(
            f"{where} is of a dataset of the Hub and lacks {missing}.",
            "revision is the whole hash of a commit, so that the same texts are read next time.",
        )
    if hub:
        _hub_file(source, where)
        return dict(source)
    return {**source, "path": str(folder / Path(source["path"]).expanduser())}


def _hub_file(source: Mapping[str, Any], where: str) -> HubFile:
    try:
        return HubFile(*(source[key] for key in _HUB_KEYS))
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from None


def sources_of(data: DataFolder) -> tuple[TextSource, ...]:
    """Return what settings name for `data.suite`, in their order."""
    return tuple(
        TextSource(
            name,
            Path(source["path"]) if "path" in source else None,
            _hub_file(source, name) if "dataset" in source else None,
            source.get("text", "text"),
            source.get("label"),
            source.get("each", "line"),
            source.get("in_domain", False),
            tuple(source.get("protect", ())),
        )
        for name, source in data.texts.get(data.suite, {}).items()
    )


def load_texts(data: DataFolder) -> tuple[OwnTexts, ...]:
    """Read the texts that settings name for `data.suite`.

    Blank lines of a plain text file are no texts; an empty cell of a table is one, which is empty.

    Raises
    ------
    UsageError
        If none are named.
    DataMissing
        If a file is not there.
    DataError
        If a file cannot be read, lacks a column, or holds no text.
    """
    sources = sources_of(data)
    if not sources:
        raise none_named(data.suite)
    return tuple(_loaded(source, data) for source in sources)


def none_named(suite: str) -> UsageError:
    """Return the error of a suite for which no texts are named."""
    return UsageError(
        f"{suite} reads texts of your own here, and the settings name none.",
        f"In pytest-bias.yaml: texts: {{{suite}: {{mine: {_EXAMPLE}}}}}",
    )


def _loaded(source: TextSource, data: DataFolder) -> OwnTexts:
    found = _found(source, data)
    rows = tuple(_rows(source, found))
    if not any(row.text for row in rows):
        raise DataError(f"{found.path}, texts of {source.name}, holds no text.")
    return OwnTexts(source, rows, found)


def _found(source: TextSource, data: DataFolder) -> FoundFile:
    if source.hub:
        path = f"{source.hub.repository}/{source.hub.path}"
        return data.find(DataFile(path, None, None, source.hub))
    assert source.path is not None
    try:
        content = source.path.read_bytes()
    except FileNotFoundError:
        raise DataMissing(f"{source.path}, texts of {source.name}, does not exist.") from None
    except OSError as error:
        raise DataError(f"{source.path} cannot be read: {error.strerror or error}.") from None
    return FoundFile(str(source.path), content, sha256(content), local=True)


def _rows(source: TextSource, found: FoundFile) -> list[OwnText]:
    read = TABLES.get(PurePath(found.path).suffix.lower())
    if read is None:
        texts = UNITS[source.each](text_of(found))
        return [OwnText(text.strip(), None, n) for n, text in enumerate(texts) if text.strip()]
    columns = [source.text, *([source.label] if source.label else [])]
    return [
        OwnText(
            _cell(row[source.text]) or "",
            _cell(row[source.label]) if source.label else None,
            n,
        )
        for n, row in enumerate(read(found, columns))
    ]


def _cell(value: Any) -> str | None:
    return None if value is None else str(value).strip()


def describe_texts(found: Sequence[OwnTexts], n_items: int) -> DataInfo:
    """Describe texts of the user's own for the report: names and digests, never paths."""
    files = [f.file for f in found]
    digests = "".join(f"{f.source.name}  {f.file.sha256}\n" for f in found)
    return DataInfo(
        source="texts of the user's own: " + ", ".join(f.source.name for f in found),
        licence="not stated",
        revision=None,
        sha256=files[0].sha256 if len(files) == 1 else sha256(digests),
        n_items=n_items,
        local=True,
    )
