"""A comment on a pull request: a report in a few lines of Markdown, with ids but no item texts.

It stays below `COMMENT_LIMIT` by construction: every text has a largest number of characters, a
character takes eight bytes at most (``@`` becomes ``@&#8203;``), and each part with many rows has a
limit in bytes; rows beyond it are counted.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from pytest_bias.emit import about_model, templates
from pytest_bias.emit.absence import uncertainty, without_value
from pytest_bias.emit.change import THESE_TWO, signed, signed_ends
from pytest_bias.emit.rows import limit_row, refused_rows, unscored_rows
from pytest_bias.emit.verdict import decided
from pytest_bias.emit.wording import (
    KINDS,
    ideal,
    metric_words,
    model_name,
    not_published,
    own_rows,
    sample,
    scope_limits,
    suite_label,
    value,
)
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.reports.decision import Decision, severity
from pytest_bias.untrusted import markdown

COMMENT_LIMIT: Final = 60_000
"""Bytes; GitHub accepts 65,536 characters."""
SCORES_ROOM: Final = 20_000
LIMITS_ROOM: Final = 10_000
UNMEASURED_ROOM: Final = 5_000
REFUSED_ROOM: Final = 3_000
"""Largest size in bytes of each part with many rows."""
LONGEST_ADDRESS: Final = 500

NOTHING: Final = "Nothing could be measured, so nothing is known of this version of the model."


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses that a comment links to: the run, and the artifact with the report and its page.

    Raises
    ------
    ValueError
        If one is not a web address, or is too long.
    """

    run: str | None = None
    page: str | None = None

    def __post_init__(self) -> None:
        for address in (self.run, self.page):
            if address is not None:
                _target(address)


class _Written(str):
    """Markdown written here, whose links are kept."""


def render(
    report: Report | None,
    decision: Decision | None = None,
    links: Links | None = None,
    *,
    problem: str = "",
) -> str:
    """Return a comment in Markdown.

    Parameters
    ----------
    report : Report, optional
        What was measured; None if nothing was.
    decision : Decision, optional
        The decision, with the changes since the baseline.
    links : Links, optional
        Links to the run and the page.
    problem : str
        Message of the command, if it failed.
    """
    if report is None:
        opening, status, change, decision = NOTHING, "", None, None
    else:
        # A change would disclose a withheld score.
        change = None if report.withheld or not decision else decision.change
        opening, status = _opening(report, decision, change)
    outcomes = sorted(decision.outcomes if decision else (), key=severity)
    told = [limit_row(o) for o in outcomes if o.verdict != "held"]
    scores, more_scores = _tables(report, change)
    unscored = _unmeasured(report)
    return templates.markdown("comment.md.j2", finalize=_unlinked_value).render(
        unread=markdown(about_model.not_read(report), 400) if report else "",
        opening=opening,
        status=status,
        problem=markdown(problem, 300),
        tables=scores,
        more_scores=more_scores,
        changes=change is not None,
        refused=within(refused_rows(change["refused"] if change else {}), REFUSED_ROOM),
        not_published=[markdown(line, 300) for line in not_published(report)] if report else [],
        limits=within(told, LIMITS_ROOM),
        n_held=len(outcomes) - len(told),
        scope=[*([THESE_TWO] if change else []), *(scope_limits(report) if report else [])],
        unscored=within(unscored, UNMEASURED_ROOM),
        about=_about(report),
        links=_Written(" · ".join(_links(links or Links()))),
    )


def _unlinked_value(value: Any) -> str:
    return value if isinstance(value, _Written) else unlinked(str(value))


def unlinked(text: str) -> str:
    """Return Markdown without mentions of users, references to issues, or automatic links.

    GitHub looks for these after parsing Markdown, so a backslash does not prevent them.
    """
    text = re.sub(r"\\?([@#])", "\\1&#8203;", text)
    return re.sub(r"(?i)\b(GH)-(?=\d)", r"\1-&#8203;", text)


def within(rows: Sequence[Sequence[str]], room: int) -> list[Sequence[str]]:
    """Return the first rows that fit into `room` bytes, and a row that counts the others."""
    kept: list[Sequence[str]] = []
    for row in rows:
        room -= _size(row)
        if room < 0:
            more = f"and {len(rows) - len(kept)} more in report.json"
            return [*kept, [more, *[""] * (len(row) - 1)]]
        kept.append(row)
    return kept


def _size(row: Sequence[str]) -> int:
    return len(unlinked(" | ".join(row)).encode()) + len("|  |\n")


def _opening(
    report: Report, decision: Decision | None, change: Mapping[str, Any] | None
) -> tuple[str, str]:
    """Return the first sentence, and the decision if that is another sentence."""
    scored = any(s.headline or s.status == "withheld" for s in own_rows(report))
    status = decided(decision)
    if not scored:
        return NOTHING, ""
    if change and change["sentence"]:
        return markdown(change["sentence"], 400), status
    return status or "Measured; nothing was decided.", ""


def _tables(
    report: Report | None, change: Mapping[str, Any] | None
) -> tuple[list[tuple[str, list[list[str]]]], int]:
    """Return the headlines by kind of suite, and how many do not fit."""
    suites = [s for s in own_rows(report) if s.headline] if report else []
    room, tables, left = SCORES_ROOM, [], 0
    for kind, words in KINDS.items():
        rows = []
        for suite in suites if kind != "structure" else ():
            if suite.kind != kind or suite.headline is None:
                continue
            row = _row(suite, suite.headline, change)
            room -= _size(row)
            if room < 0:
                left += 1
            else:
                rows.append(row)
        if rows:
            tables.append((words, rows))
    return tables, left


def _row(suite: SuiteResult, score: Score, change: Mapping[str, Any] | None) -> list[str]:
    part = f" ({sample(suite)})" if suite.sampled is not None else ""
    label = f"{suite_label(suite)}{part}: {metric_words(score.metric)}"
    ends = markdown(without_value(score), 80) or markdown(uncertainty(score), 40)
    cells = [markdown(label, 120), markdown(value(score), 40), ends, markdown(ideal(score), 40)]
    return [*cells, _change(change["headlines"].get(suite.entry), score)] if change else cells


def _change(moved: Mapping[str, Any] | None, score: Score) -> str:
    if moved is None or moved["change"] is None:
        return "not comparable"
    text = signed(moved["change"], score)
    if moved["interval"]:
        text += f" ({signed_ends(moved['interval'], score.unit)})"
    return markdown(f"{text}, {moved['direction']}", 80)


def _unmeasured(report: Report | None) -> list[list[str]]:
    """Return the suites that should have a score but have none."""
    return [r for r in unscored_rows(report) if r[1] != "not applicable"] if report else []


def _about(report: Report | None) -> str:
    if report is None:
        return ""
    version = markdown(report.tool["version"], 40)
    named = f"{markdown(model_name(report))} · report {markdown(report.digest[:19])}"
    return f"{named} · pytest-bias {version}"


def _links(links: Links) -> list[str]:
    named = (("run", links.run), ("whole report (ZIP)", links.page))
    return [f"[{name}]({_target(address)})" for name, address in named if address]


def _target(address: str) -> str:
    """Return an address, escaped so that it cannot end the link that it is the target of."""
    target = quote(address, safe="/:?#=&%~@!$,;+")
    if not re.match(r"https?://", address) or len(target) > LONGEST_ADDRESS:
        raise ValueError(f"no address to link to: {address!r:.200}")
    return target
