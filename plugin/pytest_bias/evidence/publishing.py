"""Publishing of a report: the future repository is built and checked before anything is written.

The future state is built in a separate folder: evidence, pointer, badges, README.md. It is checked
as any reader would check it; the difference to the present state is then written, to a folder or
in one commit.
"""

import difflib
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pytest_bias.emit import badges
from pytest_bias.emit.card import model_index
from pytest_bias.emit.card import section as card
from pytest_bias.emit.card.readme import merged
from pytest_bias.errors import OutputError, ReportError, UsageError
from pytest_bias.evidence.checks import Check
from pytest_bias.evidence.report import verify
from pytest_bias.evidence.reproduction import Reproduction
from pytest_bias.evidence.verification import (
    REPRODUCTION_CHECK,
    Publication,
    Trust,
    pointer_of,
    require_checked,
    verify_publication,
)
from pytest_bias.records.documents import write_whole
from pytest_bias.records.report import Report
from pytest_bias.reports.folder import (
    REPORT,
    read_plain_report,
    read_report,
    require_finished,
    write_records,
)
from pytest_bias.reports.publication_layout import (
    BADGES,
    BIAS,
    CURRENT,
    DIGEST12,
    README,
    REPRODUCTION,
    REPRODUCTIONS,
    SIGNATURE,
    TEST_RESULT,
    digest12,
    evidence,
    unproven,
)
from pytest_bias.settings.settings import Settings

DIFF_LINES: Final = 400


@dataclass(frozen=True, slots=True)
class Change:
    """One file that publishing changes; None where it does not exist before, or after."""

    path: str
    before: bytes | None
    after: bytes | None

    def diff(self) -> list[str]:
        """Return the lines of a text file that change."""
        before, after = (
            (content or b"").decode("utf-8", "replace").splitlines()
            for content in (self.before, self.after)
        )
        lines = difflib.unified_diff(before, after, self.path, self.path, lineterm="")
        return list(lines)[:DIFF_LINES]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A prepared publication: the changes, the checks of the future state, and notices."""

    report: Report
    changes: tuple[Change, ...]
    checks: tuple[Check, ...]
    notices: tuple[str, ...] = field(default=())

    @property
    def files(self) -> dict[str, bytes]:
        """Files to write, by path."""
        return {c.path: c.after for c in self.changes if c.after is not None}

    @property
    def removed(self) -> tuple[str, ...]:
        """Files to remove: badges of suites that are no longer measured."""
        return tuple(c.path for c in self.changes if c.after is None)


def prepare(
    source: Path,
    target: Publication,
    settings: Settings,
    trust: Trust,
    *,
    keeps: bool = False,
) -> Prepared:
    """Determine what publishing a folder changes in a repository.

    Parameters
    ----------
    source : Path
        Folder that a run or ``reproduce`` wrote.
    target : Publication
        The repository as it is; its `folder` and `digest` may be empty.
    settings : Settings
        Where to look for data.
    trust : Trust
        How signatures are checked.
    keeps : bool
        Whether results of earlier reports that this one does not have stay in the metadata.

    Raises
    ------
    ReportError
        If the folder's own report fails a check, is not finished, or is not of this model.
    UsageError
        If README.md cannot be changed without changing its owner's text.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="pytest-bias-") as name:
            return _prepared(source, target, settings, trust, Path(name), keeps=keeps)
    except OSError as error:
        what = f"{error.filename or target.root}: {error.strerror or error}"
        raise OutputError(f"nothing is published to {target.name}, {what}.") from None


def _prepared(
    source: Path,
    target: Publication,
    settings: Settings,
    trust: Trust,
    future: Path,
    *,
    keeps: bool,
) -> Prepared:
    _copied(target.root, future)
    if (source / REPRODUCTION).is_file():
        _add_reproduction(source, future, target)
        report, folder = _current(target, future)
    else:
        report = _checked(source, settings)
        folder = future / evidence(report)
        _add_evidence(source, report, folder)
        # Of two runs with the same result the first stays, with its date, and badges show that one.
        report = read_plain_report(folder / REPORT)
        (future / CURRENT).write_text(pointer_of(report), encoding="utf-8")
    place = target.place(report)
    state = replace(target, root=future, folder=folder, digest=report.digest)
    verified = verify_publication(state, settings, trust)
    require_checked(verified)
    standing = verified.standing
    if standing.stale and not (target.root / evidence(report) / REPORT).is_file():
        raise _of_another_model(state.name, verified.checks)
    _draw(future, badges.by_name(report, standing))
    section = card.section(report, place, standing)
    entries = model_index.entries(report, place)
    path = future / README
    before = path.read_bytes() if path.is_file() else b""
    path.write_bytes(merged(before, section, entries, keeps=keeps))
    found = verify_publication(state, settings, trust)
    _require_sound(found.checks, target)
    changes = tuple(_changes(target.root, future))
    return Prepared(report, changes, found.checks, tuple(_notices(source)))


def _require_sound(checks: Sequence[Check], target: Publication) -> None:
    """Raise `ReportError` if a check by a reader would fail.

    Two failures are allowed: the badges show that the model has changed since, and an invalid
    reproduction by others is ignored.
    """
    for check in checks:
        excused = check.what == "model" or check.what.startswith(f"{REPRODUCTION_CHECK} ")
        if check.outcome == "fails" and not excused:
            raise ReportError(
                f"nothing is published to {target.name}, since readers would find that it does not "
                f"hold: {check.about} {check.what}: {check.detail}",
                f"pytest-bias verify {target.name} shows what is there now.",
            )


def _copied(root: Path, future: Path) -> None:
    """Copy the folder ``bias`` of a repository and its card, but not the model."""
    if (root / BIAS).is_dir():
        shutil.copytree(root / BIAS, future / BIAS)
    (future / BIAS).mkdir(exist_ok=True)
    for path in (future / BIAS).iterdir():
        if path.is_file() and (path.name == Path(BADGES).name or re.fullmatch(DIGEST12, path.name)):
            raise UsageError(
                f"{BIAS}/{path.name} of {root.name} is a file, and has to be a folder.",
                "Remove it: it is nothing that pytest-bias has published.",
            )
    if (root / README).is_file():
        shutil.copy(root / README, future / README)


def _checked(source: Path, settings: Settings) -> Report:
    """Return a report that passes its checks and is finished."""
    report = read_report(source)
    require_finished(report, source)
    if report.model.asked:
        raise ReportError(
            f"{source} is not published: {unproven(report.model)}.",
            "Publish the report of a run on the files of the model: pytest-bias run org/name",
        )
    bad = [c for c in verify(source, settings=settings, is_run=False) if c.outcome == "fails"]
    if bad:
        raise ReportError(
            f"{source} is not published, since it does not hold: {bad[0].about} {bad[0].what}: "
            f"{bad[0].detail}",
            f"pytest-bias verify {source}",
        )
    return report


def _add_evidence(source: Path, report: Report, folder: Path) -> None:
    """Store a report in its permanent place; existing files are never overwritten."""
    if (folder / REPORT).is_file():
        there = read_plain_report(folder / REPORT)
        if there.digest != report.digest:
            raise ReportError(f"{folder.name} holds another report: {there.digest}.")
        lost = [s for s in report.suites if not (folder / s.records_path).exists()]
        write_records(replace(report, suites=tuple(lost)), folder)
    else:
        folder.mkdir(parents=True)
        shutil.copy(source / REPORT, folder / REPORT)
        # Written again, since the records of a run may hold texts.
        write_records(report, folder)
    _add_signature(source / REPORT, folder / REPORT)
    _add_signature(source / REPORT, folder / REPORT, TEST_RESULT)


def _add_signature(file: Path, copy: Path, name: str = "") -> None:
    """Copy the signature of a file, or the signed statement on it that has another name."""
    bundle, there = (p.with_name(f"{name or p.name}{SIGNATURE}") for p in (file, copy))
    # The signature is of these bytes; time and cost may differ in an existing report.
    if bundle.is_file() and not there.exists() and file.read_bytes() == copy.read_bytes():
        shutil.copy(bundle, there)


def _add_reproduction(source: Path, future: Path, target: Publication) -> None:
    try:
        stated = Reproduction.from_json((source / REPRODUCTION).read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise ReportError(f"{source / REPRODUCTION} is not a reproduction: {error}") from None
    folder = future / BIAS / digest12(stated.of)
    if not (folder / REPORT).is_file():
        raise ReportError(
            f"{target.name} does not hold the report {stated.of[:19]} that {source} is a "
            "reproduction of.",
            f"pytest-bias reproduce {target.name} runs the one that it holds.",
        )
    own = read_report(source)
    if own.digest != stated.report:
        raise ReportError(f"the {REPRODUCTION} in {source} is not of the report beside it.")
    copy = folder / REPRODUCTIONS / digest12(stated.digest)
    if (copy / REPRODUCTION).is_file():
        return
    copy.mkdir(parents=True)
    for name in (REPRODUCTION, REPORT):
        shutil.copy(source / name, copy / name)
        _add_signature(source / name, copy / name)
    write_records(own, copy)


def _current(target: Publication, future: Path) -> tuple[Report, Path]:
    folder = future / target.folder.relative_to(target.root)
    return read_plain_report(folder / REPORT), folder


def _of_another_model(name: str, checks: Sequence[Check]) -> ReportError:
    why = next(c.detail for c in checks if c.what == "model")
    return ReportError(
        f"the report is not of the model that {name} holds: {why}.",
        f"pytest-bias run {name} measures that one.",
    )


def _draw(future: Path, drawn: Mapping[str, str]) -> None:
    """Replace the existing badges."""
    shutil.rmtree(future / BADGES, ignore_errors=True)
    (future / BADGES).mkdir(parents=True)
    for name, text in drawn.items():
        path = future / BADGES / name
        path.write_text(text, encoding="utf-8", newline="\n")


def _changes(root: Path, future: Path) -> Iterator[Change]:
    sides = [dict(_files(folder)) for folder in (root, future)]
    for path in sorted(sides[0].keys() | sides[1].keys()):
        before, after = (side.get(path) for side in sides)
        if before != after:
            yield Change(path, before, after)


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    found = [p for p in (folder / BIAS).rglob("*") if p.is_file()]
    for path in [*found, *([folder / README] if (folder / README).is_file() else [])]:
        yield path.relative_to(folder).as_posix(), path.read_bytes()


def _notices(source: Path) -> Iterator[str]:
    """Yield what the files disclose that their owner may not want to publish."""
    text = (source / REPORT).read_text(encoding="utf-8")
    home = str(Path.home())
    if len(home) > 1 and home in text:
        yield f"{source / REPORT} mentions {home}, the path of your home folder."


def write(prepared: Prepared, root: Path) -> None:
    """Write a prepared publication to a folder: all of it, or nothing.

    Evidence is written first, then badges, then the pointer, and README.md, which shows them, last.
    """
    ordered: Sequence[Change] = sorted(prepared.changes, key=_turn)
    done: list[Change] = []
    try:
        for change in ordered:
            _put(root / change.path, change.after)
            done.append(change)
    except BaseException as error:
        for change in reversed(done):
            with suppress(OSError):
                _put(root / change.path, change.before)
        if not isinstance(error, OSError):
            raise
        why = error.strerror or error
        raise OutputError(f"{root} cannot be written: {why}. It is as it was.") from None


def _turn(change: Change) -> int:
    beginnings = (f"{BADGES}/", CURRENT, README)
    return 1 + next((i for i, b in enumerate(beginnings) if change.path.startswith(b)), -1)


def _put(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink()
        for folder in (path.parent, path.parent.parent):
            with suppress(OSError):
                folder.rmdir()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content)


def require_own_files(root: Path) -> None:
    """Raise `UsageError` if publishing to a folder would write elsewhere or overwrite other files.

    A link may point outside the repository, and would be replaced by a regular file.
    """
    if (card := root / README).is_symlink() or (card.exists() and not card.is_file()):
        raise UsageError(f"{card} is no file of its own.", "Put the card itself there.")
    if (root / BIAS).exists() and not (root / BIAS).is_dir():
        raise UsageError(f"{root / BIAS} is no folder.", "Move it away: reports are kept there.")
    for path in (root / BIAS, *(root / BIAS).rglob("*")):
        if path.is_symlink() or (path.exists() and not path.is_file() and not path.is_dir()):
            raise UsageError(
                f"{path} is a link, or no file.", "Below bias/ lie only files that are published."
            )


def require_report(source: Path) -> Path:
    """Return the folder of a report, given its folder or its report.json."""
    folder = source if source.is_dir() else source.parent
    if not (folder / REPORT).is_file():
        raise UsageError(
            f"{source} holds no {REPORT}.",
            "Give the folder that a run wrote: pytest-bias run MODEL",
        )
    return folder
