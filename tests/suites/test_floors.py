"""What every floor says it is: models that know nothing come to it, in every suite and head."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from math import sqrt
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pytest

from bias_suites.social.seat import Effect
from cases import CASES
from guessing import Guessing, labels_of
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import BiasError, UsageError
from pytest_bias.models.interface import Capability, ModelKind
from pytest_bias.records.report import Item, sha256
from pytest_bias.records.score import Score
from pytest_bias.scoring import statistics
from pytest_bias.scoring.metric import Metric
from pytest_bias.scoring.scores import Context, score_records
from pytest_bias.scoring.statistics import Draws
from pytest_bias.suites import find
from pytest_bias.suites.catalogue import installed
from pytest_bias.suites.measures import Measure, measure_items
from pytest_bias.suites.suite import Configuration, Suite

DATA = Path(__file__).parents[3] / "shared" / "data"

N_MODELS: Final = 20
N_ITEMS: Final = 150
FAR: Final = 5.0
"""Standard errors that a mean is off by in one of 10,000 sets of as many models."""
DRAWS: Final = Draws(resamples=19, arrangements=100, shuffles=39, partitions=50)
"""Intervals and tests are not looked at, and a mean of a few shuffles is not biased."""


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(statistics, "DRAWS", DRAWS)


class Head(NamedTuple):
    """A kind of model that a suite with floors meets, and the labels of a classifier."""

    suite: str
    kind: ModelKind
    labels: tuple[str, ...] = ()

    @property
    def measure(self) -> Measure:
        """How the suite measures it."""
        found = find(self.suite).measure_for(capabilities(self.kind))
        assert found is not None
        return found

    def model(self, items: tuple[Item, ...], seed: int) -> Guessing:
        """Return a model of the kind that guesses."""
        made = Guessing(capabilities(self.kind), items, self.labels, seed)
        role = self.measure.reads
        return made.reading(role, self.measure.reads_also) if role else made


def capabilities(kind: ModelKind) -> frozenset[Capability]:
    return kind.facts.capabilities | {Capability.OPEN_VOCABULARY}


def heads() -> Iterator[Any]:
    """Yield every head that a suite with floors meets: of classifiers those of 2 and 3 labels."""
    for suite in installed():
        for kind in ModelKind:
            measure = suite.measure_for(capabilities(kind))
            if measure is None or not floored(measure):
                continue
            if Capability.CLASSIFY not in measure.needs:
                yield pytest.param(Head(suite.name, kind), id=f"{suite.name}-{kind}")
                continue
            for n in (2, 3):
                labels = labels_of(measure.reads, n) if measure.reads else ("a", "b", "c")[:n]
                head = Head(suite.name, kind, labels)
                try:
                    head.model((), 0)
                except UsageError:
                    continue  # The suite asks for all three labels, or the role has but two.
                yield pytest.param(head, id=f"{suite.name}-{n} labels")


def floored(measure: Measure) -> list[Metric]:
    return [metric for metric in measure.metrics if metric.floor_of]


@cache
def items_of(suite: str, measure: str) -> tuple[Item, ...]:
    """Return some whole clusters of the suite's items, or of ones shaped like them."""
    real = (_real(find(suite), c) for c in find(suite).configurations)
    made = (tuple(c.items()) for c in CASES.values() if c.suite == suite)
    of = find(suite).measure_named(measure)
    found = next(items for items in chain(real, made) if _has_all(items, of))
    chosen: list[Item] = []
    for cluster in sorted({i.cluster for i in found}, key=sha256):
        if len(chosen) < N_ITEMS:
            chosen += [i for i in found if i.cluster == cluster and i.status is None]
    return tuple(chosen)


def _has_all(items: tuple[Item, ...], measure: Measure) -> bool:
    unread = [item.record("unscored", reason="not read") for item in items]
    return all(any(metric.where(r) for r in unread) for metric in floored(measure))


def _real(suite: Suite, configuration: Configuration) -> tuple[Item, ...]:
    """Return the items of a configuration; none where its data are not at hand."""
    licences = ", ".join(source.licence for source in configuration.consents)
    try:
        data = DataFolder(DATA, offline=True, accepted={suite.name: licences})
        return configuration.load(data).items
    except BiasError:
        return ()


@pytest.mark.by_day(
    *("gendered_pair_entropy-masked", "seat-encoder", "seat-causal", "bold-causal"),
    *("classified_completions-causal", "hatecheck-2 labels", "equity_evaluation-3 labels"),
    *("hans-3 labels", "general_quality-causal", "answer_shortcuts-question-answering"),
)
@pytest.mark.parametrize("head", list(heads()))
def test_models_that_know_nothing_come_to_the_floor(head: Head):
    suite, measure = find(head.suite), head.measure
    items, metrics = items_of(suite.name, measure.name), floored(measure)
    found: dict[tuple[str, ...], list[Score]] = {}
    for seed in range(N_MODELS):
        records = measure_items(measure, head.model(items, seed), items)
        for score in score_records(records, metrics, Context(suite.name, "en", seed)):
            found.setdefault((score.metric, *score.by.values()), []).append(score)
    floors = {n: s for n, s in found.items() if all(None not in (x.value, x.floor) for x in s)}
    assert {name for name, *_ in floors} == {m.name for m in metrics}
    wrong = {}
    for name, scores in floors.items():
        (metric,) = (m for m in metrics if m.name == name[0])
        assert {s.floor_of for s in scores} == {metric.floor_of}
        off, error = off_by(scores, signed=isinstance(metric.estimate, Effect))
        if abs(off) > FAR * error:
            wrong[name] = f"off by {off:.3g} ± {error:.2g}"
    assert wrong == {}


def off_by(scores: Sequence[Score], *, signed: bool = False) -> tuple[float, float]:
    """Return how far values lie from their floors on average, and the standard error of that.

    The floor of a signed effect size is that of its size. Of percentages that are seldom right the
    error is at least that of as many trials.
    """
    values = [abs(s.value) if signed else s.value for s in scores]
    off = np.array(values) - np.array([s.floor for s in scores])
    error = off.std(ddof=1) / sqrt(len(off))
    if scores[0].floor_of == "guessing":
        share, trials = scores[0].floor / 100, sum(s.n_clusters for s in scores)
        error = max(error, 100 * sqrt(share * (1 - share) / trials))
    return float(off.mean()), float(error)


def test_a_floor_of_another_head_is_found_out():
    head = Head("fever_symmetric", ModelKind.CLASSIFIER, labels_of("fact_checking", 3))
    (accuracy,) = (m for m in head.measure.metrics if m.headline)
    assert accuracy.floor is not None
    items = items_of(head.suite, head.measure.name)
    of_two = replace(accuracy, floor=replace(accuracy.floor, at=lambda _: 50.0), by=())
    scores = []
    for seed in range(N_MODELS):
        records = measure_items(head.measure, head.model(items, seed), items)
        scores += score_records(records, [of_two], Context(head.suite, "en", seed))
    off, error = off_by(scores)
    assert off < -FAR * error


def test_every_kind_of_model_and_of_floor_is_met():
    met = [param.values[0] for param in heads()]
    assert {head.kind for head in met} == set(ModelKind) - {ModelKind.ANSWERS}
    assert {len(head.labels) for head in met if head.labels} == {2, 3}
    of = {metric.floor_of for head in met for metric in floored(head.measure)}
    assert of == {"guessing", "shuffled labels", "wording alone", "other groups"}
