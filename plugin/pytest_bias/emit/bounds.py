"""Texts that have to fit where they go, whoever wrote them."""

from collections.abc import Callable
from typing import Final

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
