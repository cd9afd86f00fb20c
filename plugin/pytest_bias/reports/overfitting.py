"""Test whether a model was fitted to the public part of a suite, by its hidden part.

A suite is split at random, by cluster, into a public and a hidden part. The scores of a model on
the two parts differ by chance alone, unless it was fitted to the public items. A second model, the
reference, removes the difference between the parts themselves: the test is of the difference in
differences, (model - reference) on the public items minus the same on the hidden ones, against
random splits of the same clusters.

Absence of a finding is not evidence of absence: `detectable` is the difference that would have been
found.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pytest_bias.errors import MeasurementError
from pytest_bias.records.report import Record, SuiteResult
from pytest_bias.scoring.estimators import Mean, Share
from pytest_bias.scoring.metric import Metric
from pytest_bias.scoring.permutation import shift_test
from pytest_bias.scoring.power import LEVEL, POWER
from pytest_bias.scoring.resampling import mean_sums
from pytest_bias.scoring.scores import Context, members
from pytest_bias.scoring.statistics import Floats
from pytest_bias.suites.catalogue import INSTALLED, Catalogue


@dataclass(frozen=True, slots=True)
class Part:
    """Scores of two models on one part: means over the items that both could score."""

    entry: str
    n: int
    n_clusters: int
    model: float
    reference: float

    @property
    def difference(self) -> float:
        """Score of the model minus the score of the reference."""
        return self.model - self.reference


@dataclass(frozen=True, slots=True)
class SplitTest:
    """Result of the test that a model was not fitted to the public part of a suite.

    `value` is the difference in differences, public minus hidden, in the `unit` of the metric;
    `detectable` is the smallest one that is found with the `power` at the `level`, given the spread
    of these items.
    """

    metric: str
    unit: str
    public: Part
    hidden: Part
    value: float
    p_value: float
    test: str
    detectable: float
    level: float = LEVEL
    power: float = POWER

    @property
    def is_alarm(self) -> bool:
        """Whether the model treats the public items differently from the hidden ones."""
        return self.p_value <= 1 - self.level


def split_test(
    model: tuple[SuiteResult, SuiteResult],
    reference: tuple[SuiteResult, SuiteResult],
    seed: int = 0,
    catalogue: Catalogue = INSTALLED,
) -> SplitTest:
    """Test whether a model was fitted to the public part of a suite.

    Parameters
    ----------
    model, reference : tuple of SuiteResult
        Public and hidden part, scored, with their records.
    seed : int
        Seed of the random splits.
    catalogue : Catalogue
        With the suites of both parts, which are files.

    Raises
    ------
    MeasurementError
        If a part was not scored, was measured in two ways, or has too few clusters.
    """
    for result in (*model, *reference):
        if result.status != "scored":
            raise MeasurementError(f"{result.entry} was not scored: {result.reason}")
    if len({r.measure for r in (*model, *reference)}) > 1:
        ways = " and ".join(sorted({str(r.measure) for r in (*model, *reference)}))
        raise MeasurementError(
            f"the models are measured in different ways: {ways}.",
            "Choose a reference of the same kind of model.",
        )
    metric = _metric(model[0], catalogue)
    samples, parts = zip(
        *(_part(m, r, metric) for m, r in zip(model, reference, strict=True)), strict=True
    )
    if not any(sample[:, 0].any() for sample in samples):
        raise MeasurementError(
            "both models score every item alike, so that nothing can differ between the parts.",
            "Choose another model as the reference.",
        )
    context = Context(model[0].name, model[0].config, seed)
    sampling = context.sampling(f"split of {metric.name}", {})
    found = shift_test(*samples, sampling=sampling, power=POWER)
    if found is None:
        raise MeasurementError("each part needs two clusters or more that both models score.")
    return SplitTest(
        metric.name,
        metric.unit,
        parts[0],
        parts[1],
        found.value,
        found.p_value,
        f"{found.test} of clusters",
        found.detectable,
    )


def _metric(result: SuiteResult, catalogue: Catalogue) -> Metric:
    """Return the headline if it is a mean over items, else the first metric that is."""
    metrics = catalogue.find(result.name).measure_named(result.measure or "").metrics
    means = [m for m in metrics if isinstance(m.estimate, Mean | Share) and m.whole]
    if not means:
        raise MeasurementError(
            f"no score of {result.entry} is a mean over its items, so that a split of its items "
            "shows nothing."
        )
    return next((m for m in means if m.headline), means[0])


def _part(model: SuiteResult, reference: SuiteResult, metric: Metric) -> tuple[Floats, Part]:
    """Return the sums of the differences by cluster, and the two scores."""
    pairs = _both(model.records, reference.records, metric)
    estimate = metric.estimate
    assert isinstance(estimate, Mean | Share), "a mean over items was chosen"
    ours, theirs = (estimate.values([pair[side] for pair in pairs]) for side in (0, 1))
    there = ~(np.isnan(ours) | np.isnan(theirs))
    clusters = [a.cluster for (a, _), kept in zip(pairs, there, strict=True) if kept]
    differences = ours[there] - theirs[there]
    (sample,) = mean_sums(differences, clusters).samples
    n = int(there.sum())
    scores = (float(values[there].mean()) if n else np.nan for values in (ours, theirs))
    return sample, Part(model.entry, n, len(sample), *scores)


def _both(
    model: Sequence[Record], reference: Sequence[Record], metric: Metric
) -> list[tuple[Record, Record]]:
    """Return the records of the items that both models scored."""
    theirs = {r.item: r for r in members(reference, metric, {}) if r.status == "scored"}
    ours = [r for r in members(model, metric, {}) if r.status == "scored"]
    return [(r, theirs[r.item]) for r in ours if r.item in theirs]
