"""The Hugging Face Hub's client: translation of its errors, and suppression of its output."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from pytest_bias.http.failures import Failed, seconds_asked

_METADATA: Final = "Invalid metadata in README.md."
_XET: Final = re.compile(r"HTTP status (?:client|server) error \((\d{3}) ")
"""Message of hf_xet, the client's library for large files, for an answer of a server."""


def failure(error: BaseException) -> Failed | None:
    """Return the failure for an error of the client; None for any other error."""
    from huggingface_hub import errors

    if str(error).startswith(_METADATA):
        said = str(error).removeprefix(_METADATA).strip()
        return Failed("metadata", f"it refuses the metadata at the head of README.md: {said}")
    known = {
        errors.GatedRepoError: "gated",
        errors.RevisionNotFoundError: "revision",
        errors.RepositoryNotFoundError: "repository",
    }
    for one in chain(error):
        for type_, kind in known.items():
            if isinstance(one, type_):
                return Failed(kind)
        if (answer := getattr(one, "response", None)) is not None:
            said = getattr(one, "server_message", None) or ""
            return Failed(answer.status_code, said=said, after=_seconds_asked(answer.headers))
    for one in chain(error):
        # The client's HTTP library raises its own errors.
        if type(one).__module__.startswith("http"):
            # Its message shows the rejected header.
            said = re.sub("Bearer .*", "Bearer ***", f"{type(one).__name__}: {one}")
            return Failed("connection", said, host="the Hub")
    if isinstance(error, OSError) and error.errno is not None:
        return Failed("cache", error)
    if answered := _XET.search(str(error)):
        return Failed(int(answered[1]), said=str(error))
    if isinstance(error, OSError | ValueError | RuntimeError | errors.OIDCError):
        return Failed("other", f"{type(error).__name__}: {error}")
    return None


def _seconds_asked(headers: Any) -> float | None:
    from huggingface_hub.utils import parse_ratelimit_headers

    after, limit = seconds_asked(headers), parse_ratelimit_headers(headers)
    spent = after is None and limit is not None and not limit.remaining
    return float(limit.reset_in_seconds) if spent else after


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes."""
    while error is not None:
        yield error
        error = error.__cause__


@contextmanager
def hushed(*, bars: bool = False, advice: bool = True) -> Iterator[None]:
    """Hide the client's progress bars and, on request, its advice (also its waits for the Hub).

    Parameters
    ----------
    bars, advice : bool
        Whether these are shown.
    """
    from huggingface_hub import utils

    level, hidden = utils.logging.get_verbosity(), utils.are_progress_bars_disabled()
    if not advice:
        utils.logging.set_verbosity_error()
    if not bars:
        utils.disable_progress_bars()
    try:
        yield
    finally:
        utils.logging.set_verbosity(level)
        if not hidden:
            utils.enable_progress_bars()
