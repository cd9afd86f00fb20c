"""GitHub's REST API for one repository: asked with patience, refused in plain words.

The token goes to one scheme, host and port, those of the API. It is in no message, no address and
no `repr`, and a redirect to anywhere else is followed without it.
"""

import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from urllib.parse import quote, urljoin, urlsplit

from pytest_bias.ci.github.refusals import refusal, seconds_asked
from pytest_bias.data.downloads import root_cause
from pytest_bias.errors import GitHubError, UsageError
from pytest_bias.untrusted import clean

if TYPE_CHECKING:
    import requests

API: Final = "https://api.github.com"
VERSION: Final = "2022-11-28"
TIMEOUT_S: Final = (10.0, 30.0)
"""Seconds for the connection, and between two pieces of an answer."""
ATTEMPTS: Final = 5
BACKOFF_S: Final = 1.0
"""Wait after the first failure; twice as long after each further one."""
PATIENCE_S: Final = 60.0
"""Seconds that a client waits, all its requests together."""
MOST_PAGES: Final = 100
PER_PAGE: Final = 100
MOST_REDIRECTS: Final = 5
CHUNK: Final = 1 << 16

Method: TypeAlias = Literal["GET", "POST", "PATCH", "PUT", "DELETE"]

_TOKEN: Final = re.compile("[!-~]+")
_REPOSITORY: Final = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
_LOCAL: Final = ("127.0.0.1", "localhost", "::1")
_REDIRECTS: Final = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True)
class _Request:
    """One request: `needs` is the line below ``permissions:`` that it takes."""

    method: Method
    address: str
    needs: str
    body: Mapping[str, Any] | None = None
    query: Mapping[str, str | int] = field(default_factory=dict)
    repeatable: bool = True

    @property
    def words(self) -> str:
        """Return it as messages name it, without the query."""
        return f"{self.method} {_plain(self.address)}"


@dataclass(slots=True)
class Client:
    """GitHub's REST API with one token, for one repository.

    Parameters
    ----------
    api : str
        Address of the API, as the runner's GITHUB_API_URL.
    repository : str
        ``owner/name``, as GITHUB_REPOSITORY.
    token : str
        A token of a job, an app or a person.

    Raises
    ------
    UsageError
        If the address, the name or the token cannot be one; the token is not shown.
    """

    api: str
    repository: str
    token: str = field(repr=False)
    _patience: float = field(default=PATIENCE_S, repr=False, init=False)
    _session: "requests.Session | None" = field(default=None, repr=False, init=False)

    def __post_init__(self) -> None:
        self.api = self.api.rstrip("/")
        scheme, host, _ = _origin(self.api) or ("", None, None)
        if scheme != "https" and not (scheme == "http" and host in _LOCAL):
            raise UsageError(
                f"GITHUB_API_URL is {clean(self.api)!r}: no token is sent there.",
                f"It begins with https://, as {API} does.",
            )
        if not _REPOSITORY.fullmatch(self.repository):
            raise UsageError(
                f"GITHUB_REPOSITORY is {clean(self.repository)!r}: it has the form owner/name."
            )
        if not _TOKEN.fullmatch(self.token):
            state = "empty" if not self.token else "no token: it holds spaces or special characters"
            raise UsageError(
                f"the token for GitHub is {state}.",
                "Give the input `github-token`, by default ${{ github.token }}.",
            )

    @classmethod
    def of(cls, token: str, environment: Mapping[str, str] | None = None) -> "Client":
        """Return the client of the repository whose workflow runs, as the runner names it."""
        given = os.environ if environment is None else environment
        api = given.get("GITHUB_API_URL") or API
        return cls(api, given.get("GITHUB_REPOSITORY", ""), token)

    def get(self, path: str, *, needs: str, **query: str | int) -> Any:
        """Return the JSON at a path of the repository, or of the API if it begins with a slash.

        Raises
        ------
        GitHubError
            If GitHub refuses, here and below, or does not answer.
        """
        return self._json(self._send(_Request("GET", self._at(path), needs, query=query)))

    def pages(
        self, path: str, *, needs: str, within: str | None = None, **query: str | int
    ) -> Iterator[dict[str, Any]]:
        """Yield what a list has, page after page as it is needed.

        Parameters
        ----------
        within : str, optional
            The key under which each page has its part of the list.
        """
        request = _Request("GET", self._at(path), needs, query={"per_page": PER_PAGE, **query})
        for _ in range(MOST_PAGES):
            answer = self._send(request)
            page = self._json(answer)
            yield from page[within] if within else page
            following = answer.links.get("next", {}).get("url")
            if following is None:
                return
            if not self._is_own(following):
                raise GitHubError(f"the next page of {request.words} is at {_plain(following)}.")
            request = _Request("GET", following, needs)
        raise GitHubError(f"{request.words} has more than {MOST_PAGES} pages.")

    def send(
        self,
        method: Method,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        needs: str,
        repeatable: bool = True,
    ) -> Any:
        """Write something and return the JSON of the answer, null if there is none.

        Parameters
        ----------
        repeatable : bool
            Whether it may be sent again where it is not known if it was done.
        """
        request = _Request(method, self._at(path), needs, body, repeatable=repeatable)
        answer = self._send(request)
        return self._json(answer) if answer.content else None

    def download(self, path: str, target: Path, *, needs: str, most: int) -> None:
        """Write what a path leads to into a file; where it leads elsewhere the token stays here.

        Raises
        ------
        GitHubError
            If it has more bytes than `most` besides.
        """
        request = _Request("GET", self._at(path), needs)
        for attempt in range(1, ATTEMPTS + 1):
            answer = self._send(request, stream=True)
            with answer:
                try:
                    return _save(answer, target, most, request)
                except _broken() as error:
                    # What has arrived is no whole, and the address of the rest may have expired.
                    self._wait(attempt, None, _silence(request, error))
        raise AssertionError("the last wait raises")

    def _at(self, path: str) -> str:
        if path.startswith("/"):
            return f"{self.api}{path}"
        return f"{self.api}/repos/{self.repository}/{path}".rstrip("/")

    def _is_own(self, address: str) -> bool:
        """Whether an address is of the API: an own server may have other services beside it."""
        if _origin(address) is None:
            return False
        path, top = urlsplit(address).path, urlsplit(self.api).path
        below = path.startswith(f"{top}/") and ".." not in path.split("/")
        return below and _origin(address) == _origin(self.api)

    def _send(self, request: _Request, *, stream: bool = False) -> "requests.Response":
        from requests import RequestException

        for attempt in range(1, ATTEMPTS + 1):
            try:
                answer = self._followed(request, stream=stream)
            except _broken() as error:
                refused, after = _silence(request, error), None
                again = request.repeatable
            except (RequestException, ValueError) as error:
                # An address that is none, which requests reads even where it follows none.
                raise _silence(request, error) from None
            else:
                if answer.ok:
                    return answer
                hidden = self.token if self._is_own(answer.url) else None
                refused = refusal(request.words, request.needs, answer, hidden)
                after = seconds_asked(answer)
                again = refused.limited or (refused.unsure and request.repeatable)
            if not again:
                raise refused
            self._wait(attempt, after, refused)
        raise AssertionError("the last wait raises")

    def _wait(self, attempt: int, after: float | None, refused: GitHubError) -> None:
        """Wait before the next attempt, or raise what went wrong."""
        wait = BACKOFF_S * 2 ** (attempt - 1) if after is None else after
        if attempt == ATTEMPTS or wait > self._patience:
            raise refused
        self._patience -= wait
        time.sleep(wait)

    def _followed(self, request: _Request, *, stream: bool) -> "requests.Response":
        """Send a request where it leads: the token to the API alone."""
        import requests

        address, query = request.address, dict(request.query)
        self._session = self._session or requests.Session()
        for _ in range(MOST_REDIRECTS):
            own = self._is_own(address)
            # The connection to the API is kept; elsewhere nothing of it is known.
            sender = self._session.request if own else requests.request
            answer = sender(
                request.method,
                address,
                params=query,
                json=request.body if own else None,
                headers=_headers() if own else {},
                # Without one, requests takes a password for the host from ~/.netrc.
                auth=_Bearer(self.token) if own else _nobody,
                timeout=TIMEOUT_S,
                allow_redirects=False,
                stream=stream,
            )
            if answer.status_code not in _REDIRECTS or "Location" not in answer.headers:
                return answer
            answer.close()
            address, query = urljoin(address, answer.headers["Location"]), {}
            elsewhere = not self._is_own(address)
            to = _origin(address)
            secure = to and (to[0] == "https" or self.api.startswith("http://"))
            if not secure or (elsewhere and request.method != "GET"):
                raise GitHubError(f"{request.words} leads to {_plain(address)}: not followed.")
        raise GitHubError(f"{request.words} leads from address to address.")

    def _json(self, answer: "requests.Response") -> Any:
        try:
            return answer.json()
        except ValueError:
            at = _plain(answer.url)
            raise GitHubError(
                f"{at} answers something else than JSON.",
                "GITHUB_API_URL has to be the address of GitHub's API; a proxy may have answered.",
            ) from None


class _Bearer:
    """The token of a request; `requests` calls it."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: "requests.PreparedRequest") -> "requests.PreparedRequest":
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


def _nobody(request: "requests.PreparedRequest") -> "requests.PreparedRequest":
    return request


def _headers() -> dict[str, str]:
    return {
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": VERSION,
        "User-Agent": "pytest-bias",
    }


def _broken() -> tuple[type[Exception], ...]:
    """Return the errors of a connection that was not made, or broke off."""
    from requests import exceptions

    return (exceptions.ConnectionError, exceptions.Timeout, exceptions.ChunkedEncodingError)


def _silence(request: _Request, error: Exception) -> GitHubError:
    # Not the error's own words: they have the whole address, which may be a signed one.
    return GitHubError(
        f"GitHub does not answer {request.words}: {clean(_why(error), 200)}.",
        "Run the job again later. Behind a proxy set HTTPS_PROXY.",
    )


def _why(error: Exception) -> str:
    from requests import exceptions

    if isinstance(error, exceptions.Timeout):
        return f"nothing came within {TIMEOUT_S[1]:g} s"
    return re.sub(r"\?\S+", "", root_cause(error))


def _save(answer: "requests.Response", target: Path, most: int, request: _Request) -> None:
    size = 0
    with target.open("wb") as file:
        for chunk in answer.iter_content(CHUNK):
            size += file.write(chunk)
            if size > most:
                raise GitHubError(f"{request.words} is larger than {most / 1e6:g} MB.")


def _origin(address: str) -> tuple[str, str | None, int | None] | None:
    """Return scheme, host and port of an address; null if it is none."""
    try:
        parts = urlsplit(address)
        port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    except ValueError:
        return None
    return parts.scheme, parts.hostname, port


def _plain(address: str) -> str:
    """Return an address without what may be secret: user, query and fragment."""
    if _origin(address) is None:
        return "an address that is none"
    parts = urlsplit(address)
    return clean(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}", 300)


def path_of(name: str) -> str:
    """Return a name as a part of a path of the API; its slashes stay."""
    return quote(name, safe="/")
