"""What a ``*.bias.yaml`` may say, and the values it says, checked with the line of each."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from pytest_bias.data.hub_files import HubFile
from pytest_bias.data.hub_splits import HubSplit
from pytest_bias.data.user_tables import SHAPES, UNITS, RowSource
from pytest_bias.errors import UnknownName
from pytest_bias.suites.files.yaml_with_lines import Marked, Place, Plain

Read = Callable[[Marked, Place, Plain], Any]
"""Turns what a file says at a place into a value, or raises the error with its line."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a table in the file.

    Parameters
    ----------
    read : callable
        Reads and checks its value.
    about : str
        What it says, for messages and the documentation.
    needed : bool
        Whether it must be there.
    """

    read: Read
    about: str
    needed: bool = False


def word(marked: Marked, place: Place, given: Plain) -> str:
    """Read a text that is not empty."""
    if not isinstance(given, str) or not given.strip():
        raise marked.error(place, f"must be a text, not {_shown(given)}.")
    return given


def flag(marked: Marked, place: Place, given: Plain) -> bool:
    """Read true or false."""
    if given not in ("true", "false"):
        raise marked.error(place, f"must be true or false, not {_shown(given)}.")
    return given == "true"


def count(marked: Marked, place: Place, given: Plain) -> int:
    """Read a whole number from 1 up."""
    if not isinstance(given, str) or not re.fullmatch(r"[1-9][0-9]{0,8}", given):
        raise marked.error(place, f"must be a whole number from 1 up, not {_shown(given)}.")
    return int(given)


def words(marked: Marked, place: Place, given: Plain) -> tuple[str, ...]:
    """Read a list of texts, or one."""
    if isinstance(given, str):
        return (word(marked, place, given),)
    if not isinstance(given, list) or not given:
        raise marked.error(place, f"must be a list of texts, not {_shown(given)}.")
    return tuple(word(marked, (*place, n), one) for n, one in enumerate(given))


def one_of(*allowed: str) -> Read:
    """Return what reads one of a few words."""

    def read(marked: Marked, place: Place, given: Plain) -> str:
        if not isinstance(given, str) or given not in allowed:
            unknown = UnknownName.among("", str(given), allowed)
            raise marked.error(place, unknown.message.strip())
        return given

    return read


def table(inner: Read) -> Read:
    """Return what reads a table with names of the user's own and values of one kind."""

    def read(marked: Marked, place: Place, given: Plain) -> dict[str, Any]:
        if not isinstance(given, dict) or not given:
            raise marked.error(place, f"must be a table, not {_shown(given)}.")
        return {key: inner(marked, (*place, key), value) for key, value in given.items()}

    return read


def anything(marked: Marked, place: Place, given: Plain) -> Plain:
    """Read whatever stands there."""
    return given


def keyed(
    marked: Marked, place: Place, given: Plain, keys: Mapping[str, Key], what: str
) -> dict[str, Any]:
    """Read a table with known keys.

    Raises
    ------
    UsageError
        If a key is unknown or a needed one is missing: all that are missing are named, each with
        what it says.
    """
    if not isinstance(given, dict):
        raise marked.error(place, f"{what} must be a table, not {_shown(given)}.")
    for key in given:
        if key not in keys:
            raise marked.error((*place, key), UnknownName.among("key", key, keys).message)
    if missing := [key for key, one in keys.items() if one.needed and key not in given]:
        raise marked.error(
            place,
            f"{what} lacks {', '.join(missing)}.",
            "\n  ".join(f"{key}: {keys[key].about}" for key in missing),
        )
    return {key: keys[key].read(marked, (*place, key), value) for key, value in given.items()}


def _shown(given: Plain) -> str:
    if isinstance(given, str):
        return repr(given if len(given) <= 40 else f"{given[:37]}...")
    return "a list" if isinstance(given, list) else "a table"


LANGUAGE: Final = re.compile(r"[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")
NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")


def _matching(pattern: re.Pattern[str], example: str) -> Read:
    def read(marked: Marked, place: Place, given: Plain) -> str:
        if not isinstance(given, str) or not pattern.fullmatch(given):
            raise marked.error(place, f"{_shown(given)} is none; for instance {example}.")
        return given

    return read


def _row(marked: Marked, place: Place, given: Plain) -> dict[str, str]:
    found: dict[str, str] = table(_cell)(marked, place, given)
    return found


def _cell(marked: Marked, place: Place, given: Plain) -> str:
    if not isinstance(given, str):
        raise marked.error(place, f"must be a text, not {_shown(given)}.")
    return given


def _rows(marked: Marked, place: Place, given: Plain) -> tuple[dict[str, str], ...]:
    if not isinstance(given, list) or not given:
        raise marked.error(place, f"must be a list of rows, not {_shown(given)}.")
    return tuple(_row(marked, (*place, n), row) for n, row in enumerate(given))


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
    "rows": Key(_rows, "the rows themselves, a table of column to text each"),
    "shape": Key(one_of(*SHAPES), "what the file is, if its ending does not say it"),
    "delimiter": Key(_cell, "what stands between cells"),
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
    said = keyed(marked, place, given, DATA, "data")
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
            f"{_shown(given)} is none; for instance test, or test[:200] for its first 200 rows.",
            "A percentage of rows is a number that is rounded, and two splits are two suites.",
        )
    return match.groups()
