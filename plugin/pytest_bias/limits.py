"""A project's own limits, and the one decision that CI takes.

A limit is *held* when the whole interval lies inside it, *exceeded* when the whole interval lies
outside, and *undecided* otherwise: measuring less never turns undecided into held. The decision is
the project's policy, so it is in decision.json and never in report, card or badge.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, TypeAlias

from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.records import Report, Score, SuiteResult
from pytest_bias.suites import find

SCHEMA: Final = "pytest-bias/decision/1"

Verdict: TypeAlias = Literal["held", "exceeded", "undecided", "not_measured"]
Status: TypeAlias = Literal["measured", "held", "undecided", "exceeded", "could-not-measure"]

EXIT_OK: Final = 0
EXIT_EXCEEDED: Final = 1
EXIT_NOT_MEASURED: Final = 3

_KEY = re.compile(
    r"(?P<suite>\w+)(?:\[(?P<config>[\w.-]+)\])?\.(?P<metric>\w+)(?:\[(?P<by>[^\]]+)\])?"
)
_RULES: Final = ("max_distance", "undecided")
_FORM: Final = "crows_pairs.stereotype_preference: {max_distance: 10, undecided: warn}"


@dataclass(frozen=True, slots=True)
class Limit:
    """The largest distance from the ideal that a project accepts of one score.

    `undecided` says whether an undecided limit only warns or fails the run.
    """

    text: str
    suite: str
    metric: str
    max_distance: float
    config: str | None = None
    by: Mapping[str, str] = field(default_factory=dict)
    undecided: Literal["warn", "fail"] = "warn"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one limit."""

    limit: str
    verdict: Verdict
    entry: str | None
    value: float | None = None
    interval: tuple[float, float] | None = None
    allowed: tuple[float, float] | None = None
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
    distance = rules.get("max_distance")
    if isinstance(distance, bool) or not isinstance(distance, int | float) or not distance >= 0:
        raise UsageError(f"limit {text!r}: max_distance is {distance!r}, not a number from 0 on.")
    undecided = rules.get("undecided", "warn")
    if undecided not in ("warn", "fail"):
        raise UnknownName.among(f"limit {text!r}: undecided", str(undecided), ["warn", "fail"])
    by = dict(part.strip().split("=", 1) for part in (match["by"] or "").split(",") if "=" in part)
    if match["by"] and not by:
        raise UsageError(f"limit {text!r}: a group is written [bias_type=religion].")
    return Limit(text, suite.name, match["metric"], float(distance), match["config"], by, undecided)


def decide(report: Report, limits: Sequence[Limit]) -> Decision:
    """Hold a report against a project's limits."""
    outcomes = tuple(outcome for limit in limits for outcome in _outcomes(report, limit))
    problems = tuple(
        f"{s.entry}: {s.reason}" for s in report.suites if s.status in ("error", "inconclusive")
    )
    verdicts = {o.verdict for o in outcomes}
    status: Status = "measured"
    if outcomes:
        status = "held"
    if "undecided" in verdicts:
        status = "undecided"
    could_not = bool(problems) or "not_measured" in verdicts
    exit_code = EXIT_OK
    if could_not or any(o.fails for o in outcomes if o.verdict == "undecided"):
        exit_code = EXIT_NOT_MEASURED
    if could_not:
        status = "could-not-measure"
    if "exceeded" in verdicts:
        status, exit_code = "exceeded", EXIT_EXCEEDED
    return Decision(status, exit_code, outcomes, problems, report.digest)


def _outcomes(report: Report, limit: Limit) -> Iterable[Outcome]:
    suites = [
        s for s in report.suites if s.name == limit.suite and limit.config in (None, s.config)
    ]
    measured = [s for s in suites if s.status == "scored"]
    if not measured:
        why = suites[0].reason if suites else "the suite was not run"
        yield Outcome(limit.text, "not_measured", None, reason=why)
    for suite in measured:
        yield _outcome(suite, limit)


def _outcome(suite: SuiteResult, limit: Limit) -> Outcome:
    try:
        score = suite.score(limit.metric, **limit.by)
    except KeyError as error:
        return Outcome(limit.text, "not_measured", suite.entry, reason=str(error.args[0]))
    if score.value is None:
        return Outcome(limit.text, "not_measured", suite.entry, reason=score.note)
    low, high = score.bounds
    allowed = (
        max(score.ideal - limit.max_distance, -math.inf if low is None else low),
        min(score.ideal + limit.max_distance, math.inf if high is None else high),
    )
    verdict, reason = _verdict(score, allowed)
    return Outcome(
        limit=limit.text,
        verdict=verdict,
        entry=suite.entry,
        value=score.value,
        interval=score.interval,
        allowed=allowed,
        reason=reason,
        n=score.n,
        n_to_decide=_n_to_decide(score, allowed) if verdict == "undecided" else None,
        fails=verdict == "exceeded" or (verdict == "undecided" and limit.undecided == "fail"),
    )


def _verdict(score: Score, allowed: tuple[float, float]) -> tuple[Verdict, str | None]:
    if score.interval is None:
        return "undecided", f"no interval: {score.interval_reason}"
    low, high = score.interval
    if allowed[0] <= low and high <= allowed[1]:
        return "held", None
    if high < allowed[0] or low > allowed[1]:
        return "exceeded", None
    return "undecided", "the limit lies inside the interval"


def _n_to_decide(score: Score, allowed: tuple[float, float]) -> int | None:
    """Estimate how many items would decide, if the value stayed where it is.

    The width of an interval falls with the square root of the number of items.
    """
    if score.interval is None or score.value is None:
        return None
    gap = min(abs(score.value - end) for end in allowed)
    half = (score.interval[1] - score.interval[0]) / 2
    return math.ceil(score.n * (half / gap) ** 2) if gap > 0 else None
