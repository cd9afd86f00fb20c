"""What a run tells while it goes on. Front ends print it; the engine prints nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pytest_bias.records.report import SuiteResult


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a user should know."""

    text: str


@dataclass(frozen=True, slots=True)
class Fetching:
    """A data file is on its way: how many bytes are here, of how many if that is known."""

    path: str
    done: int
    total: int | None


@dataclass(frozen=True, slots=True)
class Loading:
    """The model's weights are about to be read."""

    model: str
    parameters: int | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """About how long the suites will take.

    Parameters
    ----------
    seconds, quick : float
        Seconds of all that was asked for, and of its quick sample.
    device : str
        Where the model is.
    reached : float or None
        Share of the items, from 0 to 1, that the budget is enough for; null without one.
    unknown : tuple of str
        Entries that nothing could be told about.
    """

    seconds: float
    quick: float
    device: str
    reached: float | None = None
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SuiteStarted:
    """A suite is about to be measured."""

    entry: str
    n_items: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How many sequences of the present call are done."""

    entry: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class SuiteFinished:
    """A suite has its result."""

    result: SuiteResult


@dataclass(frozen=True, slots=True)
class PartFinished:
    """A process has measured its part of a suite."""

    entry: str
    status: str


@dataclass(frozen=True, slots=True)
class OnDevice:
    """What one of several processes tells."""

    device: str
    event: "Event"


Event: TypeAlias = (
    Notice
    | Fetching
    | Loading
    | Forecast
    | SuiteStarted
    | Progress
    | SuiteFinished
    | PartFinished
    | OnDevice
)
Listener: TypeAlias = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Tell nobody."""
