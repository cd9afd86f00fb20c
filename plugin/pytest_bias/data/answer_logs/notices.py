"""Messages about many rows in few words, and what all files of one log must agree on."""

from collections.abc import Mapping, Sequence
from typing import Final

from pytest_bias.errors import DataError
from pytest_bias.untrusted import clean

MOST_PLACES: Final = 3


def places(found: Sequence[str]) -> str:
    """Return the first places of a list, and how many more there are."""
    left = len(found) - MOST_PLACES
    return "; ".join(found[:MOST_PLACES]) + (f" and {left} more" if left > 0 else "")


def one_of(where: str, what: str, found: Mapping[str, str]) -> str | None:
    """Return the only one of what was found, None if nothing was.

    Parameters
    ----------
    where, what : str
        What was read; what was found in it, such as ``model``.
    found : mapping of str to str
        What was found, with the place where it was found first.

    Raises
    ------
    DataError
        If there are several.
    """
    if len(found) > 1:
        (one, at), (other, there) = list(found.items())[:2]
        raise DataError(
            f"{where} has answers of {len(found)} {what}s: {clean(one, 80)} ({at}) and "
            f"{clean(other, 80)} ({there}). One report is about one {what}: "
            f"score the answers of each {what} separately."
        )
    return next(iter(found), None)
