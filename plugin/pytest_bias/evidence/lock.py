"""The lock of models that others publish: the state of each, and what has changed since.

``pytest-bias.lock`` holds any number of models of the Hub by name. A model that was locked by a
branch or tag (``org/name@v1``) follows that branch or tag, any other the default branch.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from pytest_bias.errors import BiasError, ReportError, UsageError
from pytest_bias.models import ModelRef
from pytest_bias.models.fingerprint import ModelFingerprint, differences, fingerprint, is_beside
from pytest_bias.models.interface import ANSWER_TOKENS
from pytest_bias.models.reference import ASKED
from pytest_bias.records.report import Report
from pytest_bias.records.validation import checked
from pytest_bias.reports.folder import REPORT, read_plain_report
from pytest_bias.reports.publication_layout import BIAS, digest12
from pytest_bias.reports.publication_pointer import published
from pytest_bias.settings.settings import asked_as

Verdict: TypeAlias = Literal["unchanged", "moved", "changed", "unknown"]

_COMMIT: Final = re.compile("[0-9a-f]{7,40}")


@dataclass(frozen=True, slots=True)
class LockedScore:
    """The headline of one suite: metric, value, interval and number of items."""

    metric: str
    value: float | None
    unit: str
    ideal: float
    n: int
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class LockedReport:
    """A report of the locked model: published with it, or measured when it was locked.

    `scores` are the headlines by entry, none where they are `withheld`; the other fields are needed
    to measure the same again.
    """

    digest: str
    source: Literal["published", "measured"]
    created: str
    suites: tuple[str, ...]
    languages: tuple[str, ...]
    profile: str
    seed: int
    chat: str
    scores: Mapping[str, LockedScore]
    withheld: bool = False
    system: str | None = None
    answers: str = "auto"
    answer_tokens: int = ANSWER_TOKENS
    answer_samples: int = 1

    @classmethod
    def of(cls, report: Report, source: Literal["published", "measured"]) -> "LockedReport":
        """Return the part of a report that a lock keeps.

        Raises
        ------
        ReportError
            If the report does not say how it was measured.
        """
        settings = report.settings
        headlines = {s.entry: s.headline for s in report.suites if s.kind != "structure"}
        scores = {
            entry: LockedScore(h.metric, h.value, h.unit, h.ideal, h.n, h.interval)
            for entry, h in headlines.items()
            if h is not None
        }
        try:
            return checked(
                cls(
                    digest=report.digest,
                    source=source,
                    created=str(report.run.get("created", "")),
                    suites=tuple(settings["requested"]),
                    languages=tuple(report.coverage["languages"]),
                    profile=settings["profile"],
                    seed=settings["seed"],
                    chat=settings["chat"],
                    **asked_as(settings),
                    scores=scores,
                    withheld=report.withheld is not None,
                )
            )
        except (KeyError, TypeError) as error:
            raise ReportError(
                f"the report {report.digest[7:19]} does not say how it was measured: {error!r:.200}"
            ) from None


@dataclass(frozen=True, slots=True)
class Locked:
    """One model as it was locked on a date."""

    name: str
    locked: str
    head: ModelFingerprint
    report: LockedReport | None = None


@dataclass(frozen=True, slots=True)
class FileChanges:
    """Which files of a repository differ between two of its commits."""

    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @classmethod
    def between(cls, before: Mapping[str, str], now: Mapping[str, str]) -> "FileChanges":
        """Compare two listings of path and digest."""
        return cls(
            tuple(sorted(p for p in before if p in now and before[p] != now[p])),
            tuple(sorted(p for p in now if p not in before)),
            tuple(sorted(p for p in before if p not in now)),
        )

    @property
    def all(self) -> tuple[str, ...]:
        """Every path that differs."""
        return tuple(sorted((*self.changed, *self.added, *self.removed)))


@dataclass(frozen=True, slots=True)
class Checked:
    """A locked model and its current state, or the `error` because of which that is not known.

    `report` is the report that is published with it now, `notes` what else a user should know.
    """

    locked: Locked
    now: ModelFingerprint | None = None
    report: LockedReport | None = None
    notes: tuple[str, ...] = ()
    error: BiasError | None = None

    @property
    def differing(self) -> tuple[str, ...]:
        """Parts of the model that have changed, in words."""
        return differences(self.locked.head, self.now) if self.now else ()

    @property
    def files(self) -> FileChanges:
        """Files that have changed."""
        before, now = self.locked.head, self.now
        return FileChanges.between(_files(before), _files(now)) if now else FileChanges()

    @property
    def verdict(self) -> Verdict:
        """The verdict on the model; ``moved`` is another commit with the same model in it."""
        if self.now is None:
            return "unknown"
        if self.differing:
            return "changed"
        return "moved" if commits(self.locked.head) != commits(self.now) else "unchanged"

    @property
    def exit_code(self) -> int:
        """0 if the model is the same, 1 if it changed, else the exit code of the error."""
        if self.error:
            return self.error.exit_code
        return int(self.verdict == "changed")


def commits(found: ModelFingerprint) -> tuple[str | None, ...]:
    """Return the commits of a model and of its adapter."""
    return (found.revision, *([found.adapter.revision] if found.adapter else []))


def pinned(name: str, found: ModelFingerprint) -> str:
    """Return the name of a model at one commit, as `ModelRef.parse` reads it."""
    if found.adapter:
        adapter = f"{found.adapter.reference}@{found.adapter.revision}"
        return f"{found.base}@{found.revision}+{adapter}"
    return f"{name.partition('@')[0]}@{found.revision}"


def lock(ref: ModelRef, date: str) -> tuple[Locked, tuple[str, ...]]:
    """Lock a model as it is now, with its published report; also return notices for the user.

    Raises
    ------
    UsageError
        If it is not a model of the Hub.
    ModelError
        If its state cannot be determined.
    """
    _check_hub(ref)
    found = fingerprint(ref)
    if None in commits(found):
        raise UsageError(
            f"{ref} is an adapter of a model on this machine: only what comes from the Hub whole "
            "can be locked.",
            "Name the base as well: pytest-bias lock org/base+org/adapter",
        )
    report, notes = _published(ref, found)
    return Locked(_followed(ref, found), date, found, report), (*_about(ref, found), *notes)


def check(locked: Locked) -> Checked:
    """Compare a locked model with its current state."""
    try:
        ref = ModelRef.parse(locked.name)
        _check_hub(ref)
        found = fingerprint(ref)
        report, notes = _published(ref, found)
    except BiasError as error:
        return Checked(locked, error=error)
    return Checked(locked, found, report, (*_about(ref, found), *notes))


_ELSEWHERE: Final = {"gguf": "a .gguf file", "demo": "bundled", **ASKED}


def _check_hub(ref: ModelRef) -> None:
    for one in (ref, ref.adapter):
        if one and one.source != "hub":
            what = _ELSEWHERE.get(one.source, "a folder here")
            raise UsageError(
                f"{one} is {what}, and only models of the Hub can be locked: those that others "
                "can change.",
                "pytest-bias lock org/name",
            )


def _followed(ref: ModelRef, found: ModelFingerprint) -> str:
    """Return the name that a lock follows, without a commit, since a commit never moves."""

    def name(one: ModelRef, commit: str | None) -> str:
        asked = one.revision or ""
        is_commit = _COMMIT.fullmatch(asked) and (commit or "").startswith(asked)
        return one.name if is_commit or not asked else f"{one.name}@{asked}"

    if found.adapter and ref.adapter:
        return f"{name(ref, found.revision)}+{name(ref.adapter, found.adapter.revision)}"
    return name(ref, commits(found)[-1])


def earlier(locked: Locked) -> Path | None:
    """Return the folder of the report that was published for a model when it was locked.

    Reports stay where they are when others are published. None if there is none with scores.
    """
    report, found = locked.report, locked.head
    if report is None or report.source != "published" or report.withheld:
        return None
    ref = ModelRef.parse(locked.name)
    own, commit = ref.adapter or ref, commits(found)[-1]
    for revision in (commit, None):
        with suppress(ReportError):
            there = published(ModelRef(own.name, "hub", revision))
            folder = there.root / BIAS / digest12(report.digest) if there else None
            if folder and read_plain_report(folder / REPORT).digest == report.digest:
                return folder
    return None


def _published(
    ref: ModelRef, found: ModelFingerprint
) -> tuple[LockedReport | None, tuple[str, ...]]:
    """Return the published report of exactly this state of a model, and notes if there is none.

    It is looked for in the commit that was found, and, for a branch, tag or older commit, also at
    the head of the default branch, where it may have been published later.
    """
    own = ref.adapter or ref
    notes = []
    commit = commits(found)[-1]
    for revision in dict.fromkeys([commit, *([None] if own.revision else [])]):
        try:
            there = published(ModelRef(own.name, "hub", revision))
            report = there.read() if there else None
            kept = LockedReport.of(report, "published") if report else None
        except ReportError as error:
            notes.append(f"{error.message[0].upper()}{error.message[1:]}")
            continue
        if report is None:
            continue
        if not (other := differences(report.model, found)):
            return kept, ()
        notes.append(
            f"The published report {report.digest[7:19]} is of another version: other "
            f"{', '.join(other)}."
        )
    return None, tuple(dict.fromkeys(notes)) or ("No report is published with it.",)


def _about(ref: ModelRef, found: ModelFingerprint) -> tuple[str, ...]:
    about = [
        f"It takes code from {name}, which is not locked: no digest covers it."
        for name in found.code_elsewhere
    ]
    closed = [word for word in ("private", "gated") if getattr(found, word)]
    if closed:
        about.append(f"It is {' and '.join(closed)}: checking the lock requires a token.")
    return tuple(about)


def _files(found: ModelFingerprint) -> Mapping[str, str]:
    """Return the files of a model, and those of its adapter prefixed with the adapter's name."""
    if not found.adapter:
        return found.files
    adapter = found.adapter_files or {}
    return {**found.files, **{f"{found.adapter.reference}: {p}": d for p, d in adapter.items()}}


def beside(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the paths of files that only describe a model."""
    return tuple(p for p in paths if is_beside(p.rpartition(": ")[2]))
