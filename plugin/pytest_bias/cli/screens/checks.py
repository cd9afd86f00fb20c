"""Outcomes of checks, as a table and a sentence."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pytest_bias.evidence.checks import Check
from pytest_bias.untrusted import clean

STYLES: Final = {"holds": "", "fails": "bold red", "unknown": "yellow", "unverified": "yellow"}


def show(checks: Sequence[Check], console: Console) -> None:
    """Print one row per check; checks of one suite that all hold share a row."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("Check", "Outcome", "Detail"):
        table.add_column(column, overflow="fold")
    for check in _folded(checks):
        name = f"{check.about} {check.what}".strip()
        outcome = Text(check.outcome, style=STYLES[check.outcome])
        table.add_row(Text(clean(name)), outcome, Text(clean(check.detail, 500)))
    console.print(table)


def _folded(checks: Sequence[Check]) -> Iterator[Check]:
    for about, group in groupby(checks, key=lambda c: c.about):
        found = list(group)
        if about and all(c.outcome == "holds" for c in found):
            yield Check("", "holds", "; ".join(c.detail for c in found), about)
        else:
            yield from found


def sentence(checks: Sequence[Check], *, published: bool) -> str:
    """Summarize the outcomes."""
    failed = [c for c in checks if c.outcome == "fails"]
    unknown = sum(c.outcome == "unknown" for c in checks)
    if failed:
        first = f"{failed[0].about} {failed[0].what}".strip()
        return f"Does not hold: {len(failed)} of {len(checks)} checks failed, the first {first}."
    parts = ["All that could be checked holds." if unknown else "Everything holds."]
    if unknown:
        parts.append(f"{unknown} of {len(checks)} checks could not be made here.")
    if any(c.outcome == "unverified" and c.what == "signature" for c in checks) and published:
        parts.append(
            "Unverified: nobody signed the report, so all of it could be made up. "
            "pytest-bias reproduce runs it again."
        )
    return " ".join(parts)
