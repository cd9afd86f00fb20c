"""A comparison on a terminal."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pytest_bias.emit.change import (
    THESE_TWO,
    before,
    distance,
    evidence,
    is_exploratory,
    main_sentence,
    most_changed,
    shown,
    signed,
    signed_ends,
)
from pytest_bias.emit.wording import EXPLORATORY, group, value
from pytest_bias.reports.comparison import Change, Comparison, SuiteComparison
from pytest_bias.untrusted import clean


def render(comparison: Comparison) -> RenderableType:
    """Return a comparison as a rich renderable: headlines and clear changes."""
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column(Text(f"Since {before(comparison)}", style="bold"), ratio=1)
    for name in ("Before", "Now", "Change"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("95 % interval", no_wrap=True)
    table.add_column("", no_wrap=True)
    refused = []
    for suite in comparison.suites:
        if suite.reason:
            refused.append(suite)
            continue
        for change in shown(suite):
            style = "" if change.current.by else "bold"
            table.add_row(Text(_label(suite, change), style=style), *map(Text, _numbers(change)))
    parts: list[RenderableType] = [table] if table.row_count else []
    parts += [part for s in comparison.suites for part in _about(s)]
    parts += [
        Text(f"{s.entry} cannot be compared: {clean(s.reason or '', 400)}", style="yellow")
        for s in refused
    ]
    parts += [Text(f"{clean(s.title)}: {clean(s.note, 400)}") for s in comparison.suites if s.note]
    sentence = main_sentence(comparison)
    parts += [Text(sentence)] if sentence else []
    if any(is_exploratory(c) for s in comparison.suites for c in shown(s)):
        parts.append(Text(EXPLORATORY, style="dim"))
    return Group(*parts, Text(THESE_TWO, style="dim"))


def _label(suite: SuiteComparison, change: Change) -> str:
    if not change.current.by:
        return clean(suite.title)
    return f"  {group(change.current)}{' °' if is_exploratory(change) else ''}"


def _about(suite: SuiteComparison) -> Iterator[RenderableType]:
    """Yield, for a changed headline, its distance from the ideal now and the items that moved."""
    for change in shown(suite)[:1]:
        if change.n_changed:
            yield Text(clean(suite.title), style="dim bold")
            lines = [f"{distance(change)}; {evidence(change)}"]
            if change.items:
                lines.append(f"most of all: {most_changed(change)}")
            yield Padding(Text("\n".join(lines), style="dim"), (0, 0, 0, 2))


def _numbers(change: Change) -> list[str]:
    score, moved = change.current, change.change
    interval = "–"
    if moved.interval:
        interval = signed_ends(moved.interval, score.unit)
    return [
        value(change.baseline),
        value(score),
        signed(moved.value or 0.0, score),
        interval,
        change.direction if change.n_changed or change.n == 0 else "no item changed",
    ]
