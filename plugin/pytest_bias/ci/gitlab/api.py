"""Client of GitLab's REST API, with retries and readable errors.

A token is sent to the API's own address only. It is in no message, and a redirect to anywhere else
is followed without it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

from pytest_bias.errors import ProviderError, UsageError
from pytest_bias.http.failures import Failed, in_words
from pytest_bias.http.failures import Kind as FailureKind
from pytest_bias.http.patience import Patience
from pytest_bias.http.session import (
    Session,
    json_of,
    origin,
    pieces,
    refused,
    shown,
    words_of,
)
from pytest_bias.untrusted import clean

if TYPE_CHECKING:
    from pytest_bias.http.session import Response

TOKEN: Final = "PYTEST_BIAS_GITLAB_TOKEN"
"""Variable with a token that may write notes."""
TIMEOUT_S: Final = (10.0, 30.0)
PATIENCE: Final = Patience(attempts=5, left_s=60.0)
"""Limit over all requests of a client together."""
MOST_PAGES: Final = 100
PER_PAGE: Final = 100
_LOCAL: Final = ("127.0.0.1", "localhost", "::1")

T = TypeVar("T")
Method: TypeAlias = Literal["GET", "POST", "PUT", "DELETE"]
Kind: TypeAlias = Literal["PRIVATE-TOKEN", "JOB-TOKEN"]
"""Header for a token: of a person or project, or of the running job."""

HELPS: Final = (
    f"{TOKEN} has to be a project access token, or a personal one, with the scope api and the role "
    "Reporter or higher in the project that the merge request belongs to."
)
_LATER: Final[Mapping[FailureKind, str]] = {
    "connection": "Run the job again later. Behind a proxy set HTTPS_PROXY.",
    429: "GitLab is asked too often. Run the job again later.",
    5: "Run the job again later.",
}
_HINTS: Final[Mapping[Kind, Mapping[FailureKind, str]]] = {
    "PRIVATE-TOKEN": {
        **_LATER,
        401: f"The token has expired or was revoked. {HELPS}",
        403: HELPS,
        404: HELPS,
    },
    "JOB-TOKEN": {
        **_LATER,
        **dict.fromkeys(
            (401, 403),
            f"The token of a job may not read artifacts here. Set {TOKEN}, or leave --baseline "
            "out.",
        ),
    },
}


class GitLabError(ProviderError):
    """GitLab refused something, or did not answer."""


@dataclass(slots=True)
class Client:
    """GitLab's REST API with one token.

    Parameters
    ----------
    api : str
        Address of the API, as in CI_API_V4_URL.
    token : str
        Sent in the header that `kind` names.

    Raises
    ------
    UsageError
        If no token can be sent to the address.
    """

    api: str
    token: str = field(repr=False)
    kind: Kind = "PRIVATE-TOKEN"
    _patience: Patience = field(repr=False, init=False)
    _session: Session = field(repr=False, init=False)

    def __post_init__(self) -> None:
        self.api = self.api.rstrip("/")
        scheme, host, _ = origin(self.api) or ("", None, None)
        if scheme != "https" and not (scheme == "http" and host in _LOCAL):
            raise UsageError(
                f"CI_API_V4_URL is {clean(self.api)!r}: no token is sent there.",
                "It begins with https://, as https://gitlab.com/api/v4 does.",
            )
        self._patience = replace(PATIENCE)
        self._session = Session(TIMEOUT_S, self.api, headers={self.kind: self.token})

    def get(self, path: str, **query: str | int) -> Any:
        """Return the JSON at a path of the API.

        Raises
        ------
        GitLabError
            If GitLab refuses or does not answer.
        """
        return self._send("GET", path, _json, query=query)

    def pages(self, path: str, **query: str | int) -> Iterator[dict[str, Any]]:
        """Yield the entries of a list, page after page."""
        page = "1"
        for _ in range(MOST_PAGES):
            asked = {"per_page": PER_PAGE, "page": page, **query}
            found, page = self._send("GET", path, _page, query=asked)
            yield from found
            # GitLab leaves it empty at the last page.
            if not page:
                return
        raise GitLabError(f"GET {path} has more than {MOST_PAGES} pages.")

    def send(self, method: Method, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Write something and return the JSON of the answer, None if there is none."""
        return self._send(method, path, _json, body)

    def download(self, path: str, target: Path, most: int, **query: str) -> None:
        """Download a path into a file, `most` bytes at most."""

        def save(answer: "Response") -> None:
            with target.open("wb") as file:
                file.writelines(pieces(answer, most=most))

        self._send("GET", path, save, query=query)

    def _send(
        self,
        method: Method,
        path: str,
        read: Callable[["Response"], T],
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str | int] | None = None,
    ) -> T:
        """Send a request and read its answer; an answer that breaks off is requested again."""

        def attempt() -> T:
            try:
                with self._session.ask(
                    method, f"{self.api}/{path}", params=query, json=body
                ) as answer:
                    if answer.ok:
                        return read(answer)
                    own = self._session.is_home(answer.url)
                    said = words_of(b"".join(pieces(answer))) if own else ""
                    raise refused(answer, shown(said, self.token), "" if own else answer.url)
            except Failed as failed:
                # The write may have taken effect although the answer was lost.
                failed.again = failed.status == 429 or (failed.again and method != "POST")
                raise

        try:
            return self._patience.ask(attempt)
        except Failed as failed:
            raise self._refusal(f"{method} {path}", failed) from None

    def _refusal(self, asked: str, failed: Failed) -> GitLabError:
        hint = failed.hint({} if failed.host and failed.status else _HINTS[self.kind])
        if failed.kind in ("redirect", "size"):
            return GitLabError(f"{asked}: {failed.words()}.")
        if failed.status is None:
            return GitLabError(f"GitLab does not answer {asked}: {failed.words()}.", hint)
        said = f": {failed.said}" if failed.said else "."
        error = GitLabError(f"GitLab answers {in_words(failed.status)} to {asked}{said}", hint)
        error.status, error.limited = failed.status, failed.status == 429
        return error


def _json(answer: "Response") -> Any:
    """Return the JSON of an answer, None if it is empty."""
    return json_of(
        answer,
        GitLabError,
        "CI_API_V4_URL has to be the address of GitLab's API; a proxy may have answered.",
    )


def _page(answer: "Response") -> tuple[Any, str]:
    """Return the JSON of an answer, and the number of the next page."""
    return _json(answer), answer.headers.get("x-next-page", "")
