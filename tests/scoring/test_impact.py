"""Impact ratios: by hand, with intervals for the group that is truly the highest."""

import math

import numpy as np
import pytest

from draws import sampling
from pytest_bias.records.report import Item, Record
from pytest_bias.scoring import AboveMedian, Factor, ImpactRatio, along, own_value
from pytest_bias.scoring.impact import NONE_SELECTED, above_median
from pytest_bias.scoring.statistics import wilson


def records(values: dict[str, list[float]]) -> list[Record]:
    """Return records of groups, number n of each group in one prompt."""
    return [
        Item(f"{g}/{n:03d}", f"prompt {n}", {}, {"group": g}).scored(v)
        for g, of_group in values.items()
        for n, v in enumerate(of_group)
    ]


def ratio(made: list[Record], group: str = "") -> tuple[float, tuple[float, float]]:
    found = ImpactRatio(own_value, "group", group)(made, sampling())
    assert found.value is not None
    assert found.interval is not None
    return found.value, found.interval


def drawn(n: int, seed: int = 0, **rates: float) -> list[Record]:
    """Return selections at these rates; a prompt is as hard for every group."""
    hard = np.random.default_rng(seed).random(n)
    return records({g: [100.0 * (h < rate) for h in hard] for g, rate in rates.items()})


def test_rates_are_over_the_highest_of_all() -> None:
    made = records(
        {"a": [100, 100, 0, 0] * 5, "b": [100, 100, 100, 100] * 5, "c": [0, 100, 0, 0] * 5}
    )
    assert ratio(made, "a")[0] == 0.5
    assert ratio(made, "b")[0] == 1
    assert ratio(made, "c")[0] == ratio(made)[0] == 0.25
    found = ImpactRatio(own_value, "group")(made, sampling())
    assert found.note == "lowest in c, highest in b"


def test_interval_of_two_groups_is_that_of_the_log_ratio_over_prompts() -> None:
    # Of 40 prompts 10 select both, 10 the second only, 5 the first only, 15 neither.
    both, second, first, neither = 10, 10, 5, 15
    a = [100.0] * both + [0.0] * second + [100.0] * first + [0.0] * neither
    b = [100.0] * both + [100.0] * second + [0.0] * first + [0.0] * neither
    value, (low, high) = ratio(records({"a": a, "b": b}), "a")
    assert value == pytest.approx(15 / 20)
    # Delta method: var(log) = (b + c) / (n1 n2), Nam and Blackwelder (2002); the jackknife is near.
    spread = math.sqrt((second + first) / (15 * 20))
    assert math.log(value) - math.log(low) == pytest.approx(2.02 * spread, rel=0.1)
    # The upper end is at most 1: the highest is at least as high as any.
    assert high == 1


def test_more_groups_move_the_lower_end_only_by_the_data() -> None:
    two = drawn(60, a=0.4, b=0.6)
    three = [*two, *drawn(60, c=0.3)]
    assert ratio(three, "a")[1][0] == pytest.approx(ratio(two, "a")[1][0])
    # With a third that may be the highest, the upper end has the error of two comparisons.
    assert ratio([*two, *drawn(60, c=0.59)], "a")[1][1] >= ratio(two, "a")[1][1]


def test_no_difference_gives_one_and_an_interval_as_wide_as_few_prompts_allow() -> None:
    made = drawn(60, a=0.5, b=0.5)
    value, (low, high) = ratio(made)
    assert (value, high) == (1, 1)
    assert 0.8 < low < 0.95


def test_none_selected_in_one_group_has_the_interval_of_few_events() -> None:
    made = records({"a": [0.0] * 30, "b": [100.0, 0.0] * 15})
    value, (low, high) = ratio(made, "a")
    assert (value, low) == (0, 0)
    # MOVER-R for p = 0: u1 / (l2 (2 q - l2)) times q + sqrt(q^2 + ...), by its formula.
    (_, u1), (l2, _) = wilson(0, 30), wilson(15, 30)
    assert high == pytest.approx(math.sqrt(u1 * u1 * l2 * (1 - l2)) / (l2 * (1 - l2)), rel=1e-9)
    none = ImpactRatio(own_value, "group")(records({"a": [0] * 20, "b": [0] * 20}), sampling())
    assert (none.value, none.interval_reason) == (None, NONE_SELECTED)


def test_few_prompts_have_no_interval() -> None:
    found = ImpactRatio(own_value, "group")(drawn(5, a=0.4, b=0.9), sampling())
    assert found.interval is None
    assert found.interval_reason == "5 clusters; it takes 8"


def test_names_and_groups_in_another_order_change_nothing() -> None:
    made = drawn(40, b=0.4, c=0.7, a=0.55)
    assert ratio(made, "a") == ratio(made[::-1], "a")


def test_names_of_a_group_widen_the_interval() -> None:
    rng = np.random.default_rng(3)
    apart = rng.normal(0, 0.25, (2, 8))
    made = [
        Item(f"{c}/{g}/{w}", f"{c}", {}, {"g": f"{g}"}).scored(
            100.0 * (rng.random() < 0.5 + apart[g, w]), {"word": f"{g}/{w}"}
        )
        for c in range(40)
        for g in range(2)
        for w in range(8)
    ]
    fixed = ImpactRatio(own_value, "g")(made, sampling()).interval
    names = (Factor("names", along("word")),)
    crossed = ImpactRatio(own_value, "g", factors=names)(made, sampling()).interval
    assert fixed
    assert crossed
    assert crossed[0] < fixed[0] - 0.05


def test_scores_are_compared_by_the_share_above_the_median_of_all() -> None:
    made = records({"a": [1, 2, 3, 4, 5] * 4, "b": [4, 5, 6, 7, 8] * 4})
    # The median of both is 4.5: of a one in five is above, of b four in five.
    assert ratio_of_scores(made, "a") == pytest.approx(0.25)
    above = AboveMedian(own_value, over="group")
    assert above.against("a")(made, sampling()).value == pytest.approx(20)
    assert above.against("b")(made, sampling()).value == pytest.approx(80)
    assert above_median(np.array([1.0, np.nan, 2.0, 2.0]))[[0, 2]].tolist() == [0, 0]


def ratio_of_scores(made: list[Record], group: str) -> float | None:
    return ImpactRatio(own_value, "group", group, above_median=True)(made, sampling()).value


@pytest.mark.parametrize("rates", [(0.5, 0.5, 0.5, 0.5), (0.35, 0.6, 0.6, 0.6)])
def test_intervals_hold_the_ratio_to_the_truly_highest(rates: tuple[float, ...]) -> None:
    # benchmarks/coverage.py sizes has the whole table.
    rng, held = np.random.default_rng(11), 0
    for _ in range(100):
        chances = rng.random((40, len(rates)))
        chances = np.where(rng.random((40, 1)) < 0.5, chances[:, :1], chances)
        made = records(
            {f"g{k}": (100.0 * (chances[:, k] < r)).tolist() for k, r in enumerate(rates)}
        )
        low, high = ratio(made, "g0")[1]
        held += low <= rates[0] / max(rates) <= high
    assert held >= 93
