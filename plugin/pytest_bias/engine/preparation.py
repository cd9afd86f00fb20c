"""Preparation of suites' data for a machine without a network: find and fetch their files.

Files are looked up in the same `DataFolder` that runs use, with the same accepted licences.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from pytest_bias.data.sources import DataFile, DataFolder, State
from pytest_bias.errors import (
    BiasError,
    DataError,
    DataMissing,
    LicenceNotAccepted,
    OutputError,
    OwnCopyNeeded,
)
from pytest_bias.records.documents import write_whole
from pytest_bias.records.suite_states import SuiteStatus
from pytest_bias.suites.suite import Entry

Outcome: TypeAlias = State | Literal["fetched", "refused"]
"""Where a file is now; `refused` are files whose download failed."""

THERE: Final = frozenset({"own", "own changed", "cached", "fetched"})
NOT_OURS_TO_FETCH: Final = "own copy only"


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """One file of an entry: where it is, or why it is not available."""

    path: str
    outcome: Outcome
    error: DataError | None = None


@dataclass(frozen=True, slots=True)
class EntryData:
    """The files of one suite in one configuration.

    `licence` is one that the user has yet to accept; where there is one, nothing was fetched.
    """

    entry: Entry
    files: tuple[FileOutcome, ...]
    licence: LicenceNotAccepted | None = None

    @property
    def is_ready(self) -> bool:
        """Whether a run finds the files it needs, or skips the entry with a reason of its own.

        The latter is so where a licence is not accepted, or where only the user can provide the
        files, unless this very suite was requested.
        """
        outcomes = {f.outcome for f in self.files}
        if not self.entry.named:
            if self.licence:
                return True
            outcomes -= {NOT_OURS_TO_FETCH}
        return self.licence is None and outcomes <= THERE

    def paths(self, outcome: Outcome) -> list[str]:
        """Return the paths of the files with an outcome."""
        return [f.path for f in self.files if f.outcome == outcome]


def look(entry: Entry, folder: DataFolder) -> EntryData:
    """Return where the files of an entry are, without using the network."""
    files = (FileOutcome(f.path, folder.state(f)) for f in entry.configuration.files)
    return EntryData(entry, tuple(files), missing_consent(entry, folder))


def fetch(entry: Entry, folder: DataFolder) -> EntryData:
    """Fetch the files of an entry into the cache, or into the folder if there is one.

    Raises
    ------
    OutputError
        If the cache or the folder cannot be written.
    """
    licence = missing_consent(entry, folder)
    if licence:
        return look(entry, folder)
    named = folder.of(entry.suite.name)
    return EntryData(entry, tuple(_fetched(file, named) for file in entry.configuration.files))


def missing_consent(entry: Entry, folder: DataFolder) -> LicenceNotAccepted | None:
    """Return the licence of an entry's data that is not accepted; None if there is none."""
    for source in entry.configuration.consents:
        try:
            folder.consent(entry.suite.name, source)
        except LicenceNotAccepted as error:
            return error
    return None


def _fetched(file: DataFile, folder: DataFolder) -> FileOutcome:
    state = folder.state(file)
    if state in ("own", "own changed", "own unreadable", NOT_OURS_TO_FETCH):
        return FileOutcome(file.path, state)
    if state == "cached" and folder.folder is None:
        return FileOutcome(file.path, state)
    try:
        content = folder.find(file).content
    except DataError as error:
        return FileOutcome(file.path, "refused", error)
    if folder.folder is not None:
        _write(folder.folder / file.path, content)
    return FileOutcome(file.path, "fetched")


def _write(target: Path, content: bytes) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, content)
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror or error}.") from None


def without_data(error: BiasError, *, named: bool) -> SuiteStatus:
    """Return the status of an entry whose items could not be read; `named`: requested by name."""
    match error:
        case LicenceNotAccepted():
            return "skipped"
        case OwnCopyNeeded() if not named:
            return "skipped"
        case DataMissing():
            return "unavailable"
    return "error"


def exit_code(found: Sequence[EntryData]) -> int:
    """Return 0 if all files are available, else 3."""
    return 0 if all(data.is_ready for data in found) else 3
