"""The key ``context``: what a provider states of a model and of the system that it is part of."""

from collections.abc import Mapping
from typing import Any, Final

from pytest_bias.forms.keys import Key, keyed, optional, several, shown, table, text, texts, word
from pytest_bias.forms.yaml_with_lines import Marked, Place, Plain
from pytest_bias.suites.catalogue import Catalogue

_PERSON: Final = keyed(
    {
        "name": Key(word, "name of the person", needed=True),
        "role": Key(word, "what the person is responsible for, such as head of testing", True),
    },
    "a responsible person",
)
_PEOPLE: Final = several(_PERSON, "people, each with name and role")
_REASONS: Final = table(word, hint="why: {bbq: a reason}, or one text for all suites")


def _responsible(marked: Marked, place: Place, given: Plain) -> list[dict[str, str]]:
    """Read one person, or a list of people."""
    if isinstance(given, dict):
        return [_PERSON(marked, place, given)]
    return list(_PEOPLE(marked, place, given))


def _why(marked: Marked, place: Place, given: Plain) -> str | dict[str, str]:
    """Read one text for all suites, or a table of suites."""
    if isinstance(given, str):
        return word(marked, place, given)
    if not isinstance(given, dict):
        said = f"must be a text, or a table of suite to text, not {shown(given)}."
        raise marked.error(place, said)
    found: dict[str, str] = _REASONS(marked, place, given)
    return found


CONTEXT: Final = {
    "languages": Key(optional(texts), "languages that the model is for"),
    "region": Key(optional(text), "region where it is used"),
    "intended_use": Key(optional(text), "what it is for"),
    "groups": Key(optional(texts), "groups of people whom its use affects"),
    "provider": Key(optional(word), "name of the provider of the system"),
    "system": Key(optional(word), "name of the system that the model is part of"),
    "version": Key(optional(word), "version of the system"),
    "responsible": Key(optional(_responsible), "who is responsible for the tests: name and role"),
    "why": Key(optional(_why), "why these suites: one text, or suite to text"),
}
"""Keys of ``context``: the intended use of a model, as its owner states it. They are shown in the
card and in the documentation after Annex IV."""


def check_context(context: Mapping[str, Any], stated: Marked, catalogue: Catalogue) -> None:
    """Check that reasons are given for suites that exist.

    Raises
    ------
    UnknownName
        If there is no such suite; the message has the line of the file, and the nearest name.
    """
    why = context.get("why")
    for name in why if isinstance(why, Mapping) else ():
        with stated.at(("context", "why", name)):
            catalogue.find(name)
