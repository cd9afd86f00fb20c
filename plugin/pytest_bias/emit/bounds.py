"""Size limits for texts in outputs, wherever the texts come from."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from markupsafe import Markup

Thing = TypeVar("Thing")

ROWS: Final = 40
"""Largest number of rows of a table."""
LISTED: Final = 40
"""Largest number of entries of a list, such as suites without a score, notices or versions."""
NAME: Final = 80
"""Largest number of characters of a name chosen by others."""
NUMBER: Final = 40
"""Largest number of characters of a number, or of a short text such as a version."""

CUT: Final = "*The rest has no room here; the report has all of it.*"


def len_in_bytes(text: str) -> int:
    """Return the length of a text in bytes of UTF-8."""
    return len(text.encode())


def within(text: str, most: int, *, len_of: Callable[[str], int] = len) -> str:
    """Return Markdown cut to whole lines if it is too long, with a last line that says so.

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
    """Return the sections that fit into a number of bytes, in order, and those that do not."""
    found: list[Markup] = []
    for i, thing in enumerate(things):
        made = html(thing)
        room -= len(made.encode())
        if room < 0:
            return found, things[i:]
        found.append(Markup(made))
    return found, ()
