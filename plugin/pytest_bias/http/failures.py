"""Failed requests: the problem and the suggested fix, from one table."""

import re
import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import mktime_tz, parsedate_tz
from http import HTTPStatus
from typing import Final, TypeAlias

from pytest_bias.untrusted import clean

Kind: TypeAlias = int | str
"""HTTP status of an answer, or another key of `ANSWERS`."""

MOST_SAID: Final = 250
"""Maximum length of a server's message that is shown."""

PROXY: Final = (
    "Set HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT, or NO_PROXY for hosts that are reached "
    "without it."
)

ANSWERS: Final[Mapping[Kind, tuple[str, str]]] = {
    "broken off": ("the connection broke off", ""),
    "cache": (
        "the cache of the Hub's client cannot be used ({cause})",
        "Set HF_HOME to a folder that can be written to.",
    ),
    "certificate": (
        "the certificate of {host} is not trusted here ({cause})",
        "Where a firewall opens connections: REQUESTS_CA_BUNDLE=FILE with its certificate.",
    ),
    "connection": (
        "no connection to {host} ({cause})",
        "Look at the network, then try again. Behind a proxy set HTTPS_PROXY.",
    ),
    "gated": (
        "it is gated, and access was not granted",
        "Ask for it at {address}, then: hf auth login",
    ),
    "proxy": ("the proxy does not let it through ({cause})", PROXY),
    "repository": (
        "there is no {what} of this name, or it is private",
        "Check the name: {address}. If it is private: {login}",
    ),
    "revision": ("it has no such commit{at}", "Run the command again."),
    "timeout": ("no answer from {host} within {cause}", ""),
    401: ("it does not accept the token", ""),
    402: ("it has to be paid for, and the balance does not suffice", ""),
    403: ("the token does not allow it", ""),
    404: ("there is no such thing", ""),
    407: ("the proxy wants a password", PROXY),
    409: ("another change is under way", "Run the command again in a moment."),
    412: ("the repository has moved since it was read{at}", ""),
    413: ("it is too much at once", ""),
    429: ("it is asked too often", "Run the command again {when}."),
    4: ("it refuses", ""),
    5: ("it fails", "Run the command again {when}."),
}
"""Meaning of each status or other failure, and what helps unless a service overrides it.

4 and 5 are the fallbacks for all other 4xx and 5xx statuses; for a failure that is not listed, its
cause is shown.
"""

SILENT: Final = ("certificate", "connection", "proxy", "timeout")
"""Kinds of failures without an answer of the server itself."""

_PASSING: Final = (
    *(408, 425, 429),
    *("broken off", "changed", "connection", "no JSON", "proxy", "timeout"),
)

_MOST_S: Final = 1e9
"""Longest wait that is shown; a longer one is shown as this one."""


class Failed(Exception):
    """A request without a usable answer.

    Parameters
    ----------
    kind : int or str
        Status of the answer, or another key of `ANSWERS`.
    cause : str
        Message of the system or a library, of which one line is kept.
    host : str
        Host of the request.
    said : str
        Message of the server; made safe to show.
    after : float, optional
        Seconds after which to retry, as requested by the server.

    Attributes
    ----------
    again : bool
        Whether a retry may succeed, judged by `kind`.
    attempts : int
        Number of attempts.
    """

    def __init__(
        self,
        kind: Kind,
        cause: object = "",
        *,
        host: str = "",
        said: str = "",
        after: float | None = None,
    ) -> None:
        super().__init__(kind)
        self.kind, self.host, self.after = kind, host, after
        self.cause, self.said = clean(str(cause), MOST_SAID).strip(), clean(said, MOST_SAID)
        fails = isinstance(kind, int) and kind >= 500 and kind != 501
        self.again = fails or kind in _PASSING
        self.attempts = 1

    @property
    def status(self) -> int | None:
        """Status of the answer; None if there was none."""
        return self.kind if isinstance(self.kind, int) else None

    @property
    def _general(self) -> Kind:
        """Key of the fallback for kinds that are not listed."""
        if isinstance(self.kind, int):
            return self.kind // 100
        return "connection" if self.kind in (*SILENT, "broken off") else ""

    def words(self, **names: str) -> str:
        """Return the meaning; `names` are the values of the placeholders."""
        found = ANSWERS.get(self.kind) or ANSWERS.get(self._general) or ("{cause}", "")
        return self._filled(found[0], names)

    def answer(self, who: str, **names: str) -> str:
        """Return the answer, as ``the Hub answers 404 (Not Found): no file``, or the meaning."""
        if self.status is None:
            return self.words(**names)
        asks = f" and asks to wait {self.after:.0f} s" if self.after else ""
        said = f": {self.said}" if self.said else ""
        return f"{who} answers {in_words(self.status)}{asks}{said}"

    def hint(self, own: Mapping[Kind, str] | None = None, **names: str) -> str | None:
        """Return what helps; the service's own hints `own` take precedence."""
        own = own or {}
        known = (ANSWERS.get(key, ("", ""))[1] for key in (self.kind, self._general))
        found = own.get(self.kind) or next(known) or own.get(self._general) or next(known)
        return self._filled(found, names) or None

    def _filled(self, text: str, names: Mapping[str, str]) -> str:
        when = "later" if self.after is None else f"in {self.after:.0f} s"
        all_ = {"when": when, "cause": self.cause, "host": self.host, "at": "", **names}
        # A single pass: the values are untrusted and may contain braces.
        return re.sub(r"\{(\w+)\}", lambda m: all_.get(m[1], m[0]), text)


def in_words(status: int) -> str:
    """Return an HTTP status with its name, such as ``404 (Not Found)``."""
    return f"{status} ({HTTPStatus(status).phrase})" if status in set(HTTPStatus) else str(status)


def seconds_asked(headers: Mapping[str, str]) -> float | None:
    """Return the seconds after which a server asks to retry; None if it does not say.

    They are in ``Retry-After``, as a number or a date, or follow from ``X-RateLimit-Reset``, the
    time at which GitHub resets a limit that was reached.
    """
    after = headers.get("Retry-After", "").strip()
    with suppress(ValueError, OverflowError):
        if after.isdecimal():
            return min(float(after), _MOST_S)
        if date := parsedate_tz(after):
            return min(max(0.0, mktime_tz(date) - time.time()), _MOST_S)
        if headers.get("X-RateLimit-Remaining") == "0":
            reset = float(headers.get("X-RateLimit-Reset", ""))
            return min(max(0.0, reset - time.time()), _MOST_S)
    return None


def root_cause(error: BaseException) -> str:
    """Return the system's error message, which libraries wrap several times."""
    inner: BaseException | None = error
    while inner is not None:
        last, inner = inner, _inner(inner)
    # URLs may be signed.
    return re.sub(r"\?\S+", "", str(getattr(last, "strerror", None) or last))


def _inner(error: BaseException) -> BaseException | None:
    arguments = (getattr(error, "reason", None), *error.args)
    inner = [a for a in arguments if isinstance(a, BaseException)]
    return inner[0] if inner else error.__cause__ or error.__context__
