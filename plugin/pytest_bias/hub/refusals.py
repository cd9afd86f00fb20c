"""Errors of the Hugging Face Hub's client as messages: the cause, and what helps."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_bias.errors import BiasError, PublishError
from pytest_bias.http.failures import Failed, Kind
from pytest_bias.http.hub import chain, failure
from pytest_bias.http.session import is_token

NEVER_SENT: Final = ("ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError")
"""Errors of the client's HTTP library where the request never left this machine."""
_TOKENS: Final = "https://huggingface.co/settings/tokens"
_OIDC: Final = "HF_OIDC_RESOURCE"

_HINTS: Final[Mapping[Kind, str]] = {
    "connection": "Look at the network, then run the command again.",
    "metadata": "Correct them there.",
    "other": "Run the command again later.",
    401: "{login}",
    402: "Add credit: https://huggingface.co/settings/billing",
    403: "{login} Who may not write can propose: --create-pr",
    404: "Check the name: {address}",
    412: "Run the command again: it starts from what is there now. If nobody has committed there, "
    "the token may do no more than propose changes: --create-pr",
    413: "Publish fewer suites at a time.",
    4: "Run the command again {when}.",
}


@dataclass(frozen=True, slots=True)
class Subject:
    """An operation on a repository, as messages describe it.

    Parameters
    ----------
    text : str
        What failed: the beginning of the message.
    name : str
        The repository.
    kind : type of BiasError
        The error to raise.
    head : str, optional
        The commit that the operation started from.
    helps : mapping of int or str to str
        What helps against a failure, where it differs from what helps against a refused commit.
    """

    text: str
    name: str
    kind: type[BiasError]
    head: str = ""
    helps: Mapping[Kind, str] = field(default_factory=dict)

    def offline(self) -> BiasError:
        """Return the error of a run that must not use the network."""
        return self.kind(
            f"{self.text}: this run is offline.", "Leave out --offline, and unset HF_HUB_OFFLINE."
        )

    def refusal(self, error: BaseException) -> BiasError | None:
        """Translate an error of the client; None for any other error."""
        if (failed := failure(error)) is None:
            return None
        names = {
            "address": f"https://huggingface.co/{self.name}",
            "at": f" at {self.head[:7]}" if self.head else "",
            "login": _login(self.name),
            "what": "model",
        }
        hint = failed.hint({**_HINTS, **self.helps}, **names)
        return self.kind(f"{self.text}: {_why(failed, names)}.", hint)


def reason(error: BaseException) -> str | None:
    """Return the cause of a client error; None for any other error."""
    failed = failure(error)
    return None if failed is None else _why(failed, {"what": "model"})


def _why(failed: Failed, names: Mapping[str, str]) -> str:
    words = failed.words(**names).rstrip(".")
    return words if failed.status is None else f"{words} ({failed.answer('the Hub').rstrip('.')})"


def may_have_arrived(error: BaseException, path: str) -> bool:
    """Whether a request may have taken effect although it returned an error.

    The Hub has been seen to make a commit and to answer 500. `path` is the beginning of the
    address after the Hub's host; errors of requests to other paths do not count.
    """
    if isinstance(error, json.JSONDecodeError):
        return True
    for one in chain(error):
        request = _request(one)
        if request is None or not request.url.path.startswith(path):
            continue
        answer = getattr(one, "response", None)
        if answer is not None:
            return bool(answer.status_code >= 500)
        return type(one).__name__ not in NEVER_SENT
    return False


def token(subject: Subject, *, to_write: bool) -> str | None:
    """Return the token that the Hub's client finds; None if there is none, and none is needed.

    Raises
    ------
    BiasError
        If there is no token to write with, or the Hub does not exchange a CI job's token for one.
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
    if found is not None and not is_token(found):
        # The HTTP library would show the token in its message.
        raise subject.kind(
            f"{subject.text}: the token has spaces or letters that no token has.",
            f"Copy it again from {_TOKENS}.",
        )
    return found


def _login(name: str) -> str:
    if resource := os.environ.get(_OIDC):
        return f"{_OIDC} is {resource}: the token of this job is good for that alone."
    return f"hf auth login, or HF_TOKEN with a token that may write to {name}: {_TOKENS}."


def _request(error: BaseException) -> Any:
    # An error of the HTTP library without a request raises RuntimeError here.
    with suppress(RuntimeError):
        return getattr(error, "request", None)
    return None
