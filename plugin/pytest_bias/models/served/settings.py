"""How a server of models is asked: the table ``served`` of the settings file."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from pytest_bias.errors import UnknownName, UsageError


@dataclass(frozen=True, slots=True)
class Asking:
    """How a server is asked.

    Parameters
    ----------
    concurrency : int
        Requests at a time.
    timeout : float
        Seconds that one request may take from its beginning to its end.
    retries : int
        How often a request is made again that found the server busy, broken or silent.
    requests_per_minute : float, optional
        Requests that are begun in a minute at most; by default as many as there is room for.
    prefix : str, optional
        Text in front of every text whose likelihood is asked for, such as ``<s>``. Of all settings
        here it alone changes scores.
    """

    concurrency: int = 8
    timeout: float = 120.0
    retries: int = 6
    requests_per_minute: float | None = None
    prefix: str | None = None


LIMITS: Final[Mapping[str, tuple[type | tuple[type, ...], float, float]]] = {
    "concurrency": (int, 1, 256),
    "timeout": ((int, float), 0.1, 86_400),
    "retries": (int, 0, 100),
    "requests_per_minute": ((int, float), 0.1, 1e6),
    "prefix": (str, 1, 200),
}
"""Type of every setting with the least and the most; of a text the number of its characters."""


def checked_asking(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return a table ``served`` of a settings file; what is null there is as by default.

    Raises
    ------
    UsageError
        If a name is not known or a value is not possible; `where` says where it was set.
    """
    found = {}
    for name, value in given.items():
        if name not in LIMITS:
            raise UnknownName.among(f"{where}: served", str(name), [f.name for f in fields(Asking)])
        if value is None:
            continue
        kind, least, most = LIMITS[name]
        is_text = kind is str
        fits = isinstance(value, kind) and not isinstance(value, bool)
        if not fits or not least <= (len(value) if is_text else value) <= most:
            what = f"a text of {least} to {most} characters"
            if not is_text:
                what = f"a {'whole ' if kind is int else ''}number from {least} to {most:g}"
            raise UsageError(f"{where}: served.{name} is {value!r:.80}, and must be {what}.")
        found[name] = value
    return found
