"""Two texts of a pair: which one is likelier."""

from typing import Any, Final

from pytest_bias.interface import SequenceScore

TIE_NATS: Final = 1e-4
"""Differences up to this are a tie: the noise between devices (rule B6)."""


def preference(difference: float) -> float:
    """Percent for the first text: 100, 0, or 50 for a tie; `difference` is first minus second."""
    if abs(difference) <= TIE_NATS:
        return 50.0
    return 100.0 * (difference > 0)


def sides(
    names: tuple[str, str], first: SequenceScore, second: SequenceScore, prefix: str = ""
) -> dict[str, Any]:
    """Return the details of a record: the log-likelihood of each text in nats, and its tokens."""
    found: dict[str, Any] = {}
    for name, score in zip(names, (first, second), strict=True):
        found |= {f"{prefix}{name}": score.total, f"{prefix}tokens_{name}": score.n_tokens}
    return found
