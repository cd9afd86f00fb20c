"""The columns of a fleet's page: one a suite entry and headline metric, with what heads it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from pytest_bias.emit.wording import capitalized, ideal, metric_words, suite_label
from pytest_bias.errors import UnknownName
from pytest_bias.fleet.rows import Cell, Row
from pytest_bias.records.score import Score
from pytest_bias.suites import find
from pytest_bias.untrusted import clean

KINDS: Final[Mapping[str, str]] = {
    "intrinsic": "intrinsic",
    "downstream": "downstream",
    "robustness": "robustness",
    "quality": "general quality",
    "structure": "structure",
}
"""Kinds of suites in the order of the columns, in words."""

VALIDITY_MARKS: Final[Mapping[str, str]] = {"contested": "‡", "partial": "†", "supported": ""}
"""What stands beside a value; of any other validity the word does."""

NAME: Final = 60

Key: TypeAlias = tuple[str, str | None, float | None, str | None]
"""Entry, metric, ideal and unit: values that differ in one of them have no scale in common."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: cells of an entry with one headline metric, and what heads them.

    `versions` and `validities` are those of its cells, in the order of the rows; where there are
    several, each cell says its own. `empty` says that no cell has a value.
    """

    key: Key
    kind: str
    language: str
    label: str
    metric: str
    ideal: str
    control_of: str
    ideal_at: float | None
    versions: tuple[str, ...]
    validities: tuple[str, ...]
    empty: bool

    @property
    def entry(self) -> str:
        """The suite entry, such as ``crows_pairs[en]``."""
        return self.key[0]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What else heads the column: validity, whose control it is, whether versions differ."""
        found = [f"{clean(v, 20)} {VALIDITY_MARKS.get(v, '')}".strip() for v in self.validities[:3]]
        if self.control_of:
            found.append(f"control of {self.control_of}")
        if len(self.versions) > 1:
            versions = ", ".join(clean(v, 20) for v in self.versions[:3])
            found.append(f"versions {versions}: not comparable")
        return tuple(found)


def columns_of(rows: Iterable[Row]) -> list[Column]:
    """Return the columns of a table: by kind, and within it as the rows name them first.

    Those without any value stand behind all others. A metric that depends on the kind of model has
    a column for each; a cell without a score makes one only where no model has any.
    """
    found: dict[Key, list[Cell]] = {}
    bare: dict[str, list[Cell]] = {}
    entries: dict[str, None] = {}
    for row in rows:
        for cell in row.cells:
            entries.setdefault(cell.entry)
            if cell.metric is None:
                bare.setdefault(cell.entry, []).append(cell)
            else:
                found.setdefault(key_of(cell), []).append(cell)
    keys: dict[str, list[Key]] = {}
    for key in found:
        keys.setdefault(key[0], []).append(key)
    columns = [
        _column(key, found.get(key, []) or bare[entry])
        for entry in entries
        for key in keys.get(entry, [(entry, None, None, None)])
    ]
    order = list(KINDS)
    return sorted(columns, key=lambda c: (c.empty, order.index(c.kind)))


def key_of(cell: Cell) -> Key:
    """Return the column that a cell with a score belongs to.

    Points are of the scale of percentages: older reports call a difference of these so.
    """
    unit = "points" if cell.unit == "%" else cell.unit
    return cell.entry, cell.metric, cell.ideal, unit


def _column(key: Key, cells: Sequence[Cell]) -> Column:
    first = cells[0]
    score = first.score()
    return Column(
        key=key,
        kind=first.kind,
        language=clean(first.language, 20),
        label=clean(suite_label(first.result()), NAME),
        metric=_metric(score) if score else "no score",
        ideal=_ideal(first.suite, score) if score else "",
        control_of=clean(first.control_of or "", NAME),
        ideal_at=first.ideal,
        versions=tuple(dict.fromkeys(c.version for c in cells)),
        validities=tuple(dict.fromkeys(c.validity for c in cells)),
        empty=all(c.value is None for c in cells),
    )


def _metric(score: Score) -> str:
    words = capitalized(clean(metric_words(score.metric), NAME))
    return f"{words}, {clean(score.unit, 20)}" if score.unit else words


def _ideal(suite: str, score: Score) -> str:
    """Return the ideal as the badge of the suite says it, such as ``even 50``."""
    try:
        wordings = find(suite).badge
    except UnknownName:
        wordings = ()
    said = re.compile(rf"(?:^|· )((?:even|none|unmoved|all) {re.escape(ideal(score))})(?: ·|$)")
    for wording in wordings:
        if f"{{{score.metric}" in wording and (match := said.search(wording)):
            return match[1]
    return f"ideal {ideal(score)}"
