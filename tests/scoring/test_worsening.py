"""How much worse a score became at least, where its change has no interval."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from made import record, report, result
from pytest_bias.records.report import Report
from pytest_bias.reports.comparison import compare
from pytest_bias.reports.limits import decide, named_by, read_limits
from pytest_bias.scoring.resampling import mean_sums
from pytest_bias.scoring.scores import Context, score_records
from pytest_bias.scoring.statistics import Draws, Sampling
from pytest_bias.scoring.worsening import typical_least, worsened_at_least
from pytest_bias.suites import find

NATS = "redditbias.log_perplexity_difference"


def sampling(level: float = 0.95, seed: int = 0) -> Sampling:
    return Sampling(np.random.default_rng(seed), level, Draws(resamples=1999))


def worsened(now: Sequence[float], then: Sequence[float], ideal: float = 0) -> float | None:
    sums = [mean_sums(np.array(v, dtype=float), range(len(v))) for v in (now, then)]
    return worsened_at_least(*sums, ideal, sampling())


def test_all_alike_are_known_but_for_chance():
    assert typical_least(np.full(10, 3.0), sampling()) == pytest.approx(3)
    # 2^-5 of all exchanges change no sign: no number is rejected at one in forty.
    assert typical_least(np.full(5, 3.0), sampling()) is None
    assert typical_least(np.full(10, 3.0), sampling(0.9999)) is None


def test_ten_values_by_hand():
    # With nine at 1 and one at 0: means of subsets are at least 1 - 1/k; few subsets are small.
    values = np.array([1.0] * 9 + [0.0])
    least = typical_least(values, sampling())
    assert least is not None
    assert 0.6 < least < 0.9
    assert typical_least(values + 5, sampling()) == pytest.approx(least + 5)


@pytest.mark.parametrize("mean", [0.0, 2.0])
def test_chance_alone_goes_beyond_the_truth_in_one_of_forty(mean: float):
    rng = np.random.default_rng(3)
    made = [typical_least(rng.normal(mean, 1, 12), sampling(seed=n)) for n in range(400)]
    above = sum(least is not None and least > mean for least in made)
    # 10 are expected; more than 22 have a probability below 1 in 1,000.
    assert above <= 22


@pytest.mark.parametrize(
    ("now", "then", "least"),
    [
        ([3] * 12, [1] * 12, 2),
        ([-3] * 12, [-1] * 12, 2),
        # To the other side of the ideal: the distance grew by one, though the value by five.
        ([3] * 12, [-2] * 12, 1),
        ([1] * 12, [3] * 12, -2),
        ([3] * 9, [1] * 9, None),
    ],
)
def test_it_is_the_distance_that_counts(now, then, least):
    assert worsened(now, then) == (least if least is None else pytest.approx(least))


def shifted(n: int, by: float) -> Report:
    """Return a report on pairs that all have moved by the same."""
    suite = find("redditbias")
    measure = suite.measures[0]
    made = []
    for k in range(n):
        detail: dict[str, Any] = {"first": -1.0, "second": -1.0 - k / 10 - by}
        detail |= {"tokens_first": 3, "tokens_second": 3}
        value = 1 + k / 10 + by
        made.append(record(f"r/{k}", value, by={"axis": "gender"}, detail=detail))
    scores = score_records(made, measure.metrics, Context("redditbias", "en"))
    return report(result("redditbias", "en", scores, made, measure=measure.name))


@pytest.mark.parametrize(
    ("n", "by", "verdict", "said"),
    [
        (20, 3.0, "exceeded", "a test rejects that it is 2 at most (no interval: all items"),
        (20, 2.0, "undecided", "no interval: all items changed by the same"),
        (20, 1.0, "undecided", "no interval: all items changed by the same"),
        (9, 3.0, "undecided", "no interval: "),
        (6, 3.0, "undecided", "no interval: 6 clusters; it takes 8"),
    ],
)
def test_a_regression_by_the_same_everywhere(n, by, verdict, said):
    limits = read_limits({NATS: {"max_regression": {"points": 2}}})
    now, then = shifted(n, by), shifted(n, 0)
    decision = decide(now, limits, compare(now, then, named_by(limits)))
    (outcome,) = decision.outcomes
    assert (outcome.verdict, outcome.interval) == (verdict, None)
    assert outcome.reason.startswith(said)
    assert decision.exit_code == (1 if verdict == "exceeded" else 0)
