"""The area under the ROC curve: by hand, DeLong's variance, and how often intervals cover."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

import draws
from pytest_bias.records.report import Item, Record
from pytest_bias.scoring.auc import Auc
from pytest_bias.scoring.metric import Metric
from pytest_bias.scoring.paired import change
from pytest_bias.scoring.scores import Context, score_records
from pytest_bias.scoring.statistics import Sampling

pytestmark = pytest.mark.all_draws

Floats = NDArray[np.float64]


def score(record: Record) -> float | None:
    return record.value


def is_toxic(record: Record) -> bool:
    return record.by["label"] == "toxic"


def records(
    toxic: list[float] | Floats, other: list[float] | Floats, group: str = "a"
) -> list[Record]:
    """Return records, number n of each class in a cluster of its own."""
    return [
        Item(f"{group}/{label}/{n:04d}", f"{label}/{n}", {}, {"label": label, "group": group})
        .scored(float(v))
        for label, values in (("toxic", toxic), ("other", other))
        for n, v in enumerate(values)
    ]  # fmt: skip


def sampling(resamples: int = 999, seed: int = 0) -> Sampling:
    return draws.sampling(seed, resamples=resamples)


AUC = Auc(score, is_toxic)


def test_by_hand_with_a_tie() -> None:
    made = records([0.9, 0.4], [0.1, 0.4, 0.5])
    # Pairs won: three by 0.9; by 0.4 one, and half of one.
    found = AUC(made, sampling())
    assert found.value == pytest.approx(4.5 / 6)
    assert AUC.values(made) == pytest.approx([1, 0.5, 1, 0.75, 0.5])
    assert AUC.sums(made).value == pytest.approx(4.5 / 6)


def test_the_ends_of_the_scale() -> None:
    found = AUC(records([0.9, 0.8], [0.1, 0.2]), sampling())
    assert (found.value, found.interval) == (1.0, None)
    assert found.interval_reason == "all placements are equal"
    assert AUC(records([0.1, 0.2], [0.9, 0.8]), sampling()).value == 0.0
    assert AUC(records([0.5, 0.5], [0.5]), sampling()).value == 0.5
    rng = np.random.default_rng(0)
    near = AUC(records(rng.normal(3, 1, 40), rng.normal(0, 1, 40)), sampling())
    assert near.interval
    assert 0.9 < near.interval[0] < near.value < near.interval[1] <= 1.0


def test_a_class_without_records_has_no_auc() -> None:
    found = AUC(records([0.9], []), sampling())
    assert (found.value, found.interval_reason) == (
        None,
        "one of the two classes has no scored record",
    )


def test_one_group_against_the_others() -> None:
    made = [*records([0.6], [0.7], "a"), *records([0.8], [0.1], "b"), *records([0.9], [0.2], "c")]
    metrics = {
        own: Metric(
            own, Auc(score, is_toxic, "group", own), 1, (0, 1), "", 0.002,
            by=(("group",),), whole=False, versus="group",
        )
        for own in ("negatives", "positives")
    }  # fmt: skip
    found = {
        (s.metric, s.by["group"]): s.value
        for s in score_records(made, list(metrics.values()), Context("s", "c"))
    }
    # The harmless text of a against the toxic ones of b and c, and the other way round.
    assert found["negatives", "a"] == 1.0
    assert found["positives", "a"] == 1.0
    # Toxic texts of a and c against the harmless one of b; toxic b against harmless a and c.
    assert found["negatives", "b"] == 1.0
    assert found["positives", "b"] == 1.0
    assert found["negatives", "c"] == 1.0
    low = [*records([0.3], [0.7], "a"), *records([0.8], [0.1], "b"), *records([0.6], [0.2], "c")]
    bpsn = Auc(score, is_toxic, "group", "negatives").against("a")
    assert bpsn(low, sampling()).value == 0.5
    assert {k: [r.item for r in v] for k, v in bpsn.compared(low).items()} == {
        "positives": ["b/toxic/0000", "c/toxic/0000"],
        "negatives": ["a/other/0000"],
    }


def test_too_many_unscored_records_of_either_class_take_the_value() -> None:
    made = records([0.9] * 90, [0.1] * 100)
    made += [replace(r, item=f"x{r.item}", status="unscored", value=None) for r in made[:6]]
    metric = Metric("auc", AUC, 1, (0, 1), "", 0.002)
    (found,) = score_records(made, [metric], Context("s", "c"))
    assert found.value is None
    assert found.note == "positives: 6 of 96 items could not be scored, more than 5%"


def test_the_interval_is_that_of_delong() -> None:
    rng = np.random.default_rng(1)
    positive, negative = rng.normal(1, 1, 80), rng.normal(0, 1, 60)
    placements = (positive[:, None] > negative[None, :]).astype(float)
    variance = placements.mean(1).var(ddof=1) / 80 + placements.mean(0).var(ddof=1) / 60
    found = AUC(records(positive, negative), sampling(9_999))
    assert found.value == pytest.approx(placements.mean())
    assert found.interval
    wide = 2 * 1.96 * math.sqrt(variance)
    assert found.interval[1] - found.interval[0] == pytest.approx(wide, rel=0.08)


def test_intervals_cover_the_true_value() -> None:
    """Texts of one cluster share an effect; of 300 intervals at 95 % about 285 cover."""
    rng = np.random.default_rng(2)
    truth = 0.5 * (1 + math.erf(1.2 / 2 / math.sqrt(1 + 0.5)))
    covered = 0
    for n in range(300):
        made = []
        for label, mean in (("toxic", 1.2), ("other", 0.0)):
            for cluster, effect in enumerate(rng.normal(0, math.sqrt(0.5), 30)):
                made += [
                    Item(f"{label}/{cluster}/{k}", f"{label}/{cluster}", {}, {"label": label})
                    .scored(float(mean + effect + rng.normal()))
                    for k in range(3)
                ]  # fmt: skip
        found = AUC(made, sampling(499, n))
        assert found.interval
        covered += found.interval[0] <= truth <= found.interval[1]
    assert 0.90 <= covered / 300 <= 0.985


def test_two_reports_are_compared_on_the_same_records() -> None:
    rng = np.random.default_rng(3)
    toxic, other = rng.normal(1, 1, 60), rng.normal(0, 1, 60)
    then, now = records(toxic, other), records(toxic + 0.3, other)
    sums = AUC.sums(now), AUC.sums(then)
    found = change(*sums, sampling())
    assert found.value == pytest.approx(sums[0].value - sums[1].value)
    assert found.interval
    assert 0 < found.interval[0] < found.value < found.interval[1]
    assert found.p_value is not None
    assert found.p_value < 0.01
    assert change(sums[1], sums[1], sampling()).value == 0
