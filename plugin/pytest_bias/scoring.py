"""Records to scores: pure, without the model, so that anybody can do it again."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from pytest_bias import permutation, resampling, statistics
from pytest_bias.finite import finite
from pytest_bias.records import Record, Report, SuiteResult, SuiteStatus, canonical_json, sha256
from pytest_bias.resampling import Sums
from pytest_bias.scores import Family, Score, Spread
from pytest_bias.statistics import Bounds, Estimate, Floats, Sampling, Test
from pytest_bias.suites import STRUCTURE, Estimator, Metric, Suite, find

LEVEL: Final = 0.95
"""Confidence level of every interval."""

EVEN: Final = 50.0
"""Percentage that independent records reach by chance."""

MAX_UNSCORED: Final = 0.05
"""Share of unscored records in a group above which the group has no score (rule B5)."""


@dataclass(frozen=True)
class Context:
    """What a score depends on besides its records."""

    suite: str
    config: str
    seed: int = 0
    level: float = LEVEL

    def seed_of(self, metric: str, by: Mapping[str, str]) -> str:
        """Return the seed of one score in hexadecimal, from a hash of what the score is."""
        return sha256(canonical_json([self.seed, self.suite, self.config, metric, dict(by)]))[:16]

    def sampling(
        self, metric: str, by: Mapping[str, str], bounds: Bounds = (None, None)
    ) -> Sampling:
        """Return how one score is drawn, always in the same way."""
        rng = np.random.default_rng(int(self.seed_of(metric, by), 16))
        return Sampling(rng, self.level, bounds=bounds)


Contribution = Callable[[Record], float | None]


def own_value(record: Record) -> float | None:
    """Return the value of a record, which is what the headline of most suites averages."""
    return record.value


@dataclass(frozen=True)
class Additive:
    """An estimator that averages one number a record, so that two reports can be paired.

    `of` is a record's contribution, null where the record is not part of the metric.
    """

    of: Contribution

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        raise NotImplementedError

    def values(self, records: Sequence[Record]) -> Floats:
        """Return the contributions of records, NaN where a record has none."""
        return np.array([self.of(r) for r in records], dtype=np.float64)

    def groups(self, records: Sequence[Record]) -> Sequence[str] | None:
        """Return the groups whose means are averaged, or null where there are none."""
        return None

    def compared(self, records: Sequence[Record]) -> Mapping[str, Sequence[Record]]:
        """Return the groups that are held against one another, with their records."""
        return {}

    def against(self, group: str) -> "Additive":
        """Return the estimator of one group against the others, if there is one."""
        raise TypeError(f"{type(self).__name__} does not hold groups against one another")

    def sums(self, records: Sequence[Record]) -> Sums:
        """Return what is resampled: the clusters of the records."""
        clusters = [r.cluster for r in records]
        return resampling.mean_sums(self.values(records), clusters, self.groups(records))

    def test(self, records: Sequence[Record], ideal: float, sampling: Sampling) -> Test:
        """Test whether the value is at its ideal."""
        kept, values = self.contributing(records)
        clusters = [r.cluster for r in kept]
        return permutation.mean_test(values, clusters, ideal, sampling, self.groups(kept))

    def contributing(self, records: Sequence[Record]) -> tuple[list[Record], Floats]:
        """Return the records that are part of the metric, with their contributions."""
        values = self.values(records)
        kept = ~np.isnan(values)
        return [r for r, k in zip(records, kept, strict=True) if k], values[kept]


class Mean(Additive):
    """Mean contribution of the records, resampled over clusters."""

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        kept, values = self.contributing(records)
        return resampling.mean(values, [r.cluster for r in kept], sampling)


class Share(Additive):
    """Percentage of independent records; `of` gives 0, 100, or 50 for a tie."""

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        kept, values = self.contributing(records)
        return resampling.share(values, [r.cluster for r in kept], sampling)

    def sums(self, records: Sequence[Record]) -> Sums:
        """Return what is resampled, marked where every record is a trial of its own."""
        found = super().sums(records)
        alone = found.n_units == len(records) and not np.isnan(self.values(records)).any()
        return replace(found, independent=alone)

    def test(self, records: Sequence[Record], ideal: float, sampling: Sampling) -> Test:
        """Test whether the share is even; of independent records exactly."""
        kept, values = self.contributing(records)
        if ideal != EVEN:
            return Test(reason=f"no test for an ideal of {ideal:g} %")
        if len({r.cluster for r in kept}) == len(kept):
            return statistics.sign_test(values, ideal)
        return super().test(records, ideal, sampling)


@dataclass(frozen=True)
class MacroMean(Additive):
    """Unweighted mean over the groups of a `by` key of the mean contribution in each."""

    over: str

    def groups(self, records: Sequence[Record]) -> Sequence[str]:
        """Return the groups whose means are averaged."""
        return [r.by[self.over] for r in records]

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Estimate from scored records."""
        kept, values = self.contributing(records)
        clusters = [r.cluster for r in kept]
        return resampling.mean(values, clusters, sampling, self.groups(kept))


def scored(result: SuiteResult, suite: Suite, seed: int) -> SuiteResult:
    """Return a result with the scores that its records give.

    This is all that a score depends on, so it serves a saved report as well.
    """
    measure = suite.measure_named(result.measure or "")
    context = Context(suite.name, result.config, seed)
    scores = score_records(result.records, measure.metrics, context)
    status, reason = _status(result.records, suite)
    return replace(result, scores=scores, status=status, reason=reason)


def statistics_of(report: Report) -> int:
    """Return the version of `statistics` that made the intervals and tests of a report."""
    return int(report.tool.get("statistics_version", 1))


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
            # A suite that was measured says why it has no result.
            if metric.headline and metric.whole and ordered:
                scores.append(replace(_empty(ordered, metric, {}, context), **_of_none(ordered)))
            continue
        found = [_score(relevant, metric, {}, context)] if metric.whole else []
        for keys in metric.by:
            groups = sorted({tuple(r.by[k] for k in keys) for r in relevant if _has(r, keys)})
            for group in groups:
                by = dict(zip(keys, group, strict=True))
                found.append(_score(members(relevant, metric, by), metric, by, context))
        family: Family = "suite" if metric.family else "exploratory"
        scores += [replace(s, family="decision" if s.headline else family) for s in found]
    for family, adjust in _ADJUSTMENTS.items():
        scores = _adjusted(scores, family, adjust)
    return tuple(scores)


_ADJUSTMENTS: Final[dict[Family, Callable[[Sequence[float]], list[float]]]] = {
    "suite": statistics.holm,
    "exploratory": statistics.benjamini_hochberg,
}
"""How p-values are adjusted within one suite; those of headlines need the whole run."""


def with_decision_family(suites: Sequence[SuiteResult]) -> tuple[SuiteResult, ...]:
    """Return the results of a run with the p-values of the headlines adjusted for one another.

    Controls put a suite to the test and are no part of it.
    """
    scores = [s for suite in suites if suite.control_of is None for s in suite.scores]
    adjusted = iter(_adjusted(scores, "decision", statistics.holm))
    return tuple(
        suite
        if suite.control_of is not None
        else replace(suite, scores=tuple(next(adjusted) for _ in suite.scores))
        for suite in suites
    )


def at_level(suite: SuiteResult, score: Score, level: float, seed: int) -> Estimate:
    """Estimate a score of a result again, from the same resamples, at another level.

    Raises
    ------
    UnknownName
        If the suite or its measure is not installed.
    """
    measure = find(suite.name).measure_named(suite.measure or "")
    metric = next(m for m in measure.metrics if m.name == score.metric)
    context = Context(suite.name, suite.config, seed, level)
    records = [r for r in members(suite.records, metric, dict(score.by)) if r.status == "scored"]
    estimator = estimator_for(metric, score.by)
    return finite(estimator(records, context.sampling(metric.name, score.by, metric.bounds)))


def members(records: Iterable[Record], metric: Metric, by: Mapping[str, str]) -> list[Record]:
    """Return the records that a score of a group is about, sorted by item.

    Those of all groups, along a key by which the metric holds one group against the others.
    """
    same = {(k, v) for k, v in by.items() if k != metric.versus}
    found = [r for r in records if metric.where(r) and same <= dict(r.by).items()]
    return sorted(found, key=lambda r: r.item)


def estimator_for(metric: Metric, by: Mapping[str, str]) -> Estimator:
    """Return what estimates a score: of one group against the others where the metric says so."""
    if metric.versus not in by:
        return metric.estimate
    assert isinstance(metric.estimate, Additive), "only what adds up holds groups against others"
    return metric.estimate.against(by[metric.versus])


def _has(record: Record, keys: tuple[str, ...]) -> bool:
    return all(k in record.by for k in keys)


def _score(
    records: Sequence[Record], metric: Metric, by: dict[str, str], context: Context
) -> Score:
    scored = [r for r in records if r.status == "scored"]
    empty = _empty(records, metric, by, context)
    if not scored:
        nothing = _nothing(records)
        return replace(empty, note=nothing, interval_reason=nothing)
    estimator = estimator_for(metric, by)
    if why := _short(records) or _short_in_group(records, estimator):
        return replace(empty, note=why, interval_reason="no value")
    # What is too large for a number has no value, and needs no warning besides.
    with np.errstate(over="ignore", invalid="ignore"):
        estimate = finite(estimator(scored, context.sampling(metric.name, by, metric.bounds)))
    floor = metric.floor(scored) if metric.floor else None
    found = _tested(
        replace(
            empty,
            value=estimate.value,
            interval=estimate.interval,
            interval_reason=estimate.interval_reason,
            method=estimate.method,
            n_clusters=estimate.n_clusters,
            test=estimate.test,
            p_value=estimate.p_value,
            p_reason=estimate.p_reason,
            floor=estimate.floor if floor is None else floor,
            spread=_spread(scored, metric, by),
            note=estimate.note,
        ),
        scored,
        metric,
        context,
    )
    return finite(found)


def _empty(
    records: Sequence[Record], metric: Metric, by: dict[str, str], context: Context
) -> Score:
    """Return a score without a value, with what is known of it before it is estimated."""
    return Score(
        metric=metric.name,
        value=None,
        ideal=metric.ideal,
        bounds=metric.bounds,
        unit=metric.unit,
        tolerance=metric.tolerance,
        by=by,
        headline=metric.headline and not by,
        level=context.level,
        seed=context.seed_of(metric.name, by),
        n=sum(r.status == "scored" for r in records),
        n_unscored=sum(r.status in ("unscored", "error") for r in records),
        n_excluded=sum(r.status == "excluded" for r in records),
    )


def _of_none(records: Sequence[Record]) -> dict[str, Any]:
    """Return what a headline says that none of the records is part of."""
    silent = sum(r.status == "scored" and r.value is None for r in records)
    why = f"none of {len(records)} items counts"
    why += f": {silent} have no answer" if silent else ""
    return {"n": 0, "note": why, "interval_reason": "no value", "family": "decision"}


def _nothing(records: Sequence[Record]) -> str:
    """Say that nothing was scored, and why where one rule has dropped every item."""
    reasons = {r.reason for r in records if r.status == "excluded"}
    if all(r.status == "excluded" for r in records) and len(reasons) == 1:
        return f"every item is excluded: {reasons.pop()}"
    return "nothing was scored"


def _short(records: Sequence[Record]) -> str | None:
    """Say that too many records are unscored, if they are (rule B5)."""
    items = sum(r.status != "excluded" for r in records)
    unscored = items - sum(r.status == "scored" for r in records)
    if unscored <= MAX_UNSCORED * items:
        return None
    return f"{unscored} of {items} items could not be scored, more than {MAX_UNSCORED:.0%}"


def _short_in_group(records: Sequence[Record], estimator: Estimator) -> str | None:
    """Say the same of a group that a gap is measured to."""
    groups = estimator.compared(records) if isinstance(estimator, Additive) else {}
    found = ((name, _short(members)) for name, members in groups.items())
    return next((f"{name}: {why}" for name, why in found if why), None)


def _tested(score: Score, records: Sequence[Record], metric: Metric, context: Context) -> Score:
    """Add the test of the hypothesis that a score is at its ideal."""
    if score.value is None or score.p_value is not None:
        return score
    if metric.ideal in metric.bounds:
        return replace(score, p_reason="the ideal is an end of the scale")
    estimator = estimator_for(metric, score.by)
    if not isinstance(estimator, Additive):
        return replace(score, p_reason="no test for this metric")
    sampling = context.sampling(f"test of {metric.name}", score.by)
    test = estimator.test(records, metric.ideal, sampling)
    return replace(score, test=test.how, p_value=test.p_value, p_reason=test.reason)


def _spread(records: Sequence[Record], metric: Metric, by: Mapping[str, str]) -> Spread | None:
    """Return how far the metric differs between the templates that its records name."""
    if not metric.spread or not isinstance(metric.estimate, Additive):
        return None
    if metric.spread_within and metric.spread_within not in by:
        return None
    by_template: dict[str, list[Record]] = {}
    for record in records:
        if name := record.detail.get(metric.spread):
            by_template.setdefault(str(name), []).append(record)
    values = [metric.estimate.sums(by_template[name]).value for name in sorted(by_template)]
    values = [v for v in values if math.isfinite(v)]
    if len(values) < 2:
        return None
    with np.errstate(over="ignore"):
        sd = float(np.std(values, ddof=1))
    if not math.isfinite(sd):
        return None
    return Spread(metric.spread, len(values), sd, min(values), max(values))


def _adjusted(
    scores: Sequence[Score], family: Family, adjust: Callable[[Sequence[float]], list[float]]
) -> list[Score]:
    """Adjust the p-values of one family for one another."""
    p_values = [s.p_value for s in scores if s.family == family and s.p_value is not None]
    adjusted = iter(adjust(p_values))
    return [
        replace(s, p_adjusted=next(adjusted)) if s.family == family and s.p_value is not None else s
        for s in scores
    ]
