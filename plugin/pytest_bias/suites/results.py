"""Scores of a result, from its records and its suite."""

from dataclasses import replace

from pytest_bias.records.report import SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.scoring.finite import finite
from pytest_bias.scoring.scores import Context, estimator_for, measured, members, score_records
from pytest_bias.scoring.statistics import Estimate
from pytest_bias.scoring.unscored import status_of
from pytest_bias.suites.suite import STRUCTURE, Suite


def scored(result: SuiteResult, suite: Suite, seed: int) -> SuiteResult:
    """Return a result with the scores computed from its records.

    A score depends on nothing else, so this works for a saved report as well.
    """
    measure = suite.measure_named(result.measure or "")
    context = Context(suite.name, result.config, seed)
    scores = score_records(result.records, measure.metrics, context)
    status, reason = status_of(result.records, is_structure=suite.name == STRUCTURE)
    return replace(result, scores=scores, status=status, reason=reason)


def at_level(result: SuiteResult, suite: Suite, score: Score, level: float, seed: int) -> Estimate:
    """Estimate a score of a result again, from the same resamples, at another level.

    Raises
    ------
    UnknownName
        If the suite has no such measure.
    """
    measure = suite.measure_named(result.measure or "")
    metric = next(m for m in measure.metrics if m.name == score.metric)
    context = Context(suite.name, result.config, seed, level)
    kept = measured(members(result.records, metric, dict(score.by)), metric, score.by)
    estimator = estimator_for(metric, score.by)
    return finite(estimator(kept, context.sampling(metric.name, score.by, metric.bounds)))
