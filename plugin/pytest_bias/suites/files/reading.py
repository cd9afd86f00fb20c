"""Reading suite files: a ``*.bias.yaml`` becomes a `Suite`, measured as its kind defines."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Final

from pytest_bias.data.hub_splits import HubSplit
from pytest_bias.data.sources import DataFolder, FoundFile
from pytest_bias.data.tables import Row
from pytest_bias.data.user_tables import (
    OwnRow,
    RowSource,
    cell,
    found_file,
    not_there,
    read_rows,
    same,
)
from pytest_bias.environment import SUITE_FILE
from pytest_bias.errors import DataError, DataMissing, UnknownName, UsageError
from pytest_bias.forms.keys import Key, keyed, shown, word
from pytest_bias.forms.yaml_with_lines import Marked, read_marked, text_of
from pytest_bias.models.interface import Capability
from pytest_bias.records.report import DataInfo, canonical_json, sha256
from pytest_bias.suites.catalogue import INSTALLED, Catalogue
from pytest_bias.suites.files.kinds import DataRow, Definition, Kind, kinds
from pytest_bias.suites.files.schema import WHOLE, DataForm, data_form
from pytest_bias.suites.hiding import LEAST, Hiding
from pytest_bias.suites.salts import is_salt
from pytest_bias.suites.scope_cards import (
    FIELDS,
    LEAST_WORDS,
    MOST_IN_SHORT,
    NOT_STATED,
    PROSE,
    VALIDITY,
    says_nothing,
)
from pytest_bias.suites.suite import Configuration, LoadedData, Suite

SALT: Final = "salt.txt"
HOW_TO_SALT: Final = (
    f"Beside the hidden items: python -c 'import secrets; print(secrets.token_hex(32))' > {SALT}"
)
NEEDED_SCOPE: Final[Mapping[str, str]] = {
    "summary": "what is asked of a model, in one sentence",
    "groups": "whom it is about",
    "harm_type": "which harm it is about, or none",
    "data_origin": "where the texts come from",
    "made_by": "who made them",
    "licence": "under which licence they are",
    "known_defects": "a list of what is known to be wrong with them",
    "does_not_show": "what a score does not show",
}
"""Required fields of the scope card, which only the author of a suite knows."""


def is_suite_file(word: str) -> bool:
    """Whether a value of ``--suite`` names a file."""
    return word.endswith(SUITE_FILE)


def files_below(places: Iterable[Path], passed_over: Sequence[str]) -> tuple[str, ...]:
    """Return the suite files at, below or beside places, except in folders with these patterns."""
    found: dict[str, None] = {}
    for place in places:
        if place.is_file() and is_suite_file(place.name):
            found[str(place)] = None
            continue
        # Beside a file with tests, which may use them.
        place = place.parent if place.is_file() else place
        for folder, folders, names in os.walk(place):
            folders[:] = sorted(f for f in folders if not any(fnmatch(f, p) for p in passed_over))
            found |= {str(Path(folder, n)): None for n in sorted(names) if is_suite_file(n)}
    return tuple(found)


def with_files(
    words: Sequence[str], catalogue: Catalogue = INSTALLED
) -> tuple[Catalogue, tuple[str, ...]]:
    """Return a catalogue with the suites of the files among words, and the words as suite names.

    Raises
    ------
    UsageError
        If a file is not a valid suite, or its name is taken.
    """
    files: dict[str, Path] = {}
    found = []
    for said in words:
        if is_suite_file(said):
            suite, file = read_suite(Path(said)), Path(said).resolve()
            if (other := files.setdefault(suite.name, file)) != file:
                raise UsageError(f"{said} and {other} both define a suite named {suite.name}.")
            catalogue = catalogue.with_suite(suite, said)
            said = suite.name
        found.append(said)
    return catalogue, tuple(found)


def name_of(word: str, starts: Sequence[Path]) -> str:
    """Return the name of a suite, given its name, or its file relative to one of the places."""
    if not is_suite_file(word):
        return word
    files = [start / word for start in starts]
    return read_suite(next((f for f in files if f.is_file()), files[0])).name


def read_suite(path: Path) -> Suite:
    """Read a suite from a file; raises as `read_definition`."""
    return suite_of(*read_definition(path))


def read_definition(path: Path) -> tuple[Kind, Definition]:
    """Read and check a suite file, without its data.

    Raises
    ------
    UsageError
        If the file is missing, or something in it is wrong, with the line.
    """
    if not path.is_file():
        raise UsageError(f"there is no suite file {path}.")
    return defined(read_marked(text_of(path), str(path)), path)


def suite_of(kind: Kind, definition: Definition) -> Suite:
    """Return the suite of a definition."""
    form = definition.data
    # Hidden items without a group might be those of small groups, which are not reported.
    rest = frozenset(form.by) if form and not definition.salt else frozenset[str]()
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
                # Hidden items are never downloaded in advance.
                files=(form.source.file,)
                if form and form.source.file and not definition.salt
                else (),
                needs=frozenset({Capability.OPEN_VOCABULARY}),
                clusters=kind.clusters or (form.clusters if form else "items"),
                hidden=definition.salt is not None,
                note=definition.note,
            ),
        ),
        measures=tuple(
            replace(m, metrics=tuple(replace(metric, rest=rest) for metric in m.metrics))
            for m in kind.measures(definition)
        ),
        scope=definition.scope,
        tags=("own",),
        badge=kind.badge,
    )


def defined(marked: Marked, path: Path) -> tuple[Kind, Definition]:
    """Check the content of a suite file, without its data."""
    if not isinstance(marked.value, dict):
        raise marked.error((), f"a suite must be a table of keys, not {shown(marked.value)}.")
    name = marked.value.get("kind")
    if name is None or not isinstance(name, str):
        kind_names = "\n  ".join(f"{k.name}: {k.about}" for k in kinds().values())
        raise marked.error((), "the suite has no kind.", kind_names)
    if name not in kinds():
        raise marked.error(("kind",), UnknownName.among("kind", name, kinds()).message)
    kind = kinds()[name]
    keys = {**WHOLE, **kind.options}
    said = keyed(keys, "a suite of this kind")(marked, (), marked.value)
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
    if said.get("visibility") == "hidden":
        definition = _hidden(definition, said)
    kind.check(definition)
    return kind, definition


def _hidden(definition: Definition, said: Mapping[str, Any]) -> Definition:
    """Return the definition of a suite with hidden items: read by every run and stored nowhere.

    The suite file itself is not hidden, so it must not contain any items.
    """
    marked, data = definition.marked, definition.data
    if data is None or data.source.rows:
        raise marked.error(
            ("visibility",),
            "hidden items must not be in the suite file itself.",
            "data: {path: …}, a file that only the measuring machine has, or {dataset: …}",
        )
    source = data.source
    if isinstance(source.hub, HubSplit):
        raise marked.error(
            ("visibility",),
            "the rows of a split are stored in a cache, and hidden items must not be.",
            "data: {dataset: …, revision: …, file: …}, a file that every run reads anew",
        )
    if source.hub:
        place = said.get("salt") or str(PurePosixPath(source.hub.path).with_name(SALT))
        hub = replace(source.hub, path=place, kept=False)
        salt = RowSource("the salt", hub=hub)
        data = replace(data, source=replace(source, hub=replace(source.hub, kept=False)))
    else:
        assert source.path, "data have one place"
        path = Path(said["salt"]).expanduser() if "salt" in said else source.path.with_name(SALT)
        salt = RowSource("the salt", path, source.base)
    return replace(definition, data=data, salt=salt, least=said.get("least", LEAST))


_NOT_MEASURED: Final = ("title", "note", "scope", "version", "visibility", "salt")


def _digest(given: Mapping[str, Any]) -> str:
    """Return eight digits that identify what a suite measures, whatever its title and path."""
    data = given.get("data")
    about = {k: v for k, v in given.items() if k not in _NOT_MEASURED}
    if isinstance(data, dict):
        about["data"] = {k: v for k, v in data.items() if k not in ("path", "clusters")}
    return sha256(canonical_json(about))[:8]


def _data(marked: Marked, kind: Kind, path: Path) -> DataForm | None:
    assert isinstance(marked.value, dict)
    given = marked.value.get("data")
    if not (kind.columns or kind.slots) and given is not None:
        raise marked.error(("data",), f"a suite of the kind {kind.name} uses no data.")
    if given is None:
        if not kind.columns:
            return None
        raise marked.error((), f"a suite of the kind {kind.name} needs data.", "data: {path: …}")
    form = data_form(marked, given, path.parent)
    for role in form.columns:
        if role not in kind.roles(form):
            unknown = UnknownName.among(f"column of {kind.name}", role, kind.columns)
            raise marked.error(("data", "columns", role), unknown.message)
    if form.source.rows:
        there = set.intersection(*(set(row) for row in form.source.rows))
        missing = [c for c in _columns(kind, form) if c not in there]
        if missing:
            raise marked.error(("data", "rows"), f"not every row has {', '.join(missing)}.")
    return form


def _columns(kind: Kind, form: DataForm) -> list[str]:
    """Return the columns that are read: for each role the named column, else that of its name."""
    roles = kind.roles(form)
    needed = [role for role in roles if role in form.columns or kind.columns[role].needed]
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
    given = keyed(keys, "scope")(marked, ("scope",), said["scope"])
    if given.get("validity", VALIDITY[0]) not in VALIDITY:
        raise marked.error(
            ("scope", "validity"), UnknownName.among("", given["validity"], VALIDITY).message
        )
    if len(given.get("validity_in_short", "")) > MOST_IN_SHORT:
        raise marked.error(
            ("scope", "validity_in_short"), f"must have at most {MOST_IN_SHORT} characters."
        )
    usual: dict[str, Any] = dict.fromkeys(FIELDS, NOT_STATED)
    usual |= {
        "languages": said["language"],
        "kind": kind.suite_kind,
        "measures": f"{kind.about}. {kind.headline}" if kind.headline else kind.about,
        "validity": VALIDITY[0],
        "validity_in_short": "no evidence stated by who made the suite",
        "dimensions": [NOT_STATED],
        "decisions": [NOT_STATED],
    }
    return {name: given.get(name, usual[name]) for name in FIELDS}


def _said(name: str) -> Callable[..., Any]:
    is_list = name in ("known_defects", "decisions")

    def read(marked: Marked, place: Any, given: Any) -> Any:
        if isinstance(given, list):
            given = [word(marked, (*place, n), one) for n, one in enumerate(given)]
        else:
            given = word(marked, place, given)
        if says_nothing(name, given):
            told = NEEDED_SCOPE.get(name, "explain it")
            least = f", in {LEAST_WORDS} words or more" if is_list or name in PROSE else ""
            raise marked.error(place, f"says nothing: {told}{least}.")
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
    hiding = Hiding(_salt(definition.salt, data), definition.least) if definition.salt else None
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
        hiding,
    )


def _salt(source: RowSource, data: DataFolder) -> str:
    """Read a salt; an invalid one is reported like a missing file."""
    try:
        found = found_file(source, data)
    except DataMissing as error:
        raise DataMissing(error.message, HOW_TO_SALT) from None
    text = found.content.decode("ascii", "replace").strip()
    if not is_salt(text):
        raise DataMissing(f"{found.path} holds no salt: 64 hexadecimal digits.", HOW_TO_SALT)
    return text


def kept_rows(
    definition: Definition, kind: Kind, data: DataFolder
) -> tuple[FoundFile, list[OwnRow]]:
    """Read the rows that a suite keeps; malformed rows are kept, so that they are counted.

    Raises
    ------
    DataError
        If they cannot be read, or none is kept.
    """
    form = definition.data
    assert form is not None, "a kind with columns has data"
    columns = _columns(kind, form)
    found, rows = read_rows(form.source, columns, data, [*form.by.values(), *form.keep])
    sound = [row.cells for row in rows if not row.problem]
    wanted = {column: {same(v) for v in values} for column, values in form.keep.items()}
    kept = [
        row
        for row in rows
        if row.problem or all(same(cell(row.cells.get(c)) or "") in v for c, v in wanted.items())
    ]
    if not any(not row.problem for row in kept):
        why = [row.problem for row in kept[:1] if row.problem]
        for column, values in form.keep.items():
            there = [value for row in sound if (value := cell(row.get(column)))]
            why += filter(None, [not_there(there, values, column, "keep")])
        said = f"{found.path} has {len(rows)} rows, none of which is kept"
        raise DataError(f"{said}: {why[0].rstrip('.')}." if why else f"{said}.")
    return found, kept


def _data_rows(
    definition: Definition, kind: Kind, data: DataFolder
) -> tuple[FoundFile, list[DataRow]]:
    form = definition.data
    assert form is not None, "a kind with columns has data"
    found, kept = kept_rows(definition, kind, data)
    return found, [_data_row(definition, kind, form, row) for row in kept]


def _data_row(definition: Definition, kind: Kind, form: DataForm, row: OwnRow) -> DataRow:
    number, cells, problem = row
    if problem:
        # The cell with its name is not known.
        name = f"{definition.name}/row{number:05d}"
        return DataRow(name, name, {}, dict.fromkeys(kind.roles(form), ""), problem)
    return DataRow(
        f"{definition.name}/{row_name(form.id, number, cells)}",
        f"{definition.name}/{row_name(form.cluster, number, cells)}",
        {key: value for key, column in form.by.items() if (value := cell(cells.get(column)))},
        {role: cell(cells.get(form.columns.get(role, role))) or "" for role in kind.roles(form)},
    )


def row_name(column: str | None, number: int, row: Row) -> str:
    """Return the name of a row from a column; its number where there is none."""
    return (cell(row.get(column)) if column else None) or f"{number:05d}"
