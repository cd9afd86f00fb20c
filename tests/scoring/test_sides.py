"""Two sides: items change them within their clusters, clusters on one side as wholes."""

import math
from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import pytest
from numpy.typing import NDArray

from draws import sampling
from pytest_bias.records.report import Item, Record
from pytest_bias.scoring import drawing, sides, statistics
from pytest_bias.scoring.gaps import Gap, Range
from pytest_bias.scoring.relabelling import relabelled
from pytest_bias.scoring.resampling import Sums
from pytest_bias.scoring.sides import arrangements, sides_test
from pytest_bias.scoring.statistics import Sampling, newcombe

pytestmark = pytest.mark.all_draws


def four(first: Sequence[tuple[float, int]], second: Sequence[tuple[float, int]]) -> Sums:
    """Return clusters of two sides: the sum and count of each."""
    rows = [[a, b, m, n] for (a, m), (b, n) in zip(first, second, strict=True)]

    def difference(totals: NDArray[np.float64]) -> NDArray[np.float64]:
        means = totals[..., :2] / totals[..., 2:]
        return means[..., 0] - means[..., 1]

    return Sums((np.array(rows, dtype=np.float64),), difference)


def of_sides(sums: Sums, how: Sampling) -> statistics.Test:
    """Test clusters whose sides have one item each, if they have any."""
    (rows,) = sums.samples
    has_both = (rows[:, 2:] > 0).all(axis=1)
    choices = [np.stack([row, row[[1, 0, 3, 2]]]) for row in rows[has_both]]
    return sides_test(sums, choices, rows[~has_both], how)


def test_sides_are_exchanged_and_drawn_anew() -> None:
    nothing = (0.0, 0)
    sums = four(
        [(5, 1), (1, 1), (4, 1), (7, 1), nothing, nothing, nothing],
        [(2, 1), (3, 1), nothing, nothing, (1, 1), (2, 1), (0, 1)],
    )
    found = of_sides(sums, sampling())
    pairs, alone = [(5, 2), (1, 3)], [4, 7, 1, 2, 0]
    gaps = []
    for flips in product((False, True), repeat=2):
        sides = [(b, a) if flip else (a, b) for (a, b), flip in zip(pairs, flips, strict=True)]
        for chosen in combinations(range(5), 2):
            first = [a for a, _ in sides] + [alone[i] for i in chosen]
            second = [b for _, b in sides] + [x for i, x in enumerate(alone) if i not in chosen]
            gaps.append(abs(np.mean(first) - np.mean(second)))
    observed = abs(np.mean([5, 1, 4, 7]) - np.mean([2, 3, 1, 2, 0]))
    assert len(gaps) == 40
    assert found.how == "exact permutation of groups"
    assert found.p_value == pytest.approx(np.mean(np.array(gaps) >= observed - 1e-9))


@pytest.mark.parametrize("many", [1, 1000], ids=["by kinds", "one by one"])
@pytest.mark.parametrize("values", [[0, 1, 1, 0, 2] * 4, list(range(20))], ids=["alike", "differ"])
def test_drawn_sides_agree_with_all_of_them(
    values: list[int], many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing, (x, y) = (0.0, 0), ([5, 2, 9, 4], [4, 0, 7, 7])
    sums = four(
        [(v, 1) for v in (*x, *values[:5])] + [nothing] * 15,
        [*((v, 1) for v in y), *[nothing] * 5, *((v, 1) for v in values[5:])],
    )
    exact = of_sides(sums, sampling(arrangements=10**6))
    assert exact.how == "exact permutation of groups"
    monkeypatch.setattr(drawing, "MANY", many)
    monkeypatch.setattr(drawing, "ALIKE", 1)
    drawn = of_sides(sums, sampling(arrangements=0))
    assert drawn.how == "9,999 permutations of groups"
    assert drawn.p_value == pytest.approx(exact.p_value, abs=0.02)


@pytest.mark.nightly
def test_a_small_side_is_not_found_to_differ_too_often() -> None:
    rng = np.random.default_rng(1)
    nothing, n_trials = (0.0, 0), 200
    found = 0
    for _ in range(n_trials):
        values = rng.normal(size=66)
        sums = four(
            [(v, 1) for v in values[:6]] + [nothing] * 60,
            [nothing] * 6 + [(v, 1) for v in values[6:]],
        )
        found += (of_sides(sums, Sampling(rng)).p_value or 0) <= 0.05
    # Three standard errors of 5 % of 200; changing sides one by one found 30 %.
    assert abs(found / n_trials - 0.05) < 3 * np.sqrt(0.05 * 0.95 / n_trials)


def test_the_items_of_a_cluster_take_all_places_that_there_are() -> None:
    rng = np.random.default_rng(0)
    found = arrangements(np.array([5.0, 1.0, 2.0]), np.ones(3), 1, rng)
    assert found.tolist() == [[5, 3, 1, 2], [1, 7, 1, 2], [2, 6, 1, 2]]
    many = arrangements(np.arange(30.0), np.ones(30), 10, rng)
    assert len(many) == sides.MOST_CHOICES < math.comb(30, 10)
    assert many[0].tolist() == [45, 390, 10, 20]
    assert (many[:, :2].sum(axis=1) == 435).all()
    assert len(np.unique(many[:, 0])) > 50


def record(name: str, cluster: str, group: str, value: float) -> Record:
    return Item(name, cluster, {}, {"group": group}).scored(value)


def outcome(record: Record) -> float | None:
    return record.value


def test_one_term_of_many_is_as_often_without_a_rare_event_as_chance_has_it() -> None:
    """26 false alarms in 53 sentences of 50 terms: a term has none with probability 0.59."""
    made = [
        record(f"{s:02d}/{t:02d}", f"s{s}", f"t{t:02d}", 100.0 * (s < 26 and t == s % 49))
        for s in range(53)
        for t in range(50)
    ]
    none, one = (Gap(outcome, "group", term) for term in ("t49", "t00"))
    assert none.test(made, 0, sampling()).p_value > 0.5
    assert one.test(made, 0, sampling()).p_value > 0.3
    found = none(made, sampling())
    # By hand: 0 of 53 and 0.53 of 53 (Newcombe's method 10).
    assert found.method == "newcombe"
    assert found.interval[0] < found.value < 0 < found.interval[1]
    low, high = newcombe((0.0, 53), (26 / 2597, 53))
    assert found.interval == pytest.approx((100 * low, 100 * high))


# Newcombe (1998), table II, method 10.
@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((10, 10), (0, 20), 0.6791, 1.0),
        ((0, 10), (0, 20), -0.1611, 0.2775),
    ],
)
def test_the_interval_of_a_difference_of_proportions(first, second, low, high):
    rates = [(events / n, float(n)) for events, n in (first, second)]
    assert newcombe(*rates) == pytest.approx((low, high), abs=1e-4)


def test_one_mixed_cluster_does_not_hide_a_gap() -> None:
    rng = np.random.default_rng(0)
    rates = {"a": 0.9, "b": 0.1}
    made = [
        record(f"i{n}", f"c{n}", group, 100.0 * (rng.random() < rates[group]))
        for n, group in enumerate("ab" * 100)
    ]
    mixed = [*made, record("j0", "both", "a", 100.0), record("j1", "both", "b", 0.0)]
    for records in (made, mixed):
        found = Range(outcome, "group")(records, sampling())
        assert found.p_value == 0.001
        assert found.floor < 10
        assert Gap(outcome, "group", "a", "b").test(records, 0, sampling()).p_value == 1e-4


def test_clusters_inside_a_group_are_not_taken_for_independent() -> None:
    found = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 1])
        made = [
            record(f"{group}{c}/{n}", f"{group}{c}", group, common + rng.normal())
            for group in "abc"
            for c, common in enumerate(rng.normal(0, 1, 12))
            for n in range(10)
        ]
        found += Range(outcome, "group")(made, sampling(seed, shuffles=99)).p_value <= 0.05
    # Three standard errors above 5 % of 60; shuffling items found 35.
    assert found <= 8


def test_groups_change_within_a_mixed_cluster_and_between_whole_ones() -> None:
    group = np.array([0, 1, 0, 0, 1, 1, 2, 2, 0])
    clusters = ["m", "m", "x", "x", "y", "y", "z", "z", "w"]
    blocks = ["one"] * 8 + ["two"]
    drawn = list(relabelled(group, clusters, blocks, sampling(0, shuffles=300)))
    assert {tuple(d[:2]) for d in drawn} == {(0, 1), (1, 0)}
    assert {tuple(d[2:8]) for d in drawn} == {
        (a, a, b, b, c, c) for a, b, c in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0))
    } | {(2, 2, 0, 0, 1, 1), (2, 2, 1, 1, 0, 0)}
    # The only cluster of its block has nobody to change with.
    assert {int(d[8]) for d in drawn} == {0}


def test_too_few_arrangements_have_no_p_value() -> None:
    made = [record(f"{g}{n}", f"c{n}", g, float(g == "a")) for g in "ab" for n in range(4)]
    found = Gap(outcome, "group", "a", "b").test(made, 0, sampling())
    told = "only 16 arrangements of the groups, of which no p-value is at most 0.05"
    assert (found.p_value, found.reason) == (None, told)
    same = [record(f"{g}{n}", f"c{n}", g, 1.0) for g in "ab" for n in range(9)]
    found = Gap(outcome, "group", "a", "b").test(same, 0, sampling())
    assert found.reason == (
        "no other arrangement of the groups, of which no p-value is at most 0.05"
    )


def test_shuffles_within_one_block_are_those_of_several_keys() -> None:
    group, clusters = np.arange(50) % 4, [f"c{n}" for n in range(50)]
    ours = [d.tolist() for d in relabelled(group, clusters, [""] * 50, sampling(1, shuffles=20))]
    rng = sampling(1).rng
    # Clusters are numbered in the order of their names.
    names = sorted(clusters, key=repr)
    at = [names.index(c) for c in clusters]
    for found in ours:
        order = np.lexsort((rng.random(50), np.zeros(50)))
        assert found == group[[clusters.index(n) for n in names]][order][at].tolist()
