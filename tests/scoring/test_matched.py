"""Differences of matched records: by hand, with gaps in the data, and by chance."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from draws import sampling
from pytest_bias.records.report import Item, Record
from pytest_bias.scoring import Axis, Matched, MatchedSize, Metric, own_value
from pytest_bias.scoring.scores import Context, score_records

SEX = Axis("sex", "m", ("f", "n"), ("age",))
AGE = Axis("age", "old", ("young",), ("sex",))


def made(values: dict[tuple[int, str, str], float | None]) -> list[Record]:
    """Return records of questions, by question, sex and age."""
    return [
        Item(f"{q}/{sex}/{age}", f"q{q:02d}", {}, {"sex": sex, "age": age}).record("scored", v)
        for (q, sex, age), v in values.items()
    ]


BY_HAND = {
    (0, "m", "old"): 1.0, (0, "f", "old"): 2.0, (0, "n", "old"): 0.0,
    (0, "m", "young"): 5.0, (0, "f", "young"): 9.0,
    (1, "m", "old"): -1.0, (1, "f", "old"): None, (1, "f", "young"): 7.0,
}  # fmt: skip


def test_a_record_is_compared_with_its_counterpart_only() -> None:
    records = made(BY_HAND)
    found = Matched(own_value, "sex", "m", ("age",), "f")
    # 2 - 1 and 9 - 5; in question 1 either a value or the counterpart is missing.
    assert found(records, sampling()).value == pytest.approx(2.5)
    assert Matched(own_value, "sex", "m", ("age",), "n")(records, sampling()).value == -1
    young = Matched(own_value, "age", "old", ("sex",), "young")
    assert young(records, sampling()).value == pytest.approx((4 + 7) / 2)
    nobody = Matched(own_value, "sex", "m", ("age",), "x")(records, sampling())
    assert (nobody.value, nobody.interval_reason) == (None, Matched.if_none)


def test_the_size_is_the_mean_over_axes_of_the_mean_absolute_difference() -> None:
    records = made(BY_HAND)
    size = MatchedSize(own_value, (SEX, AGE))
    assert size(records, sampling()).value == pytest.approx(((2.5 + 1) / 2 + 5.5) / 2)
    # Without a young person the one axis is left.
    old = [r for r in records if r.by["age"] == "old"]
    assert size(old, sampling()).value == pytest.approx((1 + 1) / 2)
    assert size(old[:1], sampling()).value is None


def test_the_reference_is_no_group_and_every_other_one_is() -> None:
    estimate = Matched(own_value, "sex", "m", ("age",))
    metric = Metric(
        "gap", estimate, 0, (None, None), "nats", 0.1, by=(("sex",),), whole=False, versus="sex"
    )
    found = score_records(made(BY_HAND), [metric], Context("s", "c"))
    assert {s.by["sex"]: s.value for s in found} == {"f": 2.5, "n": -1}
    assert {s.by["sex"]: s.n for s in found} == {"f": 2, "n": 1}


def noisy(rng: np.random.Generator, n: int, effect: float) -> list[Record]:
    """Return n questions that vary much, in which a group has an effect that varies with them."""
    values = {}
    for q in range(n):
        level, own = rng.normal(0, 20), rng.normal(effect, 1)
        for sex, age in product("mfn", ("old", "young")):
            values[q, sex, age] = level + own * (sex == "f") + rng.normal(0, 0.5)
    return made(values)


@pytest.mark.all_draws
def test_what_questions_have_in_common_does_not_blur_a_difference() -> None:
    records = noisy(np.random.default_rng(1), 60, 1.0)
    gap = Matched(own_value, "sex", "m", ("age",), "f")
    found = gap(records, sampling())
    assert found.interval
    assert found.n_clusters == 60
    assert 0.4 < found.interval[0] < 1 < found.interval[1] < 1.6
    assert (gap.test(records, 0, sampling()).p_value or 1) < 0.001
    nobody = Matched(own_value, "sex", "m", ("age",), "n")
    assert (nobody.test(records, 0, sampling()).p_value or 0) > 0.05


def test_without_an_effect_intervals_hold_zero_and_tests_reject_as_rarely_as_they_say() -> None:
    """Effects of a question that cancel out over questions are no effect of the group."""
    rng = np.random.default_rng(2)
    size, gap = MatchedSize(own_value, (SEX,)), Matched(own_value, "sex", "m", ("age",), "f")
    found = [noisy(rng, 30, 0.0) for _ in range(60)]
    sizes = [size(records, sampling(n)) for n, records in enumerate(found)]
    gaps = [gap(records, sampling(n)) for n, records in enumerate(found)]
    assert sum((s.p_value or 0) < 0.05 for s in sizes) <= 7
    assert sum(g.interval is not None and g.interval[0] <= 0 <= g.interval[1] for g in gaps) >= 53
    # The size of noise is its floor, on average.
    values, floors = (np.array([getattr(s, k) for s in sizes]) for k in ("value", "floor"))
    assert values.mean() == pytest.approx(floors.mean(), rel=0.25)


def test_the_size_of_an_effect_lies_in_its_interval() -> None:
    rng = np.random.default_rng(3)
    size = MatchedSize(own_value, (SEX,))
    inside = 0
    for n in range(60):
        found = size(noisy(rng, 30, 2.0), sampling(n))
        assert found.interval
        inside += found.interval[0] <= 1 <= found.interval[1]
    assert inside >= 55


def test_records_that_are_all_equal_have_a_size_of_exactly_zero() -> None:
    records = [replace(r, value=3.0) for r in noisy(np.random.default_rng(4), 20, 1.0)]
    found = MatchedSize(own_value, (SEX, AGE))(records, sampling())
    assert (found.value, found.floor, found.p_value) == (0, 0, 1)
