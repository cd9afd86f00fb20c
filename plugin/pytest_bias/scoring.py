"""Records to scores: pure, without the model, so that anybody can do it again."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from pytest_bias import statistics
from pytest_bias.records import Record, SuiteResult, SuiteStatus, canonical_json, sha256
from pytest_bias.scores import Score
from pytest_bias.statistics import Estimate, Sampling
from pytest_bias.suites import STRUCTURE, Metric, Suite

LEVEL: Final = 0.95
"""Confidence level of every interval."""

MAX_UNSCORED: Final = 0.05
"""Share of unscored records in a group above which the group has no score (rule B5)."""


@dataclass(frozen=True)
class Context:
    """What a score depends on besides its records."""

    suite: str
    config: str
    seed: int = 0
    level: float = LEVEL

    def rng(self, metric: str, by: dict[str, str]) -> np.random.Generator:
        """Return the generator of one score, from a hash of what the score is."""
        name = canonical_json([self.seed, self.suite, self.config, metric, by])
        return np.random.default_rng(int(sha256(name)[:16], 16))


Contribution = Callable[[Record], float | None]


def _contributions(records: Sequence[Record], of: Contribution) -> tuple[list[Record], np.ndarray]:
    pairs = [(r, v) for r in records if (v := of(r)) is not None]
    return [r for r, _ in pairs], np.array([v for _, v in pairs], dtype=np.float64)


@dataclass(frozen=True)
class Paired:
    """An estimator that averages one number a record, so that two reports can be paired.

    `of` is a record's contribution, null where the record is not part of the metric.
    """

    of: Contribution

    def pairs(self, records: Sequence[tuple[Record, Record]]) -> tuple[np.ndarray, np.ndarray]:
        """Return the contributions of records of two reports, NaN where a record has none."""
        values = [(self.of(a), self.of(b)) for a, b in records]
        first, second = np.array(values, dtype=np.float64).reshape(-1, 2).T
        return first, second


class Mean(Paired):
    """Mean contribution of the records, resampled over clusters."""

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        kept, values = _contributions(records, self.of)
        return statistics.mean(values, [r.cluster for r in kept], sampling)


class Share(Paired):
    """Percentage of independent records; `of` gives 0, 100, or 50 for a tie."""

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        kept, values = _contributions(records, self.of)
        return statistics.share(values, [r.cluster for r in kept], sampling)


@dataclass(frozen=True)
class MacroMean:
    """Unweighted mean over the groups of a `by` key of the mean contribution in each."""

    of: Contribution
    over: str

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        kept, values = _contributions(records, self.of)
        clusters = [r.cluster for r in kept]
        return statistics.macro_mean(values, clusters, [r.by[self.over] for r in kept], sampling)


def scored(result: SuiteResult, suite: Suite, seed: int) -> SuiteResult:
    """Return a result with the scores that its records give.

    This is all that a score depends on, so it serves a saved report as well.
    """
    measure = suite.measure_named(result.measure or "")
    context = Context(suite.name, result.config, seed)
    scores = score_records(result.records, measure.metrics, context)
    status, reason = _status(result.records, suite)
    return replace(result, scores=scores, status=status, reason=reason)


def _status(records: Sequence[Record], suite: Suite) -> tuple[SuiteStatus, str | None]:
    counted = [r for r in records if r.status != "excluded"]
    unscored = [r for r in counted if r.status != "scored"]
    if not counted:
        return "inconclusive", "no item is left"
    if suite.name == STRUCTURE:
        failed = [r.item for r in counted if r.detail.get("essential") and not r.value]
        why = "structural checks failed: " + "; ".join(
            f"{r.item} ({r.reason})" for r in counted if r.item in failed
        )
        return ("inconclusive", why) if failed else ("scored", None)
    if len(unscored) > MAX_UNSCORED * len(counted):
        reasons = sorted({r.reason or "" for r in unscored})
        why = (
            f"{len(unscored)} of {len(counted)} items could not be scored: {'; '.join(reasons[:3])}"
        )
        return "inconclusive", why
    return "scored", None


def score_records(
    records: Iterable[Record], metrics: Sequence[Metric], context: Context
) -> tuple[Score, ...]:
    """Compute every score of a suite from its records.

    The order of the records does not matter.
    """
    ordered = sorted(records, key=lambda r: r.item)
    scores: list[Score] = []
    for metric in metrics:
        relevant = [r for r in ordered if metric.where(r)]
        if not relevant:
            continue
        found = [_score(relevant, metric, {}, context)] if metric.whole else []
        for keys in metric.by:
            groups = sorted({tuple(r.by[k] for k in keys) for r in relevant if _has(r, keys)})
            for group in groups:
                by = dict(zip(keys, group, strict=True))
                members = [r for r in relevant if by.items() <= dict(r.by).items()]
                found.append(_score(members, metric, by, context))
        scores += _adjusted(found) if metric.family else found
    return tuple(scores)


def _has(record: Record, keys: tuple[str, ...]) -> bool:
    return all(k in record.by for k in keys)


def _score(
    records: Sequence[Record], metric: Metric, by: dict[str, str], context: Context
) -> Score:
    scored = [r for r in records if r.status == "scored"]
    unscored = sum(r.status in ("unscored", "error") for r in records)
    items = len(scored) + unscored
    empty = Score(
        metric=metric.name,
        value=None,
        ideal=metric.ideal,
        bounds=metric.bounds,
        unit=metric.unit,
        tolerance=metric.tolerance,
        by=by,
        headline=metric.headline and not by,
        level=context.level,
        n=len(scored),
        n_unscored=unscored,
        n_excluded=sum(r.status == "excluded" for r in records),
    )
    if not scored:
        return replace(empty, note="nothing was scored", interval_reason="nothing was scored")
    if unscored > MAX_UNSCORED * items:
        why = f"{unscored} of {items} items could not be scored, more than {MAX_UNSCORED:.0%}"
        return replace(empty, note=why, interval_reason="no value")
    sampling = Sampling(context.rng(metric.name, by), context.level)
    estimate = metric.estimate(scored, sampling)
    return replace(
        empty,
        value=estimate.value,
        interval=estimate.interval,
        interval_reason=estimate.interval_reason,
        method=estimate.method,
        n_clusters=estimate.n_clusters,
        p_value=estimate.p_value,
        floor=estimate.floor,
        note=estimate.note,
    )


def _adjusted(scores: Sequence[Score]) -> list[Score]:
    tested = [s for s in scores if s.p_value is not None]
    adjusted = iter(statistics.holm([s.p_value for s in tested if s.p_value is not None]))
    return [s if s.p_value is None else replace(s, p_adjusted=next(adjusted)) for s in scores]
