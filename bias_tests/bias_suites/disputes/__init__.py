"""Disputed items: what is known to be wrong with rows of public data, as facts, by item id.

Each file is one suite's: configuration, reason, item id, and a note or nothing. What is wrong can
be read off the texts; ``tools/find_disputes.py`` finds it again. What a person states stands under
``reported``, with the address of the issue. A headline is reported with these items and without;
those that lack what it needs are excluded from it.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, TypeAlias

from bias_suites.own_files import own_file
from pytest_bias.records import Record

REASONS: Final[Mapping[str, str]] = {
    "duplicate": "has the same texts as an item before it",
    "reversed": "has the texts of another item the other way round",
    "empty": "has an empty text",
    "identical": "has two equal texts",
    "several_changes": "its texts differ in more than one place, and not by one pair of words",
    "formatting": "its texts differ in capitals, punctuation or spaces beside the words",
    "repeated_context": "has the context and target of an item before it, with other candidates",
    "other_words": "a candidate differs from the context outside the blank",
    "two_blanks": "its context has the blank twice",
    "no_group": "its data lack the group that would tell whom its stereotype is about",
    "reported": "a person has shown what is wrong; the note says where",
}
"""Every reason for which an item may be disputed, and what it says of the item."""

REPORTED: Final = "reported"

SAME_ITEMS: Final[Mapping[tuple[str, str], str]] = {("bbq", "en-options"): "en"}
"""Suite and configuration to the configuration whose items they have."""

Disputes: TypeAlias = Mapping[str, tuple[str, ...]]
"""Item id to reasons."""


@cache
def disputes_of(suite: str, configuration: str) -> Disputes:
    """Return the disputed items of a configuration; empty where nobody has looked.

    Raises
    ------
    ValueError
        If the suite's file names an unknown reason, repeats an item under one, or has a report
        without a note.
    """
    found: dict[str, list[str]] = {}
    for reason, items in _of(suite, configuration).items():
        for item in items:
            found.setdefault(item, []).append(reason)
    return {item: tuple(reasons) for item, reasons in found.items()}


def counted(suite: str, configuration: str) -> dict[str, int]:
    """Return how many items of a configuration are disputed, by reason."""
    return {reason: len(items) for reason, items in _of(suite, configuration).items()}


def undisputed(record: Record) -> bool:
    """Whether a record is of an item that nobody disputes."""
    return not record.detail.get("disputed", False)


def _of(suite: str, configuration: str) -> Mapping[str, Mapping[str, str | None]]:
    return _file(suite).get(SAME_ITEMS.get((suite, configuration), configuration), {})


@cache
def _file(suite: str) -> dict[str, dict[str, dict[str, str | None]]]:
    return checked(suite, own_file("disputes", suite))


def checked(suite: str, content: Any) -> dict[str, dict[str, dict[str, str | None]]]:
    """Return the content of a file of disputes, or raise `ValueError` saying what is wrong."""
    if not isinstance(content, dict) or not all(isinstance(c, dict) for c in content.values()):
        raise ValueError(f"disputes of {suite}: each configuration holds reasons with their items")
    for configuration, reasons in content.items():
        where = f"disputes of {suite}[{configuration}]"
        if unknown := sorted(set(reasons) - set(REASONS)):
            raise ValueError(
                f"{where}: {', '.join(unknown)} is no reason; they are {', '.join(REASONS)}"
            )
        for reason, items in reasons.items():
            if not isinstance(items, dict) or not items:
                raise ValueError(f"{where}: {reason} names no items, each with a note or nothing")
            bare = [item for item, note in items.items() if not note]
            if reason == REPORTED and bare:
                raise ValueError(f"{where}: {bare[0]} is reported without saying where")
    return content
