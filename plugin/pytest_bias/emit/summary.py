"""The step summary of a workflow: a report in Markdown, with ids and counts but no item texts.

It stays below `SUMMARY_LIMIT` by construction: every cell has a largest number of characters, every
table and list a largest number of rows. A character takes five bytes at most (``&`` becomes
``&amp;``), so the longest rows are below 2 kB, those of limits below 4 kB, and there are at most
4 * 40 + 4 * 15 + 40 * 6 of them, most far shorter: four kinds of suites with remarks on them,
groups with selection rates, changes, refusals, suites without a score, limits and notes.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from pytest_bias.emit import about_model, templates
from pytest_bias.emit.absence import uncertainty, without_value
from pytest_bias.emit.bounds import LISTED, NAME, NUMBER, ROWS
from pytest_bias.emit.change import (
    THESE_TWO,
    before,
    is_exploratory,
    main_sentence,
    shown,
    signed,
    signed_ends,
    summary_dict,
)
from pytest_bias.emit.costs import cost
from pytest_bias.emit.marks import marks
from pytest_bias.emit.rows import few, limit_row, refused_rows, unscored_rows
from pytest_bias.emit.selection import ABOUT, selection
from pytest_bias.emit.verdict import decided
from pytest_bias.emit.wording import (
    EXPLORATORY,
    KINDS,
    beside_headline,
    controls_of,
    count,
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
    p_number,
    scope_limits,
    suite_label,
    value,
)
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.reports.comparison import Change, Comparison, SuiteComparison
from pytest_bias.reports.decision import Decision, severity
from pytest_bias.untrusted import markdown

SUMMARY_LIMIT: Final = 900_000
"""Bytes; GitHub drops a step summary of more than 1 MiB."""
SAID: Final = 15


def render(
    report: Report, decision: Decision | None = None, comparison: Comparison | None = None
) -> str:
    """Return summary.md."""
    model = report.model
    tables = []
    for kind, words in KINDS.items():
        suites = [s for s in own_rows(report) if s.kind == kind and s.headline]
        if suites and kind != "structure":
            rows = [row for s in suites for row in _rows(s)]
            notes = [[note] for s in suites for note in _about(report, s)]
            tables.append((words, few(rows, ROWS), few(notes, SAID)))
    about = about_model.in_short(model)
    return templates.markdown("summary.md.j2").render(
        name=markdown(model_name(report)),
        about=markdown(about),
        unread=markdown(about_model.not_read(report), 600),
        sentence=decided(decision),
        change=markdown(main_sentence(comparison) or "", 400) if comparison else "",
        changes=few(_changes(comparison), ROWS),
        about_changes=_about_changes(comparison),
        refused=few(
            refused_rows(summary_dict(comparison)["refused"] if comparison else {}), LISTED
        ),
        since=markdown(before(comparison)) if comparison else "",
        tables=tables,
        selections=list(_selections(report)),
        about_selections=ABOUT,
        others=few(unscored_rows(report), LISTED),
        not_published=[markdown(line, 600) for line in not_published(report)],
        notes=few([[markdown(note)] for note in _notes(report, comparison)], LISTED),
        limits=few(_limits(decision), ROWS),
        scope=scope_limits(report),
        cost=markdown(cost(report), 300),
        version=markdown(report.tool["version"], NUMBER),
        digest=markdown(report.digest[:19]),
    )


def _name(text: str) -> str:
    return markdown(text, NAME)


def _number(text: str) -> str:
    return markdown(text, NUMBER)


def _rows(suite: SuiteResult) -> Sequence[Sequence[str]]:
    headline = suite.headline
    if headline is None:
        return []
    rows = [_row(suite_label(suite), metric_words(headline.metric), suite, headline)]
    rows += [_row("", metric_words(s.metric), suite, s) for s in beside_headline(suite)]
    if far := furthest_group(suite):
        rows.append(_row("", f"furthest group: {group(far)}", suite, far))
    return rows


def _row(label: str, words: str, suite: SuiteResult, score: Score) -> list[str]:
    if score.floor is not None:
        words += f" ({floor(score)})"
    remarks = [suite.validity, *marks(suite)]
    return [
        _name(label),
        _name(words),
        _number(value(score)),
        markdown(without_value(score), 2 * NUMBER) or _number(uncertainty(score)),
        _number(ideal(score)),
        count(score.n),
        count(score.n_unscored),
        _name(", ".join(remarks)) if label else "",
    ]


def _about(report: Report, suite: SuiteResult) -> Iterator[str]:
    controls = controls_of(report, suite)
    shown = on_controls(controls) if controls else ""
    for note in (on_scorer(suite), on_validity(suite), shown):
        if note:
            yield f"{markdown(suite_label(suite))}, {markdown(note)}"


def _selections(report: Report) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Yield title, head and rows of each table of selection rates, as many rows as have room."""
    room = ROWS
    for suite in own_rows(report):
        for found in selection(suite):
            rows = [[_name(row[0]), *map(_number, row[1:])] for row in found.rows]
            if room > 0:
                head = [_name(found.head[0]), *found.head[1:]]
                kept = [list(row) for row in few(rows, room)]
                yield _name(f"{suite_label(suite)}: selection by {found.title.lower()}"), head, kept
            room -= len(rows)


def _notes(report: Report, comparison: Comparison | None) -> Iterator[str]:
    yield from report.notices
    for suite in comparison.suites if comparison else ():
        if suite.note:
            yield f"{suite.title}: {suite.note}"


def _changes(comparison: Comparison | None) -> list[list[str]]:
    suites = comparison.suites if comparison else ()
    return [_change(s, c) for s in suites for c in shown(s)]


def _about_changes(comparison: Comparison | None) -> list[str]:
    """Return the notes that are needed to read the changes."""
    if comparison is None or not _changes(comparison):
        return []
    looked_at = any(is_exploratory(c) for s in comparison.suites for c in shown(s))
    return [THESE_TWO, *([EXPLORATORY] if looked_at else [])]


def _change(suite: SuiteComparison, change: Change) -> list[str]:
    score, moved = change.current, change.change
    interval = signed_ends(moved.interval, score.unit) if moved.interval else "–"
    mark = " °" if is_exploratory(change) else ""
    return [
        f"{_name(group(score) or suite.title)}{mark}",
        _number(value(change.baseline)),
        _number(value(score)),
        _number(signed(moved.value or 0.0, score)),
        _number(interval),
        _number(signed(change.worsening.value or 0.0, score)),
        p_number(change.p_adjusted).replace("<", "&lt;"),
        change.direction,
        f"{count(change.n_changed)} of {count(change.n)}" if change.n else "–",
    ]


def _limits(decision: Decision | None) -> list[list[str]]:
    """Return the outcomes of the limits; the most severe come first if not all fit."""
    outcomes = list(decision.outcomes) if decision else []
    if len(outcomes) > ROWS:
        outcomes.sort(key=severity)
    return [limit_row(o) for o in outcomes]
