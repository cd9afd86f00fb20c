"""GitLab's REST API: asked with patience, refused in plain words.

A token goes to the API's own address only. It is in no message, and a redirect to anywhere else is
followed without it.
"""

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from urllib.parse import urljoin, urlsplit

from pytest_bias.data.downloads import in_words, retry_after, root_cause
from pytest_bias.errors import ProviderError, UsageError
from pytest_bias.untrusted import clean

if TYPE_CHECKING:
    import requests

TOKEN: Final = "PYTEST_BIAS_GITLAB_TOKEN"
"""Variable with a token that may write notes."""
TIMEOUT_S: Final = (10.0, 30.0)
ATTEMPTS: Final = 5
BACKOFF_S: Final = 1.0
"""Wait after the first failure; twice as long after each further one."""
PATIENCE_S: Final = 60.0
"""Seconds that a client waits, all its requests together."""
MOST_PAGES: Final = 100
PER_PAGE: Final = 100
_CHUNK: Final = 1 << 16
_LOCAL: Final = ("127.0.0.1", "localhost", "::1")

Method: TypeAlias = Literal["GET", "POST", "PUT", "DELETE"]
Kind: TypeAlias = Literal["PRIVATE-TOKEN", "JOB-TOKEN"]
"""Header of a token: of a person or a project, or of the job that runs."""

HELPS: Final = (
    f"{TOKEN} has to be a project access token, or a personal one, with the scope api and the role "
    "Reporter or higher in the project that the merge request belongs to."
)
_HINTS: Final[Mapping[Kind, Mapping[int, str]]] = {
    "PRIVATE-TOKEN": {
        401: f"The token has expired or was revoked. {HELPS}",
        403: HELPS,
        404: HELPS,
    },
    "JOB-TOKEN": dict.fromkeys(
        (401, 403),
        f"The token of a job may not read artifacts here. Set {TOKEN}, or leave --baseline out.",
    ),
}


class GitLabError(ProviderError):
    """GitLab refused something, or did not answer."""


@dataclass(slots=True)
class Client:
    """GitLab's REST API with one token.

    Parameters
    ----------
    api : str
        Address of the API, as CI_API_V4_URL.
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
    _patience: float = field(default=PATIENCE_S, repr=False, init=False)

    def __post_init__(self) -> None:
        self.api = self.api.rstrip("/")
        parts = urlsplit(self.api)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOCAL):
            raise UsageError(
                f"CI_API_V4_URL is {clean(self.api)!r}: no token is sent there.",
                "It begins with https://, as https://gitlab.com/api/v4 does.",
            )

    def get(self, path: str, **query: str | int) -> Any:
        """Return the JSON at a path of the API.

        Raises
        ------
        GitLabError
            If GitLab refuses, here and below, or does not answer.
        """
        return _json(self._send("GET", path, query=query))

    def pages(self, path: str, **query: str | int) -> Iterator[dict[str, Any]]:
        """Yield what a list has, page after page."""
        page = "1"
        for _ in range(MOST_PAGES):
            answer = self._send("GET", path, query={"per_page": PER_PAGE, "page": page, **query})
            yield from _json(answer)
            # GitLab leaves it empty at the last page.
            page = answer.headers.get("x-next-page", "")
            if not page:
                return
        raise GitLabError(f"GET {path} has more than {MOST_PAGES} pages.")

    def send(self, method: Method, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Write something and return the JSON of the answer, None if there is none."""
        answer = self._send(method, path, body)
        return _json(answer) if answer.content else None

    def download(self, path: str, target: Path, most: int, **query: str) -> None:
        """Write what a path leads to into a file of `most` bytes at most."""
        from requests import RequestException

        answer, size = self._send("GET", path, query=query, stream=True), 0
        try:
            if "Location" in answer.headers:
                answer = self._elsewhere(answer)
            with answer, target.open("wb") as file:
                for chunk in answer.iter_content(_CHUNK):
                    size += file.write(chunk)
                    if size > most:
                        raise GitLabError(f"GET {path} is larger than {most / 1e6:g} MB.")
        except RequestException as error:
            raise _silence(f"GET {path}", error) from None

    def _elsewhere(self, answer: "requests.Response") -> "requests.Response":
        """Follow a redirect to where artifacts are stored, which is not to see the token."""
        import requests

        address = urljoin(answer.url, answer.headers["Location"])
        if not address.startswith("https://") and not self.api.startswith("http://"):
            raise GitLabError(f"GitLab leads to {_plain(address)}: not followed.")
        found = requests.get(address, auth=_nobody, timeout=TIMEOUT_S, stream=True)
        if not found.ok:
            raise GitLabError(f"{_plain(address)} answers {in_words(found.status_code)}.")
        return found

    def _send(
        self,
        method: Method,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str | int] | None = None,
        stream: bool = False,
    ) -> "requests.Response":
        import requests

        for attempt in range(1, ATTEMPTS + 1):
            after = None
            try:
                answer = requests.request(
                    method,
                    f"{self.api}/{path}",
                    params=query,
                    json=body,
                    headers={self.kind: self.token, "User-Agent": "pytest-bias"},
                    # Without one, requests takes a password for the host from ~/.netrc.
                    auth=_nobody,
                    timeout=TIMEOUT_S,
                    allow_redirects=False,
                    stream=stream,
                )
            except requests.RequestException as error:
                refused = _silence(f"{method} {path}", error)
            else:
                if answer.status_code < 300 or (stream and "Location" in answer.headers):
                    return answer
                refused = self._refusal(f"{method} {path}", answer)
                after = retry_after(answer.headers.get("Retry-After"))
            # What was written may be there though nobody said so.
            again = refused.limited or (refused.unsure and method != "POST")
            wait = BACKOFF_S * 2 ** (attempt - 1) if after is None else after
            if not again or attempt == ATTEMPTS or wait > self._patience:
                raise refused
            self._patience -= wait
            time.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _refusal(self, asked: str, answer: "requests.Response") -> GitLabError:
        status = answer.status_code
        said = clean(_said(answer).replace(self.token, "***"), 300)
        hint = _HINTS[self.kind].get(status)
        if status == 429:
            hint = "GitLab is asked too often. Run the job again later."
        elif status >= 500:
            hint = "Run the job again later."
        told = f"GitLab answers {in_words(status)} to {asked}{f': {said}' if said else '.'}"
        error = GitLabError(told, hint)
        error.status, error.limited = status, status == 429
        return error


def _silence(asked: str, error: Exception) -> GitLabError:
    # Not the error's own words: they have the whole address, which may be a signed one.
    why = re.sub(r"\?\S+", "", root_cause(error))
    return GitLabError(
        f"GitLab does not answer {asked}: {clean(why, 200)}.",
        "Run the job again later. Behind a proxy set HTTPS_PROXY.",
    )


def _said(answer: "requests.Response") -> str:
    """Return GitLab's own words; some of its answers have them below another key."""
    try:
        plain = answer.json()
    except ValueError:
        return ""
    if not isinstance(plain, dict):
        return ""
    return str(plain.get("message") or plain.get("error_description") or plain.get("error") or "")


def _json(answer: "requests.Response") -> Any:
    try:
        return answer.json()
    except ValueError:
        raise GitLabError(
            f"{_plain(answer.url)} answers something else than JSON.",
            "CI_API_V4_URL has to be the address of GitLab's API; a proxy may have answered.",
        ) from None


def _plain(address: str) -> str:
    """Return an address without what may be secret: user, query and fragment."""
    parts = urlsplit(address)
    return clean(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}", 300)


def _nobody(request: "requests.PreparedRequest") -> "requests.PreparedRequest":
    return request
