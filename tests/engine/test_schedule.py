"""How the time of a budget is spent: on a clock that only the items themselves move."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_bias.engine import schedule
from pytest_bias.engine.sampling import Cluster
from pytest_bias.engine.schedule import FIRST_PART, LARGEST_PART, MARGIN, take_until
from pytest_bias.models.meter import Meter
from pytest_bias.records.report import Item, Record


@dataclass
class Work:
    """Takes items, each in so many seconds of a clock of its own."""

    an_item: float = 1.0
    now: float = 0.0
    done_before: int = 0
    meter: Meter = field(default_factory=Meter)
    parts: list[list[str]] = field(default_factory=list)

    def perf_counter(self) -> float:
        return self.now

    def __call__(self, items: Sequence[Item]) -> list[Record]:
        self.parts.append([i.id for i in items])
        if len(self.parts) <= self.done_before:
            self.meter.resumed += 1
        else:
            self.now += self.an_item * sum(i.status is None for i in items)
        return [i.record("scored", 1.0) for i in items]

    def until(
        self, seconds: float, clusters: Sequence[Cluster], an_item: float | None = None
    ) -> list[str]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(schedule, "time", self)
            found = take_until(seconds, clusters, self, self.meter, an_item)
        return [r.item for r in found]

    @property
    def sizes(self) -> list[int]:
        return [len(part) for part in self.parts]


def clusters(n: int, size: int = 1, settled: int = 0) -> list[Cluster]:
    """Return clusters of `size` items; every `settled`-th of them the data alone decide."""
    return [
        tuple(
            Item(f"{c:04d}/{i}", str(c), {}, status="excluded" if settled and c % settled else None)
            for i in range(size)
        )
        for c in range(n)
    ]


def test_parts_double_until_all_is_done():
    work = Work()
    assert len(work.until(10**6, clusters(2000))) == 2000
    assert work.sizes[:7] == [16, 32, 64, 128, 256, 512, 512]
    assert max(work.sizes) == LARGEST_PART


def test_no_part_is_begun_that_does_not_fit():
    work = Work()
    n = len(work.until(100.0, clusters(2000)))
    # 16 and 32 fit, 64 more do not: as many as do.
    assert work.sizes == [16, 32, int(52 / MARGIN)]
    assert n == work.now == 95


def test_every_entry_gets_its_first_part():
    work = Work(an_item=60.0)
    assert len(work.until(5.0, clusters(2000), an_item=60.0)) == FIRST_PART
    assert len(Work().until(-10.0, clusters(2000))) == FIRST_PART


def test_a_few_items_are_not_worth_a_part():
    work = Work()
    work.until(16 + FIRST_PART - 1, clusters(2000))
    assert work.sizes == [16]


def test_what_the_first_part_shows_counts_more_than_what_was_expected():
    slow = Work(an_item=4.0)
    assert len(slow.until(100.0, clusters(2000), an_item=0.01)) == 16
    fast = Work(an_item=0.1)
    assert len(fast.until(1000.0, clusters(2000), an_item=1000.0)) == 2000


def test_answers_of_a_run_before_say_nothing_about_speed():
    work = Work(done_before=3)
    found = work.until(200.0, clusters(2000), an_item=1.0)
    # The parts of the run before, the next one, then as many as fit.
    assert work.sizes == [16, 32, 64, 128, int(72 / MARGIN)]
    assert len(found) == 305


def test_whole_clusters_even_if_one_is_large():
    work = Work()
    work.until(140.0, clusters(9, size=48))
    assert work.sizes == [48, 48]
    assert all(len({name.split("/")[0] for name in part}) == 1 for part in work.parts)


def test_items_that_the_data_decide_cost_nothing_and_come_along():
    every = clusters(40, settled=4)
    work = Work()
    assert len(work.until(10.0, every)) == 40
    assert work.sizes == [40]


@given(st.floats(0, 500), st.floats(0, 500), st.integers(1, 7), st.integers(0, 300))
def test_more_time_is_a_superset_and_time_is_kept(first, second, size, n):
    every = clusters(n, size)
    found = []
    for seconds in sorted((first, second)):
        work = Work()
        found.append(work.until(seconds, every))
        assert work.now <= max(seconds, FIRST_PART + size)
    less, more = found
    assert more[: len(less)] == less or set(less) <= set(more)
    assert set(less) == {i.id for cluster in every[: len(less) // size] for i in cluster}
