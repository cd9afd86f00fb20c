"""Cost of the forwards of a model: so far, and forecast."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from pytest_bias.models.spending import Spent


@dataclass(slots=True)
class Meter:
    """Cost of the forwards of a model so far, with callbacks for progress and notices.

    `on_progress` is called as ``on_progress(done, total)`` after every batch, `on_notice` with a
    notice for the user. `resumed` counts the sequences that an earlier run had completed.
    """

    seconds: float = 0.0
    tokens: int = 0
    forwards: int = 0
    resumed: int = 0
    asked: Spent = field(default_factory=Spent)
    """Of a model that is asked elsewhere: calls, and tokens both ways."""
    on_progress: Callable[[int, int], None] | None = None
    on_notice: Callable[[str], None] | None = None

    def progress(self, done: int, total: int) -> None:
        """Report the progress of the current call."""
        if self.on_progress:
            self.on_progress(done, total)

    def notice(self, text: str) -> None:
        """Report a notice for the user."""
        if self.on_notice:
            self.on_notice(text)


@dataclass(slots=True)
class Work:
    """Amount of work of forwards: tokens including padding, and positions for the head.

    Of a model that is asked elsewhere `asked` are the questions, each counted once.
    """

    tokens: int = 0
    positions: int = 0
    asked: Spent = field(default_factory=Spent)
    seen: set[str] = field(default_factory=set)


class Pace(NamedTuple):
    """Speed of forwards: seconds per token in the layers, and per position in the head.

    A model without a head has no seconds for positions.
    """

    token_s: float
    position_s: float

    def seconds(self, work: Work) -> float:
        """Return the seconds that an amount of work takes."""
        return work.tokens * self.token_s + work.positions * self.position_s
