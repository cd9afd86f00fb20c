"""What is told of a run before it: counted forwards, and the shares of a budget."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ours
from pytest_bias.engine.forecast import Expected, Forecaster, forecast, reached
from pytest_bias.engine.sampling import in_order, n_open
from pytest_bias.models.meter import Pace, Work
from pytest_bias.suites import find
from pytest_bias.suites.measures import measure_items

Tiny = Callable[[str], Path]


def expected(an_item: float | None, n_items: int, n_quick: int = 10, n_first: int = 1) -> Expected:
    return Expected(f"s{n_items}", an_item, n_items, n_quick, n_first)


@pytest.mark.by_day(suite=("seat",))
@pytest.mark.parametrize(
    ("name", "suite"),
    [
        ("bert", "template_association"),
        ("bert", "gendered_pair_entropy"),
        ("bert", "seat"),
        ("encoder", "seat"),
        ("gpt2", "gendered_pair_entropy"),
    ],
)
def test_counted_tokens_are_those_that_are_forwarded(tiny: Tiny, name: str, suite: str) -> None:
    model = ours.model(tiny(name))
    measure = find(suite).measure_for(model.capabilities)
    items = ours.items(suite, "en")
    assert measure
    before = vars_of(model.meter)
    with model.counting() as work:
        measure.measure_items(model, items)
    assert vars_of(model.meter) == before
    measure_items(measure, model, items)
    meter = model.meter
    tokens, forwards = meter.tokens - before["tokens"], meter.forwards - before["forwards"]
    # Rows are padded to a multiple of four.
    assert tokens <= work.tokens <= tokens + 3 * forwards
    assert (work.positions > 0) == (suite != "seat")


def vars_of(meter: Any) -> dict[str, Any]:
    return {name: getattr(meter, name) for name in ("seconds", "tokens", "forwards", "resumed")}


def test_generation_is_counted_by_what_it_may_write(tiny: Tiny) -> None:
    model = ours.model(tiny("gpt2"))
    with model.counting() as work:
        written = model.generate(["he is", "she"], max_new_tokens=10)
    assert [w.text for w in written] == ["", ""]
    short = work.tokens
    with model.counting() as work:
        model.generate(["he is", "she"], max_new_tokens=30)
    assert work.tokens == short + 40
    assert len(model.generate(["he is"], max_new_tokens=2)) == 1


def test_pace_leaves_the_meter_alone_and_is_that_of_the_model(tiny: Tiny) -> None:
    for name in ("bert", "gpt2", "encoder"):
        model = ours.model(tiny(name))
        before = vars_of(model.meter)
        pace = model.pace()
        assert vars_of(model.meter) == before
        assert 0 < pace.token_s < 1e-3
        assert 0 <= pace.position_s < 1e-3
        assert name != "encoder" or pace.position_s == 0
    assert Pace(2.0, 0.5).seconds(Work(10, 4)) == 22


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "suite"), [("bert", "gendered_pair_entropy"), ("encoder", "seat")]
)
def test_a_forecast_is_of_the_right_size(tiny: Tiny, name: str, suite: str) -> None:
    model = ours.model(tiny(name))
    measure = find(suite).measure_for(model.capabilities)
    clusters = in_order(ours.items(suite, "en"), 0).clusters
    items = [i for cluster in clusters for i in cluster]
    assert measure
    measure.measure_items(model, items[:300])
    an_item = Forecaster(model).an_item(measure, clusters)
    start = time.perf_counter()
    measure.measure_items(model, items)
    fact = time.perf_counter() - start
    # Other processes may take the machine for either of them.
    assert fact / 6 < (an_item or 0) * n_open(items) < fact * 6


def test_an_entry_that_cannot_be_counted_is_named(tiny: Tiny) -> None:
    def fails(model: object, items: object) -> list[Any]:
        raise ZeroDivisionError

    model: Any = ours.model(tiny("bert"))
    measure = find("seat").measures[0]
    broken = type(measure)("broken", measure.needs, fails, measure.metrics)
    clusters = in_order(ours.items("seat", "en"), 0).clusters
    assert Forecaster(model).an_item(broken, clusters) is None
    assert model.body.work is None
    told = forecast([expected(None, 5), expected(2.0, 10)], "cpu")
    assert (told.seconds, told.unknown) == (20.0, ("s5",))


def test_the_whole_and_its_quick_sample():
    told = forecast([expected(2.0, 100), expected(1.0, 6)], "cpu")
    assert (told.seconds, told.quick, told.reached) == (206.0, 26.0, None)


@pytest.mark.parametrize(
    ("left", "share"),
    [
        (500.0, 1.0),
        (330.0, 1.0),
        # 30 are whole, 150 of the 300 seconds are left for the long one.
        (180.0, (30 + 100) / 230),
        # Each has half of it.
        (40.0, (20 + 20 / 1.5) / 230),
        # The first part in any case.
        (0.0, 2 / 230),
        (-5.0, 2 / 230),
    ],
)
def test_short_entries_are_whole_and_leave_their_time_to_long_ones(left, share):
    entries = [expected(1.5, 200), expected(1.0, 30)]
    assert reached(entries, left) == pytest.approx(share)
    assert reached(entries[::-1], left) == pytest.approx(share)


def test_nothing_to_measure_is_reached_at_once():
    assert reached([], 0.0) == 1.0
    assert reached([expected(0.0, 3)], 0.0) == 1.0
