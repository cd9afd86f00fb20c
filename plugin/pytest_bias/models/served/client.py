"""Requests to a model server: in parallel, rate-limited, with the key for this server only."""

import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from pytest_bias.errors import ModelError, UsageError
from pytest_bias.http.failures import Failed
from pytest_bias.http.patience import Patience
from pytest_bias.http.session import Session, is_token, pieces, refused, shown, words_of
from pytest_bias.models.served.address import KEYS, is_loopback
from pytest_bias.models.served.rate import Rate
from pytest_bias.models.served.settings import RequestSettings

Found = TypeVar("Found")

MOST_BYTES: Final = 16_000_000
"""Maximum size of one answer: more than an answer about the longest possible text."""

CONNECT_S: Final = 10.0
PATIENCE: Final = Patience(backoff_s=0.5, jitter_s=0.5, longest_s=120, insists=True)
"""Retry policy, which also keeps retrying busy servers, since a run may take hours."""

ABOUT_THE_TEXT: Final = frozenset({400, 413, 422})
"""Statuses with which a server refuses a request because of its content."""


class Refused(Exception):
    """The server refuses one request because of its content; the message is the server's."""

    def __init__(self, why: str, status: int = 400) -> None:
        super().__init__(why)
        self.status = status


class NotServed(ModelError):
    """The server has no such endpoint, or no such model."""


class Unanswered(Exception):
    """A request had no answer after all attempts; `kind` is the reason in one word."""

    def __init__(self, why: str, kind: str = "") -> None:
        super().__init__(why)
        self.kind = kind


def read_key() -> str | None:
    """Return the API key for servers from the environment; None if there is none.

    Raises
    ------
    UsageError
        If it is invalid in a header. The message does not contain it.
    """
    for name in KEYS:
        if key := os.environ.get(name, "").strip():
            if not is_token(key):
                raise UsageError(f"{name} has a character that no key can have.")
            return key
    return None


@dataclass
class Client:
    """Sends requests to one server.

    Parameters
    ----------
    server : str
        Its address, without a slash at the end.
    asking : Asking
        Concurrency, timeouts and retries.
    key : str, optional
        Sent as a bearer token to this server only.
    headers : mapping
        Further headers, sent to this server only.
    secrets : tuple of str
        Other texts than the key that are never shown.
    """

    server: str
    asking: RequestSettings
    key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    again: Counter[str] = field(default_factory=Counter, init=False)
    """Reasons of retries, with their counts."""
    posts: int = field(default=0, init=False)
    """Requests with a body that were answered."""
    stopped: threading.Event = field(default_factory=threading.Event, init=False)
    """Set when answers are no longer needed."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._rate = Rate(self.asking.requests_per_minute, self._wait)
        attempts = self.asking.retries + 1
        self._patience = replace(PATIENCE, attempts=attempts, sleep=self._wait)
        limit = self.asking.timeout
        self._session = Session(
            (min(CONNECT_S, limit), limit),
            self.server,
            self.key,
            self.headers,
            redirects=0,
            # A proxy cannot reach this machine.
            direct=is_loopback(self.server),
            connections=self.asking.concurrency,
        )

    def ask(
        self,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        retries: int | None = None,
        final: Collection[int] = ABOUT_THE_TEXT,
    ) -> dict[str, Any]:
        """Return the server's answer to a request: a POST with a body, else a GET.

        `final` are the statuses that are treated as a refusal of this request and not retried.

        Raises
        ------
        Refused
            If the server refuses this request because of its content.
        Unanswered
            If there was no answer after all attempts.
        ModelError
            If no request can succeed: the key is wrong, or the model does not exist.
        """

        def once() -> dict[str, Any]:
            content = self._sent("GET" if body is None else "POST", path, final, json=body)
            with suppress(ValueError, RecursionError):
                if isinstance(found := json.loads(content), dict):
                    return found
            raise Failed("no JSON", f"the answer is no JSON: {self.words(content)}")

        return self.patiently(once, final, retries)

    def content(self, method: str, path: str, **more: Any) -> bytes:
        """Return the content of the server's answer to a request; raises as `ask` does."""
        return self.patiently(lambda: self._sent(method, path, ABOUT_THE_TEXT, **more))

    def patiently(
        self,
        once: Callable[[], Found],
        final: Collection[int] = ABOUT_THE_TEXT,
        retries: int | None = None,
    ) -> Found:
        """Return the result of an attempt, repeated as the settings say; raises as `ask` does."""
        patience = self._patience
        if retries is not None:
            patience = replace(patience, attempts=retries + 1)
        try:
            return patience.ask(once, self._count)
        except Failed as failed:
            raise self._refusal(failed, final) from None

    def _count(self, failed: Failed) -> None:
        with self._lock:
            self.again[str(failed.kind)] += 1

    def _wait(self, seconds: float) -> None:
        if self.stopped.wait(seconds):
            raise Unanswered("it is not waited for any more")

    def _sent(self, method: str, path: str, final: Collection[int], **more: Any) -> bytes:
        if self.stopped.is_set():
            raise Unanswered("it is not waited for any more")
        self._rate.keep()
        with self._session.ask(method, f"{self.server}{path}", **more) as answer:
            within = self.asking.timeout
            content = b"".join(pieces(answer, most=MOST_BYTES, within=within))
            if answer.status_code != 200:
                failed = refused(answer, self.words(content))
                # A conflict (409) may pass too.
                failed.again = failed.again or failed.status == 409
                failed.again = failed.again and failed.status not in final
                failed.cause = self.shown(answer.headers.get("Location", ""))
                raise failed
        with self._lock:
            self.posts += method != "GET"
        return content

    def _refusal(self, failed: Failed, final: Collection[int]) -> Exception:
        """Return the error for a failure: of this request, of the server, or of every request."""
        where, status, said = self.server, failed.status, failed.said or "no reason given"
        if status in final:
            return Refused(f"the server refuses it ({status}): {failed.said}", int(status or 0))
        if failed.kind == "size":
            return Refused(f"the answer is longer than {MOST_BYTES // 1_000_000} MB")
        if failed.kind in ("certificate", "proxy"):
            return ModelError(f"{where} cannot be asked: {failed.words()}.", failed.hint())
        if status is None or failed.again:
            times = f"{failed.attempts} attempts" if failed.attempts > 1 else "one attempt"
            why = f"no answer after {times}: {failed.answer('the server')}"
            return Unanswered(why, str(failed.kind))
        if status in (401, 403):
            return self.denied(status)
        if 300 <= status < 400:
            return ModelError(
                f"{where} redirects requests ({status}) to {failed.cause or 'nowhere'}, and "
                "redirects are not followed: that server would get texts and key.",
                "If you trust it, name its address.",
            )
        if status in (404, 405, 501):
            return self.unknown(status, said)
        return ModelError(f"{where} answers {status}: {said}")

    def denied(self, status: int) -> ModelError:
        """Return the error for a server that refuses access."""
        given = f"the key in {_key_name()} is not accepted" if self.key else "it requires a key"
        return ModelError(
            f"{self.server} refuses access ({status}): {given}.",
            f"Set it in the environment: export {KEYS[1]}=…",
        )

    def unknown(self, status: int, said: str) -> ModelError:
        """Return the error for a server that has nothing at an address."""
        return NotServed(
            f"{self.server} does not know what is asked for ({status}): {said}",
            "The address of an OpenAI-compatible server mostly ends in /v1.",
        )

    def words(self, content: bytes) -> str:
        """Return a server's error message, on one line, without the key."""
        return self.shown(words_of(content) or content[:20_000].decode("utf-8", "replace"))

    def shown(self, text: object, most: int = 200) -> str:
        """Return a server's text made safe to show: printable, short, without keys."""
        return shown(without(str(text), self.secrets), self.key, most)


def without(text: str, secrets: Collection[str]) -> str:
    """Return a text with ``***`` in place of secrets."""
    # Longest first: one may be part of another.
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def _key_name() -> str:
    return next((name for name in KEYS if os.environ.get(name, "").strip()), KEYS[1])


def again_in_words(again: Mapping[str, int]) -> str:
    """Return a notice with the number of retries and their reasons; empty if there were none."""
    total = sum(again.values())
    if not total:
        return ""
    parts = ", ".join(f"{n} × {why}" for why, n in sorted(again.items(), key=lambda i: -i[1]))
    return f"{total} request{'s were' if total > 1 else ' was'} tried again ({parts})."
