"""Number formatting: the decimals of the unit, or more where a decision depends on them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

DIGITS: Final = 12
"""Decimals to which an end of an interval is compared with a limit; the rest is rounding error."""

_DECIMALS: Final[Mapping[str, int]] = {"%": 1, "points": 1, "nats": 2, "bits": 2, "d": 2, "": 2}


def decimals(unit: str) -> int:
    """Return how many decimals numbers of a unit have."""
    return _DECIMALS.get(unit, 2)


def rounded(value: float, decimals: int) -> str:
    """Format a number with this many decimals; a very large one with few significant digits."""
    digits = max(3, decimals + 1)
    text = f"{value:.{decimals}f}" if abs(value) < 1e7 else f"{value:.{digits}g}"
    return text.lstrip("-") if float(text) == 0 else text


def beside(numbers: Sequence[float], edges: Iterable[float], decimals: int = 2) -> list[str]:
    """Write numbers with as many decimals as show on which side of each edge they are.

    Parameters
    ----------
    numbers : sequence of float
        For example the ends of an interval.
    edges : iterable of float
        Decision thresholds: limits, or zero for a change.
    decimals : int
        Minimum number of decimals.
    """
    at = [float(edge(e)) for e in edges]
    exact = [float(round(n, DIGITS)) for n in numbers]
    for enough in range(decimals, DIGITS + 1):
        texts = [rounded(n, enough) for n in exact]
        both = list(zip(texts, exact, strict=True))
        if all(_side(float(text), e) == _side(n, e) for text, n in both for e in at):
            return texts
    return [repr(n) for n in exact]


def edge(limit: float) -> str:
    """Write a limit as it was set."""
    return f"{limit:.12g}"


def _side(number: float, edge: float) -> int:
    return (number > edge) - (number < edge)


def percent(level: float) -> str:
    """Return a confidence level in percent; one below 100 never reads as 100."""
    text = f"{100 * level:.4g}"
    return f"{text if float(text) < 100 else format(100 * level, '.12g')} %"
