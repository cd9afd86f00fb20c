"""What a kind of suites that are data is: one way to measure, such as pairs of texts.

It says which columns and which keys of the file it needs, turns rows into items, and brings
measures and metrics; kinds come from the entry-point group ``pytest_bias.kinds``, each entry a
tuple of `Kind`.
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
    """One row of the data of a suite.

    Parameters
    ----------
    id, cluster : str
        Names of the row and of what it belongs with.
    by : mapping of str to str
        Groups of the row, those that have a value.
    cells : mapping of str to str
        What the suite needs to the text of the column that has it; empty where the row has none.
    problem : str, optional
        What is wrong with the row in its file; it has no cells then.
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
    """What a file says, checked; `options` are the keys of its kind.

    `salt` is where that of hidden items is, null where they are open.
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
    headline : str
        Which of several numbers is the headline and why, for the scope card; empty where that
        needs no words.
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
    headline: str = ""
    check: Callable[[Definition], None] = field(default=_nothing_more)


@cache
def kinds() -> Mapping[str, Kind]:
    """Return every installed kind by name."""
    points = sorted(entry_points(group=ENTRY_POINTS), key=lambda p: p.name)
    return {kind.name: kind for point in points for kind in point.load()}
