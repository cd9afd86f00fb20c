"""Texts of the user's own: what settings name for a suite, read and described.

In the settings file, suite to sources, each with a name of the user's::

    texts:
      perturbation:
        tickets: {path: data/tickets.csv, text: body, label: queue}
      domain_shift:
        wiki: {path: wiki.txt, in_domain: true}
        forum: {dataset: org/name, revision: <commit>, file: test.parquet, text: post}
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from pytest_bias.data.hub_files import HubFile
from pytest_bias.data.sources import DataFolder, FoundFile
from pytest_bias.data.user_tables import TEXT, UNITS, RowSource, cell, found_file, read_rows
from pytest_bias.errors import DataError, UnknownName, UsageError
from pytest_bias.records.report import DataInfo, sha256

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
    rows : RowSource
        A file: plain text, or a table by its ending.
    text, label : str
        Columns of a table with the text and, where there is one, with the label that it has.
    in_domain : bool
        Whether the texts are of the domain that the model was made for.
    protect : tuple of str
        Words that no perturbation may change.
    """

    name: str
    rows: RowSource
    text: str = TEXT
    label: str | None = None
    in_domain: bool = False
    protect: tuple[str, ...] = ()


class OwnText(NamedTuple):
    """One text of a source; `row` is its number in the file, from 0."""

    text: str
    label: str | None
    row: int


class OwnFile(NamedTuple):
    """The file of one source, for suites that read another shape than texts."""

    source: TextSource
    file: FoundFile


class OwnTexts(NamedTuple):
    """The texts of one source, with the file that they are from.

    `problems` says by number what is wrong with rows that cannot be read; their text is empty.
    """

    source: TextSource
    rows: tuple[OwnText, ...]
    file: FoundFile
    problems: Mapping[int, str] = MappingProxyType({})

    def why_empty(self, row: OwnText) -> str:
        """Return why a row has no text."""
        return self.problems.get(row.row, "empty text")


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
    return {**source, "path": str((folder / Path(source["path"]).expanduser()).absolute())}


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
            RowSource(
                f"texts of {name}",
                Path(source["path"]) if "path" in source else None,
                hub=_hub_file(source, name) if "dataset" in source else None,
                each=source.get("each", "line"),
            ),
            source.get("text", TEXT),
            source.get("label"),
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
    return tuple(_loaded(source, data) for source in _named(data))


def own_files(data: DataFolder) -> tuple[OwnFile, ...]:
    """Return the files that settings name for `data.suite`; raises as `load_texts`."""
    return tuple(OwnFile(source, found_file(source.rows, data)) for source in _named(data))


def _named(data: DataFolder) -> tuple[TextSource, ...]:
    sources = sources_of(data)
    if not sources:
        raise none_named(data.suite)
    return sources


def none_named(suite: str) -> UsageError:
    """Return the error of a suite for which no texts are named."""
    return UsageError(
        f"{suite} reads texts of your own here, and the settings name none.",
        f"In pytest-bias.yaml: texts: {{{suite}: {{mine: {_EXAMPLE}}}}}",
    )


def _loaded(source: TextSource, data: DataFolder) -> OwnTexts:
    columns = [source.text, *([source.label] if source.label else [])]
    found, rows = read_rows(source.rows, columns, data, columns[1:])
    texts = tuple(
        OwnText("", None, number)
        if problem
        else OwnText(
            cell(row[source.text]) or "",
            cell(row.get(source.label)) if source.label else None,
            number,
        )
        for number, row, problem in rows
    )
    if not any(text.text for text in texts):
        raise DataError(f"{found.path}, texts of {source.name}, holds no text.")
    problems = {row.number: row.problem for row in rows if row.problem}
    return OwnTexts(source, texts, found, problems)


def describe_texts(found: Sequence[OwnTexts | OwnFile], n_items: int) -> DataInfo:
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
