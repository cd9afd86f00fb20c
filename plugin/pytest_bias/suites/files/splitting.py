"""Splitting a suite in two: a part that anybody may read, and one that stays hidden.

Whole clusters go to one part or the other. The salt that hides the items also determines the random
assignment: clusters are sorted by the SHA-256 of salt and name, and the first ones are hidden. The
commitment, made before anything is published, is the digest of the public rows and the salted one
of the hidden rows, which reports of the hidden suite repeat. Given salt and rows, anybody can later
recompute the assignment and the digest.

::

    DIR/commitment.json                     to be published, with the public part
    DIR/public/NAME_public.bias.yaml        and its rows, NAME_public.jsonl
    DIR/hidden/NAME_hidden.bias.yaml        which may be read, and its rows, which may not, and
    DIR/hidden/salt.txt
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from pytest_bias.data.sources import DataFolder
from pytest_bias.data.tables import Row
from pytest_bias.data.user_tables import cell
from pytest_bias.environment import SUITE_FILE
from pytest_bias.errors import DataError, OutputError, ReportError, UsageError
from pytest_bias.records.documents import read_document, to_document, write_whole
from pytest_bias.records.identity import tool_version
from pytest_bias.records.report import DataInfo, canonical_json, sha256
from pytest_bias.suites.files.kinds import Definition
from pytest_bias.suites.files.reading import SALT, kept_rows, read_definition, row_name
from pytest_bias.suites.files.schema import NAME
from pytest_bias.suites.salts import new_salt, salted

SCHEMA: Final = "pytest-bias/split/1"
COMMITMENT: Final = "commitment.json"
HALF: Final = 50.0
ROW: Final = "row_of_whole"
"""Column of a part with the row's number in the whole suite, where rows have no names."""

PUBLIC: Final = "public"
HIDDEN: Final = "hidden"
PARTS: Final = (PUBLIC, HIDDEN)


@dataclass(frozen=True, slots=True)
class PartMade:
    """One part: its suite, how many rows and clusters it has, and the digest of its rows.

    The digest of the hidden part is salted.
    """

    suite: str
    rows: int
    clusters: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Commitment:
    """Statement about a split, made before any part of it is published."""

    tool: str
    suite: str
    version: str
    public: PartMade
    hidden: PartMade

    def to_json(self) -> str:
        """Return commitment.json."""
        return to_document({"schema": SCHEMA, **asdict(self)})

    @classmethod
    def read(cls, path: Path) -> "Commitment":
        """Read commitment.json.

        Raises
        ------
        DataError
            If it is not a valid commitment.
        """
        try:
            return read_document(path.read_text(encoding="utf-8"), SCHEMA, cls)
        except FileNotFoundError:
            raise DataError(
                f"there is no split in {path.parent}: no {path.name}.",
                "pytest-bias split make FILE --out DIR makes one.",
            ) from None
        except (OSError, UnicodeDecodeError, ReportError) as error:
            raise DataError(f"{path} is not a valid commitment: {error!s:.200}") from None

    def holds(self, data: Mapping[str, DataInfo]) -> None:
        """Check that both parts are the ones that were committed to.

        Parameters
        ----------
        data : mapping
            ``public`` and ``hidden`` to the data info of their rows.

        Raises
        ------
        DataError
            If a part is a different one.
        """
        for name, part in ((PUBLIC, self.public), (HIDDEN, self.hidden)):
            if (found := str(data[name].sha256)) != part.sha256:
                raise DataError(
                    f"the {name} part is not the one that was committed to: the digest of its rows "
                    f"is {found[:12]}, committed to is {part.sha256[:12]}."
                )


def split(
    file: Path, out: Path, data: DataFolder, share: float = HALF, salt: str | None = None
) -> Commitment:
    """Split a suite file into a public and a hidden part.

    Parameters
    ----------
    file : Path
        The suite file, which is left unchanged: it has all the rows.
    out : Path
        Folder to create.
    data : DataFolder
        Where to look for its rows.
    share : float
        Percentage of the clusters to hide.
    salt : str, optional
        The salt of an earlier split, to make it again; by default a new one.

    Raises
    ------
    UsageError
        If the suite cannot be split.
    DataError
        If its rows cannot be read, or have too few clusters for two parts.
    """
    if not 0 < share < 100:
        raise UsageError(f"--share {share:g} is not a percentage between 0 and 100.")
    kind, definition = read_definition(file)
    form = definition.data
    if form is None:
        raise UsageError(f"{file}: a suite of the kind {kind.name} has no rows to split.")
    for part in PARTS:
        if not NAME.fullmatch(named := f"{definition.name}_{part}"):
            raise UsageError(f"{file}: {named} is too long for a suite's name.")
    file_read, kept = kept_rows(definition, kind, data.of(definition.name))
    if problem := next((row.problem for row in kept if row.problem), None):
        raise DataError(f"{file_read.path}: {problem}; a malformed row can be of neither part.")
    rows = [(row.number, row.cells) for row in kept]
    salt = salt or new_salt()
    clusters = [row_name(form.cluster, n, row) for n, row in rows]
    lots = sorted(set(clusters), key=lambda name: salted(salt, name))
    n_hidden = round(len(lots) * share / 100)
    if min(n_hidden, len(lots) - n_hidden) < 2:
        raise DataError(f"{file} has {len(lots)} clusters; each part needs two or more.")
    drawn = {PUBLIC: set(lots[n_hidden:]), HIDDEN: set(lots[:n_hidden])}
    columns = _columns(definition, kind.roles(form))
    made = {}
    _make(out)
    for part, mine in drawn.items():
        own = [row for row, cluster in zip(rows, clusters, strict=True) if cluster in mine]
        lines = "".join(f"{canonical_json(_kept(n, r, columns, form.id))}\n" for n, r in own)
        name = f"{definition.name}_{part}"
        text = yaml.safe_dump(
            _described(definition, part), sort_keys=False, allow_unicode=True, width=100
        )
        _write(out / part / f"{name}.jsonl", lines, secret=part == HIDDEN)
        _write(out / part / f"{name}{SUITE_FILE}", text)
        digest = sha256(lines)
        told = salted(salt, digest) if part == HIDDEN else digest
        made[part] = PartMade(name, len(own), len(mine), told)
    _write(out / HIDDEN / SALT, f"{salt}\n", secret=True)
    found = Commitment(tool_version(), definition.name, definition.version, **made)
    _write(out / COMMITMENT, found.to_json())
    return found


def _columns(definition: Definition, roles: Sequence[str]) -> list[str]:
    """Return the columns that a part keeps of its rows."""
    form = definition.data
    assert form is not None, "only a suite with rows is split"
    named = [form.columns.get(role, role) for role in roles]
    more = [c for c in (form.id, form.cluster) if c]
    return list(dict.fromkeys([*named, *form.by.values(), *more]))


def _kept(number: int, row: Row, columns: Sequence[str], id_column: str | None) -> dict[str, str]:
    kept = {c: value for c in columns if (value := cell(row.get(c))) is not None}
    return kept if id_column else {ROW: f"{number:05d}", **kept}


def _described(definition: Definition, part: str) -> dict[str, Any]:
    """Return the content of a part's suite file."""
    whole: Any = deepcopy(definition.marked.value)
    kept = ("columns", "by", "id", "cluster", "clusters")
    about = {key: whole["data"][key] for key in kept if key in whole["data"]}
    for key in ("visibility", "salt", "least") if part == PUBLIC else ("salt",):
        whole.pop(key, None)
    whole["suite"] = f"{definition.name}_{part}"
    whole["title"] = f"{definition.title} ({part} part)"
    whole["data"] = {"path": f"{definition.name}_{part}.jsonl", "id": ROW, **about}
    return {**whole, **({"visibility": HIDDEN} if part == HIDDEN else {})}


def _make(out: Path) -> None:
    try:
        if out.exists() and any(out.iterdir()):
            raise OutputError(f"{out} is not empty.", "A split has a folder of its own.")
        for part in PARTS:
            (out / part).mkdir(parents=True, mode=0o700 if part == HIDDEN else 0o755)
    except OSError as error:
        raise OutputError(f"{out} cannot be made: {error.strerror or error}.") from None


def _write(path: Path, text: str, *, secret: bool = False) -> None:
    try:
        write_whole(path, text, private=secret)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}.") from None
