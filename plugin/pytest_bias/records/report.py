"""Data types of a run, in order: Item -> Record -> Score -> SuiteResult -> Report.

All types are frozen and hold plain values, so that they pass between processes and into JSON as
they are. A missing number is None and has a reason; NaN is never used.
"""

import difflib
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

from pytest_bias.errors import ReportError
from pytest_bias.records import about
from pytest_bias.records.about import About, Known
from pytest_bias.records.documents import to_document, with_schema
from pytest_bias.records.identity import ModelIdentity, ScorerIdentity
from pytest_bias.records.score import Score
from pytest_bias.records.suite_states import SuiteStatus
from pytest_bias.records.validation import built, check_tables, checked

SCHEMA: Final = "pytest-bias/report/1"

Status: TypeAlias = Literal["scored", "unscored", "excluded", "error"]
Value: TypeAlias = float | int | str | bool | None
Json: TypeAlias = Any
Part: TypeAlias = tuple[int, int]
"""Number of the shard, from 1, and number of shards."""


_NAME = re.compile(r"\w(?:[\w.+-]*\w)?")
_MOST_NAMED: Final = 12
"""Number of groups or metrics that the message for an unknown one lists."""


def canonical_json(value: Json) -> str:
    """Return the canonical JSON text of a value: sorted keys, compact, no NaN."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False
    )


def sha256(content: str | bytes) -> str:
    """Return the SHA-256 of a text (as UTF-8) or of bytes, in hexadecimal."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def git_blob_id(content: bytes) -> str:
    """Return git's identifier for a file with this content; the Hub and GitHub use the same."""
    blob = b"blob %d\0" % len(content) + content
    return hashlib.sha1(blob, usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to measure, before any model has seen it.

    Parameters
    ----------
    id : str
        Unique within the suite and the same in every run.
    cluster : str
        Sampling unit, which bootstraps resample and which is never split between machines.
    by : mapping of str to str
        Groups that the item belongs to, such as ``{"bias_type": "religion"}``.
    texts : mapping of str to str
        Role to text. May be offensive by design: printed only if the user asks for it.
    meta : mapping
        Data that the suite's measure needs besides the texts.
    status, reason : str, optional
        Set if the data alone determine that the item is `unscored` (a malformed row) or `excluded`
        (dropped by the suite's own rule); then no model is queried.
    """

    id: str
    cluster: str
    texts: Mapping[str, str] = field(repr=False)
    by: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict, repr=False)
    status: Status | None = None
    reason: str | None = None

    def record(
        self,
        status: Status,
        value: float | None = None,
        detail: Mapping[str, Value] | None = None,
        reason: str | None = None,
    ) -> "Record":
        """Return the outcome of this item."""
        return Record(
            item=self.id,
            cluster=self.cluster,
            by=self.by,
            status=status,
            value=value,
            detail=detail or {},
            reason=reason,
            text_sha256=sha256(canonical_json(dict(self.texts))),
        )

    def scored(self, value: float, detail: Mapping[str, Value] | None = None) -> "Record":
        """Return a scored outcome, or an unscored one if any number is not finite."""
        numbers = [value, *(v for v in (detail or {}).values() if isinstance(v, float))]
        if not all(map(math.isfinite, numbers)):
            return self.record("unscored", reason="non-finite")
        return self.record("scored", value, detail)


@dataclass(frozen=True, slots=True)
class Record:
    """Outcome of one item on one model.

    `value` is averaged by the headline metric; `detail` holds the raw numbers from which every
    score of the suite can be recomputed. Both are empty unless `status` is ``scored``.
    """

    item: str
    cluster: str
    status: Status
    value: float | None = None
    by: Mapping[str, str] = field(default_factory=dict)
    detail: Mapping[str, Value] = field(default_factory=dict)
    reason: str | None = None
    text_sha256: str | None = None


def records_digest(records: Iterable[Record]) -> str:
    """Return the SHA-256 of the contents of records, regardless of their order."""
    names = [f.name for f in fields(Record)]
    lines = (canonical_json({n: _plain(getattr(r, n)) for n in names}) for r in records)
    return sha256("\n".join(sorted(lines)))


def items_digest(records: Iterable[Record]) -> str:
    """Return the SHA-256 of the items of records (identifiers and texts), without the results."""
    return sha256("".join(sorted(f"{r.text_sha256}  {r.item}\n" for r in records)))


@dataclass(frozen=True, slots=True)
class DataInfo:
    """Origin of a suite's data.

    `local` marks files that the user provided and that were used as found. `items_sha256` is the
    `items_digest`, which is the same for every model.

    For hidden items both digests are salted. No score is reported for groups with fewer than
    `least` items, nor for as many others as prevent its computation: `groups_left_out` together.
    """

    source: str
    licence: str
    revision: str | None = None
    sha256: str | None = None
    n_items: int = 0
    visibility: Literal["open", "hidden"] = "open"
    local: bool = False
    items_sha256: str | None = None
    least: int | None = None
    groups_left_out: int | None = None


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """One suite in one configuration, on one model.

    For a sample, `sampled` is its number of items and `n_available` that of the population; both
    are None for the whole. `clusters` names the sampling units, in the plural: pairs, occupations.
    `control_of` names the configuration for which these texts are a control, if they are.
    `scorer` is the classifier that scored the generated texts; `labels` maps, if the model is a
    classifier, concepts to its labels.
    """

    name: str
    config: str
    version: str
    kind: Literal["intrinsic", "downstream", "structure", "robustness", "quality"]
    status: SuiteStatus
    title: str = ""
    language: str = ""
    reason: str | None = None
    measure: str | None = None
    adapted: bool = False
    draft: bool = False
    validity: str = "contested"
    clusters: str = "items"
    control_of: str | None = None
    scorer: ScorerIdentity | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    sampled: int | None = None
    n_available: int | None = None
    data: DataInfo | None = None
    scores: tuple[Score, ...] = ()
    records_sha256: str | None = None
    records: tuple[Record, ...] = field(default=(), repr=False, compare=False)
    about: About | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        for part in (self.name, self.config):
            # They become parts of file names.
            if not (isinstance(part, str) and _NAME.fullmatch(part)):
                raise ValueError(f"{part!r:.80} cannot be the name of a suite or configuration")

    @property
    def entry(self) -> str:
        """Name with configuration, such as ``crows_pairs[en]``."""
        return f"{self.name}[{self.config}]"

    @property
    def is_hidden(self) -> bool:
        """Whether the items are hidden."""
        return self.data is not None and self.data.visibility == "hidden"

    def without_hidden_records(self) -> "SuiteResult":
        """Return the result without the records of hidden items, as it may leave the process."""
        return replace(self, records=()) if self.is_hidden else self

    @property
    def headline(self) -> Score | None:
        """The headline score of the suite, or None."""
        return next((s for s in self.scores if s.headline and not s.by), None)

    def score(self, metric: str, **by: str) -> Score:
        """Return one score.

        Raises
        ------
        KeyError
            If the suite has no such metric or group; the message lists those that exist.
        """
        for score in self.scores:
            if score.metric == metric and dict(score.by) == by:
                return score
        alike = [s.by for s in self.scores if s.metric == metric and s.by.keys() == by.keys()]
        known = [_group(b) for b in alike]
        if not known:
            names = sorted({(s.metric, *sorted(s.by)) for s in self.scores})
            known = [f"{name} by {', '.join(keys)}" if keys else name for name, *keys in names]
        # The keys are the same and would make any two groups look similar.
        names_of = {", ".join(b[k] for k in sorted(b)): _group(b) for b in alike}
        near = difflib.get_close_matches(", ".join(by[k] for k in sorted(by)), names_of, n=1)
        more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
        raise KeyError(
            f"{self.entry} has no score {metric!r}"
            + (f" by {_group(by)}" if by else "")
            + (f" (did you mean {names_of[near[0]]}?)" if near else "")
            + f"; it has {'; '.join(known[:_MOST_NAMED])}{more}"
        )

    @property
    def records_path(self) -> str:
        """Path of the records, relative to the report's folder."""
        return f"records/{self.entry}.parquet"

    def to_json(self) -> Json:
        """Return the suite's entry in report.json."""
        plain = asdict(replace(self, records=(), about=None))
        del plain["records"], plain["records_sha256"], plain["about"]
        plain["records"] = (
            {"path": self.records_path, "sha256": self.records_sha256}
            if self.records_sha256
            else None
        )
        return plain

    @classmethod
    def from_json(cls, plain: Json, records: Sequence[Record] = ()) -> "SuiteResult":
        """Read the output of `to_json`."""
        told = plain.get("records") or {}
        kept = {"records": tuple(records), "records_sha256": told.get("sha256")}
        return built(cls, {**plain, **kept})


@dataclass(frozen=True, slots=True)
class Withheld:
    """Placeholder for scores that are not published; see `withholding` for the rule.

    `digest` is a salted digest of the full report. `finite` means that every measured suite has a
    headline with a value.
    """

    digest: str
    finite: bool


@dataclass(frozen=True)
class Report:
    """Complete result of a run, with its provenance.

    `settings` holds only what changes scores, `run` what does not (time, machine, cost); the digest
    covers all but `run` and itself. `coverage` names the languages and every social suite that
    applies to the model in them, whether it was requested or not. `withheld` is None unless the
    scores are not published.
    """

    tool: Mapping[str, Any]
    model: ModelIdentity
    settings: Mapping[str, Json]
    suites: tuple[SuiteResult, ...]
    coverage: Mapping[str, Json] = field(default_factory=dict)
    run: Mapping[str, Json] = field(default_factory=dict)
    withheld: Withheld | None = None
    schema: str = SCHEMA
    known: Known = field(default=Known(), repr=False, compare=False)
    sealed: str | None = field(default=None, repr=False, compare=False)
    """Digest of a report that was read from a file, which covers keys of other versions too."""

    def digested(self) -> Json:
        """Return the part of report.json that the digest covers."""
        return {
            "schema": self.schema,
            "tool": dict(self.tool),
            "model": asdict(self.model),
            "settings": dict(self.settings),
            "coverage": dict(self.coverage),
            "suites": [s.to_json() for s in self.suites],
            **({"withheld": asdict(self.withheld)} if self.withheld else {}),
        }

    @cached_property  # so the class has no slots
    def digest(self) -> str:
        """Return the digest of the report, as ``sha256:…``."""
        return self.sealed or digest_of(self.digested())

    def without_hidden_records(self) -> "Report":
        """Return the report without the records of hidden suites, as it may leave the process."""
        return replace(self, suites=tuple(s.without_hidden_records() for s in self.suites))

    @property
    def notices(self) -> tuple[str, ...]:
        """Notices that were shown to the user during the measurement."""
        told = self.run.get("notices")
        return tuple(map(str, told)) if isinstance(told, list) else ()

    def suite(self, name: str, config: str | None = None) -> SuiteResult:
        """Return the result of a suite, selected by configuration if there are several."""
        for suite in self.suites:
            if suite.name == name and config in (None, suite.config):
                return suite
        raise KeyError(f"no {name!r} in this report; it has {[s.entry for s in self.suites]}")

    def to_json(self) -> str:
        """Return report.json."""
        of_suites = ((s.entry, s.about) for s in self.suites)
        run = {**self.run, about.KEY: about.to_json(of_suites, self.known)}
        return to_document({**self.digested(), "digest": self.digest, "run": run})

    @classmethod
    def from_json(cls, text: str, *, check: bool = True, of_parts: bool = False) -> "Report":
        """Read report.json, and check its digest unless `check` is false.

        With `of_parts`, as sent by a process that measured parts, entries may be repeated.

        Raises
        ------
        ReportError
            If the text is not a report with this schema, or was changed after it was written.
        """
        plain = with_schema(text, SCHEMA, "report")
        covered = {k: v for k, v in plain.items() if k not in ("digest", "run")}
        try:
            check_tables(plain, of_parts=of_parts)
            abouts, known = about.from_json(plain.get("run"))
            withheld = plain.get("withheld")
            report = checked(
                cls(
                    tool=plain["tool"],
                    model=built(ModelIdentity, plain["model"]),
                    settings=plain["settings"],
                    suites=tuple(
                        replace(s, about=abouts.get(s.entry))
                        for s in map(SuiteResult.from_json, plain["suites"])
                    ),
                    coverage=plain.get("coverage", {}),
                    run=_without_about(plain.get("run", {})),
                    known=known,
                    withheld=None if withheld is None else built(Withheld, withheld),
                    sealed=plain.get("digest"),
                )
            )
            found = digest_of(covered)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ReportError(f"not a whole report: {error!r}") from None
        if check and report.sealed != found:
            raise ReportError(
                "the report was changed after it was written: its digest does not match.",
                "pytest-bias verify shows which parts still hold.",
            )
        return report


def digest_of(covered: Json) -> str:
    """Return the digest of the part of a report that it covers."""
    return f"sha256:{sha256(canonical_json(covered))}"


def _group(by: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={name}" for key, name in sorted(by.items()))


def _plain(value: Json) -> Json:
    return dict(value) if isinstance(value, Mapping) else value


def _without_about(run: Json) -> Json:
    return {k: v for k, v in run.items() if k != about.KEY} if isinstance(run, Mapping) else run
