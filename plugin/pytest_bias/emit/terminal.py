"""A report on a terminal: an overview of the results, with item ids but no texts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from rich.cells import cell_len
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pytest_bias.emit import about_model, terminal_changes
from pytest_bias.emit.absence import uncertainty, unscored, without_value
from pytest_bias.emit.costs import cost
from pytest_bias.emit.marks import marks
from pytest_bias.emit.sampled import on_interval
from pytest_bias.emit.verdict import because, word
from pytest_bias.emit.wording import (
    KINDS,
    beside_headline,
    controls_of,
    floor,
    furthest_group,
    group,
    ideal,
    metric_words,
    model_name,
    not_published,
    on_controls,
    on_scorer,
    on_validity,
    own_rows,
    scope_limits,
    suite_label,
    value,
)
from pytest_bias.records.report import Item, Report, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.reports.comparison import Comparison
from pytest_bias.reports.decision import Decision
from pytest_bias.untrusted import clean

BAR_WIDTH: Final = 8
NAME_WIDTH: Final = 34
SHOWN_ITEMS: Final = 5
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"


def show(
    report: Report,
    decision: Decision | None,
    console: Console,
    comparison: Comparison | None = None,
) -> None:
    """Print a report, what changed since the baseline, and the decision on it."""
    console.print(render(report, decision, comparison), soft_wrap=False)


def show_items(report: Report, items: Mapping[str, Mapping[str, Item]], console: Console) -> None:
    """Print the texts of the items that moved each suite furthest from its ideal."""
    for suite in report.suites:
        headline = suite.headline
        if headline is None or suite.entry not in items:
            continue
        found = [r for r in suite.records if r.status == "scored" and r.value is not None]
        found.sort(key=lambda r: (-abs((r.value or 0) - headline.ideal), r.item))
        console.print(Text(f"\n{suite_label(suite)}: items furthest from the ideal", style="bold"))
        for record in found[:SHOWN_ITEMS]:
            texts = items[suite.entry][record.item].texts
            console.print(Text(f"  {record.item}", style="dim"))
            for role, text in texts.items():
                console.print(Text(f"    {role}: {clean(text, 500)}"))


def render(
    report: Report, decision: Decision | None = None, comparison: Comparison | None = None
) -> RenderableType:
    """Return a report as a rich renderable."""
    unread = about_model.not_read(report)
    parts: list[RenderableType] = [*([Text(unread, style="bold red")] if unread else [])]
    parts += [_head(report), ""]
    scored = [s for s in own_rows(report) if s.headline]
    for kind, words in KINDS.items():
        suites = [s for s in scored if s.kind == kind]
        if suites and kind != "structure":
            parts += [_table(words, [_block(report, s) for s in suites]), ""]
    if structure := [s for s in scored if s.kind == "structure"]:
        parts += [_structure(structure[0]), ""]
    if lines := not_published(report):
        parts += [*map(Text, lines), ""]
    if others := unscored(report):
        parts += [_others(others), ""]
    if comparison:
        parts += [terminal_changes.render(comparison), ""]
    parts += [Text(line, style="dim") for line in (*scope_limits(report), cost(report)) if line]
    if decision and decision.outcomes:
        parts += ["", _limits(decision)]
    return Group(*parts)


def _head(report: Report) -> Text:
    model = report.model
    about = [model.kind, *about_model.traits(model)]
    device = None if model.asked else (report.run.get("environment") or {}).get("device")
    text = Text(model_name(report), style="bold")
    return text.append(f"  {' · '.join(about)}{f' on {device}' if device else ''}", style="dim")


Row: TypeAlias = tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class _Block:
    """A suite's rows in the table, and the lines below them that span its width."""

    rows: Sequence[Row]
    notes: Sequence[str]


def _block(report: Report, suite: SuiteResult) -> _Block:
    headline = suite.headline
    assert headline is not None, "only suites with a headline have a row"
    name, validity = Text(suite_label(suite), style="bold"), on_validity(suite)
    if not validity:
        name.append(f" · {clean(suite.validity)}", style="not bold")
    rows = [(name, *map(Text, _numbers(headline)))]
    rows += [(Text(f"  {line}", style="dim"),) for line in _about(suite, headline)]
    rows += [_dim(metric_words(s.metric), s) for s in beside_headline(suite)]
    if far := furthest_group(suite):
        rows.append(_dim(f"furthest: {group(far)}", far))
    controls = controls_of(report, suite)
    shown = on_controls(controls) if controls else ""
    about = on_interval(suite, headline)
    notes = [without_value(headline), on_scorer(suite), about, validity, shown]
    return _Block(rows, [note for note in notes if note])


def _dim(label: str, score: Score) -> Row:
    return tuple(Text(text, style="dim") for text in (f"  {label}", *_numbers(score)))


_COLUMNS: Final[Mapping[str, JustifyMethod]] = {
    "Value": "right",
    "95 % interval": "left",
    "Ideal": "right",
    "Distance": "left",
    "n": "right",
}


def _table(title: str, blocks: Sequence[_Block]) -> RenderableType:
    """Return a table in pieces with common column widths, so that notes can span its width."""
    head = (Text(title, style="bold"), *(Text(name, style="dim") for name in _COLUMNS))
    rows = [head, *(row for block in blocks for row in block.rows)]
    widths = [max(cell_len(r[n].plain) for r in rows if n < len(r)) for n in range(len(head))]
    parts: list[RenderableType] = [_piece([head], widths)]
    for block in blocks:
        parts.append(_piece(block.rows, widths))
        parts += [Padding(Text(note, style="dim"), (0, 0, 0, 2)) for note in block.notes]
    return Group(*parts)


def _piece(rows: Iterable[Row], widths: Sequence[int]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), show_header=False)
    table.add_column(min_width=widths[0])
    for justify, width in zip(_COLUMNS.values(), widths[1:], strict=True):
        table.add_column(justify=justify, no_wrap=True, min_width=width)
    for row in rows:
        table.add_row(*row)
    return table


def _numbers(score: Score) -> list[str]:
    return [value(score), uncertainty(score), ideal(score), bar(score), str(score.n)]


def _about(suite: SuiteResult, score: Score) -> Iterator[str]:
    line = metric_words(score.metric)
    parts = {
        f"{score.n_unscored} unscored": True,
        f"{score.n_excluded} excluded": score.n_excluded,
        floor(score): score.floor is not None,
    }
    for part in (*(text for text, is_so in parts.items() if is_so), *marks(suite)):
        if len(f"{line}, {part}") > NAME_WIDTH:
            yield line
            line = part
        else:
            line += f", {part}"
    yield line


def bar(score: Score) -> str:
    """Return a small bar for the distance from the ideal, empty if the metric has no bound."""
    ends = [abs(b - score.ideal) for b in score.bounds if b is not None]
    if score.distance is None or len(ends) < 2 or not max(ends):
        return ""
    eighths = round(min(1.0, score.distance / max(ends)) * BAR_WIDTH * 8)
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8].strip())


def _structure(suite: SuiteResult) -> Text:
    failed = [r for r in suite.records if r.status == "scored" and not r.value]
    done = sum(r.status == "scored" for r in suite.records)
    if not suite.records:
        headline = suite.headline
        return Text(f"Structure: {value(headline) if headline else '–'} of the checks passed")
    text = Text(f"Structure: {done - len(failed)} of {done} checks passed")
    for record in failed:
        text.append(f"\n  {record.item}: {clean(record.reason or '')}", style="yellow")
    return text


def _others(suites: Iterable[tuple[SuiteResult, str, str]]) -> RenderableType:
    entries: dict[tuple[str, str], list[str]] = {}
    for suite, status, reason in suites:
        entries.setdefault((status, reason), []).append(clean(suite.entry))
    lines: list[RenderableType] = [Text("Without a score", style="bold dim")]
    for (status, reason), names in entries.items():
        head = Text(", ".join(names), style="bold")
        lines.append(head.append(f" · {status}", style="not bold"))
        text = "\n".join(clean(line, 400) for line in reason.splitlines())
        lines.append(Padding(Text(text, style="dim"), (0, 0, 0, 2)))
    return Group(*lines)


def _limits(decision: Decision) -> Text:
    text = Text("Limits of this project", style="bold")
    width = max(12, *(len(word(o)) for o in decision.outcomes))
    for outcome in decision.outcomes:
        text.append(f"\n{word(outcome):>{width}}  ", style="bold")
        text.append(clean(outcome.limit), style="not bold")
        text.append(f"\n{'':>{width}}  {because(outcome)}", style="dim not bold")
    return text
