"""Gaps between groups and the widest of all: values by hand, intervals, tests, the 5 % rule."""

import numpy as np
import pytest

from draws import sampling
from pytest_bias.records.report import Item, Record
from pytest_bias.scoring.factors import Factor, along
from pytest_bias.scoring.gaps import Deviation, Gap, Range
from pytest_bias.scoring.metric import Metric
from pytest_bias.scoring.scores import Context, score_records

pytestmark = pytest.mark.all_draws


def value(record: Record) -> float | None:
    return record.value


def records(values: dict[str, list[float]]) -> list[Record]:
    """Return records of groups, number n of each group in one cluster."""
    return [
        Item(f"{g}/{n:03d}", f"template {n}", {}, {"group": g}).scored(v)
        for g, of_group in values.items()
        for n, v in enumerate(of_group)
    ]


def gap_metric(**more: object) -> Metric:
    return Metric(
        "gap", Gap(value, "group"), 0, (-100, 100), "%", 0.5, whole=False, versus="group",
        by=(("group",),), **more,
    )  # fmt: skip


def test_gap_between_two_groups_by_hand() -> None:
    made = records({"a": [1, 2, 6] * 3, "b": [1, 1, 1] * 3})
    found = Gap(value, "group", "a", "b")(made, sampling())
    assert found.value == pytest.approx(2)
    assert found.interval
    assert found.interval[0] < 2 < found.interval[1]
    assert found.n_clusters == 9
    few = Gap(value, "group", "a", "b")(made[:15], sampling())
    assert (few.interval, few.interval_reason) == (None, "6 clusters on a side; it takes 8")


def test_against_the_others_pools_them() -> None:
    made = records({"a": [4, 4], "b": [1, 3], "c": [2, 2]})
    found = {s.by["group"]: s.value for s in score_records(made, [gap_metric()], Context("s", "c"))}
    assert found == pytest.approx({"a": 2.0, "b": 2 - 3.0, "c": -1.0})


def test_what_a_cluster_has_in_common_does_not_blur_a_gap() -> None:
    rng = np.random.default_rng(1)
    common = rng.normal(0, 50, 60)
    made = records({"a": list(common + 1 + rng.normal(0, 0.1, 60)), "b": list(common)})
    found = Gap(value, "group", "a", "b")(made, sampling())
    assert found.interval
    assert found.interval[1] - found.interval[0] < 0.2
    test = Gap(value, "group", "a", "b").test(made, 0, sampling())
    assert test.p_value
    assert test.p_value < 0.001


def test_gap_test_is_exact_for_few_clusters() -> None:
    made = records({"a": [1] * 6, "b": [0] * 6})
    test = Gap(value, "group", "a", "b").test(made, 0, sampling())
    assert test.p_value == pytest.approx(2 / 64)


def test_range_is_compared_with_chance() -> None:
    rng = np.random.default_rng(2)
    same = records({g: list(rng.normal(0, 1, 200)) for g in "abcdefgh"})
    found = Range(value, "group")(same, sampling())
    assert found.floor is not None
    assert found.value is not None
    assert found.value == pytest.approx(found.floor, rel=0.6)
    assert found.interval
    # As far up as down, and down to nothing, which is what it is.
    assert found.interval[0] <= 0 < found.interval[1] == 2 * found.value - found.interval[0]
    assert found.p_value
    assert found.p_value > 0.01
    apart = records({"a": [5.0] * 50, "b": [1.0] * 50})
    found = Range(value, "group")(apart, sampling())
    assert (found.value, found.p_value) == (4.0, 0.001)
    assert found.note == "greatest in a, least in b"


def test_deviation_is_the_mean_distance_from_the_mean_of_the_groups() -> None:
    # Means 4, 2 and 0 are 2, 0 and 2 from their mean.
    made = records({"a": [4, 4, 4], "b": [1, 2, 3], "c": [0, 0, 0]})
    found = Deviation(value, "group")(made, sampling())
    assert found.value == pytest.approx(4 / 3)
    assert (found.interval, found.interval_reason) == (None, "3 clusters; it takes 8")
    assert found.note == "greatest in a, least in c"
    rng = np.random.default_rng(3)
    same = records({g: list(rng.normal(0, 1, 200)) for g in "abcdefgh"})
    found = Deviation(value, "group")(same, sampling())
    assert found.floor is not None
    assert found.value == pytest.approx(found.floor, rel=0.6)
    # The mean distance of a normal mean is sqrt(2 / pi) of its standard error, less one group of 8.
    assert found.floor == pytest.approx(np.sqrt(2 / np.pi / 200 * 7 / 8), rel=0.15)


def test_range_shuffles_all_records_where_no_cluster_has_two_groups() -> None:
    made = [
        Item(f"{n:03d}", str(n), {}, {"group": "ab"[n % 2]}).scored(float(n % 2)) for n in range(40)
    ]
    found = Range(value, "group")(made, sampling())
    assert found.value == 1.0
    assert found.floor is not None
    assert found.floor < 0.4


def of_axes(values: dict[str, dict[str, list[float]]]) -> list[Record]:
    return [
        Item(f"{a}/{g}/{n:03d}", f"{a}/{n}", {}, {"axis": a, "group": g}).scored(v)
        for a, groups in values.items()
        for g, of_group in groups.items()
        for n, v in enumerate(of_group)
    ]


def test_range_within_an_axis_is_the_mean_of_their_ranges() -> None:
    # A group of the same name on another axis is another group; an axis of one group has no range.
    made = of_axes(
        {
            "age": {"old": [4.0, 6.0], "young": [1.0, 1.0], "other": [2.0, 2.0]},
            "origin": {"here": [0.0, 0.0], "other": [10.0, 12.0]},
            "alone": {"one": [99.0, 99.0]},
        }
    )
    estimator = Range(value, "group", within="axis")
    found = estimator(made, sampling())
    assert found.value == pytest.approx((4 + 11) / 2) == estimator.sums(made).value
    assert found.note == "in origin, the widest: greatest in other, least in here"
    metric = Metric("gap", estimator, 0, (0, 99), "", 0.1, by=(("axis",),))
    of = {s.by.get("axis"): s for s in score_records(made, [metric], Context("s", "c"))}
    assert (of["age"].value, of["origin"].value, of["alone"].value) == (4, 11, None)
    assert of["age"].note == "greatest in old, least in young"


def test_contributions_never_leave_their_axis() -> None:
    # Axes lie far apart, groups of one axis are equal: by chance as well there is no range.
    made = of_axes(
        {"low": {"a": [1.0] * 9, "b": [1.0] * 9}, "high": {"c": [90.0] * 9, "d": [90.0] * 9}}
    )
    found = Range(value, "group", within="axis")(made, sampling())
    assert (found.value, found.floor, found.p_value) == (0, 0, 1)


def test_a_short_group_is_named_with_its_axis() -> None:
    made = of_axes({"age": {"old": [1.0] * 9, "young": [0.0] * 9}})
    made += [
        Item(f"x{n}", f"age/{n}", {}, {"axis": "age", "group": "old"}).record(
            "unscored", reason="no"
        )
        for n in range(1)
    ]
    metric = Metric("gap", Range(value, "group", within="axis"), 0, (0, 1), "", 0.1)
    made += of_axes({"origin": {"a": [0.0] * 90, "b": [0.0] * 90}})
    (found,) = score_records(made, [metric], Context("s", "c"))
    assert found.value is None
    assert (found.note or "").startswith("age old: 1 of 10 items")


def test_a_group_with_too_many_unscored_records_takes_its_gaps_along() -> None:
    made = records({"a": [1.0] * 99, "b": [0.0] * 92, "c": [0.0] * 99})
    made += [
        Item(f"x{n}", f"template {92 + n}", {}, {"group": "b"}).record("unscored", reason="split")
        for n in range(8)
    ]
    named = Metric("named", Gap(value, "group", "a", "c"), 0, (-1, 1), "", 0.1)
    widest = Metric("widest", Range(value, "group"), 0, (0, 1), "", 0.1)
    found = score_records(made, [gap_metric(), named, widest], Context("s", "c"))
    by = {(s.metric, s.by.get("group")): s for s in found}
    why = "b: 8 of 100 items could not be scored, more than 5%"
    assert {by["gap", g].note for g in "abc"} == {why}
    assert by["widest", None].value is None
    assert by["widest", None].note == why
    assert by["named", None].value == 1.0


def test_no_group_is_named_where_none_differs() -> None:
    found = Range(value, "group")(records({"a": [1, 0], "b": [1, 0]}), sampling())
    assert (found.value, found.p_value, found.note) == (0.0, 1.0, None)


def test_a_group_that_is_missing_is_said() -> None:
    found = Gap(value, "group", "a", "b")(records({"a": [1, 2]}), sampling())
    assert (found.value, found.interval_reason) == (None, "nothing was scored of b")
    found = Range(value, "group")(records({"a": [1, 2]}), sampling())
    assert found.value is None


def test_names_of_several_groups_count_as_those_of_the_group_with_the_fewest() -> None:
    rng = np.random.default_rng(2)
    made = [
        Item(f"{c}/{g}/{w}", f"{c}", {}, {"group": g}).scored(
            100.0 * (rng.random() < 0.5), {"name": f"{g}/{w}"}
        )
        for c in range(20)
        for g in "abcd"
        for w in range(9)
    ]
    names = (Factor("names", along("name")),)
    pooled, apart = (Range(value, "group", factors=names, pooled=p) for p in (True, False))
    # 20 prompts less one, which are fewer than 36 names less four groups; nine names less one.
    assert pooled.sums(made).degrees_of_freedom == 19
    assert apart.sums(made).degrees_of_freedom == 8
    wide = [r(made, sampling(bounds=(0, 100))).interval for r in (pooled, apart)]
    assert wide[1][1] > wide[0][1]
