"""The columns of a fleet's page: one a suite entry and headline metric, with what heads it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from pytest_bias.emit.wording import capitalized, ideal, metric_words, suite_label
from pytest_bias.fleet.rows import FleetRow
from pytest_bias.records.report import SuiteResult
from pytest_bias.records.score import Score
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
    """One column: results of an entry with one headline metric, and what heads them.

    `versions` and `validities` are those of its results, in the order of the rows; where there are
    several, each cell says its own. `empty` says that none has a value.
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


def columns_of(rows: Iterable[FleetRow]) -> list[Column]:
    """Return the columns of a table: by kind, and within it as the rows name them first.

    Those without any value stand behind all others. A metric that depends on the kind of model has
    a column for each; a result without a score makes one only where no model has any.
    """
    found: dict[str, dict[Key, list[SuiteResult]]] = {}
    ideals: dict[Key, str] = {}
    for row in rows:
        for suite in row.suites:
            key = key_of(suite)
            found.setdefault(suite.entry, {}).setdefault(key, []).append(suite)
            ideals.setdefault(key, row.ideals[suite.entry])
    columns = [
        _column(key, of[key], ideals[key])
        for of in found.values()
        for key in [k for k in of if k[1] is not None] or of
    ]
    order = list(KINDS)
    return sorted(columns, key=lambda c: (c.empty, order.index(c.kind)))


def key_of(suite: SuiteResult) -> Key:
    """Return the column that a result belongs to.

    Points are of the scale of percentages: older reports call a difference of these so.
    """
    score = suite.headline
    if score is None:
        return suite.entry, None, None, None
    return suite.entry, score.metric, score.ideal, "points" if score.unit == "%" else score.unit


def _column(key: Key, suites: Sequence[SuiteResult], ideal_label: str) -> Column:
    first = suites[0]
    score = first.headline
    return Column(
        key=key,
        kind=first.kind,
        language=clean(first.language, 20),
        label=clean(suite_label(first), NAME),
        metric=_metric(score) if score else "no score",
        ideal=f"{ideal_label or 'ideal'} {ideal(score)}" if score else "",
        control_of=clean(first.control_of or "", NAME),
        ideal_at=key[2],
        versions=tuple(dict.fromkeys(s.version for s in suites)),
        validities=tuple(dict.fromkeys(s.validity for s in suites)),
        empty=all(s.headline is None or s.headline.value is None for s in suites),
    )


def _metric(score: Score) -> str:
    words = capitalized(clean(metric_words(score.metric), NAME))
    return f"{words}, {clean(score.unit, 20)}" if score.unit else words
