"""Where the time of a run goes: phases that add up."""

import pytest

from pytest_bias.engine import timeline
from pytest_bias.engine.session import Session
from pytest_bias.engine.timeline import PHASES, Timeline


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(timeline, "time", made)
    return made


def test_an_outer_phase_does_not_count_while_an_inner_one_lasts(clock: Clock) -> None:
    found = Timeline(_since=clock.now)
    clock.now += 1
    with found.during("load"):
        clock.now += 2
        with found.during("hash"):
            clock.now += 4
        clock.now += 8
    clock.now += 16
    assert found.so_far() == {"hash": 4, "load": 10, "other": 17}
    assert [*found.so_far()] == [p for p in PHASES if p in found.so_far()]


def test_a_phase_that_fails_counts(clock: Clock) -> None:
    found = Timeline(_since=clock.now)

    def fail() -> None:
        clock.now += 3
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"), found.during("ask"):
        fail()
    clock.now += 1
    assert found.so_far() == {"ask": 3, "other": 1}


def test_forward_passes_are_taken_from_the_phase_that_they_are_in(clock: Clock) -> None:
    found = Timeline(_since=clock.now)
    with found.during("ask"):
        clock.now += 5
        found.move(4, "ask", "forward")
    assert found.so_far() == {"ask": 1, "forward": 4, "other": 0}


def test_small_amounts_of_money_of_a_suite_add_up() -> None:
    session = object.__new__(Session)
    session.costs = {}
    for _ in range(3):
        session._add_cost("bbq[en]", {"money": 0.000021, "calls": 2})
    assert session.costs == {"bbq[en]": {"money": pytest.approx(0.000063), "calls": 6}}
