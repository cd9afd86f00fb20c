"""What the document is made from, and the scores of a report as rows of its tables."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pytest_bias.emit.absence import without_value
from pytest_bias.emit.bounds import NAME, NUMBER
from pytest_bias.emit.card.context import Context
from pytest_bias.emit.exports.annex_iv.document import MOST, Table, table, words
from pytest_bias.emit.exports.rows import Absent, absent
from pytest_bias.emit.wording import (
    count,
    floor,
    ideal,
    interval,
    level,
    metric_words,
    own_rows,
    suite_label,
    value,
)
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.reports.decision import Decision
from pytest_bias.suites.suite import STRUCTURE

SUITES: Final = 60
"""Largest number of suites that are described one by one."""
NUMBERS: Final = (1, 2, 3, 4)
"""Columns of a table of scores that hold numbers."""


@dataclass(frozen=True)
class Source:
    """A report with the decision on it, and what the provider states."""

    report: Report
    decision: Decision | None
    context: Context

    @cached_property  # so the class has no slots
    def absent(self) -> tuple[Absent, ...]:
        """The suites whose scores do not exist or may not be shown, with the reasons."""
        return absent(self.report)

    @cached_property
    def shown(self) -> tuple[SuiteResult, ...]:
        """The suites with scores that may be shown; controls are shown with their suites."""
        without = {one.suite.entry for one in self.absent}
        return tuple(s for s in own_rows(self.report) if s.entry not in without)

    @cached_property
    def social(self) -> tuple[SuiteResult, ...]:
        """Those of the suites shown that measure more than the structure of the model."""
        return tuple(s for s in self.shown if s.name != STRUCTURE)

    @cached_property
    def described(self) -> tuple[tuple[SuiteResult, ...], ...]:
        """The social suites by name: all configurations of a suite share a scope card."""
        found: dict[str, list[SuiteResult]] = {}
        for suite in self.social:
            found.setdefault(suite.name, []).append(suite)
        return tuple(map(tuple, found.values()))

    def controls(self, suite: SuiteResult) -> tuple[SuiteResult, ...]:
        """The suites shown whose texts are controls of another one."""
        without = {one.suite.entry for one in self.absent}
        return tuple(
            s
            for s in self.report.suites
            if (s.name, s.control_of) == (suite.name, suite.config) and s.entry not in without
        )


def scores_table(caption: str, rows: Sequence[tuple[Sequence[str], Score]], first: str) -> Table:
    """Return scores with value, interval, ideal and number of items.

    Parameters
    ----------
    rows : sequence
        The texts of the first and the last column, and the score.
    first : str
        Title of the first column.
    """
    levels = {level(s) for _, s in rows if s.interval}
    told = len(levels) != 1
    ends = "Interval" if told else f"{levels.pop()} interval"
    head = (first, "Value", ends, "Ideal", "n", "Remarks")
    cells = [(names[0], *numbers(score, own_level=told), names[1]) for names, score in rows]
    return table(caption, head, cells, NUMBERS)


def labels(suites: Sequence[SuiteResult]) -> str:
    """Return the names of a suite's configurations as one."""
    first = words(suite_label(suites[0]), NAME)
    return ", ".join([first, *(words(s.config, NAME) for s in suites[1:SUITES])])


def numbers(score: Score, *, own_level: bool = False) -> tuple[str, str, str, str]:
    """Return the value of a score, its interval, its ideal, and its number of items."""
    ends = interval(score) if score.interval or score.value is None else "none"
    if own_level and score.interval:
        ends += f" ({level(score)})"
    return (words(value(score), NUMBER), words(ends, NAME), ideal(score), count(score.n))


def metric(score: Score) -> str:
    """Return the name of a metric, with the group that it is of."""
    name = words(metric_words(score.metric), NAME)
    return f"{name}, {group(score)}" if score.by else name


def group(score: Score) -> str:
    """Return a group with what it is a group of, such as ``bias type: religion``."""
    pairs = ((metric_words(key), words(name, NAME)) for key, name in score.by.items())
    return ", ".join(f"{words(key, NAME)}: {name}" for key, name in pairs)


def remark(score: Score, more: Iterable[str] = ()) -> str:
    """Return floor, missing numbers, and counts of items that a score leaves out."""
    found = [words(floor(score), NAME), *more]
    if score.value is None:
        found.append(words(without_value(score), 300))
    elif score.interval is None:
        found.append(f"no interval: {words(score.interval_reason or 'no reason is given', 300)}")
    if score.n_unscored:
        found.append(f"{count(score.n_unscored)} unscored")
    if score.n_excluded:
        found.append(f"{count(score.n_excluded)} excluded by the suite's own rule")
    return "; ".join(filter(None, found))


def card(suite: SuiteResult, field: str) -> str:
    """Return a field of a suite's scope card as text; empty where the report has none."""
    content = suite.about.scope.get(field) if suite.about else None
    if isinstance(content, list | tuple):
        parts = [str(part).strip() for part in content]
        content = (" " if all(p.endswith(".") for p in parts) else "; ").join(parts)
    return words(str(content or "").strip(), MOST)
