"""The outputs of a report: those of `render --to`, and those that a run writes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_bias.emit import badges, page, summary
from pytest_bias.emit.card import model_index, section
from pytest_bias.emit.exports import avid, cyclonedx, every_eval_ever, intoto, junit, tables
from pytest_bias.emit.exports.annex_iv import annex
from pytest_bias.emit.exports.annex_iv.document import HTML as ANNEX_IV
from pytest_bias.errors import UnknownName
from pytest_bias.records.report import Item, Report
from pytest_bias.reports.comparison import Comparison
from pytest_bias.reports.decision import Decision
from pytest_bias.reports.folder import CARD, MODEL_INDEX, PAGE, SUMMARY
from pytest_bias.reports.publication_layout import TEST_RESULT, Place


@dataclass(frozen=True, slots=True)
class Shown:
    """The input of outputs: a report, and what else is known about its run.

    `decision` is that of the run, if its file is beside the report. `texts` are those of items that
    the user asked for, by entry and by item. `context` is what a settings file states, in place of
    what the report has. `report_sha256` is the digest of the report.json that it was read from.
    """

    report: Report
    decision: Decision | None = None
    comparison: Comparison | None = None
    texts: Mapping[str, Mapping[str, Item]] = field(default_factory=dict)
    context: Mapping[str, Any] | None = None
    report_sha256: str = ""


@dataclass(frozen=True, slots=True)
class Output:
    """One way to show a report.

    Parameters
    ----------
    name : str
        Value for ``render --to``.
    title : str
        Title in the list of files that a run has written.
    path : str
        File or folder below the output folder.
    render : callable
        Returns the content of every file by its path below the output folder.
    of_run : bool
        Whether every run writes it; the others are written by ``render`` only.
    """

    name: str
    title: str
    path: str
    render: Callable[[Shown], dict[str, str]]
    of_run: bool = True


def _card(shown: Shown) -> dict[str, str]:
    """Return the section for a model card, and its scores as metadata if there are any."""
    place = Place.beside(shown.report)
    index = model_index.render(shown.report, place)
    files = {CARD: section.section(shown.report, place, context=shown.context) + "\n"}
    return files | ({MODEL_INDEX: index} if index else {})


def _export(name: str, title: str, path: str, text: Callable[[Shown], str]) -> Output:
    """Return an output of one file for another tool, which no run writes."""
    return Output(name, title, path, lambda shown: {path: text(shown)}, of_run=False)


OUTPUTS: Final = (
    Output(
        "html",
        "Page",
        PAGE,
        lambda s: {PAGE: page.render(s.report, s.decision, s.comparison, s.texts)},
    ),
    Output("badges", "Badges", "badges", lambda s: badges.render(s.report)),
    Output("card", "Card", CARD, _card),
    Output(
        "summary",
        "Summary",
        SUMMARY,
        lambda s: {SUMMARY: summary.render(s.report, s.decision, s.comparison)},
    ),
    _export("csv", "Scores", tables.CSV, lambda s: tables.to_csv(s.report)),
    _export("jsonl", "Scores", tables.JSONL, lambda s: tables.to_jsonl(s.report)),
    _export("junit", "JUnit", junit.JUNIT, lambda s: junit.render(s.report, s.decision)),
    _export("cyclonedx", "CycloneDX", cyclonedx.FILE, lambda s: cyclonedx.render(s.report)),
    _export(
        "eee", "Every Eval Ever", every_eval_ever.FILE, lambda s: every_eval_ever.render(s.report)
    ),
    _export("avid", "AVID report", avid.AVID, lambda s: avid.render(s.report)),
    Output(
        "annex-iv",
        "Documentation after Annex IV",
        ANNEX_IV,
        lambda s: annex.render(s.report, s.decision, s.context),
        of_run=False,
    ),
    _export(
        "intoto",
        "Test result",
        TEST_RESULT,
        lambda s: intoto.render(s.report, s.decision, s.report_sha256),
    ),
)

OF_RUN: Final = tuple(o for o in OUTPUTS if o.of_run)
"""The outputs that every run writes."""


def output(name: str) -> Output:
    """Return an output by its name, or raise `UnknownName`."""
    found = next((o for o in OUTPUTS if o.name == name), None)
    if found is None:
        raise UnknownName.among("--to", name, sorted(o.name for o in OUTPUTS))
    return found
