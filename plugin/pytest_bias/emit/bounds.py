"""Texts that have to fit where they go, whoever wrote them."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from markupsafe import Markup

Thing = TypeVar("Thing")

ROWS: Final = 40
"""Rows of a table."""
LISTED: Final = 40
"""Entries of a list, such as suites without a score, notices or versions."""
NAME: Final = 80
"""Characters of a name that others chose."""
NUMBER: Final = 40
"""Characters of a number, or of a short text such as a version."""

CUT: Final = "*The rest has no room here; the report has all of it.*"


def len_in_bytes(text: str) -> int:
    """Return how many bytes a text takes as UTF-8."""
    return len(text.encode())


def within(text: str, most: int, *, len_of: Callable[[str], int] = len) -> str:
    """Return Markdown that is no longer than allowed: whole lines, and a last one that says so.

    Parameters
    ----------
    most : int
        Largest length, as `len_of` counts it.
    """
    if len_of(text) <= most:
        return text
    end = f"\n\n{CUT}"
    room = most - len_of(end)
    if room < 0:
        return ""
    kept = []
    for line in text.splitlines(keepends=True):
        room -= len_of(line)
        if room < 0:
            break
        kept.append(line)
    return f"{''.join(kept).rstrip()}{end}".lstrip()


def fitting(
    room: int, things: Sequence[Thing], html: Callable[[Thing], str]
) -> tuple[list[Markup], Sequence[Thing]]:
    """Return the sections that fit into some bytes, in order, and the things that do not."""
    found: list[Markup] = []
    for i, thing in enumerate(things):
        made = html(thing)
        room -= len(made.encode())
        if room < 0:
            return found, things[i:]
        found.append(Markup(made))
    return found, ()
