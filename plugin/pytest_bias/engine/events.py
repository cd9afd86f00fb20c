"""Events that a run emits. Front ends print them; the engine prints nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pytest_bias.models.spending import Spent
from pytest_bias.records.report import SuiteResult


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a user should know."""

    text: str


@dataclass(frozen=True, slots=True)
class Fetching:
    """A data file is being downloaded: the bytes so far, and the total where it is known."""

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
    """An estimate of how long the suites will take.

    Parameters
    ----------
    seconds, quick : float
        Seconds for everything that was requested, and for its quick sample.
    device : str
        Device that the model is on.
    reached : float or None
        Share of the items, from 0 to 1, that fits into the budget; None without a budget.
    unknown : tuple of str
        Entries without an estimate.
    asked : Spent or None
        Of a model that is asked elsewhere: calls that will be made, about how many tokens.
    money : float or None
        Their price, where the settings state one, in a `currency`.
    quick_calls : int
        Calls of the quick sample.
    is_limited : bool
        Whether the length of texts is limited, so that their tokens are an upper bound.
    is_calibrated : bool
        Whether tokens are estimated from those that were counted so far, not from bytes alone.
    """

    seconds: float
    quick: float
    device: str
    reached: float | None = None
    unknown: tuple[str, ...] = ()
    asked: Spent | None = None
    money: float | None = None
    currency: str = ""
    quick_calls: int = 0
    is_limited: bool = False
    is_calibrated: bool = False


@dataclass(frozen=True, slots=True)
class SuiteStarted:
    """A suite is about to be measured."""

    entry: str
    n_items: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How many sequences of the current call are done."""

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
    """An event of one of several processes, with its device."""

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
    """Ignore an event."""
