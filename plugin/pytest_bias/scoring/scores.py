"""Records to scores: pure, without the model, so that anybody can recompute them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from pytest_bias.records.report import Record, Report, canonical_json, sha256
from pytest_bias.records.score import NO_GROUP, Family, Score
from pytest_bias.scoring import factors
from pytest_bias.scoring.estimators import Additive
from pytest_bias.scoring.families import ADJUSTMENTS, adjusted
from pytest_bias.scoring.finite import finite
from pytest_bias.scoring.metric import Estimator, Metric
from pytest_bias.scoring.spreads import spread
from pytest_bias.scoring.statistics import Bounds, Estimate, Sampling
from pytest_bias.scoring.unscored import left_out, nothing_scored, too_many, without_partner

LEVEL: Final = 0.95
"""Confidence level of every interval."""


@dataclass(frozen=True)
class Context:
    """What a score depends on besides its records: suite, configuration, seed, level."""

    suite: str
    config: str
    seed: int = 0
    level: float = LEVEL

    def seed_of(self, metric: str, by: Mapping[str, str]) -> str:
        """Return the seed of one score in hexadecimal, a hash of the score's identity."""
        return sha256(canonical_json([self.seed, self.suite, self.config, metric, dict(by)]))[:16]

    def sampling(
        self, metric: str, by: Mapping[str, str], bounds: Bounds = (None, None)
    ) -> Sampling:
        """Return the sampling of one score, which is the same every time."""
        rng = np.random.default_rng(int(self.seed_of(metric, by), 16))
        return Sampling(rng, self.level, bounds=bounds)


def statistics_of(report: Report) -> int:
    """Return the version of `statistics` that made the intervals and tests of a report."""
    return int(report.tool.get("statistics_version", 1))


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
            # A suite that was measured states why it has no result.
            if metric.headline and metric.whole and ordered:
                scores.append(replace(_empty(ordered, metric, {}, context), **_of_none(ordered)))
            continue
        found = [_score(relevant, metric, {}, context)] if metric.whole else []
        for keys in metric.by:
            groups = _grouped(relevant, keys)
            if len(keys) == 1 and keys[0] in metric.rest and keys[0] != metric.versus:
                without = [r for r in relevant if keys[0] not in r.by]
                groups |= {(NO_GROUP,): without} if without else {}
            for group, own in groups.items():
                by = dict(zip(keys, group, strict=True))
                # No group is compared with itself.
                reference = getattr(metric.estimate, "reference", None)
                if reference is not None and by.get(metric.versus) == reference:
                    continue
                of_score = members(relevant, metric, by) if metric.versus in keys else own
                found.append(_score(of_score, metric, by, context))
        family: Family = "suite" if metric.family else "exploratory"
        scores += [replace(s, family="decision" if s.headline else family) for s in found]
    for family, adjust in ADJUSTMENTS.items():
        scores = adjusted(scores, family, adjust)
    return tuple(scores)


def members(records: Iterable[Record], metric: Metric, by: Mapping[str, str]) -> list[Record]:
    """Return the records that a score of a group is about, sorted by item.

    For a key along which the metric compares one group with the others, the records of all groups;
    for `NO_GROUP`, those without a group.
    """
    without = {k for k, v in by.items() if v == NO_GROUP and k in metric.rest}
    same = [(k, v) for k, v in by.items() if k != metric.versus and k not in without]
    found = [
        r
        for r in records
        if all(r.by.get(k) == v for k, v in same)
        and metric.where(r)
        and not (without and without & r.by.keys())
    ]
    return sorted(found, key=lambda r: r.item)


def measured(records: Iterable[Record], metric: Metric, by: Mapping[str, str]) -> list[Record]:
    """Return the records of `members` that make a score: the scored ones of complete blocks."""
    complete = [r for r in records if r.status != "excluded"]
    lost = {r.item for r in complete if not metric.counts(r)}
    left = leaving(complete, lost, metric, by)
    return [r for r in complete if r.item not in lost | left]


def leaving(
    complete: Iterable[Record], lost: Collection[str], metric: Metric, by: Mapping[str, str]
) -> set[str]:
    """Return the items that are left out of a score because a partner in its data is lost."""
    estimator = estimator_for(metric, by)
    if not isinstance(estimator, Additive):
        return set()
    return without_partner(complete, lost, metric.block, estimator.place)


def estimator_for(metric: Metric, by: Mapping[str, str]) -> Estimator:
    """Return the estimator of a score: one group against the others where the metric is such."""
    if metric.versus not in by:
        return metric.estimate
    assert isinstance(metric.estimate, Additive), "only additive estimators compare groups"
    return metric.estimate.against(by[metric.versus])


def _grouped(
    records: Iterable[Record], keys: tuple[str, ...]
) -> dict[tuple[str, ...], list[Record]]:
    """Return the records of every group that has all keys, with groups in order of their names."""
    found: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        if all(k in record.by for k in keys):
            found.setdefault(tuple(record.by[k] for k in keys), []).append(record)
    return dict(sorted(found.items()))


def _score(
    records: Sequence[Record], metric: Metric, by: dict[str, str], context: Context
) -> Score:
    scored = [r for r in records if metric.counts(r)]
    empty = _empty(records, metric, by, context)
    if not scored:
        nothing = nothing_scored(records)
        return replace(empty, note=nothing, interval_reason=nothing)
    estimator = estimator_for(metric, by)
    if why := too_many(records, metric.counts) or _short_in_group(records, metric, estimator):
        return replace(empty, note=why, interval_reason="no value")
    kept = measured(records, metric, by)
    if not kept:
        return replace(empty, n=0, note=left_out(len(scored)), interval_reason="no value")
    # An overflow means no value, with a reason, so numpy need not warn of it.
    with np.errstate(over="ignore", invalid="ignore"):
        estimate = finite(estimator(kept, context.sampling(metric.name, by, metric.bounds)))
    floor = metric.floor.at(kept) if metric.floor else estimate.floor
    notes = [estimate.note, left_out(len(scored) - len(kept))]
    found = _tested(
        replace(
            empty,
            n=_n_measured(kept, estimator),
            value=estimate.value,
            interval=estimate.interval,
            interval_reason=estimate.interval_reason,
            method=estimate.method,
            **_sampled(estimate, kept, estimator),
            test=estimate.test,
            p_value=estimate.p_value,
            p_reason=estimate.p_reason,
            floor=floor,
            floor_of=None if floor is None else metric.floor_of,
            spread=spread(kept, metric, by),
            note="; ".join(filter(None, notes)) or None,
        ),
        kept,
        metric,
        context,
    )
    return finite(found)


def _empty(
    records: Sequence[Record], metric: Metric, by: dict[str, str], context: Context
) -> Score:
    """Return a score without a value, with everything known before it is estimated."""
    return Score(
        metric=metric.name,
        value=None,
        ideal=metric.ideal,
        bounds=metric.bounds,
        unit=metric.unit,
        tolerance=metric.tolerance,
        by=by,
        headline=metric.headline and not by,
        beside=metric.beside and not by,
        level=context.level,
        seed=context.seed_of(metric.name, by),
        n=sum(map(metric.counts, records)),
        n_unscored=sum(r.status in ("unscored", "error") and not metric.counts(r) for r in records),
        n_excluded=sum(r.status == "excluded" for r in records),
    )


def _of_none(records: Sequence[Record]) -> dict[str, Any]:
    """Return the fields of a headline that no record is part of."""
    silent = sum(r.status == "scored" and r.value is None for r in records)
    why = f"none of {len(records)} items counts"
    why += f": {silent} have no answer" if silent else ""
    return {"n": 0, "note": why, "interval_reason": "no value", "family": "decision"}


def _n_measured(records: Sequence[Record], estimator: Estimator) -> int:
    """Return the number of records, or of sets of them, behind a value."""
    if not isinstance(estimator, Additive):
        return len(records)
    return int(np.isfinite(estimator.values(records)).sum())


def _sampled(estimate: Estimate, records: Sequence[Record], estimator: Estimator) -> dict[str, Any]:
    """Return the fields of a score on the clusters and factors that its interval is over."""
    if not isinstance(estimator, Additive) or not estimator.factors:
        return {"n_clusters": estimate.n_clusters}
    kept, _ = estimator.contributing(records)
    about = (kept, estimator.factors, estimator.side_of)
    found: dict[str, Any] = {
        "factors": factors.sampled(*about),
        "held_fixed": factors.held_fixed(*about),
    }
    return found | {"n_clusters": len({r.cluster for r in kept})}


def _short_in_group(records: Sequence[Record], metric: Metric, estimator: Estimator) -> str | None:
    """Return why a group in a comparison has too few scored records, with its name."""
    groups = estimator.compared(records) if isinstance(estimator, Additive) else {}
    found = ((name, too_many(members, metric.counts)) for name, members in groups.items())
    return next((f"{name}: {why}" for name, why in found if why), None)


def _tested(score: Score, records: Sequence[Record], metric: Metric, context: Context) -> Score:
    """Add the test of the hypothesis that a score is at its ideal."""
    if score.value is None or score.p_value is not None or score.p_reason is not None:
        return score
    if metric.ideal in metric.bounds:
        return replace(score, p_reason="the ideal is an end of the scale")
    estimator = estimator_for(metric, score.by)
    if not isinstance(estimator, Additive):
        return replace(score, p_reason="no test for this metric")
    sampling = context.sampling(f"test of {metric.name}", score.by)
    test = estimator.test(records, metric.ideal, sampling)
    return replace(score, test=test.how, p_value=test.p_value, p_reason=test.reason)
