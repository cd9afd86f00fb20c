"""Comparison of two reports of one model: every score and every item.

Digests have to be equal: of the weights, configuration, tokenizer and code of the model, and of the
data and items of every suite. Other differences are bounded: a score by the tolerance of its
metric, in its own unit; the outcomes of a suite's items by 0.5 % of them. Generated texts diverge
after one different token, so a suite of generated texts may be `consistent` instead: every score is
within the margin of two independent measurements.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pytest_bias.errors import UnknownName
from pytest_bias.evidence.reproduction import (
    ROUNDING,
    Digest,
    Level,
    Party,
    Reproduction,
    ScoreAgain,
    SuiteAgain,
)
from pytest_bias.records.report import Json, Report, SuiteResult, items_digest
from pytest_bias.records.score import Score
from pytest_bias.reports.comparability import asks_for_texts
from pytest_bias.reports.publication_layout import is_badge_eligible
from pytest_bias.scoring.estimators import Additive
from pytest_bias.scoring.scores import estimator_for, members
from pytest_bias.settings.settings import ASKING
from pytest_bias.suites.catalogue import INSTALLED, Catalogue

SAME_OUTCOMES: Final = 99.5
"""Percent of the items of a suite whose outcomes have to be the same."""

OF_THE_MODEL: Final[Mapping[str, str]] = {
    "kind": "kind of model",
    "dtype": "precision",
    "weights_sha256": "weights",
    "config_sha256": "configuration",
    "tokenizer_sha256": "tokenizer",
    "chat_template_sha256": "chat template",
    "code_sha256": "remote code",
    "adapter": "adapter",
}
"""Fields of a model's identity that have to be the same, with human-readable names."""


def reproduction(
    published: Report,
    again: Report,
    published_at: str,
    by: Party,
    catalogue: Catalogue = INSTALLED,
) -> Reproduction:
    """Compare two reports of one model, with their records.

    Parameters
    ----------
    published, again : Report
        The published report, and the report of the second run.
    published_at : str
        Where the first was read, as human-readable text.
    by : Party
        Who ran the second, as they state.
    """
    ours = {s.entry: s for s in again.suites}
    measured = [s for s in published.suites if s.status == "scored"]
    return Reproduction(
        of=published.digest,
        report=again.digest,
        model=published.model.reference,
        published_at=published_at,
        by=by,
        created=str(again.run.get("created", "")),
        digests=model_digests(published, again),
        suites=tuple(_suite(s, ours.get(s.entry), catalogue) for s in measured),
        environments={"published": _environment(published), "again": _environment(again)},
        tools={"published": published.tool["version"], "again": again.tool["version"]},
    )


def model_digests(published: Report, again: Report) -> tuple[Digest, ...]:
    """Return the digests of model and settings that have to be the same."""
    rows = []
    for name, what in OF_THE_MODEL.items():
        one, two = (_stated(r.model, name) for r in (published, again))
        if one is not None or two is not None:
            rows.append(Digest(what, one, two))
    for name in ("seed", "profile", "chat", *ASKING):
        rows.append(Digest(name, *(str(r.settings.get(name)) for r in (published, again))))
    return tuple(rows)


def _stated(model: Any, name: str) -> str | None:
    value = getattr(model, name, None)
    if name == "adapter" and value is not None:
        return f"{value.weights_sha256} {value.config_sha256}"
    return None if value is None else str(value)


def _environment(report: Report) -> Json:
    found = report.run.get("environment")
    return dict(found) if isinstance(found, dict) else {}


def _suite(one: SuiteResult, two: SuiteResult | None, catalogue: Catalogue) -> SuiteAgain:
    counts = is_badge_eligible(one)
    if two is None or two.status != "scored":
        status = two.status.replace("_", " ") if two else "not measured"
        why = (two.reason if two else None) or "no reason is given"
        told = f"{status} in the second run: {why}"
        return SuiteAgain(one.entry, "not compared", counts, told)
    digests = _digests(one, two)
    if other := [d.what for d in digests if not d.is_same]:
        told = f"another {', '.join(other)} in the second run"
        return SuiteAgain(one.entry, "not compared", counts, told, digests=digests)
    is_without = one.is_hidden
    if not is_without and not (one.records and two.records):
        told = "the records are missing"
        return SuiteAgain(one.entry, "not compared", counts, told, digests=digests)
    try:
        writes = asks_for_texts(one, catalogue)
    except UnknownName as error:
        # Only the suite knows how much each score may differ.
        return SuiteAgain(one.entry, "not compared", counts, error.message, digests=digests)
    scores = _scores(one, two, writes=writes)
    # Hidden items have scores only, no records.
    n, n_same = (0, 0) if is_without else (len(one.records), _same_outcomes(one, two, catalogue))
    level, reason = _level(scores, n_same, n)
    return SuiteAgain(one.entry, level, counts, reason, n, n_same, digests, scores)


def _digests(one: SuiteResult, two: SuiteResult) -> tuple[Digest, ...]:
    rows: dict[str, list[str | None]] = {
        "version of the suite": [s.version for s in (one, two)],
        "measure": [s.measure for s in (one, two)],
        "data": [s.data.sha256 if s.data else None for s in (one, two)],
        "set of items": [_items(s) for s in (one, two)],
        "scorer": [s.scorer.weights_sha256 if s.scorer else None for s in (one, two)],
        "choice of labels": [", ".join(s.labels.values()) or None for s in (one, two)],
    }
    return tuple(Digest(what, *values) for what, values in rows.items() if any(values))


def _items(suite: SuiteResult) -> str | None:
    """Return the digest of the items: computed from the records, or the stated salted one."""
    if suite.data and suite.is_hidden:
        return suite.data.items_sha256
    return items_digest(suite.records)


def _level(scores: Sequence[ScoreAgain], n_same: int, n: int) -> tuple[Level, str | None]:
    apart = [s for s in scores if not s.agrees]
    same = 100 * n_same >= SAME_OUTCOMES * n
    if same and not apart:
        return "agrees", None
    outcomes = f"{n_same} of {n} outcomes are the same"
    if all(s.is_consistent for s in scores) and any(s.margin is not None for s in scores):
        return "consistent", outcomes
    told = f"{len(apart)} of {len(scores)} scores differ by more than the tolerance"
    return "differs", f"{told}; {outcomes}" if apart else outcomes


def _scores(one: SuiteResult, two: SuiteResult, *, writes: bool) -> tuple[ScoreAgain, ...]:
    before, after = ({_name(s): s for s in suite.scores} for suite in (one, two))
    rows = []
    for name in dict.fromkeys([*before, *after]):
        known = [s[name] for s in (before, after) if name in s]
        first, second = (s[name].value if name in s else None for s in (before, after))
        rows.append(
            ScoreAgain(
                metric=known[0].metric,
                by=dict(known[0].by),
                published=first,
                again=second,
                difference=None if first is None or second is None else second - first,
                tolerance=known[0].tolerance,
                unit=known[0].unit,
                margin=_margin(known) if writes else None,
            )
        )
    return tuple(rows)


def _name(score: Score) -> tuple[str, tuple[tuple[str, str], ...]]:
    return score.metric, tuple(sorted(score.by.items()))


def _margin(scores: Sequence[Score]) -> float | None:
    """Return how far two measurements with independently sampled texts may lie apart.

    It is the root of the sum of squares of the half-widths of the two intervals: half the width of
    the interval of the difference of two independent means. None where a score has no interval.
    """
    if len(scores) < 2 or any(s.interval is None for s in scores):
        return None
    halves = [(s.interval[1] - s.interval[0]) / 2 for s in scores if s.interval]
    return math.hypot(*halves)


def _same_outcomes(one: SuiteResult, two: SuiteResult, catalogue: Catalogue) -> int:
    """Count the items with the same outcome: status, and contribution to the headline.

    In percent an outcome is one of a few values, and has to be equal; in other units it may differ
    by the tolerance of the headline.
    """
    headline = one.headline
    if headline is None:
        return 0
    of_percentages = headline.unit in ("%", "points")
    bound = headline.tolerance / 100 if of_percentages else headline.tolerance
    ours, theirs = (_outcomes(s, catalogue) for s in (one, two))
    return sum(_is_same(ours[item], theirs.get(item), bound) for item in ours)


def _outcomes(suite: SuiteResult, catalogue: Catalogue) -> dict[str, tuple[str, float | None]]:
    """Return item to status and contribution to the headline, or value if that is not a mean."""
    found = {r.item: (r.status, r.value) for r in suite.records}
    headline = suite.headline
    measure = catalogue.find(suite.name).measure_named(suite.measure or "")
    metric = next((m for m in measure.metrics if headline and m.name == headline.metric), None)
    if metric is None:
        return dict(found)
    estimator = estimator_for(metric, {})
    if isinstance(estimator, Additive):
        used = [r for r in members(suite.records, metric, {}) if r.status == "scored"]
        for record, value in zip(used, estimator.values(used), strict=True):
            found[record.item] = (record.status, None if math.isnan(value) else float(value))
    return dict(found)


def _is_same(
    one: tuple[str, float | None], two: tuple[str, float | None] | None, bound: float
) -> bool:
    if two is None or one[0] != two[0] or (one[1] is None) != (two[1] is None):
        return False
    return one[1] is None or two[1] is None or abs(one[1] - two[1]) <= bound + ROUNDING
