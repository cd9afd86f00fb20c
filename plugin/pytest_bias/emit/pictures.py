"""Scores and changes as pictures, each with a text alternative and a table of its values."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from markupsafe import Markup

from pytest_bias.emit.absence import without_value
from pytest_bias.emit.bounds import NAME
from pytest_bias.emit.change import is_exploratory, shown, signed, signed_ends
from pytest_bias.emit.marks import marks
from pytest_bias.emit.plots import Row, Scale, forest, scale
from pytest_bias.emit.wording import (
    EXPLORATORY,
    capitalized,
    count,
    floor,
    group,
    ideal,
    interval,
    level,
    metric_words,
    number,
    p_number,
    suite_label,
    value,
)
from pytest_bias.records.report import SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.reports.comparison import Change, SuiteComparison
from pytest_bias.untrusted import clean

GROUP_ROWS: Final = 40
"""Largest number of groups in one picture; the table has more."""
OVERVIEW_ROWS: Final = 30
TABLE_ROWS: Final = 200


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a limited number of rows; `left_out` more are in report.json only.

    The first `names` columns are words, the others numbers.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int = 1
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture, what it shows, and the table of its values."""

    svg: Markup
    caption: str
    table: Table
    notes: tuple[str, ...] = ()


def short(text: str) -> str:
    """Return a name chosen by others, cut if it is long."""
    return clean(text, NAME)


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], names: int = 1, most: int = TABLE_ROWS
) -> Table:
    """Return the first rows as a table, with the number of rows left out."""
    kept = tuple(tuple(row) for row in rows[:most])
    return Table(tuple(head), kept, names, len(rows) - len(kept))


def written(score: Score) -> str:
    """Return a value with its interval, as in a picture; an exploratory one is marked."""
    text = f"{value(score)} ({interval(score)})" if score.interval else value(score)
    return f"{text} °" if score.by and score.family == "exploratory" else text


def remarks(suite: SuiteResult) -> list[str]:
    """Return the remarks beside a score: validity, and marks of the measurement."""
    found = [
        clean(suite.validity, 20),
        *marks(suite),
        *([status(suite)] if suite.status != "scored" else []),
    ]
    return [clean(f, 60) for f in found]


def status(suite: SuiteResult) -> str:
    """Return the status of a suite as words."""
    return suite.status.replace("_", " ")


def overview(suites: Sequence[SuiteResult]) -> Picture | None:
    """Return the headlines of suites, each on its metric's own scale; None if none has a value."""
    pairs = [(s, s.headline) for s in suites]
    scored = [(s, h) for s, h in pairs if h is not None]
    drawn = [(s, h) for s, h in scored if h.value is not None]
    if not drawn:
        return None
    rows = [_headline(s, h) for s, h in drawn[:OVERVIEW_ROWS]]
    notes = [
        f"{suite_label(s)} has {without_value(h)}."
        for s, h in scored[:OVERVIEW_ROWS]
        if h.value is None
    ]
    if len(drawn) > len(rows):
        notes.append(f"{len(drawn) - len(rows)} suites are left out of the picture.")
    head = ("Suite", "Score", "Validity", "Value", "Interval", "Ideal", "Floor", "n")
    behind = [
        (
            short(suite_label(s)),
            short(metric_words(h.metric)),
            ", ".join(remarks(s)),
            value(h),
            interval(h),
            ideal(h),
            floor(h) or "–",
            count(h.n),
        )
        for s, h in scored
    ]
    return Picture(
        svg=forest(rows, _alternative(zip(rows, (h for _, h in drawn), strict=False))),
        caption="Each line is the scale of its own metric; the tick is the ideal",
        table=table(head, behind, names=3, most=2 * OVERVIEW_ROWS),
        notes=tuple(notes),
    )


def _headline(suite: SuiteResult, score: Score) -> Row:
    about = " · ".join([short(metric_words(score.metric)), *remarks(suite)])
    row = _row(short(suite_label(suite)), score, about=about)
    words = f"ideal {ideal(score)}"
    if row.floor is not None:
        words += f" · {floor(score)}"
    low, high = score.bounds
    if low is not None and high is not None and 0 < high - low < 1e100:
        own = Scale(low, high, score.ideal, words)
    else:
        own = scale([row], score.ideal, score.bounds, 20 * score.tolerance, words)
    return replace(row, scale=own)


def by_group(suite: SuiteResult) -> Picture | None:
    """Return the groups of the headline, or of the first score that has any, on one scale."""
    found = _first_level(suite)
    if not found:
        return None
    one, by = found[0], tuple(found[0].by)
    groups = [s for s in found if s.value is not None]
    if not groups:
        return None
    whole = [s for s in suite.scores if s.metric == one.metric and not s.by and s.value is not None]
    kept = sorted(groups, key=lambda s: (-(s.distance or 0), str(s.by)))[:GROUP_ROWS]
    kept.sort(key=lambda s: (-(s.value or 0), str(s.by)))
    scores = [*whole[:1], *kept]
    rows = [_row(short(group(s)) or "all", s, strong=not s.by) for s in scores]
    shared = scale(rows, one.ideal, one.bounds, 20 * one.tolerance, f"ideal {ideal(one)}")
    levels = ", ".join(metric_words(k) for k in by)
    notes = []
    if left := len(groups) - len(kept):
        notes.append(f"The {len(kept)} groups furthest from the ideal; {left} more in the table.")
    if none := len(found) - len(groups):
        notes.append(f"Without a value: {none}; the table says why.")
    if any(s.family == "exploratory" for s in kept):
        notes.append(EXPLORATORY)
    return Picture(
        svg=forest(rows, _alternative(zip(rows, scores, strict=True)), shared),
        caption=capitalized(clean(f"{metric_words(one.metric)} by {levels}", 2 * NAME)),
        table=scores_table(suite),
        notes=tuple(notes),
    )


def _first_level(suite: SuiteResult) -> list[Score]:
    headline = suite.headline
    groups = [s for s in suite.scores if s.by]
    groups = [s for s in groups if headline and s.metric == headline.metric] or groups
    return [s for s in groups if (s.metric, tuple(s.by)) == (groups[0].metric, tuple(groups[0].by))]


def scores_table(suite: SuiteResult) -> Table:
    """Return every score of a suite."""
    floors = any(s.floor is not None for s in suite.scores)
    tests = any(s.p_value is not None for s in suite.scores)
    rows = []
    for score in suite.scores:
        row = [
            short(metric_words(score.metric)),
            short(group(score)) or "all",
            value(score),
            interval(score),
            ideal(score),
            count(score.n),
            count(score.n_unscored),
        ]
        row += [floor(score) or "–"] * floors
        row += [p_number(score.p_value), p_number(score.p_adjusted), score.family or ""] * tests
        row.append(_remark(score))
        rows.append(row)
    head = ["Score", "Group", "Value", "Interval", "Ideal", "n", "Unscored"]
    head += ["Floor"] * floors + ["p", "adjusted", "among"] * tests + ["Remark"]
    return table(head, rows, names=2)


def _remark(score: Score) -> str:
    parts = [score.note, score.interval_reason if score.interval is None else None]
    if score.p_value is None and score.test is not None:
        parts.append(score.p_reason)
    return "; ".join(dict.fromkeys(clean(p, 120) for p in parts if p))


def changes(suite: SuiteComparison) -> Picture | None:
    """Return the changes in a suite since the baseline; None if nothing can be compared."""
    drawn = shown(suite)
    if not drawn:
        return None
    rows = [
        Row(
            label=short(group(c.current)) or short(metric_words(c.current.metric)),
            written=_change(c),
            value=c.change.value or 0.0,
            interval=c.change.interval,
            about=f"{value(c.baseline)} → {value(c.current)} · {direction(c)}",
            strong=not c.current.by,
        )
        for c in drawn
    ]
    one = drawn[0].current
    shared = scale(rows, 0.0, (None, None), 20 * one.tolerance, "no change")
    said = [
        f"{row.label}: from {value(c.baseline)} to {value(c.current)}, change "
        f"{row.written.removesuffix(' °')}, {direction(c)}"
        f"{', exploratory' if is_exploratory(c) else ''}"
        for row, c in zip(rows, drawn, strict=True)
    ]
    notes = [clean(suite.note, 300)] if suite.note else []
    if any(map(is_exploratory, drawn)):
        notes.append(EXPLORATORY)
    clear = [c for c in suite.changes if c.current.by and c.direction != "unclear"]
    if len(clear) > len(drawn) - 1:
        notes.append(
            f"{len(clear)} scores of groups changed clearly; the picture has the largest changes "
            "of the headline."
        )
    return Picture(
        svg=forest(rows, f"Forest plot of changes. {'. '.join(said)}.", shared),
        caption=f"Change of {short(metric_words(one.metric))}, now minus before",
        table=_changes_table(suite),
        notes=tuple(notes),
    )


def _changes_table(suite: SuiteComparison) -> Table:
    head: tuple[str, ...] = ("Score", "Group", "Before", "Now", "Change", "Interval")
    head += ("p", "adjusted", "among", "Items changed", "Direction")
    rows = [
        (
            short(metric_words(c.current.metric)),
            short(group(c.current)) or "all",
            value(c.baseline),
            value(c.current),
            signed(c.change.value or 0.0, c.current),
            _change_interval(c) or "–",
            p_number(c.change.p_value),
            p_number(c.p_adjusted),
            c.family,
            f"{count(c.n_changed)} of {count(c.n)}" if c.n else "–",
            direction(c),
        )
        for c in suite.changes
    ]
    return table(head, rows, names=2)


def direction(change: Change) -> str:
    """Return the direction of a change, in one to three words."""
    return change.direction if change.n_changed or change.n == 0 else "no item changed"


def _change(change: Change) -> str:
    amount = signed(change.change.value or 0.0, change.current)
    ends = _change_interval(change)
    text = f"{amount} ({ends})" if ends else amount
    return f"{text} °" if is_exploratory(change) else text


def _change_interval(change: Change) -> str:
    if change.change.interval is None:
        return ""
    return signed_ends(change.change.interval, change.current.unit)


def _row(label: str, score: Score, about: str = "", *, strong: bool = False) -> Row:
    at = score.floor
    if at is not None and abs(at - score.ideal) <= score.tolerance:
        # The ideal is marked already.
        at = None
    return Row(
        label=label,
        written=written(score),
        value=score.value or 0.0,
        interval=score.interval,
        floor=at,
        about=about,
        strong=strong,
    )


def _alternative(pairs: Iterable[tuple[Row, Score]]) -> str:
    said = []
    for row, score in pairs:
        words = f"{row.label}: {value(score)}"
        if score.interval:
            low, high = (number(end, score.unit) for end in score.interval)
            words += f", {level(score)} interval {low} to {high}"
        words += f", ideal {ideal(score)}"
        if row.written.endswith("°"):
            words += ", exploratory"
        if score.floor is not None:
            words += f", {floor(score)}"
        said.append(f"{words}{f' ({row.about})' if row.about else ''}")
    return f"Forest plot. {'. '.join(said)}."
