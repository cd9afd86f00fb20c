"""Intervals over several factors at once, against variances computed by hand and simulations."""

import math

import numpy as np
import pytest
from scipy import stats

from pytest_bias.records.report import Record
from pytest_bias.scoring import factors, multiway, paired, resampling
from pytest_bias.scoring.estimators import Mean, Share, own_value
from pytest_bias.scoring.factors import Factor, along
from pytest_bias.scoring.gaps import Gap, Range
from pytest_bias.scoring.multiway import Cell, Crossing
from pytest_bias.scoring.resampling import mean_sums
from pytest_bias.scoring.statistics import Sampling

ROWS, COLUMNS = 12, 9
PAIRS = Factor("pairs of words", along("pair"))


def sampling(bounds=(None, None), level=0.95):
    return Sampling(np.random.default_rng(0), level, bounds=bounds)


def records(values, key="pair"):
    """One record for each cell of a table: rows are clusters, columns the levels of a factor."""
    return [
        Record(f"i/{a:02d}/{b:02d}", f"cluster {a}", "scored", float(v), {key: f"level {b}"})
        for a, row in enumerate(np.atleast_2d(values))
        for b, v in enumerate(row)
    ]


def table(rng, of_rows=1.0, of_columns=1.0, of_cells=1.0, shape=(ROWS, COLUMNS)):
    """Values with a part of the row, a part of the column and a part of their own."""
    rows, columns = rng.normal(0, of_rows, (shape[0], 1)), rng.normal(0, of_columns, shape[1])
    return rows + columns + rng.normal(0, of_cells, shape)


def of_means(means):
    """Variance of the mean of means by the jackknife: their variance over their number."""
    return np.var(means, ddof=1) / len(means)


def test_the_variance_is_that_over_rows_and_columns_less_that_of_cells():
    values = table(np.random.default_rng(1))
    expected = of_means(values.mean(1)) + of_means(values.mean(0)) - of_means(values.ravel())
    found = Mean(own_value, factors=(PAIRS,))(records(values), sampling())
    half = stats.t.ppf(0.975, COLUMNS - 1) * math.sqrt(expected)
    assert found.value == pytest.approx(values.mean())
    assert found.interval == pytest.approx((values.mean() - half, values.mean() + half))
    assert found.method == multiway.INTERVAL


def test_it_is_never_less_than_over_one_factor_alone():
    # Every column has the same mean: their variance is that of noise alone, less than it at times.
    values = table(np.random.default_rng(2), of_columns=0.0)
    values -= values.mean(0) - values.mean()
    found = Mean(own_value, factors=(PAIRS,))(records(values), sampling())
    half = stats.t.ppf(0.975, COLUMNS - 1) * math.sqrt(of_means(values.mean(1)))
    assert np.diff(found.interval) / 2 == pytest.approx(half)


def test_the_order_of_the_factors_makes_no_difference():
    values = table(np.random.default_rng(3))
    turned = [
        Record(r.item, r.by["pair"], "scored", r.value, {"pair": r.cluster})
        for r in records(values)
    ]
    mean = Mean(own_value, factors=(PAIRS,))
    assert mean(turned, sampling()).interval == pytest.approx(
        mean(records(values), sampling()).interval
    )


def test_clusters_within_levels_of_a_factor_count_as_these_levels():
    rng = np.random.default_rng(4)
    means = rng.normal(size=10)
    found = [
        Record(f"{a}/{n}", f"{a}/{n}", "scored", means[a] + rng.normal(), {"subcase": f"{a}"})
        for a in range(10)
        for n in range(50)
    ]
    own = [np.mean([r.value for r in found if r.by["subcase"] == f"{a}"]) for a in range(10)]
    estimate = Mean(own_value, factors=(Factor("subcases", along("subcase")),))(found, sampling())
    half = stats.t.ppf(0.975, 9) * math.sqrt(of_means(own))
    assert np.diff(estimate.interval) / 2 == pytest.approx(half)


def test_two_levels_of_one_factor_meet_in_a_unit():
    """Pairs of ten people: the mean of their sums varies as twice the mean of people does."""
    effects = np.random.default_rng(5).normal(size=10)
    cells, rows = [], []
    for a in range(10):
        for b in range(a):
            cells.append(Cell(((f"{a}", f"{b}"),), ("people",)))
            rows.append((effects[a] + effects[b], 1.0))
    crossing = Crossing(tuple(cells))
    covariance = crossing.covariance(np.array(rows), lambda t: t[..., :1] / t[..., 1:])
    over_people = 4 * of_means(effects)
    # What pairs vary by is in the variance of either person, and is taken away once.
    assert covariance[0, 0] == pytest.approx(over_people - of_means(np.array(rows)[:, 0]), rel=1e-6)


@pytest.mark.by_day("0.5-0.5")
@pytest.mark.parametrize(("of_rows", "of_columns"), [(0, 0), (1, 0), (0, 1), (0.5, 0.5)], ids=str)
def test_intervals_hold_the_truth_as_often_as_they_say(of_rows, of_columns):
    rng = np.random.default_rng(6)
    mean = Mean(own_value, factors=(PAIRS,))
    held = rejected = 0
    n = 300
    for _ in range(n):
        made = records(table(rng, of_rows, of_columns))
        low, high = mean(made, sampling()).interval
        held += low <= 0 <= high
        rejected += mean.test(made, 0.0, sampling()).p_value <= 0.05
    # 99.9 % of the simulations of 95 % lie above 90.3 %.
    assert held / n >= 0.903
    # The test says what the interval says.
    assert rejected == n - held


def test_clusters_alone_say_too_much_where_a_factor_crosses_them():
    rng = np.random.default_rng(7)
    found = {"clusters": 0, "both": 0}
    for _ in range(200):
        made = records(table(rng, 0.2, 1.0))
        for name, mean in (
            ("clusters", Mean(own_value)),
            ("both", Mean(own_value, factors=(PAIRS,))),
        ):
            low, high = mean(made, sampling()).interval
            found[name] += low <= 0 <= high
    assert found["clusters"] < 120
    assert found["both"] >= 181


def test_a_share_near_the_end_of_its_scale_has_an_interval_within_it():
    values = np.zeros((ROWS, COLUMNS))
    values[0, 0] = values[5, 3] = 100.0
    share = Share(own_value, factors=(PAIRS,))
    low, high = share(records(values), sampling((0, 100))).interval
    assert 0 < low < values.mean() < high < 20
    assert values.mean() - low < high - values.mean()
    low, high = share(
        records(0 * values),
        sampling((0, 100)),
    ).interval or (0, 0)
    assert (low, high) == (0, 0)
    many = share(records(np.zeros((30, 12))), sampling((0, 100)))
    assert many.method == "clopper-pearson"
    assert many.interval[1] == pytest.approx(100 * (1 - 0.025 ** (1 / 12)))


def test_few_levels_are_held_fixed_and_said():
    made = records(table(np.random.default_rng(8), shape=(ROWS, 7)))
    assert Mean(own_value, factors=(PAIRS,))(made, sampling()) == Mean(own_value)(made, sampling())
    assert factors.sampled(made, [PAIRS]) == {}
    assert factors.held_fixed(made, [PAIRS]) == {"pairs of words": 7}
    more = records(table(np.random.default_rng(8), shape=(ROWS, 8)))
    assert factors.sampled(more, [PAIRS]) == {"pairs of words": 8}
    assert factors.held_fixed(more, [PAIRS]) == {}


def grouped(rng, n_phrases, effect=0.0, of_phrases=1.0, clusters=12):
    """Records of two groups, each named by phrases of its own that have an effect of their own."""
    found = []
    for group in ("a", "b"):
        own = rng.normal(0, of_phrases, n_phrases) + effect * (group == "a")
        for number, value in enumerate(own):
            for c in range(clusters):
                by = {"group": group, "phrase": f"{group}{number}"}
                name = f"{c:02d}/{group}{number}"
                found.append(Record(name, f"{c}", "scored", value + rng.normal(0, 0.3), by))
    return found


PHRASES = (Factor("phrases", along("phrase")),)


def test_two_phrases_a_group_are_no_test_of_groups():
    made = grouped(np.random.default_rng(9), 2)
    gap = Gap(own_value, "group", "a", "b", factors=PHRASES)
    test = gap.test(made, 0.0, sampling())
    assert test.p_value is None
    assert test.reason == "2 phrases a group, which cannot be told from the groups; it takes 5"
    widest = Range(own_value, "group", factors=PHRASES)(made, sampling())
    assert widest.p_value is None
    assert widest.p_reason == test.reason
    # By chance it is as wide as phrases make it, whichever group they are of.
    assert widest.floor > 3 * Range(own_value, "group")(made, sampling()).floor


def test_groups_of_phrases_are_told_apart_as_often_as_they_differ():
    rng = np.random.default_rng(10)
    gap = Gap(own_value, "group", "a", "b", factors=PHRASES)
    alarms, held = 0, 0
    n = 200
    for _ in range(n):
        made = grouped(rng, 8)
        alarms += gap.test(made, 0.0, sampling()).p_value <= 0.05
        low, high = gap(made, sampling()).interval
        held += low <= 0 <= high
    # 99.9 % of the simulations of 5 % lie below 11 %.
    assert alarms <= 22
    assert held >= 178
    assert gap.test(grouped(rng, 8, effect=5.0), 0.0, sampling()).p_value < 0.001


def test_a_change_is_over_the_same_factors():
    rng = np.random.default_rng(11)
    mean = Mean(own_value, factors=(PAIRS,))
    then = table(rng)
    moved = table(rng, 0.0, 1.0, 0.2)
    change = paired.change(mean.sums(records(then + moved)), mean.sums(records(then)), sampling())
    alone = mean(records(moved), sampling())
    assert change.value == pytest.approx(alone.value)
    assert change.interval == pytest.approx(alone.interval)
    assert change.p_value == pytest.approx(mean.test(records(moved), 0.0, sampling()).p_value)


def test_units_without_factors_are_clusters():
    made = records(table(np.random.default_rng(12)))
    assert factors.units(made, []) == [r.cluster for r in made]
    unknown = (Factor("unknown", along("nothing")),)
    assert factors.units(made, unknown) == [r.cluster for r in made]
    sums = mean_sums(np.array([r.value for r in made]), factors.units(made, [PAIRS]))
    assert sums.crossing.factors == ("", "pairs of words")
    assert resampling.variance(sums) > 0


def test_a_group_that_is_one_cluster_is_resampled_over_the_factor():
    (row,) = table(np.random.default_rng(13), shape=(1, 9))
    found = Mean(own_value, factors=(PAIRS,))(records(row), sampling())
    half = stats.t.ppf(0.975, 8) * math.sqrt(of_means(row))
    assert np.diff(found.interval) / 2 == pytest.approx(half)
    few = Mean(own_value, factors=(PAIRS,))(
        records(table(np.random.default_rng(14), shape=(5, 9))), sampling()
    )
    assert few.interval_reason == "5 clusters; it takes 8"
