"""A project's own limits, and the one decision that CI takes.

A limit is *held* when the whole interval lies inside it, *exceeded* when the whole interval lies
outside, and *undecided* otherwise: measuring less never turns undecided into held. The decision is
the project's policy, so it is in decision.json and never in report, card or badge.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

from pytest_bias.compare import Comparison
from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.records import Report, SuiteResult
from pytest_bias.scores import Score
from pytest_bias.suites import find

SCHEMA: Final = "pytest-bias/decision/1"

Verdict: TypeAlias = Literal["held", "exceeded", "undecided", "not_measured", "no_baseline"]
Status: TypeAlias = Literal[
    "measured", "held", "undecided", "exceeded", "no-baseline", "could-not-measure"
]

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
        config = self.config or suite.language.partition("-")[0]
        return suite.name == self.suite and suite.config in (config, "all")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one limit."""

    limit: str
    rule: str
    verdict: Verdict
    entry: str | None
    value: float | None = None
    interval: tuple[float, float] | None = None
    allowed: tuple[float | None, float | None] | None = None
    reason: str | None = None
    n: int | None = None
    n_to_decide: int | None = None
    fails: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """The one decision of a run: the same in the terminal, JUnit, the summary and the exit code."""

    status: Status
    exit_code: int
    outcomes: tuple[Outcome, ...]
    problems: tuple[str, ...]
    report: str

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
    return Limit(
        text, suite.name, match["metric"], distance, regression, match["config"], by, undecided
    )


def _amount(text: str, rule: str, amount: Any) -> float | None:
    if amount is None:
        return None
    if (
        isinstance(amount, bool)
        or not isinstance(amount, int | float)
        or not 0 <= amount < math.inf
    ):
        raise UsageError(f"limit {text!r}: {rule} is {amount!r}, not a number from 0 on.")
    return float(amount)


def decide(
    report: Report,
    limits: Sequence[Limit],
    comparison: Comparison | None = None,
    *,
    first_run: bool = False,
) -> Decision:
    """Hold a report, and its comparison with the baseline, against a project's limits.

    `first_run` says that no baseline is expected, so that regression limits do not apply yet.
    """
    outcomes = tuple(o for limit in limits for o in _outcomes(report, limit, comparison))
    if first_run:
        outcomes = tuple(o for o in outcomes if o.verdict != "no_baseline")
    problems = tuple(
        f"{s.entry}: {s.reason}" for s in report.suites if s.status in ("error", "inconclusive")
    )
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
    return Decision(status, exit_code, outcomes, problems, report.digest)


def _outcomes(report: Report, limit: Limit, comparison: Comparison | None) -> Iterator[Outcome]:
    suites = [s for s in report.suites if limit.is_about(s)]
    rules = [r for r in ("max_distance", "max_regression") if getattr(limit, r) is not None]
    for rule in rules:
        missing = Outcome(limit.text, rule, "not_measured", None)
        if not suites:
            yield replace(missing, reason="the suite was not run")
        for suite in suites:
            if suite.status == "scored":
                yield _outcome(suite, limit, rule, comparison)
            else:
                yield replace(missing, entry=suite.entry, reason=suite.reason)


def _outcome(suite: SuiteResult, limit: Limit, rule: str, comparison: Comparison | None) -> Outcome:
    missing = Outcome(limit.text, rule, "not_measured", suite.entry)
    try:
        score = suite.score(limit.metric, **limit.by)
    except KeyError as error:
        return replace(missing, reason=str(error.args[0]))
    if score.value is None:
        return replace(missing, reason=score.note)
    if rule == "max_distance":
        low, high = score.bounds
        distance = limit.max_distance or 0.0
        allowed = (
            max(score.ideal - distance, -math.inf if low is None else low),
            min(score.ideal + distance, math.inf if high is None else high),
        )
        return _held_against(missing, limit, score.value, score.interval, allowed, score)
    if comparison is None:
        return replace(missing, verdict="no_baseline", reason="there is no baseline")
    change = comparison.change(suite.entry, score)
    if change is None:
        return replace(missing, reason=f"not comparable: {comparison.reason(suite.entry)}")
    worse = change.worsening
    allowed = (-math.inf, limit.max_regression or 0.0)
    outcome = _held_against(missing, limit, worse.value or 0.0, worse.interval, allowed, score)
    if worse.interval is None:
        return replace(outcome, reason=f"no interval: {worse.interval_reason}")
    return outcome


def _held_against(
    outcome: Outcome,
    limit: Limit,
    value: float,
    interval: tuple[float, float] | None,
    allowed: tuple[float, float],
    score: Score,
) -> Outcome:
    """Say whether an interval lies inside what is allowed, outside, or across its edge."""
    verdict: Verdict = "undecided"
    reason = None
    if interval is None:
        reason = f"no interval: {score.interval_reason}"
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
        allowed=(_finite(allowed[0]), _finite(allowed[1])),
        reason=reason,
        n=score.n,
        n_to_decide=_n_to_decide(value, interval, allowed, score)
        if verdict == "undecided"
        else None,
        fails=verdict == "exceeded" or (verdict == "undecided" and limit.undecided == "fail"),
    )


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
