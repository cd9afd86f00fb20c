"""The schedule of a run: which items of each entry are measured, in which order, until when.

Under ``--budget`` each entry has an equal share of the time (calls, money) that is left, the
shortest entry first, so that unused time goes to the longer ones. Clusters are taken in their fixed
order, in parts whose sizes do not depend on the clock: after a run is killed, the next one finds
the same parts.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeAlias

from pytest_bias.engine.allowance import Allowance
from pytest_bias.engine.events import Forecast
from pytest_bias.engine.forecast import Expected, Forecaster, forecast
from pytest_bias.engine.planning import Planned, shard
from pytest_bias.engine.sampling import Cluster, Order, extent, in_order, n_open, quick_items
from pytest_bias.models.interface import Model
from pytest_bias.models.meter import Meter
from pytest_bias.models.spending import Price, Spent
from pytest_bias.records.report import Item, Part, Record
from pytest_bias.settings.settings import Settings
from pytest_bias.suites.suite import Entry

FIRST_PART: Final = 16
"""Items in the first part of an entry, which is measured whatever the budget."""

LARGEST_PART: Final = 512
"""Largest part, up to which sizes double: full batches, and still small enough to stop in time."""

MARGIN: Final = 1.1
"""A part is started if this many times its expected seconds are left."""

RESERVE_S: Final = 2.0
"""Seconds of a budget that are reserved for the last scores and the files."""

Fits: TypeAlias = Callable[[Sequence[Cluster]], int]
Take: TypeAlias = Callable[[Sequence[Item]], Sequence[Record]]


@dataclass
class Schedule:
    """Order and time of the items of one run.

    Parameters
    ----------
    settings : Settings
        Profile, seed, shard and budget.
    started : float
        When the command began, by `time.perf_counter`.
    n_entries : int
        How many entries share a budget.
    allowance : Allowance, optional
        Calls and money of the budget, of this process.
    price : Price, optional
        What calls cost.
    """

    settings: Settings
    started: float
    n_entries: int
    allowance: Allowance | None = None
    price: Price | None = None
    sampled: dict[str, int | None] = field(default_factory=dict)
    """Entry to the number of items that its profile takes over all shards; None for all."""
    _orders: dict[str, Order] = field(default_factory=dict)
    _chosen: dict[tuple[str, Part | None], tuple[Cluster, ...]] = field(default_factory=dict)
    _expected: dict[str, Expected] = field(default_factory=dict)
    _n_begun: int = 0

    def clusters(
        self, entry: Entry, items: Sequence[Item], part: Part | None = None
    ) -> tuple[Cluster, ...]:
        """Return the clusters of an entry or of a part of it, in their fixed order."""
        key = entry.id, part
        if key not in self._chosen:
            is_quick = self.settings.profile == "quick"
            chosen = self._quick(entry, items) if is_quick else self._order(entry, items).clusters
            taken = {item.id for cluster in chosen for item in cluster}
            self.sampled[entry.id] = extent(items, taken)[0]
            if part:
                mine = {item.cluster for item in shard(joined(chosen), part)}
                chosen = tuple(c for c in chosen if c[0].cluster in mine)
            self._chosen[key] = chosen
        return self._chosen[key]

    def _order(self, entry: Entry, items: Sequence[Item]) -> Order:
        if entry.id not in self._orders:
            self._orders[entry.id] = in_order(items, self.settings.seed)
        return self._orders[entry.id]

    def _quick(self, entry: Entry, items: Sequence[Item]) -> tuple[Cluster, ...]:
        seed, block = self.settings.seed, entry.configuration.block
        if block is None:
            return self._order(entry, items).quick()
        return in_order(quick_items(items, seed, block), seed).quick()

    def expect(
        self,
        planned: Planned,
        items: Sequence[Item],
        forecaster: Forecaster,
        part: Part | None = None,
    ) -> Expected:
        """Estimate the time that an entry, or a part of it, will take."""
        entry, measure = planned.entry, planned.measure
        assert measure is not None, "an entry without a measure is not measured"
        if entry.id not in self._expected:
            clusters = self.clusters(entry, items, part)
            quick = self._quick(entry, items)
            budget = self.settings.budget
            # A server is timed by requests, which may be paid for.
            is_timed = forecaster.model.identity.served is None or self.allowance is None
            is_timed = is_timed or bool(budget and budget.seconds)
            self._expected[entry.id] = Expected(
                entry.id,
                forecaster.an_item(measure, clusters) if is_timed else None,
                sum(map(n_open, clusters)),
                sum(map(n_open, quick)),
                sum(map(n_open, clusters[: _end(clusters, 0, FIRST_PART)])),
                forecaster.all_asked(measure, clusters),
            )
        return self._expected[entry.id]

    def forecast(self, device: str, model: Model) -> Forecast:
        """Return the forecast for all entries that were estimated."""
        return forecast(
            list(self._expected.values()),
            device,
            self._left,
            self.allowance and self.allowance.without(model.meter.asked),
            self.price,
            is_limited=model.identity.served is not None,
            is_calibrated=0 == model.meter.asked.estimated < model.meter.asked.calls,
        )

    def take(
        self,
        planned: Planned,
        items: Sequence[Item],
        forecaster: Forecaster,
        take: Take,
        part: Part | None = None,
    ) -> list[Record]:
        """Measure the items of an entry, as many as its share of the time allows."""
        clusters, measure = self.clusters(planned.entry, items, part), planned.measure
        if self.settings.budget is None or planned.is_structure:
            return list(take(joined(clusters)))
        n_left, meter = max(1, self.n_entries - self._n_begun), forecaster.model.meter
        self._n_begun += 1
        until, an_item, fits = math.inf, None, None
        if self._left is not None:
            an_item = self.expect(planned, items, forecaster).an_item
            until = time.perf_counter() + self._left / n_left
        if self.allowance and measure:
            share = self.allowance.without(meter.asked).share(n_left)
            fits = _fitting(share, meter, partial(forecaster.asked, measure))
        return take_until(until, clusters, take, meter, an_item, fits)

    @property
    def _left(self) -> float | None:
        """Seconds that are left of the budget, None without one."""
        budget = self.settings.budget
        if budget is None or budget.seconds is None:
            return None
        return self.started + budget.seconds - RESERVE_S - time.perf_counter()


def take_until(
    until: float,
    clusters: Sequence[Cluster],
    take: Take,
    meter: Meter,
    an_item: float | None = None,
    fits: Fits | None = None,
) -> list[Record]:
    """Measure clusters in their order as long as there is time, the first part in any case.

    Nothing is asked for which calls and money do not suffice, by what is expected of it, not even
    the first cluster.

    Parameters
    ----------
    until : float
        When to stop, by `time.perf_counter`.
    clusters : sequence of Cluster
        All clusters.
    take : callable
        Measures items.
    meter : Meter
        The model's meter. It shows which answers were kept from before: they are no sign of speed.
    an_item : float, optional
        Expected seconds per item; estimated again after every part.
    fits : callable, optional
        Returns for how many of some clusters there are calls and money.
    """
    found: list[Record] = []
    at, size = 0, FIRST_PART
    while at < len(clusters):
        end = _end(clusters, at, size)
        if at and an_item and until < math.inf:
            fitting = int((until - time.perf_counter()) / (MARGIN * an_item))
            if fitting < sum(map(n_open, clusters[at:end])):
                end = _end(clusters, at, fitting, over=False) if fitting >= FIRST_PART else at
        if fits:
            end = at + fits(clusters[at:end])
        if end == at:
            break
        part = joined(clusters[at:end])
        start, resumed = time.perf_counter(), meter.resumed
        found += take(part)
        if meter.resumed == resumed and n_open(part):
            an_item = (time.perf_counter() - start) / n_open(part)
        at, size = end, min(2 * size, LARGEST_PART)
    return found


def _fitting(share: Allowance, meter: Meter, asked: Callable[[Sequence[Item]], Spent]) -> Fits:
    """Return what tells for how many clusters an entry's share of calls and money suffices."""
    before = replace(meter.asked)

    def fits(clusters: Sequence[Cluster]) -> int:
        def needs(n: int) -> Spent:
            return asked([i for i in joined(clusters[:n]) if i.status is None])

        return share.without(meter.asked - before).fitting(len(clusters), needs)

    return fits


def joined(clusters: Sequence[Cluster]) -> list[Item]:
    """Return the items of clusters, in the order of their ids."""
    return sorted((item for cluster in clusters for item in cluster), key=lambda item: item.id)


def _end(clusters: Sequence[Cluster], at: int, size: int, *, over: bool = True) -> int:
    """Return the end of a part with `size` items to measure; clusters are not divided.

    Clusters that cost nothing are included.
    """
    n = 0
    for end in range(at, len(clusters)):
        more = n_open(clusters[end])
        if more and (n >= size or (not over and n + more > size)):
            return end
        n += more
    return len(clusters)
