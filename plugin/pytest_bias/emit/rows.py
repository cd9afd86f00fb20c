"""Rows of Markdown tables and lists that several outputs share."""

from collections.abc import Mapping, Sequence

from pytest_bias.emit.absence import unscored
from pytest_bias.emit.bounds import NAME
from pytest_bias.emit.verdict import BECAUSE, because, word
from pytest_bias.records.report import Report
from pytest_bias.reports.decision import Outcome
from pytest_bias.untrusted import markdown


def few(rows: Sequence[Sequence[str]], most: int) -> list[Sequence[str]]:
    """Return the first rows, and a row that says how many more there are."""
    left = len(rows) - most
    if left <= 0:
        return list(rows)
    more = [f"and {left} more in report.json", *[""] * (len(rows[0]) - 1)]
    return [*rows[:most], more]


def unscored_rows(report: Report) -> list[list[str]]:
    """Return the suites without a score, failed ones first."""
    return [
        [markdown(s.entry, NAME), words, markdown(reason)] for s, words, reason in unscored(report)
    ]


def refused_rows(refused: Mapping[str, str]) -> list[list[str]]:
    """Return the suites that cannot be compared, each with the reason."""
    return [
        [f"{markdown(entry, NAME)} cannot be compared: {markdown(reason)}"]
        for entry, reason in refused.items()
    ]


def limit_row(outcome: Outcome) -> list[str]:
    """Return a limit, its verdict and the basis of the verdict."""
    return [
        markdown(outcome.limit, 120),
        f"**{word(outcome)}**",
        markdown(because(outcome), BECAUSE),
    ]
