"""One pinned file of the web, into the cache: taken up where it broke off, refused if changed.

What has arrived stands in ``NAME.part`` beside the target, with the server's mark of that version
(its ETag and the size) in ``NAME.part.mark``. A lock lets one process at a time fetch a file; the
others wait and find it there. The SHA-256 decides what becomes of it.
"""

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urlsplit

from pytest_bias.errors import DataError, DataMissing, NoAnswer, OutputError
from pytest_bias.records.report import sha256

if TYPE_CHECKING:
    import requests

TIMEOUT_S: Final = 30.0
ATTEMPTS: Final = 4
BACKOFF_S: Final = 1.0
"""Wait after the first failure; twice as long after each further one."""

LONGEST_WAIT_S: Final = 60.0
"""A server that asks to be left alone for longer is not waited for."""

LARGEST: Final = 500 * 10**6
"""Bytes of a file that nothing pins: more is not taken from a server."""

LONGEST_S: Final = 600.0
"""Time that such a file may take, from a server that sends a byte now and then."""

CHUNK: Final = 1 << 14
"""Bytes at a time; of a connection that breaks off no more than that is lost."""

Tell: TypeAlias = Callable[[int, int | None], None]
"""Called with the bytes that are there and the size, null if the server does not say."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file to fetch.

    Parameters
    ----------
    what : str
        Subject of messages: what it is and who needs it.
    url, sha256 : str
        Address at one commit, and SHA-256 of the bytes.
    target : Path
        Where it is kept.
    again : str
        The command that tries again.
    """

    what: str
    url: str
    sha256: str
    target: Path
    again: str

    @property
    def part(self) -> Path:
        """Where it stands until it is whole."""
        return self.target.with_name(f"{self.target.name}.part")

    @property
    def mark(self) -> Path:
        """What tells which version of the file the part is of."""
        return self.target.with_name(f"{self.target.name}.part.mark")

    def discard(self) -> None:
        """Remove what has arrived."""
        self.part.unlink(missing_ok=True)
        self.mark.unlink(missing_ok=True)

    def there(self) -> bytes | None:
        """Return the bytes of the target if they are the pinned ones."""
        with suppress(FileNotFoundError, NotADirectoryError):
            content = self.target.read_bytes()
            return content if sha256(content) == self.sha256 else None
        return None


def save(address: str, target: Path) -> None:
    """Fetch a file that nothing pins, once, into a folder that is made.

    Raises
    ------
    DataMissing
        If the server does not give it in reasonable time, or it is larger than any report or file
        of records.
    """
    import requests

    target.parent.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + LONGEST_S
    try:
        with requests.get(address, stream=True, timeout=TIMEOUT_S) as answer:
            answer.raise_for_status()
            size = 0
            with target.open("wb") as file:
                for chunk in answer.iter_content(CHUNK):
                    size += file.write(chunk)
                    if size > LARGEST:
                        raise DataMissing(f"{address} is larger than {LARGEST // 10**6} MB.")
                    if time.monotonic() > until:
                        raise DataMissing(f"{address} took more than {LONGEST_S:g} s.")
    except (requests.RequestException, OSError) as error:
        raise DataMissing(f"{address} cannot be fetched: {error}"[:300]) from None


@dataclass(frozen=True, slots=True)
class _Begun:
    """A part that is there: its size, and the mark and size of the whole that it is of."""

    size: int
    mark: str


class _Failed(Exception):
    """One attempt failed; `again` says whether another one may help, `after` how many seconds."""

    def __init__(
        self,
        reason: str,
        hint: str,
        *,
        again: bool = False,
        after: float | None = None,
        answered: bool = True,
    ) -> None:
        super().__init__(reason)
        self.reason, self.hint, self.again, self.after = reason, hint, again, after
        self.answered = answered


def fetch(wanted: Wanted, tell: Tell) -> bytes:
    """Return the bytes of a file that is pinned, fetching it unless another process just has.

    Raises
    ------
    DataMissing
        If the server does not give it; says how often it was asked, what came back and what helps.
    DataError
        If what it gives is not the pinned file.
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
    """Return the error that a folder of the cache cannot be written."""
    return OutputError(
        f"the cache {folder} cannot be written: {error.strerror or error}.",
        "Set PYTEST_BIAS_CACHE to a folder that can.",
    )


def _fetched(wanted: Wanted, tell: Tell) -> bytes:
    resumed = _received(wanted, tell)
    content = wanted.part.read_bytes()
    if resumed and sha256(content) != wanted.sha256:
        # The beginning may have been of something else: once more, from the first byte.
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
    """Bring the whole file into its part; returns whether it was taken up in the middle."""
    import requests

    resumed = False
    with requests.Session() as session:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return _attempt(session, wanted, tell) or resumed
            except _Failed as failed:
                wait = BACKOFF_S * 2 ** (attempt - 1) if failed.after is None else failed.after
                if not failed.again or attempt == ATTEMPTS or wait > LONGEST_WAIT_S:
                    raise _refusal(wanted, failed, attempt) from None
                resumed = wanted.part.exists()
                time.sleep(wait)
    raise AssertionError("the last attempt returns or raises")


def _refusal(wanted: Wanted, failed: _Failed, attempts: int) -> DataMissing:
    asked = "" if attempts == 1 else f" (asked {attempts} times)"
    kind = DataMissing if failed.answered else NoAnswer
    return kind(
        f"{wanted.what} could not be fetched from {wanted.url}: {failed.reason}{asked}.",
        failed.hint,
    )


def _attempt(session: "requests.Session", wanted: Wanted, tell: Tell) -> bool:
    import requests

    begun = _begun(wanted)
    # As the bytes are, so that they can be counted and taken up in the middle.
    headers = {"Accept-Encoding": "identity"}
    if begun:
        headers["Range"] = f"bytes={begun.size}-"
    try:
        with session.get(wanted.url, headers=headers, timeout=TIMEOUT_S, stream=True) as answer:
            goes_on = begun is not None and _goes_on(answer, begun)
            if begun and not goes_on and answer.status_code in (206, 416):
                wanted.discard()
                raise _Failed("the file changed while it was fetched", "", again=True, after=0)
            if answer.status_code != (206 if goes_on else 200):
                raise _refused(answer, wanted)
            _write(answer, wanted, begun.size if begun and goes_on else 0, tell)
            return goes_on
    except requests.RequestException as error:
        raise _unreachable(error, wanted) from None


def _begun(wanted: Wanted) -> _Begun | None:
    try:
        found = _Begun(wanted.part.stat().st_size, wanted.mark.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return found if found.size else None


def _marked(answer: "requests.Response", size: str | None) -> str:
    return f"{answer.headers.get('ETag', '')}\n{size or ''}\n"


def _goes_on(answer: "requests.Response", begun: _Begun) -> bool:
    """Whether an answer is the rest of what was begun, by its place, the size and the ETag."""
    about = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", answer.headers.get("Content-Range", ""))
    return (
        answer.status_code == HTTPStatus.PARTIAL_CONTENT
        and about is not None
        and int(about[1]) == begun.size
        and _marked(answer, about[2]) == begun.mark
    )


def _write(answer: "requests.Response", wanted: Wanted, done: int, tell: Tell) -> None:
    length = answer.headers.get("Content-Length")
    total = done + int(length) if length else None
    if not done:
        wanted.part.unlink(missing_ok=True)
        wanted.mark.write_text(_marked(answer, length), encoding="utf-8", newline="\n")
    tell(done, total)
    with wanted.part.open("ab") as file:
        for chunk in answer.iter_content(CHUNK):
            file.write(chunk)
            done += len(chunk)
            tell(done, total)


OWN_COPY: Final = "put your own copy below a folder and give --data-dir"
_NOT_PUBLIC: Final = f"It is public: a proxy or a firewall may have answered. Else {OWN_COPY}."
GONE: Final = f"A newer pytest-bias may know where it is now. Else {OWN_COPY}."
_PROXY: Final = (
    "Set HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT, or NO_PROXY for hosts that are reached "
    "without it."
)
_HINTS: Final[Mapping[int, str]] = {
    401: _NOT_PUBLIC,
    403: _NOT_PUBLIC,
    404: GONE,
    407: _PROXY,
    410: GONE,
    451: _NOT_PUBLIC,
}


def _refused(answer: "requests.Response", wanted: Wanted) -> _Failed:
    status = answer.status_code
    reason = f"the server answers {in_words(status, answer.reason)}"
    if status == HTTPStatus.TOO_MANY_REQUESTS or status >= 500:
        after = retry_after(answer.headers.get("Retry-After"))
        when = "later" if after is None else f"in {after:.0f} s"
        hint = f"Try again {when}: {wanted.again}. Else {OWN_COPY}."
        if after is not None:
            reason += f" and asks to wait {after:.0f} s"
        return _Failed(reason, hint, again=True, after=after)
    return _Failed(reason, _HINTS.get(status, GONE))


def in_words(status: int, otherwise: str = "?") -> str:
    """Return the code of an HTTP answer with its name, such as ``404 (Not Found)``."""
    return f"{status} ({HTTPStatus(status).phrase if status in set(HTTPStatus) else otherwise})"


def retry_after(value: str | None) -> float | None:
    """Return the seconds that a server asks for, given as a number or as a date."""
    if value is None:
        return None
    if value.strip().isdigit():
        return float(value)
    with suppress(ValueError):
        when = parsedate_to_datetime(value)
        return max(0.0, (when - datetime.now(UTC)).total_seconds())
    return None


def _unreachable(error: "requests.RequestException", wanted: Wanted) -> _Failed:
    """Say in plain words why a server gave no answer, or broke off in the middle of one."""
    from requests import exceptions

    host = urlsplit(wanted.url).hostname
    later = f"Try again: {wanted.again}. Behind a proxy set HTTPS_PROXY; else {OWN_COPY}."
    cause = root_cause(error)
    if isinstance(error, exceptions.ProxyError):
        reason = f"the proxy does not let it through ({cause})"
        return _Failed(reason, _PROXY, again=True, answered=False)
    if isinstance(error, exceptions.SSLError):
        return _Failed(
            f"the certificate of {host} is not trusted here ({cause})",
            "Where a firewall opens connections: REQUESTS_CA_BUNDLE=FILE with its certificate.",
            answered=False,
        )
    if isinstance(error, exceptions.Timeout) or "timed out" in str(error):
        reason = f"no answer from {host} within {TIMEOUT_S:g} s"
        return _Failed(reason, later, again=True, answered=False)
    if isinstance(error, exceptions.ChunkedEncodingError):
        size = wanted.part.stat().st_size if wanted.part.exists() else 0
        return _Failed(f"the connection broke off after {size} bytes", later, again=True)
    if isinstance(error, exceptions.ConnectionError):
        reason = f"no connection to {host} ({cause})"
        return _Failed(reason, later, again=True, answered=False)
    return _Failed(cause, later)


def root_cause(error: BaseException) -> str:
    """Return the system's words for what went wrong, which libraries wrap several times."""
    inner: BaseException | None = error
    while inner is not None:
        last, inner = inner, _inner(inner)
    return str(getattr(last, "strerror", None) or last)[:200]


def _inner(error: BaseException) -> BaseException | None:
    arguments = (getattr(error, "reason", None), *error.args)
    inner = [a for a in arguments if isinstance(a, BaseException)]
    return inner[0] if inner else error.__cause__ or error.__context__
