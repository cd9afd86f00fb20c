"""A forecast of how long suites will take, from a few of their items and the model's pace.

The forward passes that a suite needs are known without running the model: its measure is taken on
a few clusters while forward passes are counted instead of made. The time that this takes is that of
everything around the forward passes, and is included; the time for scoring is not.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from pytest_bias.engine.events import Forecast
from pytest_bias.engine.sampling import Cluster, n_open
from pytest_bias.models.interface import Model
from pytest_bias.models.meter import Pace
from pytest_bias.records.report import Item
from pytest_bias.suites.measures import Measure

FIRST_LOOK: Final = 64
"""Items of a suite that the forecast examines first, with their clusters."""

FURTHER: Final = 4
"""Factor by which the number of items grows: where items share forward passes, more items take less
time each. A further step is made while it costs a small share of the suite's time and changes the
estimate."""

WORTH: Final = 0.03
STEADY: Final = 0.1


class Expected(NamedTuple):
    """What an entry is expected to take.

    `an_item` is in seconds, None where it could not be estimated; `n_items` are to be measured,
    `n_quick` of them under ``--profile quick`` and `n_first` under the smallest budget.
    """

    entry: str
    an_item: float | None
    n_items: int
    n_quick: int
    n_first: int

    @property
    def seconds(self) -> float | None:
        """Seconds of all items together."""
        return None if self.an_item is None else self.an_item * self.n_items


@dataclass
class Forecaster:
    """Estimates the time per item on one model."""

    model: Model

    @cached_property
    def _pace(self) -> Pace:
        return self.model.pace()

    def an_item(self, measure: Measure, clusters: Sequence[Cluster]) -> float | None:
        """Return the seconds per item of these clusters, or None if they are not known."""
        n_all = sum(map(n_open, clusters))
        n_items, before = FIRST_LOOK, 0.0
        try:
            while items := _first(clusters, n_items):
                start = time.perf_counter()
                with self.model.counting() as work, np.errstate(all="ignore"):
                    measure.measure_items(self.model, items)
                around = time.perf_counter() - start
                found = (around + self._pace.seconds(work)) / len(items)
                is_settled = abs(found - before) < STEADY * found or len(items) == n_all
                if is_settled or FURTHER * around > WORTH * found * n_all:
                    return found
                n_items, before = FURTHER * n_items, found
        except Exception:
            # An error here occurs again when the entry is measured, and is reported then.
            return None
        return 0.0


def forecast(entries: Sequence[Expected], device: str, left: float | None = None) -> Forecast:
    """Summarize the expected time of all entries, to show before the first suite.

    Parameters
    ----------
    entries : sequence of Expected
        All entries that will be measured.
    device : str
        Device that the model is on.
    left : float, optional
        Seconds that are left of a budget.
    """
    known = [e for e in entries if e.an_item is not None]
    return Forecast(
        seconds=sum(e.seconds or 0.0 for e in known),
        quick=sum((e.an_item or 0.0) * min(e.n_quick, e.n_items) for e in known),
        device=device,
        reached=None if left is None else reached(known, left),
        unknown=tuple(e.entry for e in entries if e.an_item is None),
    )


def reached(entries: Iterable[Expected], left: float) -> float:
    """Return the share of the items that can be measured in so many seconds.

    As under a budget, the shortest comes first, and each has an equal share of what is left.
    """
    waiting = sorted(entries, key=lambda e: e.seconds or 0.0)
    n_items = sum(e.n_items for e in waiting)
    done = 0.0
    for n, entry in enumerate(waiting):
        share = max(0.0, left) / (len(waiting) - n)
        seconds = entry.seconds or 0.0
        used = min(share, seconds)
        done += max(entry.n_first, entry.n_items * (used / seconds if seconds else 1.0))
        left -= used
    return done / n_items if n_items else 1.0


def _first(clusters: Sequence[Cluster], n_items: int) -> list[Item]:
    found: list[Item] = []
    for cluster in clusters:
        if len(found) >= n_items:
            break
        found += [item for item in cluster if item.status is None]
    return found
