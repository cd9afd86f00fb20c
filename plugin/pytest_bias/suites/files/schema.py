"""What a ``*.bias.yaml`` may say, and the values it says, checked with the line of each."""

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
            raise marked.error(place, f"{shown(given)} is none; for instance {example}.")
        return given

    return read


def _encoding(marked: Marked, place: Place, given: Plain) -> str:
    name = word(marked, place, given)
    try:
        "".encode(name)
        b"".decode(name)
    except (LookupError, ValueError, TypeError):
        raise marked.error(place, f"{name!r} is no encoding of text; utf-8 is one.") from None
    return name


WHOLE: Final[Mapping[str, Key]] = {
    "suite": Key(_matching(NAME, "my_suite"), "name of the suite, such as my_suite", needed=True),
    "kind": Key(word, "what is measured; the kinds are listed by pytest-bias suites", needed=True),
    "language": Key(_matching(LANGUAGE, "en"), "language of the texts, such as en", needed=True),
    "title": Key(word, "name for people"),
    "version": Key(word, "raised whenever scores can change; 1 at first"),
    "scope": Key(anything, "the scope card", needed=True),
    "data": Key(anything, "where the rows are"),
    "visibility": Key(one_of("open", "hidden"), "hidden where the items are secret"),
    "salt": Key(word, "of hidden items, the file with the salt; salt.txt beside them by default"),
    "least": Key(count, "of hidden items, how many a group needs for its score to be told"),
    "note": Key(word, "what sets these texts apart, in a few words"),
}
"""Keys of every suite; each kind has some of its own."""

_FOLDER: Final = re.compile(r"[^<>:/\\|?*.][^<>:/\\|?*]*")
_REPOSITORY: Final = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")

DATA: Final[Mapping[str, Key]] = {
    "path": Key(word, "a file; a relative path begins at this file"),
    "dataset": Key(word, "org/name of a dataset on the Hub, with revision and split or file"),
    "revision": Key(word, "the whole hash of a commit of the dataset"),
    "split": Key(word, "a split of the dataset, such as test, or some of its rows: test[:200]"),
    "name": Key(
        _matching(_FOLDER, "en"),
        "configuration that the split is of; by default that of the dataset",
    ),
    "file": Key(word, "in place of a split, a file of the dataset, such as data/test.parquet"),
    "rows": Key(
        several(table(text), "rows"), "the rows themselves, a table of column to text each"
    ),
    "shape": Key(one_of(*SHAPES), "what the file is, if its ending does not say it"),
    "delimiter": Key(text, "what stands between cells"),
    "encoding": Key(_encoding, "encoding of the file; utf-8 by default"),
    "quoted": Key(flag, "false where quotation marks are letters like others"),
    "each": Key(one_of(*UNITS), "what one text of a plain text file is"),
    "columns": Key(table(word), "what the suite needs, to the column that has it"),
    "by": Key(table(word), "groups that are reported, each with its column"),
    "id": Key(word, "column that names a row; by default rows are numbered"),
    "cluster": Key(word, "column of what rows belong together, such as their template"),
    "clusters": Key(word, "what the clusters are, in the plural, such as templates"),
    "keep": Key(table(words), "column to the values of the rows that are kept"),
}
_PLACES: Final = ("path", "dataset", "rows")
HUB: Final = ("dataset", "revision", "file")


def dataset_file(
    marked: Marked, place: Place, said: Mapping[str, Any], places: Sequence[str]
) -> HubFile | None:
    """Return the file of a dataset on the Hub, null where another of places is named.

    Raises
    ------
    UsageError
        If not exactly one place is named, or a dataset not with commit and file.
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
    """What a file says of its data: where rows are, and what their columns are for."""

    source: RowSource
    columns: Mapping[str, str] = field(default_factory=dict)
    by: Mapping[str, str] = field(default_factory=dict)
    id: str | None = None
    cluster: str | None = None
    clusters: str = "items"
    keep: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def data_form(marked: Marked, given: Plain, folder: Path) -> DataForm:
    """Read what a file says of its data.

    Raises
    ------
    UsageError
        If a key is unknown or of the wrong kind, or there is not exactly one place of data.
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
            raise marked.error((*place, of_hub[0]), "is of a dataset on the Hub: data.dataset.")
        return None, (None, None)
    if missing := [key for key in ("revision", one) if key not in said]:
        raise marked.error(
            place,
            f"lacks {', '.join(missing)}, so that the same rows are read next time.",
            "\n  ".join(f"{key}: {DATA[key].about}" for key in missing),
        )
    others = ("file", *_OF_FILES) if one == "split" else ("name",)
    if wrong := [key for key in others if key in said]:
        raise marked.error((*place, wrong[0]), f"is nothing that goes with {one}.")
    dataset, revision = said["dataset"], said["revision"]
    try:
        if one == "file":
            return HubFile(dataset, revision, said["file"]), (None, None)
        name, *ends = _split(marked, place, said["split"])
        if not _REPOSITORY.fullmatch(dataset):
            raise marked.error((*place, "dataset"), f"{dataset!r} is none; for instance org/name.")
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
            f"{shown(given)} is none; for instance test, or test[:200] for its first 200 rows.",
            "A percentage of rows is a number that is rounded, and two splits are two suites.",
        )
    return match.groups()
