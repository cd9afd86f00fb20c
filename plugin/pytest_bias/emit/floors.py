"""Explanations of floors."""

from collections.abc import Iterable, Mapping
from typing import Final

from pytest_bias.records.score import FloorOf, Score

FLOORS: Final[Mapping[FloorOf, str]] = {
    "guessing": "what a model gets for which all its answers are equally likely",
    "shuffled labels": "what noise alone gives, the mean when labels are shuffled",
    "wording alone": "what the scatter between wordings of one sentence gives; it is no chance",
    "other groups": "what the same words get when the model is asked about other groups",
}
"""Explanation of each floor, by its name."""


def legend(scores: Iterable[Score]) -> list[tuple[str, str]]:
    """Return the floors of scores, each once, with its explanation."""
    there = {score.floor_of for score in scores if score.floor is not None}
    return [(name, meaning) for name, meaning in FLOORS.items() if name in there]
