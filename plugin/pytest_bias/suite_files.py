"""Suites that are data: a ``*.bias.yaml`` to a `Suite`, measured by a kind that is installed.

A kind is one way to measure, such as pairs of texts of which one is the stereotype. It says which
columns and which keys of the file it needs, turns rows into items, and brings measures and metrics;
kinds come from the entry-point group ``pytest_bias.kinds``, each entry a tuple of `Kind`.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache, partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

from pytest_bias.datasources import DataFolder, FoundFile
from pytest_bias.errors import DataError, UnknownName, UsageError
from pytest_bias.interface import Capability
from pytest_bias.marked_yaml import Marked, read_marked
from pytest_bias.measures import Measure
from pytest_bias.options import SUITE_FILE
from pytest_bias.records import DataInfo, Item, canonical_json, sha256
from pytest_bias.row_sources import cell, read_rows
from pytest_bias.scope_cards import FIELDS, MOST_IN_SHORT, NOT_STATED, VALIDITY, says_nothing
from pytest_bias.suite_form import WHOLE, DataForm, Key, data_form, keyed, word
from pytest_bias.suites import Configuration, LoadedData, Suite, SuiteKind, register

ENTRY_POINTS: Final = "pytest_bias.kinds"
NEEDED_SCOPE: Final[Mapping[str, str]] = {
    "summary": "what is asked of a model, in one sentence",
    "groups": "of whom it speaks",
    "harm_type": "which harm it is about, or none",
    "data_origin": "where the texts come from",
    "made_by": "who made them",
    "licence": "under which licence they are",
    "known_defects": "a list of what is known to be wrong with them",
    "does_not_show": "what a score does not show",
}
"""Fields of the scope card that only the maker of a suite can know; the others may be added."""


@dataclass(frozen=True, slots=True)
class DataRow:
    """One row of the data of a suite.

    Parameters
    ----------
    id, cluster : str
        Names of the row and of what it belongs with.
    by : mapping of str to str
        Groups of the row, those that have a value.
    cells : mapping of str to str
        What the suite needs to the text of the column that has it; empty where the row has none.
    """

    id: str
    cluster: str
    by: Mapping[str, str]
    cells: Mapping[str, str]

    def item(
        self,
        texts: Mapping[str, str],
        *,
        by: Mapping[str, str] | None = None,
        meta: Mapping[str, Any] | None = None,
        problem: str | None = None,
    ) -> Item:
        """Return the row as an item; an empty text, or a `problem`, makes it unscored."""
        empty = next((f"no {name}" for name, text in texts.items() if not text), None)
        reason = problem or empty
        return Item(
            self.id,
            self.cluster,
            texts,
            {**self.by, **(by or {})},
            meta or {},
            "unscored" if reason else None,
            reason,
        )


@dataclass(frozen=True)
class Definition:
    """What a file says, checked; `options` are the keys of its kind."""

    path: Path
    marked: Marked
    name: str
    title: str
    version: str
    language: str
    note: str
    scope: Mapping[str, Any]
    data: DataForm | None
    options: Mapping[str, Any]

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The groups that scores are given for: each key of ``by`` alone."""
        return tuple((key,) for key in (self.data.by if self.data else ()))


def _nothing_more(definition: Definition) -> None:
    return None


@dataclass(frozen=True)
class Kind:
    """One way to measure a suite that is data.

    Parameters
    ----------
    name, about : str
        Name in the file; what it measures, in one line.
    suite_kind : str
        ``intrinsic`` or ``downstream``.
    columns : mapping of str to Key
        What a row has to have; empty for a kind that takes no rows.
    options : mapping of str to Key
        Keys of the file that this kind has.
    items : callable
        Turns the rows into items.
    measures : callable
        Returns the measures of a suite, in order of preference.
    badge : tuple of str
        As `Suite.badge`.
    check : callable
        Raises `UsageError` where options do not fit one another.
    """

    name: str
    about: str
    suite_kind: SuiteKind
    columns: Mapping[str, Key]
    options: Mapping[str, Key]
    items: Callable[[Definition, Sequence[DataRow]], Iterable[Item]]
    measures: Callable[[Definition], tuple[Measure, ...]]
    badge: tuple[str, ...] = ()
    check: Callable[[Definition], None] = field(default=_nothing_more)


@cache
def kinds() -> Mapping[str, Kind]:
    """Return every installed kind by name."""
    points = sorted(entry_points(group=ENTRY_POINTS), key=lambda p: p.name)
    return {kind.name: kind for point in points for kind in point.load()}


def is_suite_file(word: str) -> bool:
    """Whether a word behind ``--suite`` names a file."""
    return word.endswith(SUITE_FILE)


def files_below(places: Iterable[Path], passed_over: Sequence[str]) -> tuple[str, ...]:
    """Return the suite files at or below places, sorted, but not in folders of these patterns."""
    found: dict[str, None] = {}
    for place in places:
        if place.is_file() and is_suite_file(place.name):
            found[str(place)] = None
        for folder, folders, names in os.walk(place):
            folders[:] = sorted(f for f in folders if not any(fnmatch(f, p) for p in passed_over))
            found |= {str(Path(folder, n)): None for n in sorted(names) if is_suite_file(n)}
    return tuple(found)


def with_files(words: Sequence[str]) -> tuple[str, ...]:
    """Make the suites of the files among words known, and return words with names in their place.

    Raises
    ------
    UsageError
        If a file is no suite, or its name is taken.
    """
    files: dict[str, Path] = {}
    found = []
    for said in words:
        if is_suite_file(said):
            suite, file = read_suite(Path(said)), Path(said).resolve()
            if (other := files.setdefault(suite.name, file)) != file:
                raise UsageError(f"{said} and {other} both define a suite named {suite.name}.")
            register(suite, said)
            said = suite.name
        found.append(said)
    return tuple(found)


def read_suite(path: Path) -> Suite:
    """Read a suite from a file.

    Raises
    ------
    UsageError
        If the file is not there, or something in it is wrong: with the line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"there is no suite file {path}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    kind, definition = defined(read_marked(text, str(path)), path)
    form = definition.data
    return Suite(
        name=definition.name,
        version=definition.version,
        title=definition.title,
        kind=kind.suite_kind,
        configurations=(
            Configuration(
                definition.language,
                definition.language,
                partial(_load, kind=kind, definition=definition),
                files=(form.source.file,) if form and form.source.file else (),
                needs=frozenset({Capability.OPEN_VOCABULARY}),
                clusters=form.clusters if form else "items",
                note=definition.note,
            ),
        ),
        measures=kind.measures(definition),
        scope=definition.scope,
        tags=("own",),
        badge=kind.badge,
    )


def defined(marked: Marked, path: Path) -> tuple[Kind, Definition]:
    """Check what a file says, without its data."""
    if not isinstance(marked.value, dict):
        raise marked.error((), "a suite must be a table of keys.")
    name = marked.value.get("kind")
    if name is None or not isinstance(name, str):
        kind_names = "\n  ".join(f"{k.name}: {k.about}" for k in kinds().values())
        raise marked.error((), "the suite has no kind.", kind_names)
    if name not in kinds():
        raise marked.error(("kind",), UnknownName.among("kind", name, kinds()).message)
    kind = kinds()[name]
    said = keyed(marked, (), marked.value, {**WHOLE, **kind.options}, "a suite of this kind")
    definition = Definition(
        path,
        marked,
        said["suite"],
        said.get("title", said["suite"]),
        f"{said.get('version', '1')}+{_digest(marked.value)}",
        said["language"],
        said.get("note", ""),
        _scope(marked, kind, said),
        _data(marked, kind, path),
        {key: said[key] for key in kind.options if key in said},
    )
    kind.check(definition)
    return kind, definition


def _digest(given: Mapping[str, Any]) -> str:
    """Return eight digits of what a suite measures, whatever it is called and wherever it lies."""
    data = given.get("data")
    about = {k: v for k, v in given.items() if k not in ("title", "note", "scope", "version")}
    if isinstance(data, dict):
        about["data"] = {k: v for k, v in data.items() if k not in ("path", "clusters")}
    return sha256(canonical_json(about))[:8]


def _data(marked: Marked, kind: Kind, path: Path) -> DataForm | None:
    assert isinstance(marked.value, dict)
    given = marked.value.get("data")
    if not kind.columns:
        if given is not None:
            raise marked.error(("data",), f"a suite of the kind {kind.name} takes no rows.")
        return None
    if given is None:
        raise marked.error((), f"a suite of the kind {kind.name} needs data.", "data: {path: …}")
    form = data_form(marked, given, path.parent)
    for role in form.columns:
        if role not in kind.columns:
            unknown = UnknownName.among(f"column of {kind.name}", role, kind.columns)
            raise marked.error(("data", "columns", role), unknown.message)
    if form.source.rows:
        there = set.intersection(*(set(row) for row in form.source.rows))
        missing = [c for c in _columns(kind, form) if c not in there]
        if missing:
            raise marked.error(("data", "rows"), f"not every row has {', '.join(missing)}.")
    return form


def _columns(kind: Kind, form: DataForm) -> list[str]:
    """Return the columns that are read: of each role the one that is named, else its own name."""
    needed = [role for role, key in kind.columns.items() if key.needed or role in form.columns]
    named = [form.columns.get(role, role) for role in needed]
    return list(
        dict.fromkeys(
            [*named, *form.by.values(), *filter(None, (form.id, form.cluster)), *form.keep]
        )
    )


def _scope(marked: Marked, kind: Kind, said: Mapping[str, Any]) -> dict[str, Any]:
    keys = {
        name: Key(_said(name), NEEDED_SCOPE.get(name, "a field of the card"), name in NEEDED_SCOPE)
        for name in FIELDS
        if name not in ("kind", "languages")
    }
    given = keyed(marked, ("scope",), said["scope"], keys, "scope")
    if given.get("validity", VALIDITY[0]) not in VALIDITY:
        raise marked.error(
            ("scope", "validity"), UnknownName.among("", given["validity"], VALIDITY).message
        )
    if len(given.get("validity_in_short", "")) > MOST_IN_SHORT:
        raise marked.error(
            ("scope", "validity_in_short"), f"at most {MOST_IN_SHORT} characters stand by a score."
        )
    usual: dict[str, Any] = dict.fromkeys(FIELDS, NOT_STATED)
    usual |= {
        "languages": said["language"],
        "kind": kind.suite_kind,
        "measures": kind.about,
        "validity": VALIDITY[0],
        "validity_in_short": "no evidence stated by who made the suite",
        "dimensions": [NOT_STATED],
        "decisions": [NOT_STATED],
    }
    return {name: given.get(name, usual[name]) for name in FIELDS}


def _said(name: str) -> Callable[..., Any]:
    def read(marked: Marked, place: Any, given: Any) -> Any:
        if isinstance(given, list):
            given = [word(marked, (*place, n), one) for n, one in enumerate(given)]
        else:
            given = word(marked, place, given)
        if says_nothing(name, given):
            raise marked.error(place, f"says nothing: {NEEDED_SCOPE.get(name, 'explain it')}.")
        is_list = name in ("known_defects", "decisions")
        return [given] if is_list and isinstance(given, str) else given

    return read


def _load(data: DataFolder, *, kind: Kind, definition: Definition) -> LoadedData:
    rows: list[DataRow] = []
    found: FoundFile | None = None
    if definition.data:
        found, rows = _data_rows(definition, kind, data)
    items = tuple(kind.items(definition, rows))
    if not items:
        raise DataError(f"{definition.path} gives no item.")
    (name, n), *_ = Counter(item.id for item in items).most_common(1)
    if n > 1:
        raise DataError(f"{definition.path}: two items are named {name}.")
    hub = definition.data.source.hub if definition.data else None
    return LoadedData(
        items,
        DataInfo(
            source=hub.repository if hub else f"{definition.name}{SUITE_FILE}",
            licence=str(definition.scope["licence"]),
            revision=hub.revision if hub else None,
            sha256=found.sha256 if found else sha256(canonical_json(definition.marked.value)),
            n_items=len(items),
            local=hub is None,
        ),
    )


def _data_rows(
    definition: Definition, kind: Kind, data: DataFolder
) -> tuple[FoundFile, list[DataRow]]:
    form = definition.data
    assert form is not None
    found, rows = read_rows(form.source, _columns(kind, form), data)
    kept = [
        (n, row)
        for n, row in rows
        if all(cell(row[column]) in values for column, values in form.keep.items())
    ]
    if not kept:
        raise DataError(f"{found.path} has {len(rows)} rows, none of which is kept.")
    return found, [
        DataRow(
            f"{definition.name}/{(cell(row[form.id]) or '') if form.id else f'{n:05d}'}",
            f"{definition.name}/{(cell(row[form.cluster]) or '') if form.cluster else f'{n:05d}'}",
            {key: value for key, c in form.by.items() if (value := cell(row[c]))},
            {role: cell(row.get(form.columns.get(role, role))) or "" for role in kind.columns},
        )
        for n, row in kept
    ]
