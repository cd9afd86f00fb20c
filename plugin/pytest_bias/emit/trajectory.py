"""A sequence of checkpoints on a terminal, in 80 columns."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pytest_bias.emit.change import is_exploratory, shown, signed, signed_ends
from pytest_bias.emit.wording import EXPLORATORY, group, model_name, number, suite_label
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.reports.comparison import Change, SuiteComparison
from pytest_bias.reports.trajectory import Carried, Trajectory
from pytest_bias.untrusted import clean

MOST_COLUMNS: Final = 6
"""Number of checkpoints that fit side by side in 80 columns."""

THESE: Final = "This compares these checkpoints, not ways to train."


def render(found: Trajectory) -> RenderableType:
    """Return a sequence of checkpoints as a rich renderable."""
    chosen = columns(len(found.checkpoints))
    rows = [row for suite in found.suites for row in _rows(found, suite)]
    parts: list[RenderableType] = [_names(found.checkpoints, chosen)]
    if rows:
        parts += ["", _table(rows, chosen)]
        if any(change and is_exploratory(change) for _, _, _, change in rows):
            parts.append(Text(EXPLORATORY, style="dim"))
    if found.carried:
        parts += ["", *(Text(f"{_label(found, c.entry)}: {carried(c)}") for c in found.carried)]
    parts += [Text(line, style="yellow") for line in _refused(found)]
    return Group(*parts, Text(THESE, style="dim"))


def columns(n: int) -> list[int]:
    """Return which of `n` checkpoints are shown: the first, the last, and some evenly between."""
    if n <= MOST_COLUMNS:
        return list(range(n))
    return [round(i * (n - 1) / (MOST_COLUMNS - 1)) for i in range(MOST_COLUMNS)]


Row = tuple[str, Score, Sequence[Score | None], Change | None]


def _rows(found: Trajectory, suite: SuiteComparison) -> Iterator[Row]:
    """Yield the headline of a suite and the groups that clearly changed from first to last."""
    changes = shown(suite)
    for change in changes:
        score = change.current
        mark = " °" if is_exploratory(change) else ""
        label = f"  {group(score)}{mark}" if score.by else _label(found, suite.entry)
        yield label, score, found.values(suite.entry, score), change
    headline = _newest(found, suite.entry).headline
    if not changes and headline:
        yield _label(found, suite.entry), headline, found.values(suite.entry, headline), None


def _newest(found: Trajectory, entry: str) -> SuiteResult:
    return next(s for s in found.checkpoints[-1].suites if s.entry == entry)


def _label(found: Trajectory, entry: str) -> str:
    return suite_label(_newest(found, entry))


def _names(checkpoints: Sequence[Report], chosen: Sequence[int]) -> RenderableType:
    table = Table(box=None, padding=(0, 1, 0, 0), show_header=False)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    names = [model_name(report) for report in checkpoints]
    for number_, (report, name) in enumerate(zip(checkpoints, names, strict=True), 1):
        same = names.count(name) > 1 and report.model.weights_sha256
        about = f" (weights {clean(report.model.weights_sha256 or '')[:7]})" if same else ""
        style = "" if number_ - 1 in chosen else "dim"
        table.add_row(str(number_), Text(f"{name}{about}", style=style))
    head = Text("Over these checkpoints, the oldest first", style="bold")
    if len(chosen) == len(checkpoints):
        return Group(head, table)
    shown_ = ", ".join(str(i + 1) for i in chosen)
    told = (
        f"{len(chosen)} of the {len(checkpoints)} have a column: {shown_}. Name fewer for others."
    )
    return Group(head, table, Text(told))


def _table(rows: Sequence[Row], chosen: Sequence[int]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("", ratio=1)
    for index in chosen:
        table.add_column(str(index + 1), justify="right", no_wrap=True)
    table.add_column("Change", no_wrap=True)
    for label, score, values, change in rows:
        unit = "" if score.by or not score.unit else f", {clean(score.unit, 20)}"
        table.add_row(
            Text(f"{label}{unit}", style="" if score.by else "bold"),
            *(Text(_value(values[index])) for index in chosen),
            Text(_change(change)),
        )
    return table


def _value(score: Score | None) -> str:
    if score is None or score.value is None:
        return "–"
    return number(score.value, score.unit)


def _change(change: Change | None) -> str:
    """Return the change from the oldest to the newest, with its interval below."""
    if change is None:
        return "–"
    moved = change.change
    if change.n and not change.n_changed:
        return "no item changed"
    text = f"{signed(moved.value or 0.0, change.current)} {change.direction}"
    if moved.interval is None:
        return f"{text}\nno interval"
    return f"{text}\n{signed_ends(moved.interval, change.current.unit)}"


def carried(found: Carried) -> str:
    """Describe how many outcomes of the oldest checkpoint the newest still has."""
    if found.n_same is not None:
        text = f"{found.n_same:,} of {found.n:,} outcomes are those of the oldest checkpoint"
        return f"{text}; by chance it would be about {found.n_by_chance or 0.0:,.0f}."
    if found.correlation is not None:
        return (
            f"the values of {found.n:,} items correlate with those of the oldest "
            f"checkpoint by r = {number(found.correlation, '')}."
        )
    return f"what was carried forward cannot be said, {clean(found.reason or '', 200)}."


def _refused(found: Trajectory) -> Iterator[str]:
    """Yield why scores are missing: one line per reason, with the checkpoints it applies to."""
    lines: dict[tuple[str, str], list[str]] = defaultdict(list)
    for number_, reasons in enumerate(found.reasons, 1):
        for entry, reason in reasons.items():
            lines[entry, reason].append(str(number_))
    for (entry, reason), numbers in lines.items():
        yield (
            f"{clean(entry)} of {', '.join(numbers)} cannot be compared with "
            f"{len(found.checkpoints)}: {clean(reason, 400)}"
        )
