"""Requests to a server: in parallel, with patience, and never with the key to anybody else.

What is tried again, and when, is decided by urllib3's `Retry`; the loop around it is ours, since an
answer that breaks off in its middle, comes too slowly or is no JSON is a failure too, of which
urllib3 hears nothing.
"""

import json
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError, InvalidHeader, MaxRetryError
from urllib3.exceptions import TimeoutError as ReadTimeout
from urllib3.util import Retry

from pytest_bias.errors import ModelError, UsageError
from pytest_bias.models.served.address import KEYS, is_loopback
from pytest_bias.models.served.settings import Asking
from pytest_bias.records.identity import tool_version

MOST_BYTES: Final = 16_000_000
"""Of one answer: more than all that is said of the longest text that a model reads."""

CONNECT_S: Final = 10.0
MOST_WAIT_S: Final = 120.0
"""Longest wait between two attempts, whatever a server asks for."""

BUSY: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses that pass: the same request may be answered a little later."""

ABOUT_THE_TEXT: Final = frozenset({400, 413, 422})
"""Statuses of a request that the server refuses for what is in it."""

SAID: Final = 200
"""Characters of a server's own words that are shown."""


class Refused(Exception):
    """The server refuses one request for what is in it; its words are the message."""

    def __init__(self, why: str, status: int = 400) -> None:
        super().__init__(why)
        self.status = status


class NotServed(ModelError):
    """The server has no such way to ask, or no such model."""


class Unanswered(Exception):
    """A request had no answer after all attempts; the message says why, `kind` in one word."""

    def __init__(self, why: str, kind: str = "") -> None:
        super().__init__(why)
        self.kind = kind


class _Again(Exception):
    """One attempt that may go better the next time."""

    def __init__(self, kind: str, why: str, response: Any = None) -> None:
        super().__init__(why)
        self.kind, self.response = kind, response


def read_key() -> str | None:
    """Return the key that the environment holds for servers; null if there is none.

    Raises
    ------
    UsageError
        If it cannot stand in a header. What it is is not said.
    """
    for name in KEYS:
        if key := os.environ.get(name, "").strip():
            if not re.fullmatch(r"[\x21-\x7e]+", key):
                raise UsageError(f"{name} has a character that no key can have.")
            return key
    return None


@dataclass
class Client:
    """Asks one server.

    Parameters
    ----------
    server : str
        Its address, without a slash at the end.
    asking : Asking
        How many requests at a time, and how patiently.
    key : str, optional
        Sent as a bearer's token to this server alone.
    """

    server: str
    asking: Asking
    key: str | None = field(default=None, repr=False)
    again: Counter[str] = field(default_factory=Counter, init=False)
    """Why requests were made again, and how often."""
    stopped: threading.Event = field(default_factory=threading.Event, init=False)
    """Set when nobody waits for answers any more."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0.0
        self._retry = Retry(
            total=self.asking.retries,
            allowed_methods=None,
            backoff_factor=0.5,
            backoff_max=60,
            backoff_jitter=0.5,
        )
        self._session = requests.Session()
        # A proxy is no way to this machine.
        self._session.trust_env = not is_loopback(self.server)
        # Whatever ~/.netrc says: requests would put that in the place of the key.
        self._session.auth = self._signed
        room = HTTPAdapter(pool_maxsize=self.asking.concurrency, max_retries=0)
        self._session.mount("http://", room)
        self._session.mount("https://", room)

    def ask(
        self,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        retries: int | None = None,
        final: Collection[int] = ABOUT_THE_TEXT,
    ) -> dict[str, Any]:
        """Return the server's answer to a request: a POST with a body, else a GET.

        `final` are the statuses that are taken for a refusal of this request, and not tried again.

        Raises
        ------
        Refused
            If the server refuses this request for what is in it.
        Unanswered
            If it did not answer after all attempts.
        ModelError
            If it will answer no request at all: the key is wrong, or there is no such model.
        """
        retry = self._retry.new() if retries is None else self._retry.new(total=retries)
        attempts = 0
        while True:
            attempts += 1
            try:
                return self._once(path, body, final)
            except _Again as again:
                cause = HTTPError(str(again))
                try:
                    retry = retry.increment("POST", path, error=cause)
                except MaxRetryError:
                    times = f"{attempts} attempts" if attempts > 1 else "one attempt"
                    why = f"no answer after {times}: {again}"
                    raise Unanswered(why, again.kind) from None
                with self._lock:
                    self.again[again.kind] += 1
                self._wait(self._seconds(retry, again.response))

    def _seconds(self, retry: Retry, response: Any) -> float:
        """Return how long to wait: as the server asks, else longer from attempt to attempt."""
        asked = None
        if response is not None:
            with suppress(InvalidHeader):
                asked = retry.get_retry_after(response)
        return min(MOST_WAIT_S, retry.get_backoff_time() if asked is None else max(0.0, asked))

    def _wait(self, seconds: float) -> None:
        if self.stopped.wait(seconds):
            raise Unanswered("it is not waited for any more")

    def _once(
        self, path: str, body: Mapping[str, Any] | None, final: Collection[int]
    ) -> dict[str, Any]:
        self._keep_pace()
        limit = self.asking.timeout
        until = time.monotonic() + limit
        try:
            with self._session.request(
                "GET" if body is None else "POST",
                f"{self.server}{path}",
                json=body,
                headers={"Accept-Encoding": "identity", "User-Agent": f"pytest-bias/{VERSION}"},
                timeout=(min(CONNECT_S, limit), limit),
                stream=True,
                allow_redirects=False,
            ) as response:
                content = self._content(response, until)
                self._check(response, content, final)
        except (requests.Timeout, ReadTimeout):
            raise _Again("timeout", f"nothing came within {limit:g} s") from None
        except (requests.RequestException, HTTPError, OSError) as error:
            raise _Again("connection", _why(error)) from None
        try:
            found = json.loads(content)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise _Again("no JSON", f"the answer is no JSON: {self.words(content)}")
        return found

    def _keep_pace(self) -> None:
        """Wait until a request may begin."""
        if self.stopped.is_set():
            raise Unanswered("it is not waited for any more")
        if self.asking.requests_per_minute is None:
            return
        with self._lock:
            now = time.monotonic()
            begin = max(now, self._next)
            self._next = begin + 60 / self.asking.requests_per_minute
        self._wait(begin - now)

    def _content(self, response: requests.Response, until: float) -> bytes:
        """Read an answer piece by piece, as long as it may take and be."""
        raw, found = response.raw, bytearray()
        # Returns what is there; to wait for a number of bytes could take for ever.
        read = getattr(raw, "read1", None) or raw.read
        while piece := read(1 << 16):
            found += piece
            if len(found) > MOST_BYTES:
                raise Refused(f"the answer is longer than {MOST_BYTES // 1_000_000} MB")
            if time.monotonic() > until:
                raise _Again("timeout", f"no whole answer within {self.asking.timeout:g} s")
        return bytes(found)

    def _check(self, response: requests.Response, content: bytes, final: Collection[int]) -> None:
        """Raise what a status means that is not 200."""
        status = response.status_code
        if status == 200:
            return
        said = self.words(content)
        if status in final:
            raise Refused(f"the server refuses it ({status}): {said}", status)
        if status in BUSY:
            told = f"the server answers {status}{f': {said}' if said else ''}"
            raise _Again(str(status), told, response.raw)
        self._refuse(status, said, response.headers.get("Location", ""))

    def _refuse(self, status: int, said: str, location: str) -> NoReturn:
        where = self.server
        if status in (401, 403):
            given = f"the key in {_key_name()} is not accepted" if self.key else "it wants a key"
            raise ModelError(
                f"{where} refuses access ({status}): {given}.",
                f"Set it in the environment: export {KEYS[1]}=…",
            )
        if 300 <= status < 400:
            raise ModelError(
                f"{where} sends requests on ({status}) to {self.shown(location) or 'nowhere'}, and "
                "they are not followed: that server would get texts and key.",
                "If you trust it, name its address.",
            )
        if status in (404, 405, 501):
            raise NotServed(
                f"{where} does not know what is asked for ({status}): {said or 'no reason given'}",
                "The address of an OpenAI-compatible server mostly ends in /v1.",
            )
        raise ModelError(f"{where} answers {status}: {said or 'no reason given'}")

    def words(self, content: bytes) -> str:
        """Return what a server says of an error, on one line, without the key."""
        text = content[:20_000].decode("utf-8", "replace")
        with suppress(ValueError, RecursionError):
            found = json.loads(text)
            for name in ("error", "message", "detail"):
                if isinstance(found, dict) and found.get(name):
                    found = found[name]
            text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
        return self.shown(text)

    def shown(self, text: object, most: int = SAID) -> str:
        """Return a server's text as it may be shown: printable, short, without the key."""
        line = str(text)
        if self.key:
            line = line.replace(self.key, "[key]")
        line = " ".join("".join(c if c.isprintable() else " " for c in line).split())
        return line if len(line) <= most else f"{line[: most - 1]}…"

    def _signed(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self.key:
            request.headers["Authorization"] = f"Bearer {self.key}"
        return request


VERSION: Final = tool_version()


def _key_name() -> str:
    return next((name for name in KEYS if os.environ.get(name, "").strip()), KEYS[1])


_CAUSES: Final = {
    "Connection refused": "the connection is refused",
    "Name or service not known": "there is no such host",
    "Temporary failure in name resolution": "there is no such host",
    "CERTIFICATE_VERIFY_FAILED": "its certificate does not hold",
    "reset by peer": "the connection broke off",
    "Remote end closed": "the connection broke off",
    "IncompleteRead": "the answer broke off",
    "Connection broken": "the answer broke off",
    "timed out": "nothing came in time",
}


def _why(error: Exception) -> str:
    """Say in our words why a connection failed: those of the libraries are long and repeat it."""
    text = repr(error)
    return next((why for part, why in _CAUSES.items() if part in text), type(error).__name__)


def again_in_words(again: Mapping[str, int]) -> str:
    """Say how often requests were made again, and why; empty if none was."""
    total = sum(again.values())
    if not total:
        return ""
    parts = ", ".join(f"{n} × {why}" for why, n in sorted(again.items(), key=lambda i: -i[1]))
    return f"{total} request{'s were' if total > 1 else ' was'} tried again ({parts})."
