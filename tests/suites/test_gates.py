"""Limits on the headlines of suites: the most biased model there can be does not get through."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from bias_suites.social import honest
from made import report, result
from pytest_bias.data.sources import DataFolder
from pytest_bias.records.report import Item, Record, Report
from pytest_bias.reports.comparison import compare
from pytest_bias.reports.decision import Decision
from pytest_bias.reports.limits import decide, named_by, read_limits
from pytest_bias.scoring.families import with_decision_family
from pytest_bias.scoring.scores import Context, score_records
from pytest_bias.suites import find

ACCEPTED = {"honest": "CC-BY-NC-SA-4.0", "equity_evaluation": "no clear licence"}


@pytest.fixture
def items(data_dir) -> Callable[[str, str], tuple[Item, ...]]:
    data = DataFolder(data_dir, offline=True, accepted=ACCEPTED)
    return lambda suite, config: find(suite).configuration(config).load(data).items


def measured(suite: str, config: str, records: Sequence[Record]) -> Report:
    measure = find(suite).measures[0]
    scores = score_records(records, measure.metrics, Context(suite, config))
    made = result(suite, config, scores, records, language="en", measure=measure.name)
    return report(*with_decision_family([made]))


def gate(found: Report, baseline: Report | None = None, **limits: Any) -> Decision:
    read = read_limits({name.replace("__", "."): rule for name, rule in limits.items()})
    return decide(found, read, compare(found, baseline, named_by(read)) if baseline else None)


def verdict(decision: Decision) -> tuple[str, int]:
    (outcome,) = decision.outcomes
    return outcome.verdict, decision.exit_code


def test_a_model_whose_every_completion_hurts(items):
    def gated(words: tuple[str, honest.Found | None], distance: float) -> tuple[str, int]:
        made = [honest._record(i, [words] * 20) for i in items("honest", "en")]
        limit = {"max_distance": distance}
        return verdict(gate(measured("honest", "en", made), honest__honest_5=limit))

    hurts = ("h", honest.Found(True, ("an",)))
    assert gated(hurts, 5) == ("exceeded", 1)
    # Fifteen templates without any say that less than a fifth of all templates have some.
    assert gated(("-", None), 25) == ("held", 0)
    assert gated(("-", None), 5) == ("undecided", 0)


def test_a_model_that_reads_every_pronoun_by_the_stereotype(items):
    made = []
    for item in items("winobias", "en"):
        pro = item.by["stereotype"] == "pro"
        detail = {"right": -1.0 if pro else -2.0, "wrong": -2.0 if pro else -1.0}
        made.append(item.scored(100.0 * pro, detail | {"tokens_right": 3, "tokens_wrong": 3}))
    found = measured("winobias", "en", made)
    assert verdict(gate(found, winobias__gap={"max_distance": 20})) == ("exceeded", 1)
    assert found.suites[0].score("gap").interval == pytest.approx((99.32, 100), abs=0.02)


def words(shift: float, rng: np.random.Generator) -> list[Record]:
    return [
        Record(
            f"{test}{side}{n}",
            f"bundled-weat{test}",
            "scored",
            shift * (side == "x") + 0.1 * rng.normal(),
            {"test": f"bundled-weat{test}"},
            {"side": side, "word": str(n)},
        )
        for test in range(6, 9)
        for side in "xy"
        for n in range(8)
    ]


def test_words_that_belong_to_one_side_each():
    found = measured("seat", "en", words(2, np.random.default_rng(0)))
    assert verdict(gate(found, seat__mean_absolute_effect={"max_distance": 0.5})) == ("exceeded", 1)


@pytest.mark.nightly
def test_a_regression_of_a_size_without_a_sign(items):
    of = [i for i in items("hatecheck", "en") if not i.status]

    def flags(seen: Callable[[Item], bool]) -> Report:
        made = [
            i.scored(100.0 * seen(i), {"probability": 0.9 if seen(i) else 0.1, **i.meta})
            for i in of
        ]
        return measured("hatecheck", "en", made)

    fair = flags(lambda i: i.by["gold"] == "hateful")
    blind = flags(lambda i: i.by["gold"] == "hateful" and i.by.get("group") != "women")
    limit = {"max_regression": {"points": 5}}
    assert verdict(gate(blind, fair, hatecheck__gap=limit)) == ("exceeded", 1)
    assert verdict(gate(fair, blind, hatecheck__gap=limit)) == ("held", 0)
    assert verdict(gate(blind, blind, hatecheck__gap=limit)) == ("held", 0)


def test_sentiment_that_leans_to_one_group_after_a_push(items):
    rng = np.random.default_rng(0)

    def leaning(points: float) -> Report:
        made = [
            i.scored(
                points * (i.by["axis"] == "gender") + float(rng.normal(0, 0.5)),
                {"first": 1.0, "second": 1.0, "template": i.meta["template"]},
            )
            for i in items("equity_evaluation", "en")
            if not i.status
        ]
        return measured("equity_evaluation", "en", made)

    limit = {"max_regression": {"points": 2}}
    found = gate(leaning(30), leaning(0), equity_evaluation__mean_absolute_difference=limit)
    assert verdict(found) == ("exceeded", 1)
