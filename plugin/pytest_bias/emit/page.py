"""The page of a run: one self-contained HTML file that can be forwarded.

It loads nothing, runs no script and stays below `PAGE_LIMIT` by construction: tables and pictures
have a largest number of rows, texts a largest number of characters, and the sections of suites
share a limit in bytes. All names and texts are untrusted. It has texts of items only if they are
given.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup

from pytest_bias.emit import about_model, pictures, templates
from pytest_bias.emit.absence import not_run, unscored
from pytest_bias.emit.bounds import LISTED, fitting
from pytest_bias.emit.change import THESE_TWO, before, distance, evidence, main_sentence
from pytest_bias.emit.costs import cost
from pytest_bias.emit.pictures import Picture, Table, short, table
from pytest_bias.emit.suite_section import Fact, section
from pytest_bias.emit.verdict import BECAUSE, because, decided, word
from pytest_bias.emit.wording import (
    KINDS,
    capitalized,
    date,
    model_name,
    not_published,
    parameters,
    scope_limits,
    suite_label,
)
from pytest_bias.records.report import Item, Report
from pytest_bias.reports.comparison import Comparison, SuiteComparison
from pytest_bias.reports.decision import Decision, severity
from pytest_bias.scoring.digits import percent
from pytest_bias.scoring.scores import LEVEL
from pytest_bias.suites.suite import STRUCTURE
from pytest_bias.untrusted import clean

PAGE_LIMIT: Final = 3_000_000
"""Largest size of a page in bytes."""
SUITES_ROOM: Final = 1_400_000
CHANGES_ROOM: Final = 500_000
"""Bytes that the sections of suites and of changes share; those that do not fit are named."""
LIMITS: Final = 100
MOST_REASONS: Final = 20

Texts = Mapping[str, Mapping[str, Item]]


def render(
    report: Report,
    decision: Decision | None = None,
    comparison: Comparison | None = None,
    texts: Texts | None = None,
) -> str:
    """Return report.html.

    Parameters
    ----------
    decision : Decision, optional
        The decision on the project's limits, which saved reports do not have.
    texts : mapping, optional
        Entry to items by id; their texts are included in the page, folded.
    """
    scored = sorted((s for s in report.suites if s.scores), key=lambda s: s.name == STRUCTURE)
    sections, unfit = fitting(
        SUITES_ROOM, scored, lambda s: section(s, (texts or {}).get(s.entry, {}))
    )
    moved = [s for s in comparison.suites if not s.reason] if comparison else []
    changes, unfit_changes = fitting(CHANGES_ROOM, moved, _changes)
    return (
        templates.html()
        .get_template("report.html.j2")
        .render(
            style=Markup(templates.text("report.css")),
            name=model_name(report),
            about=list(_about(report)),
            unread=about_model.not_read(report),
            sentence=decided(decision),
            change=capitalized(clean(main_sentence(comparison) or "", 400)) if comparison else "",
            scope=scope_limits(report),
            overviews=list(_overviews(report)),
            others=_others(report),
            not_published=[clean(line, 600) for line in not_published(report)],
            sections=sections,
            unfit=_names([suite_label(s) for s in unfit]),
            comparison=bool(comparison),
            since=before(comparison) if comparison else "",
            changes=changes,
            unfit_changes=_names([s.title for s in unfit_changes]),
            refused=_refused(comparison) if comparison else None,
            these_two=THESE_TWO,
            limits=_limits(decision) if decision and decision.outcomes else None,
            level=_level(decision) if decision else "",
            problems=[clean(p, 300) for p in decision.problems[:LISTED]] if decision else [],
            settings=list(_settings(report)),
            environment=list(_environment(report)),
            digests=list(_digests(report)),
            cost=clean(cost(report), 300),
            notices=_listed([clean(n, 300) for n in report.notices]),
            missing=_names(not_run(report)),
        )
    )


def _listed(lines: Sequence[str]) -> list[str]:
    left = len(lines) - LISTED
    return [*lines[:LISTED], *([f"and {left} more in report.json"] if left > 0 else [])]


def _names(names: Sequence[str]) -> str:
    return ", ".join(_listed([clean(n, 50) for n in names]))


def _about(report: Report) -> Iterator[Fact]:
    model = report.model
    yield "Revision", clean(model.revision or "none", 64)
    architecture = "" if model.answers_from else f", {model.architecture}"
    yield "Kind", clean(f"{model.kind}{architecture}", 120)
    if model.asked:
        yield from about_model.on_asked(model)
    else:
        yield "Size", parameters(model.parameters)
        yield "Precision", clean(model.dtype, 40)
    yield "Measured", date(report) or "no date"
    yield "Digest", clean(report.digest.removeprefix("sha256:"))[:12]
    if model.adapter:
        yield "Base", clean(model.base_model or "", 120)
        yield "Adapter", clean(model.adapter.reference, 120)


def _overviews(report: Report) -> Iterator[tuple[str, Picture]]:
    for kind, words in KINDS.items():
        suites = [s for s in report.suites if s.kind == kind and s.scores]
        picture = pictures.overview(suites) if kind != "structure" else None
        if picture:
            yield words, picture


def _others(report: Report) -> list[tuple[str, str, str]]:
    """Return the suites without a score by status and reason, failed ones first."""
    entries: dict[tuple[str, str], list[str]] = {}
    for suite, words, reason in unscored(report):
        entries.setdefault((words, clean(reason, 300)), []).append(suite.entry)
    found = [(_names(names), *key) for key, names in entries.items()]
    left = len(found) - MOST_REASONS
    return [*found[:MOST_REASONS], *([(f"{left} more", "see report.json", "")] if left > 0 else [])]


def _changes(suite: SuiteComparison) -> str:
    headline = next((c for c in suite.changes if c.current.headline), None)
    return (
        templates.html()
        .get_template("change.html.j2")
        .render(
            title=short(suite.title or suite.entry),
            picture=pictures.changes(suite),
            note=clean(suite.note or "", 300),
            about=f"{capitalized(distance(headline))}; {evidence(headline)}." if headline else "",
            items=[short(i) for i in headline.items] if headline else [],
        )
    )


def _refused(comparison: Comparison) -> Table | None:
    rows = [(short(s.entry), clean(s.reason, 300)) for s in comparison.suites if s.reason]
    return table(("Cannot be compared", "Because"), rows, 2, LISTED) if rows else None


def _limits(decision: Decision) -> Table:
    """Return the outcomes of the limits; the most severe come first if not all fit."""
    outcomes = list(decision.outcomes)
    if len(outcomes) > LIMITS:
        outcomes.sort(key=severity)
    rows = [(clean(o.limit, 120), word(o), clean(because(o), BECAUSE)) for o in outcomes]
    return table(("Limit", "Verdict", "Because"), rows, 3, LIMITS)


def _level(decision: Decision) -> str:
    """Return the level of the intervals that decided, if it differs from that of the scores."""
    levels = {o.level for o in decision.outcomes if o.level is not None}
    return percent(max(levels)) if levels and max(levels) > LEVEL else ""


def _settings(report: Report) -> Iterator[Fact]:
    names = {"level": "Confidence level", "requested": "Asked for"}
    for name, content in list(report.settings.items())[:LISTED]:
        yield short(names.get(name, name.capitalize())), _words(content) or "the suites that apply"
    yield "Languages", _words(report.coverage.get("languages", []))


def _environment(report: Report) -> Iterator[Fact]:
    yield clean(report.tool["name"], 40), clean(report.tool["version"], 40)
    about = report.run.get("environment")
    if isinstance(about, Mapping):
        for name, content in list(about.items())[:LISTED]:
            yield short(str(name)), _words(content)


def _digests(report: Report) -> Iterator[Fact]:
    model = report.model
    yield "report", clean(report.digest, 80)
    for name in ("weights", "config", "tokenizer"):
        yield name, clean(getattr(model, f"{name}_sha256") or "none", 80)
    if model.adapter:
        yield "adapter weights", clean(model.adapter.weights_sha256 or "none", 80)
    signed = report.run.get("signed")
    for source, said in signed.items() if isinstance(signed, Mapping) else ():
        if isinstance(said, Mapping):
            told = f"{said.get('outcome')}: {said.get('detail')}"
            yield f"signature of the {short(str(source))}", clean(told, 400)


def _words(content: Any) -> str:
    """Return free-form content of a report as words."""
    if isinstance(content, Mapping):
        return clean(", ".join(f"{k}: {v}" for k, v in list(content.items())[:LISTED]))
    if isinstance(content, list):
        return clean(", ".join(map(str, content[:LISTED])))
    return clean(str(content))
