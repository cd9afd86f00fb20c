"""Errors of GitHub as messages: the cause, and what helps (a permission, or waiting)."""

from collections.abc import Mapping
from typing import Final

from pytest_bias.errors import GitHubError
from pytest_bias.http.failures import Failed, Kind, in_words

_LATER: Final = "Run the job again later; https://www.githubstatus.com says what is wrong."
_HINTS: Final[Mapping[Kind, str]] = {
    "connection": "Run the job again later. Behind a proxy set HTTPS_PROXY.",
    401: "The token has expired or is none. Give the input `github-token`.",
    403: (
        "Add `{needs}` to `permissions:` of the job, and keep what is there: permissions that "
        "are not named are taken away. A pull request from a fork gets none that write."
    ),
    404: (
        "Either there is no such thing, or the token may not see it: in a private repository the "
        "job needs `{needs}` below `permissions:`."
    ),
    429: "GitHub is asked too often with this token. Run the job again {when}.",
    5: _LATER,
}


def refusal(asked: str, needs: str, failed: Failed) -> GitHubError:
    """Return the error for a failed request.

    Parameters
    ----------
    asked : str
        What was requested, for the message.
    needs : str
        The line below ``permissions:`` that the request requires.
    failed : Failed
        How it failed.
    """
    limited = _is_limited(failed)
    # Permissions are not the cause if another host refuses.
    hint = failed.hint({} if failed.host and failed.status else _HINTS, needs=needs)
    if failed.kind in ("redirect", "size"):
        return GitHubError(f"{asked}: {failed.words()}.")
    if failed.status is None:
        return GitHubError(f"GitHub does not answer {asked}: {failed.words()}.", hint)
    said = f": {failed.said}" if failed.said else "."
    if limited:
        hint = Failed(429, after=failed.after).hint(_HINTS)
    elif failed.status == 403 and "not accessible by personal access token" in failed.said:
        hint = f"The token that was given needs the permission `{needs}`."
    error = GitHubError(f"GitHub answers {in_words(failed.status)} to {asked}{said}", hint)
    error.status, error.limited = failed.status, limited
    return error


def passes(failed: Failed, *, repeatable: bool) -> bool:
    """Whether a request may be sent again: it had no effect, or may safely have it twice."""
    return _is_limited(failed) or (failed.again and repeatable)


def _is_limited(failed: Failed) -> bool:
    said = "rate limit" in failed.said.lower()
    return failed.status == 429 or (failed.status == 403 and (said or failed.after is not None))
