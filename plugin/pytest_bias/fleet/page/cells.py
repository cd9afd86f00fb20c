"""The rows of a fleet's page: every number once rounded, every missing one with its reason."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import quote

from pytest_bias.emit import templates
from pytest_bias.emit.change import signed, signed_ends
from pytest_bias.emit.marks import marks
from pytest_bias.emit.wording import count, floor, interval, level, metric_words, number, parameters
from pytest_bias.fleet.page.columns import VALIDITY_MARKS, Column, key_of
from pytest_bias.fleet.rows import NAME, FleetRow, model_name
from pytest_bias.records.path_redaction import without_own_paths
from pytest_bias.records.report import SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.scoring.scores import LEVEL
from pytest_bias.untrusted import clean

REASON: Final = 400
IN_TITLE: Final = 100
MOST_REASONS: Final = 300

STATUSES: Final[Mapping[str, str]] = {
    "scored": "no headline",
    "not_applicable": "not applicable",
    "skipped": "skipped",
    "unavailable": "data not available",
    "inconclusive": "inconclusive",
    "error": "error",
    "withheld": "not published",
}
"""What stands in place of a score."""

DECISIONS: Final[Mapping[str, str]] = {
    "held": "limits: held",
    "undecided": "limits: undecided",
    "waived": "limits: exceeded, waived",
    "exceeded": "limits: exceeded",
    "no-baseline": "limits: no baseline",
    "could-not-measure": "limits: not all measured",
    "measured": "",
}
"""What became of the project's own limits, in words."""


@dataclass(slots=True)
class Reasons:
    """Reasons that are said once, below the table, each with the number it has in the cells."""

    numbers: dict[str, int] = field(default_factory=dict)
    unlisted: int = 0

    def number(self, reason: str) -> int | None:
        """Return the number of a reason; null where the list has no room for it, or it is empty."""
        if not reason:
            return None
        if reason not in self.numbers:
            if len(self.numbers) >= MOST_REASONS:
                self.unlisted += 1
                return None
            self.numbers[reason] = len(self.numbers) + 1
        return self.numbers[reason]


@dataclass(frozen=True, slots=True)
class Why:
    """Words in place of a number, and the reason with its number in the list."""

    words: str
    reason: str = ""
    number: int | None = None

    @property
    def title(self) -> str:
        """The reason, shortened, for who points at it."""
        return clean(self.reason, IN_TITLE)


@dataclass(frozen=True, slots=True)
class Shown:
    """One cell as it is written; `at` and `moved` are what it is sorted by."""

    at: str = ""
    moved: str = ""
    value: str = ""
    mark: str = ""
    interval: str = ""
    n: str = ""
    remarks: tuple[str, ...] = ()
    why: Why | None = None
    change: str = ""
    change_interval: str = ""
    why_unchanged: Why | None = None
    change_note: str = ""


def row_html(row: FleetRow, columns: Sequence[Column], reasons: Reasons) -> str:
    """Return one model as a row of the table."""
    name = model_name(row)
    asked = clean(without_own_paths(row.asked), NAME)
    model = row.report.model if row.report else None
    alike = _common(row)
    return (
        templates.html()
        .get_template("fleet_row.html.j2")
        .render(
            name=name,
            asked=asked if asked not in (name, clean(row.reference or "", NAME)) else "",
            href=_link(row.folder),
            status=row.status,
            reason=clean(row.reason or "", REASON),
            parameters=model and model.parameters,
            size=parameters(model.parameters if model else None).removesuffix(" parameters"),
            kind=clean(", ".join(filter(None, (model.kind, model.dtype))), 60) if model else "",
            decision=DECISIONS.get(row.decision or "measured", clean(row.decision or "", 40)),
            against=clean(row.base or "", NAME),
            unchanged=alike or "",
            width=len(columns) + 1,
            cells=list(_shown(row, columns, reasons, bool(alike))),
        )
    )


def _link(folder: str | None) -> str:
    if folder is None:
        return ""
    # The dot in front keeps a name with a colon from being read as a scheme.
    return f"./{quote(f'{folder}/report.html')}"


def _common(row: FleetRow) -> str | None:
    """Return the one reason why no suite of a model has a change, if it is one."""
    changes = {s.entry: row.change(s.entry) for s in row.suites}
    if any(change.value is not None for change in changes.values()):
        return None
    scored = (s for s in row.suites if s.headline and s.headline.value is not None)
    reasons = (changes[s.entry].interval_reason for s in scored if s.kind != "structure")
    found = {clean(reason or "", REASON) for reason in reasons}
    return found.pop() if len(found) == 1 else None


def _shown(
    row: FleetRow, columns: Sequence[Column], reasons: Reasons, alike: bool
) -> Iterator[Shown]:
    """Yield the cells of a row, one a column."""
    suites = {suite.entry: suite for suite in row.suites}
    for column in columns:
        suite = suites.get(column.entry)
        if suite is None:
            yield Shown()
        elif suite.headline is None:
            yield Shown(why=_why(STATUSES[suite.status], suite.reason, reasons))
        elif key_of(suite) != column.key:
            yield Shown(why=Why(f"see {clean(metric_words(suite.headline.metric), 40)}"))
        else:
            found = _scored(suite, suite.headline, column, reasons)
            if suite.headline.value is not None:
                found = _with_change(found, row, suite.entry, suite.headline, reasons, alike)
            yield found


def _scored(suite: SuiteResult, score: Score, column: Column, reasons: Reasons) -> Shown:
    remarks = tuple(_remarks(suite, score, column))
    if score.value is None:
        why = score.note or score.interval_reason or suite.reason
        return Shown(why=_why("no value", why, reasons), remarks=remarks)
    return Shown(
        at=f"{score.value:.12g}",
        value=number(score.value, score.unit),
        mark=VALIDITY_MARKS.get(suite.validity, ""),
        interval=interval(score) if score.interval else "no interval",
        n=count(score.n),
        remarks=remarks,
    )


def _with_change(
    found: Shown, row: FleetRow, entry: str, score: Score, reasons: Reasons, alike: bool
) -> Shown:
    change = row.change(entry)
    if change.value is None:
        why = None if alike else _why("not compared", change.interval_reason, reasons)
        return replace(found, why_unchanged=why)
    between = signed_ends(change.interval, score.unit) if change.interval else "no interval"
    return replace(
        found,
        moved=f"{change.value:.12g}",
        change=signed(change.value, score),
        change_interval=between,
        change_note=clean(row.changes[entry].note or "", 80),
    )


def _remarks(suite: SuiteResult, score: Score, column: Column) -> Iterator[str]:
    """Yield what stands below a value: what sets its measurement apart from others."""
    if len(column.versions) > 1:
        yield f"version {clean(suite.version, 20)}"
    if suite.validity not in VALIDITY_MARKS:
        yield clean(suite.validity, 20)
    yield from (clean(mark, 60) for mark in marks(suite))
    if suite.status != "scored":
        yield STATUSES[suite.status]
    if score.value is None:
        return
    if score.floor is not None:
        yield floor(score)
    if score.n_unscored:
        yield f"{count(score.n_unscored)} unscored"
    if score.interval and score.level != LEVEL:
        yield f"{level(score)} interval"


def _why(words: str, reason: str | None, reasons: Reasons) -> Why:
    told = clean(reason or "", REASON)
    if told == words:
        return Why(words)
    return Why(words, told, reasons.number(told))
