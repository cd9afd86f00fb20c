"""One comment on a pull request, which later runs update.

The comment is found by a marker in its first line, and only among those of the same account: a
comment by somebody else that copies the marker is neither edited nor deleted.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from pytest_bias.ci.github.api import Client
from pytest_bias.emit.bounds import within
from pytest_bias.errors import GitHubError, UsageError
from pytest_bias.records.report import canonical_json, sha256

NEEDS: Final = "pull-requests: write"
MOST_CHARACTERS: Final = 65_000
"""Characters of a comment; GitHub refuses more than 65,536."""

Outcome: TypeAlias = Literal["created", "updated", "unchanged", "refused"]


class Account(NamedTuple):
    """An account: its name, and whether it is a ``User`` or a ``Bot``."""

    login: str
    kind: str

    @classmethod
    def of(cls, user: Mapping[str, Any] | None) -> "Account":
        """Read an account from the API, where that of a deleted user is null."""
        return cls(str((user or {}).get("login")), str((user or {}).get("type")))


BOT: Final = Account("github-actions[bot]", "Bot")
"""The account that the token of a job belongs to."""


@dataclass(frozen=True, slots=True)
class PullRequest:
    """The pull request that a workflow runs for, and whether it comes from a fork."""

    number: int
    from_fork: bool


@dataclass(frozen=True, slots=True)
class Commented:
    """Result of writing a comment: its address, or why there is none."""

    outcome: Outcome
    address: str | None = None
    reason: str | None = None


def pull_request(environment: Mapping[str, str] | None = None) -> PullRequest | None:
    """Return the pull request that the runner's event file names; None if it names none.

    Raises
    ------
    UsageError
        If there is a file that cannot be read.
    """
    given = os.environ if environment is None else environment
    path = given.get("GITHUB_EVENT_PATH")
    if not path:
        return None
    try:
        event: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"GITHUB_EVENT_PATH: {path} cannot be read: {error}"[:300]) from None
    if not isinstance(event, dict):
        return None
    if pull := event.get("pull_request"):
        return _numbered(pull, from_fork=_is_from_fork(pull))
    # A comment on a pull request is an event of the issue with that number, and its run has the
    # rights of the repository.
    issue = event.get("issue") or {}
    return _numbered(issue, from_fork=False) if issue.get("pull_request") else None


def _numbered(plain: Mapping[str, Any], *, from_fork: bool) -> PullRequest | None:
    number = plain.get("number")
    return PullRequest(number, from_fork) if type(number) is int and number > 0 else None


def _is_from_fork(pull: Mapping[str, Any]) -> bool:
    head, base = ((pull.get(side) or {}).get("repo") or {} for side in ("head", "base"))
    # A deleted fork is null.
    return head.get("id") is None or head.get("id") != base.get("id")


def marker(*names: str) -> str:
    """Return the line that identifies a comment, from workflow, job and a label of its inputs."""
    return f"<!-- pytest-bias:{sha256(canonical_json(list(names)))[:16]} -->"


def comment(
    client: Client, pull: PullRequest, mark: str, text: str, *, before: str | None = None
) -> Commented:
    """Write the comment of a pull request, replacing the previous one.

    Parameters
    ----------
    client : Client
        With a token that has ``pull-requests: write``.
    pull : PullRequest
        The pull request.
    mark : str
        Its first line, as `marker` makes it.
    text : str
        What follows, in Markdown.
    before : str, optional
        Its former first line, for a comment that has no `mark` yet.

    Returns
    -------
    Commented
        ``refused`` if the token may not comment, as in a pull request from a fork.

    Raises
    ------
    GitHubError
        If GitHub does not answer, or a rate limit is reached.
    """
    body = within(f"{mark}\n{text}", MOST_CHARACTERS)
    try:
        try:
            return _written(client, pull.number, mark, body, before)
        except GitHubError as error:
            if not error.unsure:
                raise
            # Reading again shows whether it was written.
            return _written(client, pull.number, mark, body, before)
    except GitHubError as error:
        if not error.forbidden:
            raise
        return Commented("refused", reason=_reason(pull, error))


def _reason(pull: PullRequest, error: GitHubError) -> str:
    if pull.from_fork:
        return "the pull request comes from a fork, whose runs may not comment"
    return f"{error.message.rstrip('.')}. {error.hint or ''}".rstrip()


def _written(client: Client, number: int, mark: str, body: str, before: str | None) -> Commented:
    author = _author(client)
    ours = _ours(client, number, mark, author)
    if not ours and before:
        ours = _ours(client, number, before, author)
    if not ours:
        path = f"issues/{number}/comments"
        made = client.send("POST", path, {"body": body}, needs=NEEDS, repeatable=False)
        actual = Account.of(made["user"])
        # An app other than that of jobs learns its name only by writing.
        ours = _ours(client, number, mark, actual) if actual != author else []
        if len(ours) < 2:
            return Commented("created", made["html_url"])
    return _kept(client, ours, body)


def _kept(client: Client, ours: list[dict[str, Any]], body: str) -> Commented:
    """Put the text into the oldest of the comments, and delete the others."""
    first, *others = ours
    for other in others:
        _delete(client, other["id"])
    if _same(first["body"], body):
        return Commented("unchanged", first["html_url"])
    path = f"issues/comments/{first['id']}"
    client.send("PATCH", path, {"body": body}, needs=NEEDS)
    return Commented("updated", first["html_url"])


def _delete(client: Client, number: int) -> None:
    try:
        client.send("DELETE", f"issues/comments/{number}", needs=NEEDS)
    except GitHubError as error:
        # Another run was first.
        if error.status != 404:
            raise


def _ours(client: Client, number: int, mark: str, author: Account) -> list[dict[str, Any]]:
    """Return our own comments with the marker, oldest first."""
    found = client.pages(f"issues/{number}/comments", needs="pull-requests: read")
    ours = [
        c
        for c in found
        if Account.of(c.get("user")) == author and _first_line(c.get("body")) == mark
    ]
    return sorted(ours, key=lambda c: int(c["id"]))


def _first_line(body: object) -> str:
    return str(body or "").partition("\n")[0].strip()


def _same(one: str, other: str) -> bool:
    return one.replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()


def _author(client: Client) -> Account:
    """Return the account that this token belongs to."""
    try:
        return Account.of(client.get("/user", needs="metadata: read"))
    except GitHubError as error:
        if not error.forbidden:
            raise
        # The token of a job belongs to an app, which is no user.
        return BOT
