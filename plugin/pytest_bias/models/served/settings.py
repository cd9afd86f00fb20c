"""Settings of requests to model servers: the table ``served`` of the settings file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pytest_bias.forms.keys import Key, keyed, number, optional, shown, text
from pytest_bias.forms.yaml_with_lines import Marked, Place, Plain


@dataclass(frozen=True, slots=True)
class RequestSettings:
    """Settings of requests to a server or an application, and of calls of a function.

    Parameters
    ----------
    concurrency : int
        Number of parallel requests.
    timeout : float
        Maximum total seconds of one request.
    retries : int
        Number of retries if the server is busy, fails or does not answer; calls of a function are
        not retried.
    requests_per_minute : float, optional
        Maximum number of requests started per minute; by default unlimited.
    prefix : str, optional
        Text before every text whose likelihood is requested, such as ``<s>``. The only one of these
        settings that changes scores.
    """

    concurrency: int = 8
    timeout: float = 120.0
    retries: int = 6
    requests_per_minute: float | None = None
    prefix: str | None = None


def settings_for(given: Mapping[str, Any], *, calls_code: bool = False) -> RequestSettings:
    """Return the settings as given; unless stated, code of the user's is called by one thread.

    It may not be safe in several.
    """
    return RequestSettings(**{**({"concurrency": 1} if calls_code else {}), **given})


MOST_OF_PREFIX: Final = 200


def _prefix(marked: Marked, place: Place, given: Plain) -> str:
    if not 1 <= len(found := text(marked, place, given)) <= MOST_OF_PREFIX:
        what = f"a text of 1 to {MOST_OF_PREFIX} characters"
        raise marked.error(place, f"must be {what}, not {shown(found)}.")
    return found


_KEYS: Final = {
    "concurrency": Key(number(1, 256, whole=True), "requests at a time"),
    "timeout": Key(number(0.1, 86_400), "seconds that a request may take"),
    "retries": Key(number(0, 100, whole=True), "how often a request is made again"),
    "requests_per_minute": Key(number(0.1, 1_000_000), "requests that are begun in a minute"),
    "prefix": Key(_prefix, "text in front of every text whose likelihood is asked for"),
}
ASKING: Final = keyed({name: Key(optional(key.read), key.about) for name, key in _KEYS.items()})
"""Reads a table ``served``; null means the default."""
