"""Descriptions of suites that are stored in a report, so that outputs need no suite."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from pytest_bias.records.validation import built

KEY: Final = "about"
"""Key in `run` of report.json, which the digest does not cover."""


@dataclass(frozen=True, slots=True)
class Furthest:
    """The items of a suite that are furthest from its ideal, or the reason why there are none.

    If more items are `tied` than are listed, `by` is the metric that orders them.
    """

    ids: tuple[str, ...] = ()
    tied: int = 0
    by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class About:
    """Description of a suite.

    Parameters
    ----------
    version : str
        Version of the suite.
    badge : tuple of str
        Wordings of the badge's message, as in `Suite.badge`.
    scope : mapping
        The scope card.
    furthest : Furthest
        Items that are furthest from the ideal of the headline.
    """

    version: str
    badge: tuple[str, ...] = ()
    scope: Mapping[str, Any] = field(default_factory=dict)
    furthest: Furthest = Furthest(reason="This report does not name any.")


@dataclass(frozen=True, slots=True)
class Known:
    """Facts about suites that were not run.

    Parameters
    ----------
    titles : mapping
        Name to title of the suites that apply to the model.
    dimensions : tuple of str
        Groups and other dimensions that the suites cover, by their scope cards.
    """

    titles: Mapping[str, str] = field(default_factory=dict)
    dimensions: tuple[str, ...] = ()


def to_json(abouts: Iterable[tuple[str, About | None]], known: Known) -> dict[str, Any]:
    """Return the value for report.json: suites keyed by name, items by entry."""
    there = [(entry, asdict(about)) for entry, about in abouts if about]
    furthest = {entry: plain.pop("furthest") for entry, plain in there}
    suites = {_suite(entry): plain for entry, plain in there}
    return {"suites": suites, "furthest": furthest, **asdict(known)}


def from_json(run: Any) -> tuple[dict[str, About], Known]:
    """Read the output of `to_json`; empty for a report that is damaged or of an older version."""
    plain = run.get(KEY) if isinstance(run, Mapping) else None
    plain = plain if isinstance(plain, Mapping) else {}
    furthest = plain.get("furthest")
    found = {}
    for entry, values in furthest.items() if isinstance(furthest, Mapping) else ():
        try:
            found[entry] = built(About, {**plain["suites"][_suite(entry)], "furthest": values})
        except (AttributeError, KeyError, TypeError, ValueError):
            continue
    try:
        return found, built(Known, plain)
    except (AttributeError, TypeError, ValueError):
        return found, Known()


def _suite(entry: str) -> str:
    return entry.partition("[")[0]
