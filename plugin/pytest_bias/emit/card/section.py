"""The section of a model card, in Markdown: the results, their uncertainty, and what is missing.

Scores are shown with interval, ideal and number of items, and never as passed. The section names
what was left out, how to verify it and how to run it again. It has no item texts.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from pytest_bias.emit import about_model, templates
from pytest_bias.emit.absence import not_run, short_reason, unscored, without_value
from pytest_bias.emit.badges import Badge, badges
from pytest_bias.emit.bounds import NAME, NUMBER, ROWS
from pytest_bias.emit.card.context import Context, context_of
from pytest_bias.emit.card.readme import BEGIN, END
from pytest_bias.emit.floors import legend
from pytest_bias.emit.marks import marks
from pytest_bias.emit.rows import few
from pytest_bias.emit.wording import (
    KINDS,
    beside_headline,
    capitalized,
    controls_of,
    count,
    date,
    floor,
    furthest_group,
    group,
    ideal,
    interval,
    level,
    metric_words,
    not_published,
    on_controls,
    on_scorer,
    on_validity,
    own_rows,
    scope_limits,
    suite_label,
    value,
)
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.records.suite_states import FAILED
from pytest_bias.reports.publication_layout import Place, PublicationStatus, Rerun
from pytest_bias.untrusted import clean, markdown

SUITE_BADGES: Final = 6
WITHOUT: Final = (*FAILED, "scored", "skipped")
"""Statuses of suites that could have a score but have none, the most severe first."""

_PATH: Final = re.compile(r"(?<![\w/\\:.-])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\]+[/\\])+([^\s/\\]*)")

SHOWN: Final = "Scores are shown, never passed."
STALE: Final = (
    "These scores are of older weights: the model, its configuration, tokenizer or code has "
    "changed since."
)


def section(
    report: Report,
    place: Place,
    standing: PublicationStatus | None = None,
    context: Mapping[str, Any] | None = None,
) -> str:
    """Return the section, including its markers.

    Parameters
    ----------
    report : Report
        The report; a withheld one has no tables.
    place : Place
        Where badges and report are, seen from the text, and how commands name the model.
    standing : PublicationStatus, optional
        Whether the model has changed since, and the result of a second run.
    context : mapping, optional
        The intended context of the model: `languages`, `region`, `intended_use`, `groups`. By
        default the context in the report.
    """
    standing = standing or PublicationStatus()
    earned = list(badges(report, standing))
    of_suites = [b for b in earned if _is_of_suite(report, b)]
    of_all = [b for b in earned if b not in of_suites]
    about = context_of(report, context)
    shown = [
        s for s in own_rows(report) if s.headline and s.kind in KINDS and s.kind != "structure"
    ]
    measured = [s for s in report.suites if s.status in ("scored", "withheld") and not s.control_of]
    social = [s for s in measured if s.kind in ("intrinsic", "downstream")]
    return (
        templates.markdown("card.md.j2", trim_blocks=True, lstrip_blocks=True)
        .render(
            begin=BEGIN,
            end=END,
            badges=[_badge(b, place) for b in of_all],
            suite_badges=[_badge(b, place) for b in of_suites[:SUITE_BADGES]],
            more_badges=len(of_suites) - SUITE_BADGES,
            model=markdown(_model(report)),
            date=markdown(date(report) or "without a date", NUMBER),
            version=markdown(report.tool["version"], NUMBER),
            unread=markdown(about_model.not_read(report), 600),
            stale=STALE if standing.stale else "",
            rerun=_rerun(standing.rerun),
            scope=[SHOWN, *scope_limits(report)],
            tables=list(_tables(shown, about)),
            level=level(shown[0].headline) if shown and shown[0].headline else "",
            not_published=[markdown(line, 600) for line in not_published(report)],
            context=[(name, markdown(said, 600)) for name, said in about.said.items()],
            missed=[markdown(line, 400) for line in about.missed(social)] if social else [],
            not_run=few([[markdown(_title(report, name), NAME)] for name in not_run(report)], ROWS),
            failed=few(_without(report, WITHOUT), ROWS),
            unfit=few(_without(report, ("not_applicable",)), ROWS),
            about=few(_about(report, shown), ROWS),
            floors=legend(s for suite in shown for s in suite.scores),
            report=_link(place.report),
            command=shlex.quote(clean(place.command)),
            revision=markdown(report.model.revision or "", NAME),
            weights=markdown(report.model.weights_sha256 or "", NAME),
            digest=markdown(report.digest, NAME),
        )
        .strip("\n")
    )


def _model(report: Report) -> str:
    return about_model.in_short(report.model)


# Badges


def _is_of_suite(report: Report, badge: Badge) -> bool:
    return badge.name in {f"{s.name}-{s.config}" for s in report.suites}


def _badge(badge: Badge, place: Place) -> str:
    words = markdown(f"{badge.label}: {badge.message}")
    return f"[![{words}]({_link(f'{place.badges}/{badge.name}.svg')})]({_link(place.report)})"


def _link(address: str) -> str:
    return quote(address, safe="/:@%+~,=?&")


# Scores


def _tables(
    shown: Sequence[SuiteResult], context: Context
) -> Iterator[tuple[str, Sequence[Sequence[str]]]]:
    for kind, words in KINDS.items():
        rows = [row for s in shown if s.kind == kind for row in _rows(s, context)]
        if rows:
            yield words, few(rows, ROWS)


def _rows(suite: SuiteResult, context: Context) -> Iterator[list[str]]:
    headline = suite.headline
    assert headline is not None
    remarks = [
        suite.validity,
        *marks(suite),
        *([f"{count(headline.n_unscored)} unscored"] if headline.n_unscored else []),
        *context.outside(suite),
    ]
    label = f"**{markdown(suite_label(suite), NAME)}**<br>"
    yield _row(label, headline, furthest_group(suite), ", ".join(remarks))
    yield from (_row("", score, None, "") for score in beside_headline(suite))


def _row(label: str, score: Score, far: Score | None, remarks: str) -> list[str]:
    return [
        f"{label}{markdown(metric_words(score.metric), NAME)}",
        _score(score),
        markdown("; ".join(filter(None, (ideal(score), floor(score)))), NUMBER),
        markdown(count(score.n), NUMBER),
        f"{markdown(group(far), NAME)}<br>{_score(far)}" if far else "–",
        markdown(remarks),
    ]


def _score(score: Score) -> str:
    found = markdown(value(score), NUMBER)
    found = f"**{found}**" if score.headline else found
    if score.value is None:
        ends = markdown(without_value(score), 2 * NUMBER)
    elif score.interval:
        ends = markdown(interval(score), NUMBER)
    else:
        why = markdown(short_reason(score.interval_reason), NUMBER)
        ends = f"no interval: {why}" if why else "no interval"
    return f"{found}{'<br>' if score.headline else ' '}({ends})"


def _about(report: Report, shown: Sequence[SuiteResult]) -> list[list[str]]:
    """Return the notes that are needed to read scores; scores with the same notes share a row."""
    found: dict[str, list[str]] = {}
    for suite in shown:
        found.setdefault(_said(report, suite), []).append(suite_label(suite))
    return [[f"**{markdown(', '.join(n), 300)}**: {said}"] for said, n in found.items() if said]


def _said(report: Report, suite: SuiteResult) -> str:
    controls = controls_of(report, suite)
    parts = [
        on_validity(suite),
        on_scorer(suite),
        on_controls(controls) if controls else "",
        _does_not_show(suite),
    ]
    return " ".join(markdown(f"{capitalized(p).rstrip('.')}.", 400) for p in parts if p)


def _does_not_show(suite: SuiteResult) -> str:
    said = suite.about.scope.get("does_not_show") if suite.about else None
    return f"does not show: {str(said)[:1].lower()}{str(said)[1:]}" if said else ""


# Missing suites


def _title(report: Report, name: str) -> str:
    return report.known.titles.get(name, name)


def _without(report: Report, statuses: Sequence[str]) -> list[list[str]]:
    """Return the suites of these statuses by reason, in the order of the statuses."""
    found: dict[tuple[str, str], list[str]] = {}
    for status in statuses:
        for suite, words, reason in unscored(report):
            if suite.status == status:
                found.setdefault((words, reason), []).append(suite_label(suite))
    return [
        [f"**{markdown(', '.join(names), 300)}**: {_words(status, why)}"]
        for (status, why), names in found.items()
    ]


def _words(status: str, reason: str) -> str:
    # Hints below the reason are for the person who ran it, as are local paths.
    why = _PATH.sub(_file, clean(reason.partition("\n")[0], 2000))
    return f"{status}, {markdown(why)}" if why else status


def _file(path: re.Match[str]) -> str:
    """Return the name of a file without its folders, which may contain a person's name."""
    return f"…/{path[1]}" if "." in path[1] else "…"


def _rerun(rerun: Rerun | None) -> str:
    """Describe the result of a second run, and whether it is known who ran it."""
    if rerun is None:
        return ""
    text = f"{rerun.agree} of {rerun.of} suites agree within the tolerance of their measures"
    if rerun.consistent:
        text += f", {rerun.consistent} more, of sampled texts, within a stated margin"
    owner = markdown(rerun.owner, NAME)
    if rerun.signed:
        return f"Re-run by {owner}, who is neither author nor owner of the model: {text}."
    return f"Re-run by {owner}, whose identity is not verified: {text}."
