"""A project's own limits, and the one decision that CI takes.

A limit is *held* when the whole interval lies inside it, *exceeded* when the whole interval lies
outside, and *undecided* otherwise: measuring less never turns undecided into held. The worst value
of a scale exceeds a limit even without an interval: nothing worse can be seen. The decision is the
project's policy, so it is in decision.json and never in report, card or badge.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

from pytest_bias.compare import Comparison, Named
from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.hidden_results import is_hidden
from pytest_bias.records import Report, SuiteResult
from pytest_bias.scores import Score
from pytest_bias.scoring import LEVEL, Additive, at_level
from pytest_bias.statistics import Estimate
from pytest_bias.suite_states import failures
from pytest_bias.suites import find

SCHEMA: Final = "pytest-bias/decision/1"

Verdict: TypeAlias = Literal["held", "exceeded", "undecided", "not_measured", "no_baseline"]
Status: TypeAlias = Literal[
    "measured", "held", "undecided", "exceeded", "no-baseline", "could-not-measure"
]

GRAVEST: Final[tuple[Verdict, ...]] = (
    *("exceeded", "not_measured", "no_baseline", "undecided", "held"),
)
"""Verdicts, the gravest first."""

EXIT_OK: Final = 0
EXIT_EXCEEDED: Final = 1
EXIT_NOT_MEASURED: Final = 3

_KEY = re.compile(
    r"(?P<suite>\w+)(?:\[(?P<config>[\w.-]+)\])?\.(?P<metric>\w+)(?:\[(?P<by>[^\]]+)\])?"
)
_RULES: Final = ("max_distance", "max_regression", "undecided")
_FORM: Final = "crows_pairs.stereotype_preference: {max_distance: 10, undecided: warn}"


@dataclass(frozen=True, slots=True)
class Limit:
    """What a project accepts of one score.

    Parameters
    ----------
    text : str
        The limit as it was written.
    suite, config, metric, by
        Which score; without a configuration, that of every language's own configuration, such as
        ``en``. Others, such as ``en-wikitext2``, have to be named.
    max_distance : float, optional
        Largest distance from the ideal, in the metric's unit.
    max_regression : float, optional
        Largest increase of that distance since the baseline, in the metric's unit.
    undecided : str
        Whether an undecided limit only warns or fails the run.
    """

    text: str
    suite: str
    metric: str
    max_distance: float | None = None
    max_regression: float | None = None
    config: str | None = None
    by: Mapping[str, str] = field(default_factory=dict)
    undecided: Literal["warn", "fail"] = "warn"

    def is_about(self, suite: SuiteResult) -> bool:
        """Whether the limit is about this result of a suite."""
        return self.covers(suite.name, suite.config, suite.language)

    def covers(self, name: str, config: str, language: str) -> bool:
        """Whether the limit is about a suite in one configuration."""
        return name == self.suite and config in (self.config or language.partition("-")[0], "all")

    def names(self, suite: SuiteResult, score: Score) -> bool:
        """Whether the limit is about this score of a result."""
        same = (score.metric, dict(score.by)) == (self.metric, dict(self.by))
        return same and self.is_about(suite)

    @property
    def rules(self) -> tuple[str, ...]:
        """What is limited: the distance, the regression, or both."""
        return tuple(r for r in ("max_distance", "max_regression") if getattr(self, r) is not None)


Entries: TypeAlias = Iterable[tuple[str, str, str]]
"""Name, configuration and language of suites."""


def decision_level(
    limits: Sequence[Limit], entries: Entries, *, has_baseline: bool, level: float = LEVEL
) -> float:
    """Return the level of the intervals that decide on a project's limits.

    Each limit can be exceeded by chance, so with m of them every interval has the level
    1 - (1 - `level`) / m (Bonferroni): over all of them together, chance alone then exceeds a limit
    in at most 1 - `level` of the runs. Limits on regression count where there is a baseline.
    """
    there = list(entries)
    rules = ("max_distance", *(["max_regression"] if has_baseline else []))
    n = sum(
        rule in rules and limit.covers(*entry)
        for limit in limits
        for rule in limit.rules
        for entry in there
    )
    return 1 - (1 - level) / max(1, n)


def named_by(limits: Sequence[Limit]) -> Named:
    """Return what says whether a project named a score beforehand, by a limit on it."""
    return lambda suite, score: any(limit.names(suite, score) for limit in limits)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one limit; `interval` has the `level` that decides."""

    limit: str
    rule: str
    verdict: Verdict
    entry: str | None
    value: float | None = None
    interval: tuple[float, float] | None = None
    level: float | None = None
    allowed: tuple[float | None, float | None] | None = None
    reason: str | None = None
    n: int | None = None
    n_to_decide: int | None = None
    fails: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """The one decision of a run: the same in the terminal, JUnit, the summary and the exit code.

    `report` and `baseline` say by their digests what was held against the limits; `change` says in
    short what changed since the baseline (`emit.change.in_short`); `missing`: suites without data.
    """

    status: Status
    exit_code: int
    outcomes: tuple[Outcome, ...]
    problems: tuple[str, ...]
    report: str
    baseline: Mapping[str, str | None] | None = None
    change: Mapping[str, Any] | None = None
    missing: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return decision.json."""
        plain = {"schema": SCHEMA, **asdict(self)}
        return json.dumps(plain, indent=1, allow_nan=False, ensure_ascii=False)


def read_limits(plain: Mapping[str, Any]) -> tuple[Limit, ...]:
    """Read the ``limits`` of the settings, and check every name against the installed suites.

    Raises
    ------
    UsageError
        If a limit is malformed or names what does not exist.
    """
    return tuple(_limit(text, rules) for text, rules in plain.items())


def _limit(text: str, rules: Any) -> Limit:
    if "*" in text:
        raise UsageError(
            f"limit {text!r}: a limit is on one metric, since each has a unit of its own.",
            f"Name every metric: {_FORM}",
        )
    match = _KEY.fullmatch(text)
    if match is None or not isinstance(rules, Mapping):
        raise UsageError(f"limit {text!r} is malformed.", f"For instance: {_FORM}")
    suite = find(match["suite"])
    if match["config"]:
        suite.configuration(match["config"])
    metrics = {m.name: m for measure in suite.measures for m in measure.metrics}
    if match["metric"] not in metrics:
        raise UnknownName.among(f"limit on {suite.name}: metric", match["metric"], metrics)
    for rule in rules:
        if rule not in _RULES:
            raise UnknownName.among(f"limit {text!r}: rule", str(rule), _RULES, f"As in {_FORM}")
    if "max_regression" in rules and not isinstance(metrics[match["metric"]].estimate, Additive):
        headline = next(m.name for m in suite.measures[0].metrics if m.headline)
        raise UsageError(
            f"limit {text!r}: {match['metric']} has no value for single items, so that nothing can "
            "be said of a change of it.",
            f"What can: max_regression on {suite.name}.{headline}.",
        )
    distance = _amount(text, "max_distance", rules.get("max_distance"))
    regression = rules.get("max_regression")
    if regression is not None:
        if not isinstance(regression, Mapping) or set(regression) != {"points"}:
            raise UsageError(
                f"limit {text!r}: max_regression is {regression!r}.",
                "For instance: max_regression: {points: 2}",
            )
        regression = _amount(text, "max_regression: points", regression["points"])
    if distance is None and regression is None:
        raise UsageError(f"limit {text!r} sets no limit.", f"For instance: {_FORM}")
    undecided = rules.get("undecided", "warn")
    if undecided not in ("warn", "fail"):
        raise UnknownName.among(f"limit {text!r}: undecided", str(undecided), ["warn", "fail"])
    parts = [p.strip().split("=", 1) for p in match["by"].split(",")] if match["by"] else []
    if not all(len(p) == 2 and all(p) for p in parts):
        raise UsageError(f"limit {text!r}: a group is written [bias_type=religion].")
    by = dict(parts)
    groups = {
        k for m in suite.measures for x in m.metrics if x.name == match["metric"] for k in x.by
    }
    if by and tuple(sorted(by)) not in {tuple(sorted(k)) for k in groups}:
        known = [" and ".join(k) for k in sorted(groups)]
        what = f"limit {text!r}: {match['metric']} by"
        raise UnknownName.among(what, " and ".join(sorted(by)), known)
    return Limit(
        text, suite.name, match["metric"], distance, regression, match["config"], by, undecided
    )


def _amount(text: str, rule: str, amount: Any) -> float | None:
    if amount is None:
        return None
    is_number = isinstance(amount, int | float) and not isinstance(amount, bool)
    if not is_number or not 0 <= amount < math.inf:
        raise UsageError(f"limit {text!r}: {rule} is {amount!r}, not a number from 0 on.")
    return float(amount)


def decide(
    report: Report,
    limits: Sequence[Limit],
    comparison: Comparison | None = None,
    *,
    first_run: bool = False,
    allow_missing_data: bool = False,
    level: float = LEVEL,
) -> Decision:
    """Hold a report, and its comparison with the baseline, against a project's limits.

    Parameters
    ----------
    first_run, allow_missing_data : bool
        Whether no baseline is expected; whether a suite without its data fails nothing.
    level : float
        Level of the intervals that decide, from `decision_level`; that of the comparison as well.
    """
    judge = _Judge(report, comparison, level)
    outcomes = tuple(o for limit in limits for o in judge.outcomes(limit))
    outcomes = tuple(o for o in outcomes if not (first_run and o.verdict == "no_baseline"))
    problems, missing = failures(report.suites, allow_missing_data=allow_missing_data)
    verdicts = {o.verdict for o in outcomes}
    undecided_fails = any(o.fails for o in outcomes if o.verdict == "undecided")
    # From the gravest down: the first that holds is the status.
    cases: tuple[tuple[bool, Status, int], ...] = (
        ("exceeded" in verdicts, "exceeded", EXIT_EXCEEDED),
        (bool(problems) or "not_measured" in verdicts, "could-not-measure", EXIT_NOT_MEASURED),
        ("no_baseline" in verdicts, "no-baseline", EXIT_NOT_MEASURED),
        ("undecided" in verdicts, "undecided", EXIT_NOT_MEASURED if undecided_fails else EXIT_OK),
        (bool(outcomes), "held", EXIT_OK),
        (True, "measured", EXIT_OK),
    )
    status, exit_code = next((s, code) for holds, s, code in cases if holds)
    about = report.digest, _about(comparison)
    return Decision(status, exit_code, outcomes, problems, *about, missing=missing)


def _about(comparison: Comparison | None) -> dict[str, str | None] | None:
    if comparison is None:
        return None
    baseline = comparison.baseline
    return {
        "reference": baseline.model.reference,
        "revision": baseline.model.revision,
        "digest": baseline.digest,
    }


@dataclass(frozen=True, slots=True)
class _Judge:
    """Holds the scores of a report against limits, each interval at the level that decides."""

    report: Report
    comparison: Comparison | None
    level: float

    def outcomes(self, limit: Limit) -> Iterator[Outcome]:
        suites = [s for s in self.report.suites if limit.is_about(s)]
        for rule in limit.rules:
            missing = Outcome(limit.text, rule, "not_measured", None)
            if not suites:
                yield replace(missing, reason="the suite was not run")
            for suite in suites:
                if suite.status == "scored":
                    yield self._outcome(suite, limit, rule)
                else:
                    yield replace(missing, entry=suite.entry, reason=suite.reason)

    def _outcome(self, suite: SuiteResult, limit: Limit, rule: str) -> Outcome:
        missing = Outcome(limit.text, rule, "not_measured", suite.entry)
        try:
            score = suite.score(limit.metric, **limit.by)
        except KeyError as error:
            return replace(missing, reason=str(error.args[0]))
        if score.value is None:
            return replace(missing, reason=score.note)
        judged = {"max_distance": self._distance, "max_regression": self._regression}
        return judged[rule](missing, suite, limit, score)

    def _distance(
        self, missing: Outcome, suite: SuiteResult, limit: Limit, score: Score
    ) -> Outcome:
        low, high = score.bounds
        distance = limit.max_distance or 0.0
        allowed = (
            max(score.ideal - distance, -math.inf if low is None else low),
            min(score.ideal + distance, math.inf if high is None else high),
        )
        found = Estimate(score.value, score.interval, score.interval_reason)
        if score.interval and self.level != score.level:
            if not suite.records:
                why = "its items are hidden" if is_hidden(suite) else "the records are missing"
                told = f"no interval at the level {self.level:.4g}: {why}"
                return replace(missing, reason=told)
            seed = int(self.report.settings["seed"])
            found = at_level(suite, score, self.level, seed)
        return _held_against(missing, limit, found, allowed, score, self.level)

    def _regression(
        self, missing: Outcome, suite: SuiteResult, limit: Limit, score: Score
    ) -> Outcome:
        if self.comparison is None:
            return replace(missing, verdict="no_baseline", reason="there is no baseline")
        change = self.comparison.change(suite.entry, score)
        if change is None:
            why = self.comparison.reason(suite.entry)
            return replace(missing, reason=f"not comparable: {why}")
        allowed = (-math.inf, limit.max_regression or 0.0)
        return _held_against(missing, limit, change.decisive, allowed, score, self.level)


def _held_against(
    outcome: Outcome,
    limit: Limit,
    found: Estimate,
    allowed: tuple[float, float],
    score: Score,
    level: float,
) -> Outcome:
    """Say whether an interval lies inside what is allowed, outside, or across its edge."""
    verdict: Verdict = "undecided"
    reason = None
    value, interval = found.value or 0.0, found.interval
    if interval is None:
        reason = f"no interval: {found.interval_reason}"
        if _is_worst(score) and not allowed[0] <= value <= allowed[1]:
            verdict, reason = "exceeded", f"the worst that there is on its scale ({reason})"
    elif allowed[0] <= interval[0] and interval[1] <= allowed[1]:
        verdict = "held"
    elif interval[1] < allowed[0] or interval[0] > allowed[1]:
        verdict = "exceeded"
    else:
        reason = "the limit lies inside the interval"
    return replace(
        outcome,
        verdict=verdict,
        value=value,
        interval=interval,
        level=level,
        allowed=(_finite(allowed[0]), _finite(allowed[1])),
        reason=reason,
        n=score.n,
        n_to_decide=_n_to_decide(value, interval, allowed, score)
        if verdict == "undecided"
        else None,
        fails=verdict == "exceeded" or (verdict == "undecided" and limit.undecided == "fail"),
    )


def _is_worst(score: Score) -> bool:
    """Whether a value is as far from the ideal as its scale, with two ends, goes."""
    ends = [abs(end - score.ideal) for end in score.bounds if end is not None]
    return len(ends) == 2 and score.distance == max(ends)


def _finite(end: float) -> float | None:
    return end if math.isfinite(end) else None


def _n_to_decide(
    value: float,
    interval: tuple[float, float] | None,
    allowed: tuple[float, float],
    score: Score,
) -> int | None:
    """Estimate how many items would decide, if the value stayed where it is.

    The width of an interval falls with the square root of the number of items. Where what is
    allowed ends with the scale itself, nothing has to be decided.
    """
    if interval is None:
        return None
    found = []
    for end, edge in zip(allowed, score.bounds, strict=True):
        if interval[0] < end < interval[1] and end != edge and end != value:
            reach = value - interval[0] if end < value else interval[1] - value
            found.append(math.ceil(score.n * (reach / (value - end)) ** 2))
    return max(found, default=None)
