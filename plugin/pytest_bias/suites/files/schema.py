"""Keys and values of a ``*.bias.yaml``, checked, with the line of each for messages."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from pytest_bias.data.hub_files import HubFile
from pytest_bias.data.hub_splits import HubSplit
from pytest_bias.data.user_tables import SHAPES, UNITS, RowSource
from pytest_bias.forms.keys import (
    Key,
    Read,
    anything,
    count,
    flag,
    keyed,
    lacking,
    one_of,
    several,
    shown,
    table,
    text,
    word,
    words,
)
from pytest_bias.forms.yaml_with_lines import Marked, Place, Plain

LANGUAGE: Final = re.compile(r"[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")
NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")


def _matching(pattern: re.Pattern[str], example: str) -> Read:
    def read(marked: Marked, place: Place, given: Plain) -> str:
        if not isinstance(given, str) or not pattern.fullmatch(given):
            raise marked.error(place, f"{shown(given)} is not valid; for instance {example}.")
        return given

    return read


def _encoding(marked: Marked, place: Place, given: Plain) -> str:
    name = word(marked, place, given)
    try:
        "".encode(name)
        b"".decode(name)
    except (LookupError, ValueError, TypeError):
        raise marked.error(place, f"{name!r} is not a text encoding; utf-8 is one.") from None
    return name


WHOLE: Final[Mapping[str, Key]] = {
    "suite": Key(_matching(NAME, "my_suite"), "name of the suite, such as my_suite", needed=True),
    "kind": Key(word, "what is measured; the kinds are listed by pytest-bias suites", needed=True),
    "language": Key(_matching(LANGUAGE, "en"), "language of the texts, such as en", needed=True),
    "title": Key(word, "display name of the suite"),
    "version": Key(word, "raised whenever scores can change; 1 by default"),
    "scope": Key(anything, "the scope card", needed=True),
    "data": Key(anything, "where the rows are"),
    "visibility": Key(one_of("open", "hidden"), "hidden where the items are secret"),
    "salt": Key(word, "file with the salt of hidden items; by default salt.txt beside them"),
    "least": Key(count, "fewest hidden items of a group for its score to be reported"),
    "note": Key(word, "how these texts differ from others, in a few words"),
}
"""Keys of every suite file; each kind adds its own."""

_FOLDER: Final = re.compile(r"[^<>:/\\|?*.][^<>:/\\|?*]*")
_REPOSITORY: Final = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")

DATA: Final[Mapping[str, Key]] = {
    "path": Key(word, "a file; a relative path starts at the folder of this file"),
    "dataset": Key(word, "org/name of a dataset on the Hub, with revision and split or file"),
    "revision": Key(word, "the full hash of a commit of the dataset"),
    "split": Key(word, "a split of the dataset, such as test, or some of its rows: test[:200]"),
    "name": Key(
        _matching(_FOLDER, "en"),
        "configuration of the split; by default that of the dataset",
    ),
    "file": Key(word, "in place of a split, a file of the dataset, such as data/test.parquet"),
    "rows": Key(
        several(table(text), "rows"), "the rows themselves, each a table of column to text"
    ),
    "shape": Key(one_of(*SHAPES), "format of the file, if its extension does not show it"),
    "delimiter": Key(text, "separator of cells"),
    "encoding": Key(_encoding, "encoding of the file; utf-8 by default"),
    "quoted": Key(flag, "false where quotation marks are ordinary characters"),
    "each": Key(one_of(*UNITS), "unit of one text in a plain text file"),
    "columns": Key(table(word), "role that the kind needs, to the column that has it"),
    "by": Key(table(word), "groups that scores are reported for, each with its column"),
    "id": Key(word, "column that names a row; by default rows are numbered"),
    "cluster": Key(word, "column that identifies the cluster of a row, such as its template"),
    "clusters": Key(word, "name of the clusters, in the plural, such as templates"),
    "keep": Key(table(words), "column to the values of the rows that are kept"),
}
_PLACES: Final = ("path", "dataset", "rows")
HUB: Final = ("dataset", "revision", "file")


def dataset_file(
    marked: Marked, place: Place, said: Mapping[str, Any], places: Sequence[str]
) -> HubFile | None:
    """Return the file of a dataset on the Hub, None where another of the places is named.

    Raises
    ------
    UsageError
        If not exactly one place is named, or a dataset without commit or file.
    """
    if len(found := [key for key in places if key in said]) != 1:
        has = f"has {' and '.join(found)}" if found else "has none"
        raise marked.error(place, f"needs one of {', '.join(places)}; it {has}.")
    missing = [key for key in HUB if key not in said]
    if len(missing) == len(HUB):
        return None
    if missing:
        raise lacking(marked, place, missing, DATA)
    try:
        return HubFile(*(said[key] for key in HUB))
    except ValueError as error:
        raise marked.error((*place, "revision"), str(error)) from None


_OF_FILES: Final = ("shape", "delimiter", "encoding", "quoted", "each")
_SPLIT: Final = re.compile(r"(\w[\w.-]*)(?:\[(-?[0-9]+)?:(-?[0-9]+)?\])?")


@dataclass(frozen=True, slots=True)
class DataForm:
    """The data section of a suite file: where the rows are, and the roles of their columns."""

    source: RowSource
    columns: Mapping[str, str] = field(default_factory=dict)
    by: Mapping[str, str] = field(default_factory=dict)
    id: str | None = None
    cluster: str | None = None
    clusters: str = "items"
    keep: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def data_form(marked: Marked, given: Plain, folder: Path) -> DataForm:
    """Read the data section of a suite file.

    Raises
    ------
    UsageError
        If a key is unknown or of the wrong type, or there is not exactly one place of data.
    """
    place: Place = ("data",)
    said = keyed(DATA, "data")(marked, place, given)
    if len(places := [key for key in _PLACES if key in said]) != 1:
        found = f"has {' and '.join(places)}" if places else "has none"
        raise marked.error(place, f"needs one of {', '.join(_PLACES)}; it {found}.")
    hub, part = _hub(marked, place, said)
    source = RowSource(
        f"data of {marked.name}",
        Path(said["path"]).expanduser() if "path" in said else None,
        folder,
        hub,
        part,
        said.get("rows", ()),
        **{key: said[key] for key in _OF_FILES if key in said},
    )
    about = ("columns", "by", "id", "cluster", "clusters", "keep")
    form = DataForm(source, **{key: said[key] for key in about if key in said})
    return replace(form, clusters="clusters") if form.cluster and "clusters" not in said else form


Part = tuple[int | None, int | None]


def _hub(
    marked: Marked, place: Place, said: Mapping[str, Any]
) -> tuple[HubFile | HubSplit | None, Part]:
    """Return the file or split of a dataset on the Hub, and which of its rows are read."""
    one = "split" if "split" in said or "file" not in said else "file"
    if "dataset" not in said:
        if of_hub := [key for key in ("revision", "split", "name", "file") if key in said]:
            raise marked.error((*place, of_hub[0]), "requires data.dataset, a dataset on the Hub.")
        return None, (None, None)
    if missing := [key for key in ("revision", one) if key not in said]:
        raise marked.error(
            place,
            f"lacks {', '.join(missing)}, so that the same rows are read next time.",
            "\n  ".join(f"{key}: {DATA[key].about}" for key in missing),
        )
    others = ("file", *_OF_FILES) if one == "split" else ("name",)
    if wrong := [key for key in others if key in said]:
        raise marked.error((*place, wrong[0]), f"cannot be combined with {one}.")
    dataset, revision = said["dataset"], said["revision"]
    try:
        if one == "file":
            return HubFile(dataset, revision, said["file"]), (None, None)
        name, *ends = _split(marked, place, said["split"])
        if not _REPOSITORY.fullmatch(dataset):
            message = f"{dataset!r} is not valid; for instance org/name."
            raise marked.error((*place, "dataset"), message)
        first, last = (None if end is None else int(end) for end in ends)
        return HubSplit(dataset, revision, name, said.get("name", "")), (first, last)
    except ValueError as error:
        raise marked.error((*place, "revision"), str(error)) from None


def _split(marked: Marked, place: Place, given: str) -> tuple[str, ...]:
    """Return the name of a split, and the first row and the one after the last, or None."""
    match = _SPLIT.fullmatch(given)
    if match is None:
        raise marked.error(
            (*place, "split"),
            f"{shown(given)} is not valid; for instance test, or test[:200] for 200 rows.",
            "A percentage of rows would be rounded, and two splits are two suites.",
        )
    return match.groups()
