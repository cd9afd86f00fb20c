"""A comparison in words and on a terminal."""

from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pytest_bias.compare import Change, Comparison, SuiteComparison
from pytest_bias.emit.wording import clean, group, metric_words, model_name, number, value
from pytest_bias.scores import Score

SHOWN_GROUPS: Final = 5

THESE_TWO: Final = "This compares these two checkpoints, not two ways to train."


def render(comparison: Comparison) -> RenderableType:
    """Return a comparison as something that rich can print: headlines and what clearly moved."""
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column(Text(f"Since {model_name(comparison.baseline)}", style="bold"), ratio=1)
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
            label = clean(suite.title) if not change.current.by else f"  {group(change.current)}"
            style = "" if change.current.by else "bold"
            table.add_row(Text(label, style=style), *map(Text, _numbers(change)))
    parts: list[RenderableType] = [table] if table.row_count else []
    parts += [
        Text(f"{s.entry} cannot be compared: {clean(s.reason or '', 400)}", style="yellow")
        for s in refused
    ]
    parts += [Text(f"{clean(s.title)}: {clean(s.note, 400)}") for s in comparison.suites if s.note]
    sentence = main_sentence(comparison)
    parts += [Text(sentence)] if sentence else []
    return Group(*parts, Text(THESE_TWO, style="dim"))


def shown(suite: SuiteComparison) -> list[Change]:
    """Return the headline's change and, of its groups that clearly changed, the largest."""
    headline = next((c for c in suite.changes if c.current.headline), None)
    if headline is None:
        return []
    groups = [
        c
        for c in suite.changes
        if c.current.metric == headline.current.metric
        and len(c.current.by) == 1
        and c.direction != "unclear"
    ]
    groups.sort(key=lambda c: (-abs(c.change.value or 0), str(c.current.by)))
    return [headline, *groups[:SHOWN_GROUPS]]


def main_sentence(comparison: Comparison) -> str | None:
    """Return one sentence on what moved most clearly; null if nothing can be compared."""
    changes = [c for s in comparison.suites for c in shown(s)]
    if not changes:
        return None
    clear = [c for c in changes if c.direction != "unclear"]
    if not clear:
        return "Nothing changed clearly."
    return sentence(max(clear, key=_clarity), comparison)


def sentence(change: Change, comparison: Comparison) -> str:
    """Say one change in words, such as "religion rose 6.1 points (3.0 to 9.2) since org/name"."""
    score, moved = change.current, change.change
    what = group(score) or metric_words(score.metric)
    amount = moved.value or 0.0
    verb = "rose" if amount > 0 else "fell"
    unit = {"%": "points", "": "", "d": ""}.get(score.unit, clean(score.unit, 20))
    text = f"{what} {verb} {number(abs(amount), score.unit)} {unit}".rstrip()
    if moved.interval:
        ends = sorted(abs(end) for end in moved.interval)
        text += f" ({number(ends[0], score.unit)} to {number(ends[1], score.unit)})"
    text += f" since {model_name(comparison.baseline)}, {_towards(change)}"
    if change.n:
        text += f"; {change.n_changed} of {change.n} items changed"
    return f"{text}."


def _towards(change: Change) -> str:
    words = {
        "better": "closer to the ideal",
        "worse": "further from the ideal",
        "crossed": "to the other side of the ideal",
        "unclear": "which is not clear",
    }
    return words[change.direction]


def _clarity(change: Change) -> float:
    interval = change.change.interval
    if interval is None or change.change.value is None or interval[0] == interval[1]:
        return 0.0
    return abs(change.change.value) / (interval[1] - interval[0])


def _numbers(change: Change) -> list[str]:
    score, moved = change.current, change.change
    interval = "–"
    if moved.interval:
        low, high = (signed(end, score) for end in moved.interval)
        interval = f"{low} to {high}"
    return [
        value(change.baseline),
        value(score),
        signed(moved.value or 0.0, score),
        interval,
        change.direction if change.n_changed or change.n == 0 else "no item changed",
    ]


def signed(amount: float, score: Score) -> str:
    """Return a change with its sign."""
    text = number(amount, score.unit)
    return f"+{text}" if amount > 0 and float(text) != 0 else text
