"""What readers share: messages about many rows, the texts of an item, the one model of a log."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from pytest_bias.errors import DataError
from pytest_bias.untrusted import clean

MOST_PLACES: Final = 3


FINISHED: Final = {"stop": "stop", "max_tokens": "length", "model_length": "length"}
"""Why a text ended, as Inspect says it: what `LoggedAnswer.finished` says."""

TEXT_FIELDS: Final = (
    *("context", "question", "sentence", "text", "prompt", "input"),
    *("sent_more", "sent_less", "filled_template"),
)
"""Names under which benchmarks and tools keep the texts that make an item what it is."""


def texts_of(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the texts of an item, from fields of the data set that a log repeats."""
    return tuple(t for name in TEXT_FIELDS if isinstance(t := fields.get(name), str) and t)


@contextmanager
def shaped(at: str, tool: str) -> Iterator[None]:
    """Say where a log differs from what its tool writes, instead of what Python found.

    Raises
    ------
    DataError
        If a field is missing or of another kind.
    """
    try:
        yield
    except KeyError as error:
        raise DataError(
            f"{at} has no {clean(str(error.args[0]), 40)}, which {tool} writes."
        ) from None
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise DataError(f"{at} is not as {tool} writes it ({clean(str(error), 100)}).") from None


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
