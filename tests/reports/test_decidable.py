"""Which limits a suite's items can decide: what is said beforehand is what an interval does."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pytest

from pytest_bias.ci.init.choices import Choices
from pytest_bias.ci.init.decidable import told_of_limits
from pytest_bias.ci.init.triggers import trigger
from pytest_bias.emit.decidable import amount, on_limits
from pytest_bias.records.report import Item
from pytest_bias.reports.decidable import reach
from pytest_bias.scoring.estimators import MacroMean, Mean, Share, own_value
from pytest_bias.scoring.factors import Factor, along
from pytest_bias.scoring.gaps import Deviation, Gap, Range
from pytest_bias.scoring.metric import Estimator, Metric
from pytest_bias.scoring.rates import Rate
from pytest_bias.scoring.statistics import Sampling, wilson


def metric(estimate: Estimator, ideal: float = 0, bounds: Any = (0, 100), **more: Any) -> Metric:
    return Metric("accuracy", estimate, ideal, bounds, "%", 0.5, **more)


def items(sizes: Sequence[int], groups: Sequence[str] = ("a", "b")) -> list[Item]:
    """Return clusters of these sizes, in each of which the groups take turns."""
    return [
        Item(f"{c}/{n}", f"{c}", {"text": f"{c} {n}"}, {"group": groups[n % len(groups)]})
        for c, size in enumerate(sizes)
        for n in range(size)
    ]


def estimated(of: Metric, made: Sequence[Item]) -> Any:
    """Return the estimate of a model that is at the ideal everywhere."""
    records = [i.record("scored", of.ideal) for i in made]
    return of.estimate(records, Sampling(np.random.default_rng(0), bounds=of.bounds))


METRICS: Final = {
    "share": metric(Share(own_value), 100),
    "mean": metric(Mean(own_value)),
    "macro": metric(MacroMean(own_value, "group")),
    "gap": metric(Gap(own_value, "group", "a", "b"), bounds=(-100, 100)),
    "range": metric(Range(own_value, "group")),
    "deviation": metric(Deviation(own_value, "group")),
}


def test_what_is_said_is_of_the_factor_with_the_fewest_levels():
    over = (Factor("pairs of words", along("pair")),)
    of = metric(Mean(own_value, factors=over))
    made = [
        Item(f"{c:02}/{p:02}", f"{c}", {"text": f"{c} {p}"}, {"pair": f"{p}"})
        for c in range(40)
        for p in range(12)
    ]
    interval = estimated(of, made).interval
    assert reach(of, made).distance == pytest.approx(interval[1])
    assert interval[1] == pytest.approx(100 * (1 - 0.025 ** (1 / 12)))
    # Details of a record that the data know count as well.
    told = [replace(i, by={}, meta=dict(i.by)) for i in made]
    assert reach(of, told) == reach(of, made)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("sizes", [[4] * 10, [2, 4, 6] * 10, [2] * 100], ids=str)
def test_a_model_at_the_ideal_holds_what_is_said_and_nothing_below(name, sizes):
    of, made = METRICS[name], items(sizes)
    found = reach(of, made)
    interval = estimated(of, made).interval
    assert found.distance == pytest.approx(max(abs(end - of.ideal) for end in interval))
    assert (found.why_not, found.is_least, found.units) == ("", False, len(sizes))


@pytest.mark.parametrize("ideal", [0, 50, 100])
@pytest.mark.parametrize("n", [3, 66, 1508])
def test_of_independent_items_no_value_has_an_interval_in_a_smaller_limit(ideal, n):
    found = reach(metric(Share(own_value), ideal), items([1] * n))
    reached = [
        max(abs(100 * end - ideal) for end in wilson(k, n)) for k in np.arange(0, n + 0.5, 0.5)
    ]
    assert found.is_least
    assert found.distance == pytest.approx(min(reached))


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("n", [1, 7])
def test_too_few_clusters_decide_nothing_and_so_says_the_interval(name, n):
    of, made = METRICS[name], items([4] * n)
    found, estimate = reach(of, made), estimated(of, made)
    assert (found.distance, estimate.interval) == (None, None)
    assert found.why_not.startswith(f"{n} cluster")
    assert found.why_not.endswith("it takes 8")
    assert on_limits(found, "lines").startswith("no limit can be decided: ")


def test_the_side_with_the_fewest_counts():
    alone = [Item(f"b{n}", f"b{n}", {}, {"group": "b"}) for n in range(5)]
    made = [*items([2] * 20, ("a",)), *alone]
    for name in ("gap", "range"):
        assert reach(METRICS[name], made).why_not == "5 clusters of b; it takes 8"
    one = metric(Gap(own_value, "group"), bounds=(-100, 100), by=(("group",),), versus="group")
    assert reach(one, made, {"group": "a"}).units == 5
    group = metric(Mean(own_value), by=(("group",),))
    assert reach(group, made, {"group": "b"}).why_not == "5 clusters; it takes 8"
    assert reach(group, made, {"group": "a"}).units == 20


def test_where_it_depends_on_the_model_that_is_said():
    assert reach(METRICS["mean"], items([2] * 9)).distance is None
    open_ended = reach(metric(Mean(own_value), bounds=(None, None)), items([2] * 30))
    assert (open_ended.distance, open_ended.why_not) == (None, "")
    assert "depends on how lines differ" in on_limits(open_ended, "lines")
    other = reach(metric(Rate(own_value, lambda record: 1.0)), items([2] * 30))
    assert other.units is None
    assert "a first run shows" in on_limits(other, "lines")


def test_what_is_refused_is_said_beforehand():
    never = reach(metric(Mean(own_value), without_interval="it is a count"), items([2] * 30))
    assert on_limits(never, "lines") == "no limit can be decided: it is a count"
    worst = reach(metric(lambda records, sampling: None), items([2] * 30))
    assert on_limits(worst, "lines").endswith("there can be no max_regression")


@pytest.mark.parametrize(
    ("least", "unit", "told"),
    [(2.51, "%", "2.6 points"), (2.5, "%", "2.5 points"), (0.1234, "bits", "0.13 bits")],
)
def test_a_distance_that_is_enough_is_rounded_up(least, unit, told):
    assert amount(least, unit) == told


def test_init_says_of_each_limit_what_it_can_decide():
    limits = {
        "gendered_pair_entropy.control_accuracy": {"max_distance": 1},
        "template_association.association": {"max_distance": 1},
    }
    first, second = told_of_limits(Choices(trigger("push"), model="demo", limits=limits))
    assert first.startswith("Careful   gendered_pair_entropy.control_accuracy: max_distance 1 is b")
    assert second.startswith("Limit     template_association.association: can be decided")
