"""Kinds of suite files: each is one way to measure, such as pairs of texts.

A kind defines the columns and the keys that it needs, turns rows into items, and provides measures
and metrics. Kinds are registered in the entry-point group ``pytest_bias.kinds``, each entry a tuple
of `Kind`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

from pytest_bias.data.user_tables import RowSource
from pytest_bias.forms.keys import Key
from pytest_bias.forms.yaml_with_lines import Marked
from pytest_bias.records.report import Item
from pytest_bias.suites.files.schema import DataForm
from pytest_bias.suites.hiding import LEAST
from pytest_bias.suites.measures import Measure
from pytest_bias.suites.suite import SuiteKind

ENTRY_POINTS: Final = "pytest_bias.kinds"


@dataclass(frozen=True, slots=True)
class DataRow:
    """One row of a suite's data.

    Parameters
    ----------
    id, cluster : str
        Names of the row and of its cluster.
    by : mapping of str to str
        Groups of the row, without those that have no value.
    cells : mapping of str to str
        Role of a column to the row's text in it; empty where the row has none.
    problem : str, optional
        What is wrong with the row in its file; its cells are then empty.
    """

    id: str
    cluster: str
    by: Mapping[str, str]
    cells: Mapping[str, str]
    problem: str | None = None

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
        reason = self.problem or problem or empty
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
    """The checked content of a suite file; `options` are the keys of its kind.

    `salt` is the place of the salt of hidden items, None where the items are open.
    """

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
    salt: RowSource | None = None
    least: int = LEAST

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The groups that scores are reported for: each key of ``by`` by itself."""
        return tuple((key,) for key in (self.data.by if self.data else ()))


def _nothing_more(definition: Definition) -> None:
    return None


@dataclass(frozen=True)
class Kind:
    """One way to measure a suite file.

    Parameters
    ----------
    name, about : str
        Name in the file; what it measures, in one line.
    suite_kind : str
        ``intrinsic`` or ``downstream``.
    columns : mapping of str to Key
        Columns of a row; empty for a kind without rows.
    options : mapping of str to Key
        Keys of the file that are specific to this kind.
    items : callable
        Turns the rows into items.
    measures : callable
        Returns the measures of a suite, in order of preference.
    badge : tuple of str
        As `Suite.badge`.
    headline : str
        Which of several numbers is the headline and why, for the scope card; empty where it
        needs no explanation.
    slots : bool
        Whether `columns` are chosen by the file, which names the slot of a text that each fills,
        and data are optional.
    clusters : str
        Name of the clusters of its items, in the plural, where the kind makes them; empty where the
        data do.
    check : callable
        Raises `UsageError` where options are inconsistent.
    """

    name: str
    about: str
    suite_kind: SuiteKind
    columns: Mapping[str, Key]
    options: Mapping[str, Key]
    items: Callable[[Definition, Sequence[DataRow]], Iterable[Item]]
    measures: Callable[[Definition], tuple[Measure, ...]]
    badge: tuple[str, ...] = ()
    headline: str = ""
    slots: bool = False
    clusters: str = ""
    check: Callable[[Definition], None] = field(default=_nothing_more)

    def roles(self, form: DataForm) -> tuple[str, ...]:
        """Return the roles of columns that a data section may name."""
        return tuple(form.columns if self.slots else self.columns)


@cache
def kinds() -> Mapping[str, Kind]:
    """Return every installed kind by name."""
    points = sorted(entry_points(group=ENTRY_POINTS), key=lambda p: p.name)
    return {kind.name: kind for point in points for kind in point.load()}
