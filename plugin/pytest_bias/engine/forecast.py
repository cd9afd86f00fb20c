"""A forecast of how long suites will take, from a few of their items and the model's pace.

The forward passes that a suite needs are known without running the model: its measure is taken on
a few clusters while forward passes are counted instead of made. The time that this takes is that of
everything around the forward passes, and is included; the time for scoring is not.
"""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from pytest_bias.engine.allowance import Allowance
from pytest_bias.engine.events import Forecast
from pytest_bias.engine.sampling import Cluster, n_open
from pytest_bias.models.interface import Model
from pytest_bias.models.meter import Pace
from pytest_bias.models.spending import Price, Spent
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
    `n_quick` of them under ``--profile quick`` and `n_first` under the smallest budget of time.
    `asked` are the questions of all of them, to a model that is asked elsewhere.
    """

    entry: str
    an_item: float | None
    n_items: int
    n_quick: int
    n_first: int
    asked: Spent | None = None

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

    def asked(self, measure: Measure, items: Sequence[Item]) -> Spent:
        """Return the questions that items take, without those whose answers are kept."""
        with self.model.counting() as work, np.errstate(all="ignore"):
            measure.measure_items(self.model, items)
        return work.asked

    def all_asked(self, measure: Measure, clusters: Sequence[Cluster]) -> Spent | None:
        """Return the questions of all items, or None of a model that is measured here."""
        if not self.model.identity.asked:
            return None
        try:
            return self.asked(measure, _first(clusters, sum(map(len, clusters))))
        except Exception:
            # An error here occurs again when the entry is measured, and is reported then.
            return None


def forecast(
    entries: Sequence[Expected],
    device: str,
    left: float | None = None,
    allowance: Allowance | None = None,
    price: Price | None = None,
    *,
    is_limited: bool = False,
    is_calibrated: bool = False,
) -> Forecast:
    """Summarize the expected time of all entries, to show before the first suite.

    Parameters
    ----------
    entries : sequence of Expected
        All entries that will be measured.
    device : str
        Device that the model is on.
    left : float, optional
        Seconds that are left of a budget.
    allowance : Allowance, optional
        Calls and money that are left of it.
    price : Price, optional
        What calls cost.
    is_limited, is_calibrated : bool
        Whether the length of texts is limited, and whether tokens were counted so far.
    """
    known = [e for e in entries if e.an_item is not None]
    counted = [(e, e.asked) for e in entries if e.asked is not None]
    asked = sum((spent for _, spent in counted), Spent()) if counted else None
    shares = [] if left is None else [reached(known, left)]
    if allowance:
        for n, amount in enumerate((allowance.calls, allowance.money)):
            amounts = [(e.n_items, 0, allowance.of(spent)[n]) for e, spent in counted]
            shares += [_reached(amounts, amount)] if math.isfinite(amount) else []
    return Forecast(
        seconds=sum(e.seconds or 0.0 for e in known),
        quick=sum((e.an_item or 0.0) * min(e.n_quick, e.n_items) for e in known),
        device=device,
        reached=min(shares, default=None),
        unknown=tuple(e.entry for e in entries if e.an_item is None and e.asked is None),
        asked=asked,
        money=price.of(asked) if price and asked else None,
        currency=price.currency if price else "",
        quick_calls=round(
            sum(s.calls * min(e.n_quick, e.n_items) / max(1, e.n_items) for e, s in counted)
        ),
        is_limited=is_limited,
        is_calibrated=is_calibrated,
    )


def reached(entries: Iterable[Expected], left: float) -> float:
    """Return the share of the items that can be measured in so many seconds.

    As under a budget, the shortest comes first, and each has an equal share of what is left.
    """
    return _reached([(e.n_items, e.n_first, e.seconds or 0.0) for e in entries], left)


def _reached(entries: Iterable[tuple[int, int, float]], left: float) -> float:
    """Return the share for entries with items, those that are measured anyway, and an amount."""
    waiting = sorted(entries, key=lambda e: e[2])
    total = sum(n_items for n_items, _, _ in waiting)
    done = 0.0
    for n, (n_items, n_first, amount) in enumerate(waiting):
        share = max(0.0, left) / (len(waiting) - n)
        used = min(share, amount)
        done += max(n_first, n_items * (used / amount if amount else 1.0))
        left -= used
    return done / total if total else 1.0


def _first(clusters: Sequence[Cluster], n_items: int) -> list[Item]:
    found: list[Item] = []
    for cluster in clusters:
        if len(found) >= n_items:
            break
        found += [item for item in cluster if item.status is None]
    return found
