"""What a suite says of itself, beside its result: for outputs, so that they need no suite."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

from pytest_bias.records.validation import checked

KEY: Final = "about"
"""Key below `run` of report.json: the digest does not cover it."""


@dataclass(frozen=True, slots=True)
class Furthest:
    """The items of a suite that are furthest from its ideal, or why none can be named.

    If more are `tied` than are named, `by` is the metric that orders them.
    """

    ids: tuple[str, ...] = ()
    tied: int = 0
    by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class About:
    """What a suite says of itself.

    Parameters
    ----------
    version : str
        Version of the suite that says it.
    badge : tuple of str
        Wordings of the badge's message (`Suite.badge`).
    scope : mapping
        The scope card.
    furthest : Furthest
        Items that are furthest from the ideal of the headline.
    """

    version: str
    badge: tuple[str, ...] = ()
    scope: Mapping[str, Any] = field(default_factory=dict)
    furthest: Furthest = Furthest(reason="This report does not name any.")


def to_json(abouts: Iterable[tuple[str, About | None]]) -> dict[str, Any]:
    """Return what stands in report.json, by the names of entries."""
    return {entry: asdict(about) for entry, about in abouts if about}


def from_json(run: Any) -> dict[str, About]:
    """Read what `to_json` wrote; a report of an older version has none, nor one that is damaged."""
    plain = run.get(KEY) if isinstance(run, Mapping) else None
    found = {}
    for entry, values in plain.items() if isinstance(plain, Mapping) else ():
        try:
            known = {f.name: values[f.name] for f in fields(About)}
            known["furthest"] = checked(Furthest(**known["furthest"]))
            found[str(entry)] = checked(About(**known))
        except (KeyError, TypeError, ValueError):
            continue
    return found
