"""What a run of many models tells while it goes on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pytest_bias.fleet.rows import Row
from pytest_bias.records.report import Part


@dataclass(frozen=True, slots=True)
class Looked:
    """A model was looked at: how many entries will be measured, none where it is finished."""

    asked: str
    n_entries: int


@dataclass(frozen=True, slots=True)
class Began:
    """A model is in a process, and measured in so many parts."""

    asked: str
    n_parts: int


@dataclass(frozen=True, slots=True)
class EntryDone:
    """A part of an entry was measured, or `kept` from a run before."""

    asked: str
    part: Part
    entry: str
    status: str
    kept: bool


@dataclass(frozen=True, slots=True)
class Ended:
    """A model has its row; `kept` says that its report was there before."""

    row: Row
    kept: bool


FleetEvent: TypeAlias = Looked | Began | EntryDone | Ended
Tell: TypeAlias = Callable[[FleetEvent], None]
