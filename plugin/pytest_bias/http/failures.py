"""Requests without a usable answer: what went wrong, and what helps, from one table."""

import re
import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import mktime_tz, parsedate_tz
from http import HTTPStatus
from typing import Final, TypeAlias

from pytest_bias.untrusted import clean

Kind: TypeAlias = int | str
"""Status of an answer, else one of the other keys of `ANSWERS`."""

MOST_SAID: Final = 250
"""Characters of a server's own words that are shown."""

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
"""What a status or another failure means, and what helps unless a service knows better.

4 and 5 stand for every other status of four or five hundred; of a failure that is not here its
cause is told.
"""

SILENT: Final = ("certificate", "connection", "proxy", "timeout")
"""Kinds of failures with which the server itself said nothing."""

_PASSING: Final = (
    *(408, 425, 429),
    *("broken off", "changed", "connection", "no JSON", "proxy", "timeout"),
)

_MOST_S: Final = 1e9
"""A longer wait is told as this one."""


class Failed(Exception):
    """A request without a usable answer.

    Parameters
    ----------
    kind : int or str
        Status of the answer, or another key of `ANSWERS`.
    cause : str
        What the system or a library says of it, one line of it is kept.
    host : str
        Who was asked.
    said : str
        What the server says of it; made safe to show.
    after : float, optional
        Seconds after which the server wants to be asked again.

    Attributes
    ----------
    again : bool
        Whether it may pass, as far as can be told from `kind`.
    attempts : int
        How often it was tried.
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
        """What stands for this kind where it does not stand itself."""
        if isinstance(self.kind, int):
            return self.kind // 100
        return "connection" if self.kind in (*SILENT, "broken off") else ""

    def words(self, **names: str) -> str:
        """Return what it means; `names` fill in the words that stand in braces."""
        found = ANSWERS.get(self.kind) or ANSWERS.get(self._general) or ("{cause}", "")
        return self._filled(found[0], names)

    def answer(self, who: str, **names: str) -> str:
        """Return what came back: ``the Hub answers 404 (Not Found): no file``, or its words."""
        if self.status is None:
            return self.words(**names)
        asks = f" and asks to wait {self.after:.0f} s" if self.after else ""
        said = f": {self.said}" if self.said else ""
        return f"{who} answers {in_words(self.status)}{asks}{said}"

    def hint(self, own: Mapping[Kind, str] | None = None, **names: str) -> str | None:
        """Return what helps, by a service's own words `own` where it has some."""
        own = own or {}
        known = (ANSWERS.get(key, ("", ""))[1] for key in (self.kind, self._general))
        found = own.get(self.kind) or next(known) or own.get(self._general) or next(known)
        return self._filled(found, names) or None

    def _filled(self, text: str, names: Mapping[str, str]) -> str:
        when = "later" if self.after is None else f"in {self.after:.0f} s"
        all_ = {"when": when, "cause": self.cause, "host": self.host, "at": "", **names}
        # Once: what is filled in is of others, and may have braces.
        return re.sub(r"\{(\w+)\}", lambda m: all_.get(m[1], m[0]), text)


def in_words(status: int) -> str:
    """Return the status of an answer with its name, such as ``404 (Not Found)``."""
    return f"{status} ({HTTPStatus(status).phrase})" if status in set(HTTPStatus) else str(status)


def seconds_asked(headers: Mapping[str, str]) -> float | None:
    """Return the seconds after which a server wants to be asked again; None if it does not say.

    It says so by ``Retry-After``, as a number or a date, or as GitHub does by
    ``X-RateLimit-Reset``, the time at which a limit that is reached begins anew.
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
    """Return the system's words for what went wrong, which libraries wrap several times."""
    inner: BaseException | None = error
    while inner is not None:
        last, inner = inner, _inner(inner)
    # An address may be a signed one.
    return re.sub(r"\?\S+", "", str(getattr(last, "strerror", None) or last))


def _inner(error: BaseException) -> BaseException | None:
    arguments = (getattr(error, "reason", None), *error.args)
    inner = [a for a in arguments if isinstance(a, BaseException)]
    return inner[0] if inner else error.__cause__ or error.__context__
