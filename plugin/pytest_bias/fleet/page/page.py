"""The page of a fleet: models by suite entries in one file that loads nothing.

The table is whole without JavaScript; one small script sorts, filters and hides columns. There is
no rank, no mean and no colour for a value, since the columns have no scale in common. All names
and texts are untrusted. The page stays below `PAGE_LIMIT` by construction: rows share a room in
bytes, and what does not fit is said.
"""

from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from markupsafe import Markup

from pytest_bias.emit import templates
from pytest_bias.emit.bounds import LISTED, fitting
from pytest_bias.emit.change import THESE_TWO
from pytest_bias.emit.wording import INTRINSIC_LIMITS, ROBUSTNESS_LIMITS, SOCIAL_LIMITS
from pytest_bias.fleet.page.cells import MOST_REASONS, Reasons, row_html
from pytest_bias.fleet.page.columns import KINDS, Column, columns_of
from pytest_bias.fleet.rows import FleetRow, model_name
from pytest_bias.records.identity import tool_version
from pytest_bias.untrusted import clean

PAGE_LIMIT: Final = 7_000_000
"""Bytes of a page."""
ROWS_ROOM: Final = 5_500_000
"""Bytes that the rows share; models that do not fit are named."""
MOST_COLUMNS: Final = 120
FACTS: Final = 20


@dataclass(frozen=True, slots=True)
class About:
    """What stands above the rows of a fleet.

    Parameters
    ----------
    title : str
        Name of the fleet.
    created : str
        When it was measured, ISO 8601.
    version : str
        That of pytest-bias.
    facts : mapping of str to str
        More to say, such as the profile and the languages that were asked for.
    """

    title: str = "Fleet"
    created: str = ""
    version: str = field(default_factory=tool_version)
    facts: Mapping[str, str] = field(default_factory=dict)


def render(rows: Sequence[FleetRow], about: About) -> str:
    """Return index.html.

    Parameters
    ----------
    rows : sequence of FleetRow
        In the order of the user's list, which is that of the table.
    about : About
        What stands above them.
    """
    every = columns_of(rows)
    columns, narrow = every[:MOST_COLUMNS], every[MOST_COLUMNS:]
    reasons = Reasons()
    made, unfit = fitting(ROWS_ROOM, rows, lambda row: row_html(row, columns, reasons))
    style = "".join(map(templates.text, ("report.css", "fleet.css")))
    style += f".fleet {{ --n: {len(columns)}; }}\n"
    script = templates.text("fleet.js")
    return (
        templates.html()
        .get_template("fleet.html.j2")
        .render(
            style=Markup(style),
            script=Markup(script),
            style_hash=_hash(style),
            script_hash=_hash(script),
            title=clean(about.title, 120),
            about=list(_about(rows, every, about)),
            scope=_scope(rows),
            columns=columns,
            kinds=[(k, w) for k, w in KINDS.items() if any(c.kind == k for c in columns)],
            languages=sorted({c.language for c in columns if c.language}),
            empty=any(c.empty for c in columns),
            statuses=[s for s in ("measured", "failed", "interrupted") if _n(rows, s)],
            rows=made,
            compared=any(row.change(e).value is not None for row in rows for e in row.changes),
            these_two=THESE_TWO,
            reasons=list(reasons.numbers),
            unlisted=reasons.unlisted,
            most_reasons=MOST_REASONS,
            unfit=_unfit(unfit),
            narrow=_names([f"{c.label}, {c.metric}" for c in narrow], len(narrow)),
        )
    )


def _unfit(rows: Sequence[FleetRow]) -> str:
    """Say which models the page leaves out, and how many of them failed."""
    if not rows:
        return ""
    lost = _n(rows, "failed")
    names = [model_name(row) for row in rows[:LISTED]]
    return f"{len(rows)} models, {lost} of which failed: {_names(names, len(rows))}"


def _names(names: Sequence[str], of: int) -> str:
    told = [clean(n, 80) for n in names[:LISTED]]
    left = of - len(told)
    return ", ".join([*told, *([f"and {left} more"] if left else [])])


def _n(rows: Sequence[FleetRow], status: str) -> int:
    return sum(row.status == status for row in rows)


def _about(
    rows: Sequence[FleetRow], columns: Sequence[Column], about: About
) -> Iterator[tuple[str, str]]:
    counted = Counter(row.status for row in rows)
    told = [f"{counted[s]} {s}" for s in ("measured", "failed", "interrupted") if counted[s]]
    yield "Models", f"{len(rows)}: {', '.join(told)}"
    yield "Suite entries", str(len({c.entry for c in columns}))
    yield "Measured", clean(about.created, 40)[:10] or "no date"
    yield "pytest-bias", clean(about.version, 40)
    for name, text in list(about.facts.items())[:FACTS]:
        yield clean(name, 40), clean(text, 200)


def _scope(rows: Sequence[FleetRow]) -> list[str]:
    """Return the sentences of `wording.scope_limits`, for all models together."""
    told = ("scored", "withheld")
    kinds = {s.kind for row in rows for s in row.suites if s.status in told}
    robust, intrinsic = "robustness" in kinds, "intrinsic" in kinds
    said = {
        INTRINSIC_LIMITS: (intrinsic or not robust) and "downstream" not in kinds,
        ROBUSTNESS_LIMITS: robust,
    }
    return [SOCIAL_LIMITS, *(sentence for sentence, holds in said.items() if holds)]


def _hash(text: str) -> str:
    """Return what a content security policy calls an inline text that it allows."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
