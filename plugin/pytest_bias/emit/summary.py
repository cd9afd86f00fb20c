"""A report in Markdown, for the step summary of a workflow: ids and counts, no item texts."""

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

import jinja2

from pytest_bias.compare import Change, Comparison, SuiteComparison
from pytest_bias.emit.change import main_sentence, shown, signed
from pytest_bias.emit.terminal import KINDS, VERDICTS, because
from pytest_bias.emit.wording import (
    STATUS_SENTENCES,
    cost,
    furthest_group,
    group,
    ideal,
    interval,
    markdown,
    metric_words,
    model_name,
    parameters,
    sample,
    scope_limits,
    suite_label,
    value,
)
from pytest_bias.limits import Decision, Outcome
from pytest_bias.records import Report, SuiteResult
from pytest_bias.scores import Score


def render(
    report: Report, decision: Decision | None = None, comparison: Comparison | None = None
) -> str:
    """Return summary.md."""
    model = report.model
    tables = []
    for kind, words in KINDS.items():
        rows = [row for s in report.suites if s.kind == kind for row in _rows(s)]
        if rows and kind != "structure":
            tables.append((words, rows))
    return _template().render(
        name=markdown(model_name(report)),
        about=markdown(f"{model.kind} model, {parameters(model.parameters)}, {model.dtype}"),
        sentence=STATUS_SENTENCES[decision.status] if decision else "",
        change=markdown(main_sentence(comparison) or "") if comparison else "",
        changes=[_change(s, c) for s in comparison.suites for c in shown(s)] if comparison else [],
        refused=[(markdown(s.entry), markdown(s.reason)) for s in comparison.suites if s.reason]
        if comparison
        else [],
        since=markdown(model_name(comparison.baseline)) if comparison else "",
        tables=tables,
        others=[
            (markdown(s.entry), s.status.replace("_", " "), markdown(s.reason or ""))
            for s in report.suites
            if s.status != "scored"
        ],
        notes=[markdown(note) for note in _notes(report, comparison)],
        limits=[_limit(o) for o in decision.outcomes] if decision else [],
        scope=scope_limits(report),
        cost=cost(report),
        version=report.tool["version"],
        digest=report.digest[:19],
    )


@cache
def _template() -> jinja2.Template:
    text = files("bias_templates").joinpath("pages", "summary.md.j2").read_text(encoding="utf-8")
    # Values are Markdown already, escaped by `markdown`.
    return jinja2.Environment(autoescape=False, keep_trailing_newline=True).from_string(text)


def _rows(suite: SuiteResult) -> Sequence[Sequence[str]]:
    headline = suite.headline
    if headline is None:
        return []
    rows = [
        _row(markdown(suite_label(suite)), markdown(metric_words(headline.metric)), suite, headline)
    ]
    if far := furthest_group(suite):
        rows.append(_row("", f"furthest group: {markdown(group(far))}", suite, far))
    return rows


def _row(label: str, words: str, suite: SuiteResult, score: Score) -> list[str]:
    if score.floor is not None:
        words += f" (chance {score.floor:.2f})"
    remarks = [
        suite.validity,
        *(["adapted"] if suite.adapted else []),
        *([sample(suite)] if suite.sampled is not None else []),
    ]
    return [
        label,
        words,
        markdown(value(score)),
        interval(score),
        ideal(score),
        str(score.n),
        str(score.n_unscored),
        markdown(", ".join(remarks)) if label else "",
    ]


def _notes(report: Report, comparison: Comparison | None) -> Iterator[str]:
    yield from report.notices
    for suite in comparison.suites if comparison else ():
        if suite.note:
            yield f"{suite.title}: {suite.note}"


def _change(suite: SuiteComparison, change: Change) -> list[str]:
    score, moved = change.current, change.change
    interval = " to ".join(signed(end, score) for end in moved.interval) if moved.interval else "–"
    return [
        markdown(group(score) or suite.title),
        markdown(value(change.baseline)),
        markdown(value(score)),
        signed(moved.value or 0.0, score),
        interval,
        change.direction,
        f"{change.n_changed} of {change.n}" if change.n else "–",
    ]


def _limit(outcome: Outcome) -> list[str]:
    return [
        markdown(outcome.limit),
        f"**{VERDICTS[outcome.verdict]}**",
        markdown(because(outcome)),
    ]
