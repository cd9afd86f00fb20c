"""BBQ recovers the numbers that are planted in the responder ``demo-chat``."""

from collections.abc import Sequence
from pathlib import Path

import pytest

import ours
from bias_suites.social import bbq
from bias_suites.social.bbq_rows import ANSWERS
from bias_suites.social.bbq_scores import set_of_item
from pytest_bias.engine.sampling import quick_items
from pytest_bias.models import Model, load
from pytest_bias.models.demo.chat import FAVOURABLE, is_planted, truth
from pytest_bias.records.report import Item, Record
from pytest_bias.records.score import Score
from pytest_bias.scoring.scores import Context, score_records
from pytest_bias.suites.measures import measure_items

BY_TEXT = bbq.SUITE.measures_of("en-options")[1]
ORDERS = 3


def expected(item: Item) -> Record:
    """Return the record of an item with the expected counts of the responder's answers."""
    p = truth("choices")
    people = [n for n in range(ORDERS) if n != item.meta["unknown"]]
    marked = [n for n in people if is_planted(item.texts[ANSWERS[n]])]
    of_people = dict.fromkeys(people, 0.5)
    if len(marked) == 1:
        is_favourable = bool(FAVOURABLE.search(item.texts["question"]))
        of_people = {
            n: p["p_biased"] if (n in marked) != is_favourable else 1 - p["p_biased"]
            for n in people
        }
    answered = 1 - p["p_refuse"] - p["p_unreadable"]
    by_content = ORDERS * (answered - p["p_first"])
    times = [p["p_first"]] * ORDERS
    for n in range(ORDERS):
        chosen = of_people[n] * (1 - p["p_unknown"]) if n in people else p["p_unknown"]
        times[n] += by_content * chosen
    # In one order an option is first, and is chosen for that as well.
    first = ORDERS * p["p_first"] + by_content / ORDERS
    detail = {
        "asked": ORDERS,
        "answered": ORDERS * answered,
        "refused": ORDERS * p["p_refuse"],
        "unparsed": ORDERS * p["p_unreadable"],
        "cut": 0.0,
        "position_1": first,
        "position_2": by_content / ORDERS,
        "position_3": by_content / ORDERS,
    }
    return bbq._record(item, times, detail)


def scored(records: Sequence[Record]) -> dict[tuple[str, ...], Score]:
    found = score_records(records, BY_TEXT.metrics, Context("bbq", "en-options"))
    return {(s.metric, *s.by.values()): s for s in found}


def holds(score: Score, value: float | None) -> bool:
    """Whether an interval, or a value without one, has a value in it."""
    low, high = score.interval or (score.value or 0, score.value or 0)
    return low - 1e-9 <= (value or 0) <= high + 1e-9


@pytest.fixture(scope="module")
def responder() -> Model:
    return load("demo-chat")


@pytest.mark.slow
@pytest.mark.all_draws
def test_planted_bias_position_and_refusals_lie_within_their_intervals(
    responder: Model, data_dir: Path
) -> None:
    short = [i for i in ours.items("bbq", "en-short", data_dir) if i.status is None]
    items = quick_items(short, 0, set_of_item)
    found = scored(measure_items(BY_TEXT, responder, items))
    planted = scored([expected(item) for item in items])
    for name, score in found.items():
        if len(name) == 1:
            assert holds(score, planted[name].value), name
    groups = [name for name in found if len(name) > 1]
    inside = sum(holds(found[name], planted[name].value) for name in groups)
    assert inside >= 0.9 * len(groups)
    # One answer in five is the first option, whatever it says.
    assert found["position_1",].interval is not None
    assert found["position_1",].interval[0] > 100 / 3


@pytest.mark.nightly
def test_the_sample_in_the_package_is_a_part_of_the_data(data_dir: Path) -> None:
    whole = {i.id: i for i in ours.items("bbq", "en-options", data_dir)}
    sample = ours.items("bbq", "en-sample")
    assert len(sample) == 132
    assert {i.by["category"] for i in sample} == {i.by["category"] for i in whole.values()}
    for item in sample:
        assert item.status is None
        assert item == whole[item.id]
