"""Download of one pinned file into the cache: resumed if interrupted, refused if changed.

The received bytes are in ``NAME.part`` beside the target, and the server's version (its ETag and
the size) in ``NAME.part.mark``. A lock lets one process at a time download a file; the others wait
and then use it. The file is accepted only if its SHA-256 is the pinned one.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from pytest_bias.errors import DataError, DataMissing, NoAnswer, OutputError
from pytest_bias.http.failures import PROXY, SILENT, Failed, Kind
from pytest_bias.http.patience import Patience
from pytest_bias.http.session import Session, pieces, refused
from pytest_bias.records.report import sha256

if TYPE_CHECKING:
    from pytest_bias.http.session import Response

PATIENCE: Final = Patience()
TIMEOUT_S: Final = (10.0, 30.0)

LARGEST: Final = 500 * 10**6
"""Maximum size in bytes of a file that is not pinned."""

LONGEST_S: Final = 600.0
"""Maximum duration of such a download, for servers that send very slowly."""

OWN_COPY: Final = "put your own copy below a folder and give --data-dir"
GONE: Final = f"A newer pytest-bias may know where it is now. Else {OWN_COPY}."
_NOT_PUBLIC: Final = f"It is public: a proxy or a firewall may have answered. Else {OWN_COPY}."
_HINTS: Final[Mapping[Kind, str]] = {
    "address": GONE,
    "connection": f"Try again: {{again}}. Behind a proxy set HTTPS_PROXY; else {OWN_COPY}.",
    401: _NOT_PUBLIC,
    403: _NOT_PUBLIC,
    407: PROXY,
    429: f"Try again {{when}}: {{again}}. Else {OWN_COPY}.",
    451: _NOT_PUBLIC,
    4: GONE,
    5: f"Try again {{when}}: {{again}}. Else {OWN_COPY}.",
}

Tell: TypeAlias = Callable[[int, int | None], None]
"""Progress callback: bytes received, and the size, or None if the server does not state it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file to download.

    Parameters
    ----------
    what : str
        Subject of messages: the file and the suite that needs it.
    url, sha256 : str
        Address at one commit, and SHA-256 of the bytes.
    target : Path
        Where it is stored.
    again : str
        The command to retry.
    """

    what: str
    url: str
    sha256: str
    target: Path
    again: str

    @property
    def part(self) -> Path:
        """Path of the incomplete download."""
        return self.target.with_name(f"{self.target.name}.part")

    @property
    def mark(self) -> Path:
        """Path of the mark that identifies the version of the incomplete download."""
        return self.target.with_name(f"{self.target.name}.part.mark")

    def discard(self) -> None:
        """Remove the incomplete download."""
        self.part.unlink(missing_ok=True)
        self.mark.unlink(missing_ok=True)

    def there(self) -> bytes | None:
        """Return the bytes of the target if they match the pinned SHA-256."""
        with suppress(FileNotFoundError, NotADirectoryError):
            content = self.target.read_bytes()
            return content if sha256(content) == self.sha256 else None
        return None


def save(address: str, target: Path) -> None:
    """Download a file that is not pinned, in one attempt, into a folder that is created.

    Raises
    ------
    DataMissing
        If it cannot be downloaded in reasonable time, or is larger than any report or file of
        records.
    """
    target.parent.mkdir(parents=True, exist_ok=True)

    def attempt() -> None:
        with session.ask("GET", address) as answer:
            if not answer.ok:
                raise refused(answer)
            with target.open("wb") as file:
                file.writelines(pieces(answer, most=LARGEST, within=LONGEST_S))

    session = Session(TIMEOUT_S)
    try:
        PATIENCE.ask(attempt)
    except Failed as failed:
        why, hint = failed.answer("the server"), failed.hint()
        raise DataMissing(f"{address} cannot be fetched: {why}.", hint) from None
    except OSError as error:
        raise DataMissing(f"{address} cannot be kept: {error}") from None


def fetch(wanted: Wanted, tell: Tell) -> bytes:
    """Return the bytes of a pinned file, downloaded unless another process has just done so.

    Raises
    ------
    DataMissing
        If it cannot be downloaded; states the attempts, the server's answer and what helps.
    DataError
        If the downloaded file is not the pinned one.
    OutputError
        If the cache cannot be written.
    """
    from filelock import FileLock

    try:
        wanted.target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(wanted.target.with_name(f"{wanted.target.name}.lock")):
            content = wanted.there()
            return _fetched(wanted, tell) if content is None else content
    except OSError as error:
        raise unwritable(wanted.target.parent, error) from None


def unwritable(folder: Path, error: OSError) -> OutputError:
    """Return the error for a cache folder that cannot be written."""
    return OutputError(
        f"the cache {folder} cannot be written: {error.strerror or error}.",
        "Set PYTEST_BIAS_CACHE to a folder that can.",
    )


def _fetched(wanted: Wanted, tell: Tell) -> bytes:
    resumed = _received(wanted, tell)
    content = wanted.part.read_bytes()
    if resumed and sha256(content) != wanted.sha256:
        # The resumed beginning may have been of another file: once more, from the first byte.
        wanted.discard()
        _received(wanted, tell)
        content = wanted.part.read_bytes()
    if sha256(content) != wanted.sha256:
        wanted.discard()
        raise DataError(
            f"{wanted.what} was refused: {wanted.url} is not the file that was pinned; "
            f"its SHA-256 is {sha256(content)}, not {wanted.sha256}. "
            f"{len(content)} bytes came{_looks_like(content)}.",
            "A proxy or a login page may have answered instead. Compare with a copy from another "
            "network; your own copy is read as it is, with --data-dir.",
        )
    wanted.part.replace(wanted.target)
    wanted.mark.unlink(missing_ok=True)
    return content


def _looks_like(content: bytes) -> str:
    return ", a page in HTML" if content.lstrip()[:9].lower() in (b"<!doctype", b"<html>") else ""


def _received(wanted: Wanted, tell: Tell) -> bool:
    """Download the whole file into its part; returns whether the download was resumed."""
    session = Session(TIMEOUT_S)
    try:
        return PATIENCE.ask(lambda: _attempt(session, wanted, tell))
    except Failed as failed:
        raise _refusal(wanted, failed) from None


def _refusal(wanted: Wanted, failed: Failed) -> DataMissing:
    why = failed.answer("the server")
    if failed.kind == "broken off":
        why += f" after {wanted.part.stat().st_size if wanted.part.exists() else 0} bytes"
    if failed.after is not None:
        why += f" and asks to wait {failed.after:.0f} s"
    if failed.attempts > 1:
        why += f" (asked {failed.attempts} times)"
    kind = NoAnswer if failed.kind in SILENT else DataMissing
    return kind(
        f"{wanted.what} could not be fetched from {wanted.url}: {why}.",
        failed.hint(_HINTS, again=wanted.again),
    )


def _attempt(session: Session, wanted: Wanted, tell: Tell) -> bool:
    size, mark = _begun(wanted)
    headers = {"Range": f"bytes={size}-"} if size else {}
    with session.ask("GET", wanted.url, headers=headers) as answer:
        goes_on = size > 0 and _goes_on(answer, size, mark)
        if size and not goes_on and answer.status_code in (206, 416):
            wanted.discard()
            raise Failed("changed", "the file changed while it was fetched", after=0)
        if answer.status_code != (206 if goes_on else 200):
            raise refused(answer)
        _write(answer, wanted, size if goes_on else 0, tell)
        return goes_on


def _begun(wanted: Wanted) -> tuple[int, str]:
    """Return the size of an existing part, and the mark of the file that it belongs to."""
    with suppress(FileNotFoundError):
        return wanted.part.stat().st_size, wanted.mark.read_text(encoding="utf-8")
    return 0, ""


def _marked(answer: "Response", size: str | None) -> str:
    return f"{answer.headers.get('ETag', '')}\n{size or ''}\n"


def _goes_on(answer: "Response", size: int, mark: str) -> bool:
    """Whether an answer continues the part, by its range, the size and the ETag."""
    about = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", answer.headers.get("Content-Range", ""))
    at_place = answer.status_code == 206 and about is not None and int(about[1]) == size
    return at_place and about is not None and _marked(answer, about[2]) == mark


def _write(answer: "Response", wanted: Wanted, done: int, tell: Tell) -> None:
    length = answer.headers.get("Content-Length")
    total = done + int(length) if length else None
    if not done:
        wanted.part.unlink(missing_ok=True)
        wanted.mark.write_text(_marked(answer, length), encoding="utf-8", newline="\n")
    tell(done, total)
    with wanted.part.open("ab") as file:
        for piece in pieces(answer):
            done += file.write(piece)
            tell(done, total)
