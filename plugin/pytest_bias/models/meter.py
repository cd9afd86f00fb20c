"""What the forwards of a model cost: what they took so far, and what they would take."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(slots=True)
class Meter:
    """What the forwards of a model took so far, and who is told about it.

    `on_progress` is called as ``on_progress(done, total)`` after every batch, `on_notice` with a
    sentence that a user should read. `resumed` counts the sequences that a run before had done.
    """

    seconds: float = 0.0
    tokens: int = 0
    forwards: int = 0
    resumed: int = 0
    on_progress: Callable[[int, int], None] | None = None
    on_notice: Callable[[str], None] | None = None

    def progress(self, done: int, total: int) -> None:
        """Tell whoever listens how much of the present call is done."""
        if self.on_progress:
            self.on_progress(done, total)

    def notice(self, text: str) -> None:
        """Tell whoever listens what a user should know."""
        if self.on_notice:
            self.on_notice(text)


@dataclass(slots=True)
class Work:
    """What forwards would have to do: tokens with their padding, and positions for the head."""

    tokens: int = 0
    positions: int = 0


class Pace(NamedTuple):
    """How long forwards take: seconds a token through the layers, and a position through the head.

    A model without a head has no seconds for positions.
    """

    token_s: float
    position_s: float

    def seconds(self, work: Work) -> float:
        """Return how long this takes."""
        return work.tokens * self.token_s + work.positions * self.position_s
