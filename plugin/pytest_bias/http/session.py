"""Requests with a token for one server only, and the environment's proxies and certificates."""

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin, urlsplit

from pytest_bias.errors import BiasError
from pytest_bias.http.failures import Failed, root_cause, seconds_asked
from pytest_bias.untrusted import clean

if TYPE_CHECKING:
    from requests import PreparedRequest
    from requests import Response as Response

CHUNK: Final = 1 << 16
MOST_REDIRECTS: Final = 5
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_TOKEN: Final = re.compile("[!-~]+")


class Session:
    """Sends requests over persistent connections; safe to use from several threads.

    Redirects are followed with the request unchanged, but never from https to http, and for
    requests that change something only within `home`.

    Parameters
    ----------
    timeout : tuple of float
        Seconds to connect, and between two chunks of an answer.
    home : str
        Base URL: the token and `headers` are sent only to addresses below it. Without one there is
        no token, and passwords are taken from ``~/.netrc``.
    redirects : int
        Maximum number of redirects; with 0 a redirect is returned as the answer.
    direct : bool
        Whether to ignore the environment's proxies.
    connections : int
        Number of connections that are kept open.
    """

    def __init__(
        self,
        timeout: tuple[float, float],
        home: str = "",
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        redirects: int = MOST_REDIRECTS,
        direct: bool = False,
        connections: int = 10,
    ) -> None:
        import requests
        from requests.adapters import HTTPAdapter

        self.timeout, self.home, self.redirects = timeout, home, redirects
        signed = {"Authorization": f"Bearer {token}"} if token else {}
        self._headers = {**(headers or {}), **signed}
        self._kept = requests.Session()
        self._kept.trust_env = not direct
        self._kept.headers["User-Agent"] = _agent()
        # Uncompressed, so that bytes can be counted, limited and resumed.
        self._kept.headers["Accept-Encoding"] = "identity"
        for scheme in ("http://", "https://"):
            # Retries are reported and limited: `Patience` does that.
            self._kept.mount(scheme, HTTPAdapter(pool_maxsize=connections, max_retries=0))

    @contextmanager
    def ask(self, method: str, address: str, **more: Any) -> Iterator["Response"]:
        """Yield the answer to a request, whatever its status, and close it afterwards.

        `more` are ``headers``, ``params`` and ``json``, as in requests.

        Raises
        ------
        Failed
            If there is no answer, or it is interrupted while it is read.
        """
        from requests import RequestException
        from urllib3.exceptions import HTTPError

        try:
            with self._followed(method, address, **more) as answer:
                yield answer
        except (RequestException, HTTPError) as error:
            raise self._failure(error, urlsplit(address).hostname or "") from None

    def is_home(self, address: str) -> bool:
        """Whether an address is below `home`; the same server may host other services beside it."""
        if not self.home or origin(address) is None:
            return False
        path, top = urlsplit(address).path, urlsplit(self.home).path
        below = path.startswith(f"{top}/") and ".." not in path.split("/")
        return below and origin(address) == origin(self.home)

    def _followed(
        self, method: str, address: str, *, headers: Mapping[str, str] | None = None, **more: Any
    ) -> "Response":
        schemes = ("https",) if address.startswith("https:") else ("https", "http")
        for _ in range(self.redirects + 1):
            own = self._headers if self.is_home(address) else {}
            try:
                answer = self._kept.request(
                    method,
                    address,
                    headers={**(headers or {}), **own},
                    # Otherwise requests uses a password for the host from ~/.netrc.
                    auth=_unchanged if self.home else None,
                    timeout=self.timeout,
                    allow_redirects=False,
                    stream=True,
                    **more,
                )
            except ValueError as error:
                # An invalid address, which requests parses even if it follows no redirects.
                raise Failed("address", root_cause(error)) from None
            location = answer.headers.get("Location")
            if answer.status_code not in _REDIRECTS or not location or not self.redirects:
                return answer
            answer.close()
            address, more = urljoin(address, location), {**more, "params": None}
            scheme, *_ = origin(address) or ("",)
            if scheme not in schemes or (method != "GET" and not self.is_home(address)):
                raise Failed("redirect", f"it leads to {plain(address)}: not followed")
        raise Failed("redirect", "it leads from address to address")

    def _failure(self, error: Exception, host: str) -> Failed:
        """Return the failure for an error of the libraries."""
        from requests import exceptions
        from urllib3 import exceptions as below

        kind, timeouts = "address", exceptions.Timeout | below.TimeoutError
        if isinstance(error, exceptions.ProxyError):
            kind = "proxy"
        elif isinstance(error, exceptions.SSLError | below.SSLError):
            kind = "certificate"
        elif isinstance(error, timeouts) or "timed out" in str(error):
            limit = self.timeout[not isinstance(error, exceptions.ConnectTimeout)]
            return Failed("timeout", f"{limit:g} s", host=host)
        elif isinstance(error, below.HTTPError):
            kind = "broken off"
        elif isinstance(error, exceptions.ConnectionError):
            kind = "connection"
        return Failed(kind, root_cause(error), host=host)


def json_of(answer: "Response", error: type[BiasError], hint: str) -> Any:
    """Return the JSON of an answer, None if it is empty; raises `error` if it is something else."""
    content = b"".join(pieces(answer))
    try:
        return json.loads(content) if content else None
    except ValueError:
        raise error(f"{plain(answer.url)} answers something else than JSON.", hint) from None


def pieces(answer: "Response", *, most: int | None = None, within: float = 0) -> Iterator[bytes]:
    """Yield the content of an answer in chunks, as they arrive.

    Parameters
    ----------
    most : int, optional
        Maximum size in bytes.
    within : float
        Maximum seconds since the request, even while bytes arrive; 0 means no limit.

    Raises
    ------
    Failed
        If a limit is exceeded.
    """
    size, until = 0, time.monotonic() + within - answer.elapsed.total_seconds()
    # Reads what has arrived; waiting for a number of bytes could take for ever.
    read = getattr(answer.raw, "read1", None) or answer.raw.read
    while piece := read(CHUNK, decode_content=True):
        size += len(piece)
        if most is not None and size > most:
            raise Failed("size", f"it is larger than {most / 1e6:g} MB")
        if within and time.monotonic() > until:
            raise Failed("timeout", f"{within:g} s", host=urlsplit(answer.url).hostname or "")
        yield piece


def refused(answer: "Response", said: str = "", address: str = "") -> Failed:
    """Return the failure for an answer with an error status; `address` is for messages."""
    host = plain(address) if address else ""
    return Failed(answer.status_code, host=host, said=said, after=seconds_asked(answer.headers))


def words_of(content: bytes) -> str:
    """Return the error message in a server's JSON answer; empty if there is none."""
    found: Any = None
    with suppress(ValueError, RecursionError):
        found = json.loads(content[:20_000])
    # As OAuth has it, ``error`` is a code and ``error_description`` what it means.
    for name in ("error_description", "error", "message", "detail"):
        if isinstance(found, dict) and found.get(name):
            more = found.get("errors")
            each = [found[name], *(more if isinstance(more, list) else ())]
            words = [x.get("message") if isinstance(x, dict) else x for x in each]
            return "; ".join(w if isinstance(w, str) else json.dumps(w) for w in words if w)
    return ""


def shown(text: object, secret: str | None, most: int = 200) -> str:
    """Return a server's text made safe to show: one short line, without the token."""
    line = str(text)
    return clean(line.replace(secret, "***") if secret else line, most)


def is_token(text: str) -> bool:
    """Whether a text is valid in a header; libraries would show an invalid one in messages."""
    return _TOKEN.fullmatch(text) is not None


def origin(address: str) -> tuple[str, str | None, int | None] | None:
    """Return scheme, host and port of an address; None if it is invalid."""
    try:
        parts = urlsplit(address)
        port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    except ValueError:
        return None
    return parts.scheme, parts.hostname, port


def plain(address: str) -> str:
    """Return an address without its parts that may be secret: user, query and fragment."""
    if origin(address) is None:
        return "an address that is none"
    parts = urlsplit(address)
    return clean(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}", 300)


def _unchanged(request: "PreparedRequest") -> "PreparedRequest":
    return request


def _agent() -> str:
    try:
        return f"pytest-bias/{version('pytest-bias')}"
    except PackageNotFoundError:
        return "pytest-bias"
