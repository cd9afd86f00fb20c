"""The technical documentation after Annex IV: which blocks stand below which point."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from pytest_bias.emit.bounds import NUMBER
from pytest_bias.emit.card.context import context_of
from pytest_bias.emit.exports.annex_iv import changes, performance, provider, testing
from pytest_bias.emit.exports.annex_iv.document import (
    Block,
    Document,
    Missing,
    Section,
    words,
)
from pytest_bias.emit.exports.annex_iv.document import (
    render as written,
)
from pytest_bias.emit.exports.annex_iv.points import POINTS
from pytest_bias.emit.exports.annex_iv.source import Source
from pytest_bias.emit.wording import date, model_name
from pytest_bias.records.report import Report
from pytest_bias.reports.decision import Decision

WHAT_IT_IS: Final = (
    "This document puts what pytest-bias measured, and what the provider states in its settings, "
    "into the order of Annex IV; it is not the complete technical documentation, and it does not "
    "show that a system meets the Regulation."
)
SCOPE: Final = (
    "The points are those of the Regulation as published on 12 July 2024, in other words. Annex IV "
    "is for high-risk AI systems (Article 11); whether this system is one is not known here."
)

FILLED: Final[Mapping[str, Callable[[Source], Iterable[Block]]]] = {
    "1(a)": provider.purpose,
    "1(c)": provider.software,
    "1(e)": provider.hardware,
    "2(a)": provider.origin,
    "2(b)": provider.design,
    "2(c)": provider.architecture,
    "2(d)": provider.training,
    "2(g)": testing.testing,
    "capabilities": performance.limitations,
    "groups": performance.groups,
    "risks": performance.risks,
    "inputs": performance.inputs,
    "4": performance.appropriateness,
    "6": changes.changes,
}
"""Points that a report fills in part."""

MISSING: Final[Mapping[str, Callable[[Source], tuple[Missing, ...]]]] = {
    "1(a)": provider.unstated,
    "2(b)": provider.ungrouped,
    "2(g)": testing.unsigned,
    "4": performance.unreasoned,
}
"""What is missing only where the settings do not state it."""


def render(
    report: Report, decision: Decision | None = None, context: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """Return annex-iv.md and annex-iv.html.

    Parameters
    ----------
    decision : Decision, optional
        The decision on the project's limits, with the change since its baseline.
    context : mapping, optional
        What the provider states; by default the context in the report.
    """
    return written(document(report, decision, context))


def document(
    report: Report, decision: Decision | None = None, context: Mapping[str, Any] | None = None
) -> Document:
    """Return the document; what pytest-bias does not know is named as missing."""
    source = Source(report, decision, context_of(report, context))
    said = source.context.said
    system = " ".join(filter(None, (said.get("System"), said.get("Version of the system"))))
    return Document(
        kicker="Technical documentation in the order of Annex IV, Regulation (EU) 2024/1689",
        title=words(system, 160) or model_name(report),
        lead=(WHAT_IT_IS, SCOPE),
        about=(
            ("System", words(said.get("System", ""), 120) or "not stated"),
            ("Provider", words(said.get("Provider", ""), 120) or "not stated"),
            ("Model measured", model_name(report)),
            ("Measured on", date(report) or "no date"),
            ("Suites with a score here", str(len(source.social))),
            ("Measured with", f"pytest-bias {words(str(report.tool.get('version', '')), NUMBER)}"),
            ("Digest of the report", words(report.digest, 80)),
        ),
        sections=tuple(_sections(source)),
    )


def _sections(source: Source) -> Iterable[Section]:
    for point in POINTS:
        blocks = FILLED[point.key](source) if point.key in FILLED else ()
        more = MISSING[point.key](source) if point.key in MISSING else ()
        yield Section(
            point.number, point.title, point.level, tuple(blocks), (*more, *point.missing)
        )
