"""Why the Hugging Face Hub did not do what its client asked for, in plain words, and what helps."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_bias.data.downloads import in_words
from pytest_bias.errors import BiasError, PublishError

LATER: Final = "Run the command again later."
NEVER_SENT: Final = ("ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError")
"""Errors of the client's library for HTTP with which a request did not leave this machine."""
_TOKENS: Final = "https://huggingface.co/settings/tokens"
_OIDC: Final = "HF_OIDC_RESOURCE"
_METADATA: Final = "Invalid metadata in README.md."
_XET: Final = re.compile(r"HTTP status (?:client|server) error \((\d{3}) ")
"""How the client's library for large files, hf_xet, words the answer of a server."""
_TOKEN: Final = re.compile("[!-~]+")

_ANSWERS: Final[Mapping[int, tuple[str, str]]] = {
    401: ("it does not accept the token", "{login}"),
    402: (
        "it has to be paid for, and the balance does not suffice",
        "Add credit: https://huggingface.co/settings/billing",
    ),
    403: ("the token does not allow it", "{login} Who may not write can propose: --create-pr"),
    404: ("there is no such thing", "Check the name: {address}"),
    409: ("another change of the repository is under way", "Run the command again in a moment."),
    412: (
        "the repository has moved since it was read{at}",
        "Run the command again: it starts from what is there now. If nobody has committed there, "
        "the token may do no more than propose changes: --create-pr",
    ),
    413: ("it is too much for one commit", "Publish fewer suites at a time."),
    429: ("it is asked too often", LATER),
}
"""What the status of an answer means, and what helps."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What was to be done with a repository, for messages.

    Parameters
    ----------
    text : str
        What did not happen: the beginning of the message.
    name : str
        The repository.
    kind : type of BiasError
        The error to make of it.
    head : str, optional
        The commit that it was to be done with.
    helps : mapping of int to str
        What helps against an answer of this status, where it is not what helps against a commit
        that is refused.
    """

    text: str
    name: str
    kind: type[BiasError]
    head: str = ""
    helps: Mapping[int, str] = field(default_factory=dict)

    def offline(self) -> BiasError:
        """Return the error of a run that must not use the network."""
        return self.kind(
            f"{self.text}: this run is offline.", "Leave out --offline, and unset HF_HUB_OFFLINE."
        )

    def refusal(self, error: BaseException) -> BiasError | None:
        """Return what an error of the client means; null for an error that is not the client's."""
        why, hint = _explained(error)
        if why is None:
            return None
        status = next((s for e in _chain(error) if (s := _status(e))), 0)
        hint = self.helps.get(status, hint)
        words = {
            "address": f"https://huggingface.co/{self.name}",
            "at": f" at {self.head[:7]}" if self.head else "",
            "login": _login(self.name),
        }
        return self.kind(f"{self.text}: {_filled(why, words)}.", _filled(hint, words))


def reason(error: BaseException) -> str | None:
    """Return why the client failed; null for an error that is not the client's."""
    why, _ = _explained(error)
    return None if why is None else _filled(why, {"at": ""})


def may_have_arrived(error: BaseException, path: str) -> bool:
    """Whether what was sent to an address may have been done, though it brought an error.

    The Hub has been seen to make a commit and to answer 500. `path` is the beginning of the
    address behind the Hub's own; an error of a request to another one is none of this.
    """
    if isinstance(error, json.JSONDecodeError):
        return True
    for one in _chain(error):
        request = _request(one)
        if request is None or not request.url.path.startswith(path):
            continue
        answer = getattr(one, "response", None)
        if answer is not None:
            return bool(answer.status_code >= 500)
        return type(one).__name__ not in NEVER_SENT
    return False


def token(subject: Subject, *, to_write: bool) -> str | None:
    """Return the token that the Hub's client finds; null if there is none, and none is needed.

    Raises
    ------
    BiasError
        If there is none to write with, or the token of a CI job is not exchanged for one.
    """
    from huggingface_hub import get_token
    from huggingface_hub.utils import get_token_to_send

    resource = os.environ.get(_OIDC)
    try:
        found: str | None = get_token() if to_write else get_token_to_send(None)
    except Exception as error:
        why = reason(error) or f"{type(error).__name__}: {error}"
        if not resource:
            raise
        raise subject.kind(
            f"{subject.text}: the Hub gives this job no token ({_OIDC}={resource}): {why}.",
            f"Name repository, branch and workflow as a trusted publisher in the settings of "
            f"https://huggingface.co/{resource}, and give the job the permission id-token: write; "
            f"or unset {_OIDC} and set HF_TOKEN.",
        ) from None
    if found is None and to_write:
        raise PublishError(
            f"{subject.text}: there is no token to write with.",
            f"One of: hf auth login; HF_TOKEN with a token of {_TOKENS}; in a job of CI "
            f"{_OIDC}={subject.name} (https://huggingface.co/docs/hub/trusted-publishers).",
        )
    if found is not None and not _TOKEN.fullmatch(found):
        # The library for HTTP would show it in its message.
        raise subject.kind(
            f"{subject.text}: the token has spaces or letters that no token has.",
            f"Copy it again from {_TOKENS}.",
        )
    return found


def _explained(error: BaseException) -> tuple[str | None, str]:
    """Return why the client failed, with what helps; both may have names to fill in."""
    from huggingface_hub import errors

    if str(error).startswith(_METADATA):
        said = _plain(str(error).removeprefix(_METADATA))
        return f"it refuses the metadata at the head of README.md: {said}", "Correct them there."
    known: tuple[tuple[type[Exception], str, str], ...] = (
        (
            errors.GatedRepoError,
            "it is gated, and access was not granted",
            "Ask for it at {address}, then: hf auth login",
        ),
        (errors.RevisionNotFoundError, "it has no such commit{at}", "Run the command again."),
        (
            errors.RepositoryNotFoundError,
            "there is no model of this name, or it is private",
            "Check the name: {address}. If it is private: {login}",
        ),
    )
    for one in _chain(error):
        for kind, why, hint in known:
            if isinstance(one, kind):
                return why, hint
        if getattr(one, "response", None) is not None:
            return _answered(one)
    for one in _chain(error):
        # The client's own library for HTTP raises errors of its own.
        if type(one).__module__.startswith("http"):
            said = _plain(f"{type(one).__name__}: {one}")
            return f"no connection ({said})", "Look at the network, then run the command again."
    if isinstance(error, OSError) and error.errno is not None:
        said = _plain(str(error))
        return (
            f"the cache of the Hub's client cannot be used ({said})",
            "Set HF_HOME to a folder that can be written to.",
        )
    if answered := _XET.search(str(error)):
        why, hint = _ANSWERS.get(int(answered[1]), ("it refuses", LATER))
        return f"{why} ({_plain(str(error))})", hint
    if isinstance(error, OSError | ValueError | RuntimeError | errors.OIDCError):
        return _plain(f"{type(error).__name__}: {error}"), LATER
    return None, ""


def _answered(error: Any) -> tuple[str, str]:
    from huggingface_hub.utils import parse_ratelimit_headers

    status: int = error.response.status_code
    headers = error.response.headers
    why, hint = _ANSWERS.get(status, ("it fails" if status >= 500 else "it refuses", LATER))
    limit = parse_ratelimit_headers(headers)
    wait = str(limit.reset_in_seconds) if limit and not limit.remaining else ""
    if wait := headers.get("Retry-After") or wait:
        hint = f"The Hub asks to wait {_plain(wait)} s. {hint}"
    said = _plain(getattr(error, "server_message", None) or "")
    return f"{why} (the Hub answers {in_words(status)}{': ' * bool(said)}{said})", hint


def _login(name: str) -> str:
    if resource := os.environ.get(_OIDC):
        return f"{_OIDC} is {resource}: the token of this job is good for that alone."
    return f"hf auth login, or HF_TOKEN with a token that may write to {name}: {_TOKENS}."


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _status(error: BaseException) -> int | None:
    return getattr(getattr(error, "response", None), "status_code", None)


def _request(error: BaseException) -> Any:
    # An error of the library for HTTP that knows of no request says so by a RuntimeError.
    with suppress(RuntimeError):
        return getattr(error, "request", None)
    return None


def _filled(text: str, words: Mapping[str, str]) -> str:
    for name, word in words.items():
        text = text.replace(f"{{{name}}}", word)
    return text


def _plain(text: str) -> str:
    """Return what a server says as one short line without anything that moves a terminal."""
    line = " ".join(text.split())
    return "".join(c for c in line if c.isprintable())[:250].rstrip(".")
