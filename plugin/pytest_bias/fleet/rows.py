"""What is said of each model of a fleet: a report to a row of cells, one a suite entry.

Rows are small and plain, so that a fleet can keep them, send them between processes and let go of
the reports. Everything here is pure: no model, no terminal, no file.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import PurePosixPath
from typing import Any, Final, Literal, TypeAlias

from pytest_bias.errors import ReportError
from pytest_bias.records.documents import with_schema
from pytest_bias.records.identity import ModelIdentity
from pytest_bias.records.path_redaction import without_own_paths
from pytest_bias.records.report import DataInfo, Report, SuiteResult, canonical_json
from pytest_bias.records.score import FloorOf, Score
from pytest_bias.records.suite_states import SuiteStatus
from pytest_bias.records.validation import checked
from pytest_bias.reports.comparison import Comparison, compare

SCHEMA: Final = "pytest-bias/fleet-row/1"

SuiteKind: TypeAlias = Literal["intrinsic", "downstream", "structure", "robustness", "quality"]
RowStatus: TypeAlias = Literal["measured", "failed", "interrupted"]
Bounds: TypeAlias = tuple[float | None, float | None]

LONGEST: Final = 4_000
"""Characters of a reason that are kept."""

NOT_PUBLISHED: Final = "not published"
NO_BASE_NAMED: Final = "it names no base model"
NO_BASE_REPORT: Final = "there is no report of its base model"
NO_VALUE: Final = "it has no value"
STRUCTURE_STAYS: Final = "checks of the structure are not compared"

_OUTSIDE = re.compile(r"[\\:\x00-\x1f]")


@dataclass(frozen=True, slots=True)
class Cell:
    """One suite entry of one model: its headline score, or why there is none.

    `value`, `low`, `high`, `ideal`, `bounds` and `floor` are in the metric's `unit`; `metric` is
    null where there is no headline, and `note` says why a headline has no value. `change` is the
    value minus that of the base model on the same items, with the interval of a paired bootstrap;
    `change_reason` says why there is no change, or no interval of it. `change_note` is what else
    has to be known of it. `sampled` and `n_available` are those of `SuiteResult`.
    """

    suite: str
    config: str
    version: str
    kind: SuiteKind
    status: SuiteStatus
    title: str = ""
    language: str = ""
    reason: str | None = None
    measure: str | None = None
    validity: str = "contested"
    adapted: bool = False
    draft: bool = False
    hidden: bool = False
    control_of: str | None = None
    metric: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    interval_reason: str | None = None
    level: float | None = None
    ideal: float | None = None
    bounds: Bounds | None = None
    unit: str | None = None
    floor: float | None = None
    floor_of: FloorOf | None = None
    n: int | None = None
    n_unscored: int | None = None
    sampled: int | None = None
    n_available: int | None = None
    note: str | None = None
    change: float | None = None
    change_low: float | None = None
    change_high: float | None = None
    change_reason: str | None = None
    change_note: str | None = None

    @property
    def entry(self) -> str:
        """Name with configuration, such as ``crows_pairs[en]``."""
        return f"{self.suite}[{self.config}]"

    def score(self) -> Score | None:
        """Return the headline as far as the cell knows it; null where there is none."""
        if self.metric is None or self.ideal is None:
            return None
        return Score(
            metric=self.metric,
            value=self.value,
            ideal=self.ideal,
            bounds=self.bounds or (None, None),
            unit=self.unit or "",
            tolerance=0.0,
            headline=True,
            interval=_pair(self.low, self.high),
            interval_reason=self.interval_reason,
            level=self.level or 0.0,
            floor=self.floor,
            floor_of=self.floor_of,
            n=self.n or 0,
            n_unscored=self.n_unscored or 0,
            note=self.note,
        )

    def result(self) -> SuiteResult:
        """Return the suite as far as the cell knows it, so that it is worded like any other."""
        score = self.score()
        return SuiteResult(
            name=self.suite,
            config=self.config,
            version=self.version,
            kind=self.kind,
            status=self.status,
            title=self.title,
            language=self.language,
            reason=self.reason,
            measure=self.measure,
            adapted=self.adapted,
            draft=self.draft,
            validity=self.validity,
            control_of=self.control_of,
            sampled=self.sampled,
            n_available=self.n_available,
            data=DataInfo("", "", visibility="hidden") if self.hidden else None,
            scores=(score,) if score else (),
        )


@dataclass(frozen=True, slots=True)
class Row:
    """One model of a fleet.

    `asked` is the model as the user's list names it and may hold a path of the user's own;
    `reference` and the rest are null where the model failed before it was known. `weights` is the
    SHA-256 of its weights, `report` the folder of its report below the fleet's folder, `digest`
    that of the report. `compared_with` names the model whose report the changes are against.
    `decision` is the status of the project's own limits.
    """

    asked: str
    status: RowStatus
    reason: str | None = None
    reference: str | None = None
    revision: str | None = None
    kind: str | None = None
    architecture: str | None = None
    parameters: int | None = None
    weights: str | None = None
    dtype: str | None = None
    digest: str | None = None
    base_model: str | None = None
    adapter: str | None = None
    compared_with: str | None = None
    report: str | None = None
    decision: str | None = None
    cells: tuple[Cell, ...] = ()

    def __post_init__(self) -> None:
        if self.report is not None and not _is_below(self.report):
            raise ValueError(f"{self.report!r:.80} is no folder below that of the fleet")
        if self.status != "measured" and not self.reason:
            raise ValueError(f"{self.asked!r:.80} is {self.status} without a reason")
        entries = [cell.entry for cell in self.cells]
        if len(set(entries)) < len(entries):
            raise ValueError(f"{self.asked!r:.80} has an entry more than once")

    def to_json(self) -> str:
        """Return the row as one line of JSON."""
        return canonical_json({"schema": SCHEMA, **asdict(self)})

    @classmethod
    def from_json(cls, text: str) -> "Row":
        """Read what `to_json` wrote, and nothing else.

        Raises
        ------
        ReportError
            If it is no row of this schema, has a key too many or too few, or a value of another
            type.
        """
        plain = with_schema(text, SCHEMA, "row of a fleet")
        del plain["schema"]
        try:
            canonical_json(plain).encode()
            cells = tuple(_cell(c) for c in plain["cells"])
            return checked(cls(**_exactly(cls, plain) | {"cells": cells}))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ReportError(f"not a whole row of a fleet: {error!r:.200}") from None


def row_of(
    report: Report,
    *,
    asked: str,
    folder: str | None,
    decision: str | None = None,
    base: Report | None = None,
) -> Row:
    """Return what is said of one model that has a report.

    Parameters
    ----------
    report : Report
        With its records, if it is to be compared.
    asked : str
        The model as the user's list names it.
    folder : str or None
        Where its report lies below the fleet's folder, with ``/`` between the parts.
    decision : str, optional
        Status of the decision on the project's limits.
    base : Report, optional
        That of the model's base, with its records: what the changes are against.

    Raises
    ------
    ValueError
        If `folder` does not lie below the fleet's.
    """
    model = report.model
    comparison = compare(_headlines(report), _headlines(base)) if base else None
    reason = _unfinished(report)
    return Row(
        asked=_text(asked),
        status="interrupted" if reason else "measured",
        reason=reason,
        reference=model.reference,
        revision=model.revision,
        kind=model.kind,
        architecture=model.architecture,
        parameters=model.parameters,
        weights=model.weights_sha256,
        dtype=model.dtype,
        digest=report.digest,
        base_model=model.base_model,
        adapter=_named(model.adapter.reference, model.adapter.revision) if model.adapter else None,
        compared_with=_named(base.model.reference, base.model.revision) if base else None,
        report=folder,
        decision=decision,
        cells=tuple(_cell_of(s, report, comparison) for s in report.suites),
    )


def failed(asked: str, reason: str) -> Row:
    """Return what is said of a model that has no report; the user's own paths leave the reason."""
    told = without_own_paths(_text(reason)[:LONGEST]).strip() or "no reason was given"
    return Row(asked=_text(asked), status="failed", reason=told)


def model_name(row: Row) -> str:
    """Return the model with its revision, as `emit.wording` names that of a report; not cleaned.

    Of a model that failed it is what the user's list says, without the user's folders.
    """
    if row.reference is None:
        return without_own_paths(row.asked)
    if row.adapter is None:
        return _named(row.reference, row.revision)
    return f"{_named(row.base_model or '', row.revision)}+{row.adapter}"


def _named(reference: str, revision: str | None) -> str:
    return f"{reference}@{revision[:7]}" if revision else reference


def _headlines(report: Report) -> Report:
    """Return a report with the one score of each suite that a cell has room for."""
    suites = (replace(s, scores=(s.headline,) if s.headline else ()) for s in report.suites)
    return replace(report, suites=tuple(suites))


def _unfinished(report: Report) -> str | None:
    if report.run.get("interrupted"):
        return "the run was interrupted; the same command goes on with it"
    if part := (report.run.get("shard") or {}).get("part"):
        shard = " of ".join(str(part).split("/"))
        return f"only shard {shard} is here; pytest-bias merge joins the shards"
    return None


def _cell_of(suite: SuiteResult, report: Report, comparison: Comparison | None) -> Cell:
    about = {name: getattr(suite, name) for name in _OF_SUITE}
    title = suite.title or suite.name
    bare = Cell(suite=suite.name, hidden=suite.is_hidden, title=title, **about)
    if report.withheld:
        is_told = suite.status in ("scored", "withheld")
        why = suite.reason or (NOT_PUBLISHED if is_told else None)
        status: SuiteStatus = "withheld" if is_told else suite.status
        return replace(bare, status=status, reason=why, change_reason=NOT_PUBLISHED)
    score = suite.headline
    if score is None:
        return replace(bare, change_reason=NO_VALUE)
    low, high = score.interval or (None, None)
    return replace(
        bare,
        **{name: getattr(score, name) for name in _OF_SCORE},
        low=low,
        high=high,
        note=score.note if score.value is None else None,
        **_change(suite, score, report.model, comparison),
    )


_OF_SUITE: Final = (
    *("config", "version", "kind", "status", "language", "reason", "measure", "validity"),
    *("adapted", "draft", "control_of", "sampled", "n_available"),
)
_OF_SCORE: Final = (
    *("metric", "value", "interval_reason", "level", "ideal", "bounds", "unit", "floor"),
    *("floor_of", "n", "n_unscored"),
)


def _change(
    suite: SuiteResult, score: Score, model: ModelIdentity, comparison: Comparison | None
) -> Mapping[str, Any]:
    """Return the fields of a cell that say how its headline changed, or why that is not known."""
    found = comparison.change(suite.entry, score) if comparison else None
    if comparison is None or found is None:
        return {"change_reason": _unchanged(suite, score, model, comparison)}
    low, high = found.change.interval or (None, None)
    return {
        "change": found.change.value,
        "change_low": low,
        "change_high": high,
        "change_reason": found.change.interval_reason,
        "change_note": _note(suite, comparison),
    }


def _unchanged(
    suite: SuiteResult, score: Score, model: ModelIdentity, comparison: Comparison | None
) -> str:
    if comparison is None:
        return NO_BASE_REPORT if model.base_model else NO_BASE_NAMED
    if suite.kind == "structure":
        return STRUCTURE_STAYS
    if score.value is None:
        return NO_VALUE
    return _note(suite, comparison) or comparison.reason(suite.entry)


def _note(suite: SuiteResult, comparison: Comparison) -> str | None:
    return next((s.note for s in comparison.suites if s.entry == suite.entry), None)


def _pair(low: float | None, high: float | None) -> tuple[float, float] | None:
    return None if low is None or high is None else (low, high)


def _text(given: str) -> str:
    """Return a text that can be written: a name of a file need not be one."""
    return given.encode("utf-8", "replace").decode()


def _is_below(folder: str) -> bool:
    path = PurePosixPath(folder)
    return not (path.is_absolute() or ".." in path.parts or _OUTSIDE.search(folder))


def _exactly(cls: type[Any], plain: Mapping[str, Any]) -> dict[str, Any]:
    names = {f.name for f in fields(cls)}
    if odd := sorted(names ^ plain.keys()):
        raise KeyError(f"{odd[0]!r:.80} is {'missing' if odd[0] in names else 'not known'}")
    return dict(plain)


def _cell(plain: Mapping[str, Any]) -> Cell:
    values = _exactly(Cell, plain)
    if values["bounds"] is not None:
        values["bounds"] = tuple(values["bounds"])
    found = checked(Cell(**values))
    found.result()  # Refuses what cannot be the name of a suite.
    return found
