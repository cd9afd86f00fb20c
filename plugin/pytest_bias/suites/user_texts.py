"""The user's own texts: sources that settings name for a suite, read and described.

In the settings file, suite to sources, each with a name that the user chooses::

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
from pytest_bias.data.user_tables import TEXT, RowSource, cell, found_file, read_rows
from pytest_bias.errors import DataError, UsageError
from pytest_bias.forms.keys import Key, flag, keyed, table, text, texts
from pytest_bias.forms.yaml_with_lines import Marked, Place, Plain
from pytest_bias.records.report import DataInfo, sha256
from pytest_bias.suites.files.schema import DATA, HUB, dataset_file

_KEYS: Final = {
    "path": Key(text, "a file; a relative path begins at the settings file"),
    **{key: DATA[key] for key in (*HUB, "each")},
    "text": Key(text, "column of a table with the text"),
    "label": Key(text, "column of a table with the true label"),
    "in_domain": Key(flag, "whether the model was made for such texts"),
    "protect": Key(texts, "words that no perturbation may change"),
}
_EXAMPLE: Final = "{path: texts.txt}"


@dataclass(frozen=True, slots=True)
class TextSource:
    """One source of texts, as the settings give it.

    Parameters
    ----------
    name : str
        The user's name for it.
    rows : RowSource
        A file: plain text, or a table, by its file name extension.
    text, label : str
        Columns of a table with the text and, optionally, its true label.
    in_domain : bool
        Whether the texts are from the domain that the model was made for.
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
    """The file of one source, for suites that read other formats than texts."""

    source: TextSource
    file: FoundFile


class OwnTexts(NamedTuple):
    """The texts of one source, with their file.

    `problems` has the reason, by row number, for rows that cannot be read; their text is empty.
    """

    source: TextSource
    rows: tuple[OwnText, ...]
    file: FoundFile
    problems: Mapping[int, str] = MappingProxyType({})

    def why_empty(self, row: OwnText) -> str:
        """Return why a row has no text."""
        return self.problems.get(row.row, "empty text")


def _source(marked: Marked, place: Place, given: Plain) -> dict[str, Any]:
    """Read a source; a path alone is short for a table with ``path``."""
    given = {"path": given} if isinstance(given, str) else given
    said: dict[str, Any] = keyed(_KEYS)(marked, place, given)
    if dataset_file(marked, place, said, ("path", "dataset")):
        return said
    folder = Path(marked.name).parent
    return {**said, "path": str((folder / Path(said["path"]).expanduser()).absolute())}


TEXTS: Final = table(
    table(_source, hint=f"For instance texts: {{perturbation: {{mine: {_EXAMPLE}}}}}"), least=0
)
"""Reads a table of suite to name to source."""


def sources_of(data: DataFolder) -> tuple[TextSource, ...]:
    """Return the sources that settings name for `data.suite`, in their order."""
    return tuple(
        TextSource(
            name,
            RowSource(
                f"texts of {name}",
                Path(source["path"]) if "path" in source else None,
                hub=HubFile(*(source[key] for key in HUB)) if "dataset" in source else None,
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

    Blank lines of a plain text file are skipped; an empty cell of a table is an empty text.

    Raises
    ------
    UsageError
        If none are named.
    DataMissing
        If a file is missing.
    DataError
        If a file cannot be read, lacks a column, or contains no text.
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
    """Describe the user's own texts for the report: names and digests, never paths."""
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
