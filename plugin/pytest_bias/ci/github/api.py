"""Client of GitHub's REST API for one repository, with retries and readable errors.

The token is sent to one scheme, host and port, those of the API. It is in no message, no address
and no `repr`, and a redirect to anywhere else is followed without it.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar
from urllib.parse import quote

from pytest_bias.ci.github.refusals import passes, refusal
from pytest_bias.errors import GitHubError, UsageError
from pytest_bias.http.failures import Failed
from pytest_bias.http.patience import Patience
from pytest_bias.http.session import (
    Session,
    is_token,
    json_of,
    origin,
    pieces,
    plain,
    refused,
    shown,
    words_of,
)
from pytest_bias.untrusted import clean

if TYPE_CHECKING:
    from pytest_bias.http.session import Response

API: Final = "https://api.github.com"
HEADERS: Final = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
TIMEOUT_S: Final = (10.0, 30.0)
PATIENCE: Final = Patience(attempts=5, left_s=60)
"""Limit over all requests of a client together."""
MOST_PAGES: Final = 100
PER_PAGE: Final = 100

Method: TypeAlias = Literal["GET", "POST", "PATCH", "PUT", "DELETE"]
T = TypeVar("T")

_REPOSITORY: Final = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
_LOCAL: Final = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class _Request:
    """One request: `needs` is the line below ``permissions:`` that it requires."""

    method: Method
    address: str
    needs: str
    body: Mapping[str, Any] | None = None
    query: Mapping[str, str | int] = field(default_factory=dict)
    repeatable: bool = True

    @property
    def words(self) -> str:
        """Return it as messages name it, without the query."""
        return f"{self.method} {plain(self.address)}"


@dataclass(slots=True)
class Client:
    """GitHub's REST API with one token, for one repository.

    Parameters
    ----------
    api : str
        Address of the API, as in the runner's GITHUB_API_URL.
    repository : str
        ``owner/name``, as in GITHUB_REPOSITORY.
    token : str
        A token of a job, an app or a person.

    Raises
    ------
    UsageError
        If the address, the name or the token is malformed; the token is not shown.
    """

    api: str
    repository: str
    token: str = field(repr=False)
    _patience: Patience = field(repr=False, init=False)
    _session: Session = field(repr=False, init=False)

    def __post_init__(self) -> None:
        self.api = self.api.rstrip("/")
        scheme, host, _ = origin(self.api) or ("", None, None)
        if scheme != "https" and not (scheme == "http" and host in _LOCAL):
            raise UsageError(
                f"GITHUB_API_URL is {clean(self.api)!r}: no token is sent there.",
                f"It begins with https://, as {API} does.",
            )
        if not _REPOSITORY.fullmatch(self.repository):
            raise UsageError(
                f"GITHUB_REPOSITORY is {clean(self.repository)!r}: it has the form owner/name."
            )
        if not is_token(self.token):
            state = "empty" if not self.token else "no token: it holds spaces or special characters"
            raise UsageError(
                f"the token for GitHub is {state}.",
                "Give the input `github-token`, by default ${{ github.token }}.",
            )
        self._patience = replace(PATIENCE)
        self._session = Session(TIMEOUT_S, self.api, self.token, HEADERS)

    @classmethod
    def of(cls, token: str, environment: Mapping[str, str] | None = None) -> "Client":
        """Return a client for the repository whose workflow runs, from the runner's variables."""
        given = os.environ if environment is None else environment
        api = given.get("GITHUB_API_URL") or API
        return cls(api, given.get("GITHUB_REPOSITORY", ""), token)

    def get(self, path: str, *, needs: str, **query: str | int) -> Any:
        """Return the JSON at a path of the repository, or of the API if it begins with a slash.

        Raises
        ------
        GitHubError
            If GitHub refuses or does not answer.
        """
        return self._send(_Request("GET", self._at(path), needs, query=query), _json)

    def pages(
        self, path: str, *, needs: str, within: str | None = None, **query: str | int
    ) -> Iterator[dict[str, Any]]:
        """Yield the entries of a list, fetching pages as needed.

        Parameters
        ----------
        within : str, optional
            The key that holds the entries of each page.
        """
        request = _Request("GET", self._at(path), needs, query={"per_page": PER_PAGE, **query})
        for _ in range(MOST_PAGES):
            page, following = self._send(request, _page)
            yield from page[within] if within else page
            if following is None:
                return
            if not self._session.is_home(following):
                raise GitHubError(f"the next page of {request.words} is at {plain(following)}.")
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
        """Write something and return the JSON of the answer, None if there is none.

        Parameters
        ----------
        repeatable : bool
            Whether it may be sent again when it is unknown whether it took effect.
        """
        request = _Request(method, self._at(path), needs, body, repeatable=repeatable)
        return self._send(request, _json)

    def download(self, path: str, target: Path, *, needs: str, most: int) -> None:
        """Download a path into a file; a redirect to another host gets no token.

        Raises
        ------
        GitHubError
            As `get`, or if there are more than `most` bytes.
        """

        def save(answer: "Response") -> None:
            with target.open("wb") as file:
                file.writelines(pieces(answer, most=most))

        self._send(_Request("GET", self._at(path), needs), save)

    def _at(self, path: str) -> str:
        if path.startswith("/"):
            return f"{self.api}{path}"
        return f"{self.api}/repos/{self.repository}/{path}".rstrip("/")

    def _send(self, request: _Request, read: Callable[["Response"], T]) -> T:
        """Send a request and read its answer; an answer that breaks off is requested again."""

        def attempt() -> T:
            try:
                with self._session.ask(
                    request.method, request.address, params=request.query, json=request.body
                ) as answer:
                    if answer.ok:
                        return read(answer)
                    # GitHub's storage may quote the request in its answer, with its signed address.
                    own = self._session.is_home(answer.url)
                    said = words_of(b"".join(pieces(answer))) if own else ""
                    raise refused(answer, shown(said, self.token), "" if own else answer.url)
            except Failed as failed:
                failed.again = passes(failed, repeatable=request.repeatable)
                raise

        try:
            return self._patience.ask(attempt)
        except Failed as failed:
            raise refusal(request.words, request.needs, failed) from None


def _json(answer: "Response") -> Any:
    """Return the JSON of an answer, None if it is empty."""
    return json_of(
        answer,
        GitHubError,
        "GITHUB_API_URL has to be the address of GitHub's API; a proxy may have answered.",
    )


def _page(answer: "Response") -> tuple[Any, str | None]:
    """Return the JSON of an answer, and the address of the next page."""
    return _json(answer), answer.links.get("next", {}).get("url")


def path_of(name: str) -> str:
    """Return a name quoted for a path of the API; its slashes stay."""
    return quote(name, safe="/")
