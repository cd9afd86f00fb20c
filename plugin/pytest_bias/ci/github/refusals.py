"""What an answer of GitHub means that is no success, and what helps: a permission, or to wait."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from pytest_bias.data.downloads import in_words, retry_after
from pytest_bias.errors import GitHubError
from pytest_bias.untrusted import clean

if TYPE_CHECKING:
    import requests

LATER: Final = "Run the job again later; https://www.githubstatus.com says what is wrong."
_PERMISSION: Final = (
    "Add `{needs}` to `permissions:` of the job, and keep what stands there: permissions that are "
    "not named are taken away. A pull request from a fork gets none that write."
)
_HINTS: Final[Mapping[int, str]] = {
    401: "The token has expired or is none. Give the input `github-token`.",
    403: _PERMISSION,
    404: (
        "Either there is no such thing, or the token may not see it: in a private repository the "
        "job needs `{needs}` below `permissions:`."
    ),
}


def refusal(asked: str, needs: str, answer: "requests.Response", token: str | None) -> GitHubError:
    """Return the error that an answer stands for.

    Parameters
    ----------
    asked : str
        What was asked for, for the message.
    needs : str
        The line below ``permissions:`` that it takes.
    token : str, optional
        What is not to be shown; null where the answer is not of the API but of its storage.
    """
    status, said = answer.status_code, _said(answer)
    if token:
        said = said.replace(token, "***")
    message = f"GitHub answers {in_words(status)} to {asked}{f': {said}' if said else '.'}"
    limited = _is_limited(answer, said)
    hint: str | None = LATER
    if limited:
        seconds = seconds_asked(answer)
        when = "later" if seconds is None else f"in {seconds:.0f} s"
        hint = f"GitHub is asked too often with this token. Run the job again {when}."
    elif token and status == 403 and "not accessible by personal access token" in said:
        hint = f"The token that was given needs the permission `{needs}`."
    elif token and status < 500:
        hint = _HINTS[status].format(needs=needs) if status in _HINTS else None
    error = GitHubError(message, hint)
    error.status, error.limited = status, limited
    return error


def seconds_asked(answer: "requests.Response") -> float | None:
    """Return the seconds after which GitHub wants to be asked again, null if it does not say."""
    after = retry_after(answer.headers.get("Retry-After"))
    reset = answer.headers.get("X-RateLimit-Reset", "")
    if after is None and answer.headers.get("X-RateLimit-Remaining") == "0" and reset.isdigit():
        return max(0.0, float(reset) - time.time())
    return after


def _is_limited(answer: "requests.Response", said: str) -> bool:
    if answer.status_code not in (403, 429):
        return False
    spent = answer.headers.get("X-RateLimit-Remaining") == "0"
    asks = "Retry-After" in answer.headers or "rate limit" in said.lower()
    return answer.status_code == 429 or spent or asks


def _said(answer: "requests.Response") -> str:
    """Return GitHub's own words, on one line."""
    from requests import RequestException

    try:
        plain = answer.json()
    except (ValueError, RequestException):
        return ""
    if not isinstance(plain, dict):
        return ""
    found = [plain.get("message"), *(plain.get("errors") or ())]
    words = [x.get("message") if isinstance(x, dict) else x for x in found]
    return clean("; ".join(str(w) for w in words if w), 300)
