"""Gaps of shortcuts by hand, the largest of several beside chance, and thresholds chosen apart."""

from dataclasses import replace

import numpy as np
import pytest

from draws import sampling
from pytest_bias.records.report import Item, Record
from pytest_bias.scoring.estimators import own_value
from pytest_bias.scoring.metric import Metric
from pytest_bias.scoring.scores import Context, score_records
from pytest_bias.scoring.shortcuts import (
    SOLVABLE,
    UNSOLVABLE,
    ChosenSplit,
    LargestGap,
    gap_by,
    shortcut_gap,
)

pytestmark = pytest.mark.all_draws


def record(n: int, value: float, cluster: str = "", **more: object) -> Record:
    by = {key: str(side) for key, side in more.items() if key != "detail"}
    item = Item(f"{n:04d}", cluster or f"cluster {n}", {}, by)
    return item.scored(value, more.get("detail"))  # type: ignore[arg-type]


def rights(values: list[float]) -> list[Record]:
    return [record(n, v) for n, v in enumerate(values)]


def test_the_gap_by_hand() -> None:
    # Solvable 100, 100, 0 and not 0, 100: 66.7 - 50.
    records = rights([100, 100, 0, 0, 100])
    solvable = {f"{n:04d}": n < 3 for n in range(5)}
    found = shortcut_gap(records, solvable)
    assert found.value == pytest.approx(100 * 2 / 3 - 50)
    assert (found.metric, found.ideal, found.n, found.n_clusters) == ("shortcut_gap", 0, 5, 5)
    told = "only 10 arrangements of the groups, of which no p-value is at most 0.05"
    assert (found.p_value, found.p_reason) == (None, told)
    same = shortcut_gap(records, lambda r: solvable[r.item])
    assert same == found
    other = shortcut_gap(records, lambda r: not solvable[r.item])
    assert other.value == pytest.approx(-found.value)


def test_the_interval_is_that_of_a_difference_of_two_means() -> None:
    rng = np.random.default_rng(1)
    values = 100.0 * (rng.random(800) < np.repeat([0.9, 0.6], 400))
    found = shortcut_gap(rights(list(values)), lambda r: int(r.item) < 400)
    first, second = values[:400], values[400:]
    wide = 1.96 * np.sqrt(first.var() / 400 + second.var() / 400)
    assert found.interval == pytest.approx((found.value - wide, found.value + wide), abs=0.6)
    assert found.p_value == pytest.approx(1e-4)


def test_clusters_stay_together() -> None:
    rng = np.random.default_rng(2)
    values = np.repeat(100.0 * (rng.random(60) < 0.5), 10)
    alone = shortcut_gap(rights(list(values)), lambda r: int(r.item) % 20 < 10)
    together = [record(n, v, f"cluster {n // 10}") for n, v in enumerate(values)]
    found = shortcut_gap(together, lambda r: int(r.item) % 20 < 10)
    assert found.value == alone.value
    assert found.n_clusters == 60
    assert found.interval[1] - found.interval[0] > 2.5 * (alone.interval[1] - alone.interval[0])


def test_what_the_user_leaves_out_is_no_part_of_it() -> None:
    records = rights([100, 0, 100, 100])
    found = shortcut_gap(records, {"0000": True, "0001": False})
    assert (found.value, found.n) == (100.0, 2)
    asked = shortcut_gap(records, lambda r: None if int(r.item) > 1 else r.item == "0000")
    assert asked == found
    with pytest.raises(ValueError, match="a value for none of the records"):
        shortcut_gap(records, {})


def test_a_side_that_is_empty_or_short_has_no_gap() -> None:
    records = rights([100, 0, 100, 100])
    found = shortcut_gap(records, lambda r: True)
    assert (found.value, found.interval_reason) == (None, "nothing was scored of unsolvable")
    lost = [*records[:3], replace(records[3], status="unscored", value=None, reason="too long")]
    found = shortcut_gap(lost, lambda r: int(r.item) < 2)
    assert found.value is None
    assert "could not be scored" in str(found.note)


def test_any_number_has_a_gap() -> None:
    records = [record(n, 0.0, detail={"f1": 25.0 * n}) for n in range(4)]
    how = {"of": lambda r: r.detail["f1"] / 100, "bounds": (-1, 1), "unit": ""}
    found = shortcut_gap(records, lambda r: int(r.item) > 1, **how)
    assert found.value == pytest.approx(0.625 - 0.125)
    assert (found.unit, found.bounds) == ("", (-1, 1))


# The largest of several


def two(values: list[float], first: str, second: str) -> list[Record]:
    """Return records on the sides of two shortcuts: 1 solvable, 0 not, - neither."""
    names = {"1": SOLVABLE, "0": UNSOLVABLE, "-": "neither"}
    return [
        record(n, v, near=names[a], early=names[b])
        for n, (v, a, b) in enumerate(zip(values, first, second, strict=True))
    ]


LARGEST = LargestGap(own_value, ("near", "early"))


def test_the_largest_gap_by_hand() -> None:
    # near: (100, 100, 0) - (0, 100); early: (100) - (100, 0, 0), one on neither side.
    records = two([100, 100, 0, 0, 100], "11100", "100-0")
    assert gap_by("near")(records, sampling()).value == pytest.approx(100 * 2 / 3 - 50)
    assert gap_by("early")(records, sampling()).value == pytest.approx(100 - 200 / 3)
    found = LARGEST(records, sampling())
    assert found.value == pytest.approx(100 / 3)
    assert found.note == "largest for early"
    assert (found.interval, found.interval_reason) == (None, "one cluster on a side; it takes 8")


def test_a_gap_below_zero_is_no_sign_of_a_shortcut() -> None:
    found = LARGEST(two([0, 0, 100, 100, 50, 50], "110011", "101010"), sampling())
    assert found.value < 20
    assert found.note == "largest for early"


def test_the_largest_gap_beside_chance() -> None:
    rng = np.random.default_rng(3)
    sides = ["".join(map(str, rng.integers(0, 2, 600))) for _ in range(2)]
    values = 100.0 * (rng.random(600) < 0.5)
    found = LARGEST(two(list(values), *sides), sampling())
    # The larger of two gaps with a standard error of about 4.1 each: 4.1 / sqrt(pi).
    assert found.floor == pytest.approx(100 / np.sqrt(600) / np.sqrt(np.pi), rel=0.1)
    assert found.p_value > 0.05
    leans = [v if s == "0" else 100.0 for v, s in zip(values, sides[1], strict=True)]
    found = LARGEST(two(leans, *sides), sampling())
    assert found.note == "largest for early"
    assert found.p_value == 0.001
    assert found.value > 10 * found.floor


def test_a_model_that_is_never_right_leans_on_nothing() -> None:
    found = LARGEST(two([0, 0, 0, 0], "1100", "1010"), sampling())
    assert (found.value, found.floor, found.p_value, found.note) == (0, 0, 1, None)


def test_the_largest_gap_of_one_side_only() -> None:
    found = LARGEST(two([1, 2], "11", "00"), sampling())
    assert (found.value, found.interval_reason) == (
        None,
        "no shortcut has records on both sides",
    )


# Thresholds


def noise(n: int, seed: int) -> list[Record]:
    """Return records whose values have nothing to do with their distance."""
    rng = np.random.default_rng(seed)
    return [
        record(k, 100.0 * (rng.random() < 0.5), detail={"distance": int(rng.integers(1, 9))})
        for k in range(n)
    ]


def distance(one: Record) -> float | None:
    return one.detail.get("distance")  # type: ignore[return-value]


CHOSEN = ChosenSplit(own_value, distance)


def test_a_threshold_is_found_and_stated() -> None:
    rng = np.random.default_rng(4)
    away = rng.integers(1, 9, 2000)
    right = rng.random(2000) < np.where(away <= 3, 0.9, 0.5)
    records = [
        record(n, 100.0 * r, detail={"distance": int(d)})
        for n, (r, d) in enumerate(zip(right, away, strict=True))
    ]
    found = CHOSEN(records, sampling())
    assert found.value == pytest.approx(40, abs=6)
    assert found.interval[0] < 40 < found.interval[1]
    chosen = CHOSEN.threshold(records)
    assert chosen is not None
    assert chosen.at == 3
    assert str(found.note) == (
        f"solvable is at most 3, chosen on {chosen.n} items of {chosen.n} clusters, "
        "measured on others"
    )
    assert chosen.n + found.n_clusters == 2000
    flipped = [replace(r, detail={"distance": -r.detail["distance"]}) for r in records]
    high = ChosenSplit(own_value, distance, high=True)
    assert high(flipped, sampling()).value == pytest.approx(found.value)
    assert str(high(flipped, sampling()).note).startswith("solvable is more than -4")


def test_the_search_does_not_widen_the_gap() -> None:
    searched, measured, outside = [], [], 0
    for seed in range(60):
        records = noise(400, seed)
        chosen = CHOSEN.threshold(records)
        assert chosen is not None
        found = CHOSEN(records, sampling(seed, resamples=999))
        searched.append(chosen.gap)
        measured.append(found.value)
        outside += not found.interval[0] <= 0 <= found.interval[1]
    assert np.mean(searched) > 5
    assert abs(np.mean(measured)) < 2
    assert outside <= 8


def test_a_cluster_is_in_one_half() -> None:
    records = [replace(r, cluster=f"cluster {n // 8}") for n, r in enumerate(noise(400, 0))]
    used = ~np.isnan(CHOSEN.values(records))
    by_cluster = used.reshape(50, 8)
    assert (by_cluster.all(axis=1) | ~by_cluster.any(axis=1)).all()
    assert 0.3 < used.mean() < 0.7


def test_without_a_threshold_there_is_no_gap() -> None:
    records = [record(n, 0.0, detail={"distance": 1}) for n in range(40)]
    (score,) = score_records(
        records,
        [Metric("gap", CHOSEN, 0, (-100, 100), "%", 0.5)],
        Context("s", "c"),
    )
    assert score.value is None
    assert score.interval_reason == "no threshold leaves 10% of the records on either side"
    assert np.isnan(CHOSEN.sums(records).value)
