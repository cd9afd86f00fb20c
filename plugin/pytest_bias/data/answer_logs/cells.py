"""Cells of an answer, checked: texts, numbers, log-likelihoods, probabilities."""

import math
from collections.abc import Mapping
from typing import Any, Final

from pytest_bias.data.answer_logs.files import json_value, kind_of
from pytest_bias.errors import DataError
from pytest_bias.untrusted import clean

LOG_LIKELIHOOD: Final = "log-likelihood"
PROBABILITY: Final = "probability"
KINDS: Final = (LOG_LIKELIHOOD, PROBABILITY)

_ROUNDING: Final = 1e-4
"""How far a log-likelihood may be above 0, or a probability outside 0 to 1, by half precision."""


def text(value: Any, what: str, at: str) -> str | None:
    """Return a cell as text; None stays None, and a number or truth value is spelled as in JSON.

    Raises
    ------
    DataError
        If it is neither.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float) and math.isfinite(value):
        return repr(value)
    shown = value if isinstance(value, float) else kind_of(value)
    raise DataError(f"{at}: {what} is {shown}, not a text.")


def whole(value: Any, what: str, at: str) -> int:
    """Return a cell as a whole number, from 0."""
    try:
        number = int(value) if isinstance(value, str | int) else -1
    except ValueError:
        number = -1
    if number < 0 or isinstance(value, bool):
        raise DataError(f"{at}: {what} is {clean(str(value), 40)!r}, not a whole number from 0.")
    return number


def listed(value: Any, what: str, at: str) -> tuple[str, ...]:
    """Return a list of texts, or a JSON list of texts."""
    if isinstance(value, str):
        value = json_value(value, f"{at}: {what}")
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise DataError(f"{at}: {what} is no JSON list of texts.")
    return tuple(value)


def number(value: Any, kind: str, what: str, at: str) -> float:
    """Return a log-likelihood or a probability.

    Raises
    ------
    DataError
        If it is no number, not finite, or none of its kind.
    """
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError
        found = float(value)
    except (ValueError, OverflowError):
        shown = clean(str(value), 40) if isinstance(value, str | int) else kind_of(value)
        raise DataError(f"{at}: {what} is {shown!r}, not a number.") from None
    if not math.isfinite(found):
        raise DataError(f"{at}: {what} is {found}, not a finite number.")
    if kind == LOG_LIKELIHOOD and found > _ROUNDING:
        raise DataError(
            f"{at}: {what} is {found:g}. A log-likelihood is at most 0: this may be its negative, "
            "a perplexity or a probability."
        )
    if kind == PROBABILITY and not -_ROUNDING <= found <= 1 + _ROUNDING:
        raise DataError(f"{at}: {what} is {found:g}. A probability is between 0 and 1.")
    return found


def numbers(value: Any, kind: str, what: str, at: str) -> dict[str, float]:
    """Return an object of log-likelihoods or of probabilities, or a JSON text of one."""
    return {
        key: number(v, kind, f"{what}.{clean(key, 40)}", at)
        for key, v in table(value, what, at).items()
        if v is not None
    }


def table(value: Any, what: str, at: str) -> Mapping[str, Any]:
    """Return an object of numbers, or a JSON text of one, whose numbers are not checked yet."""
    if isinstance(value, str):
        value = json_value(value, f"{at}: {what}")
    if not isinstance(value, Mapping):
        raise DataError(f"{at}: {what} is {kind_of(value)}, not an object of numbers.")
    return value
