"""A project's own limits, and the one decision that CI takes.

A limit is *held* when the whole interval lies inside it, *exceeded* when the whole interval lies
outside, and *undecided* otherwise: measuring less never turns undecided into held. The worst value
of a scale exceeds a limit even without an interval: nothing worse can be seen. What a waiver covers
does not fail the run and keeps its verdict. The decision is the project's policy, so it is in
decision.json and never in report, card or badge.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any, Final, Literal, TypeAlias

from pytest_bias.engine.hidden import is_hidden
from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.exit_codes import EXIT_EXCEEDED, EXIT_NOT_MEASURED, EXIT_OK
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.records.suite_states import failures
from pytest_bias.reports.comparison import Comparison, Named
from pytest_bias.reports.limit_names import read_rules, read_target, require_decidable, same_target
from pytest_bias.reports.verdicts import (
    GRAVEST,
    Allowed,
    Decided,
    Verdict,
    n_to_decide,
    of_interval,
    of_score,
)
from pytest_bias.scoring.digits import DIGITS
from pytest_bias.scoring.scores import LEVEL
from pytest_bias.scoring.statistics import Estimate
from pytest_bias.settings.settings import Settings
from pytest_bias.settings.waivers import OfWaiver, Waiver, read_waivers
from pytest_bias.suites.results import at_level

SCHEMA: Final = "pytest-bias/decision/1"

Status: TypeAlias = Literal[
    "measured", "held", "undecided", "waived", "exceeded", "no-baseline", "could-not-measure"
]


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
    waivers : tuple of Waiver
        Of each of its rules, or of all of them.
    """

    text: str
    suite: str
    metric: str
    max_distance: float | None = None
    max_regression: float | None = None
    config: str | None = None
    by: Mapping[str, str] = field(default_factory=dict)
    undecided: Literal["warn", "fail"] = "warn"
    waivers: tuple[Waiver, ...] = ()

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

    def waiver(self, rule: str) -> Waiver | None:
        """Return the waiver of one of the rules, if there is one."""
        return next((w for w in self.waivers if w.rule in (None, rule)), None)


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
    waiver: OfWaiver | None = None

    @property
    def is_failure(self) -> bool:
        """Whether a test of the suite fails for it."""
        return self.fails or self.verdict in ("not_measured", "no_baseline")

    @property
    def is_waived(self) -> bool:
        """Whether it would fail the run, and does not since it is waived."""
        return self.waiver is not None and self.waiver.state == "waives"


def gravity(outcome: Outcome) -> float:
    """Return a number that is the smaller, the graver it is what became of a limit."""
    # What is waived fails no run, and is told before what is held.
    verdict = "undecided" if outcome.is_waived else outcome.verdict
    return GRAVEST.index(verdict) + (0.5 if outcome.is_waived else 0)


@dataclass(frozen=True, slots=True)
class Decision:
    """The one decision of a run: the same in the terminal, JUnit, the summary and the exit code.

    `report` and `baseline` are told by their digests; `change` says in short what changed since the
    baseline (`emit.change.in_short`). `missing` are suites without data, `without_value` those that
    were measured without a result.
    """

    status: Status
    exit_code: int
    outcomes: tuple[Outcome, ...]
    problems: tuple[str, ...]
    report: str
    baseline: Mapping[str, str | None] | None = None
    change: Mapping[str, Any] | None = None
    missing: tuple[str, ...] = ()
    without_value: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return decision.json."""
        plain = {"schema": SCHEMA, **asdict(self)}
        return json.dumps(plain, indent=1, allow_nan=False, ensure_ascii=False)


def limits_of(settings: Settings) -> tuple[Limit, ...]:
    """Read the limits of settings with their waivers; as `read_limits`."""
    return read_limits(settings.limits, read_waivers(settings.waive))


def read_limits(plain: Mapping[str, Any], waivers: Sequence[Waiver] = ()) -> tuple[Limit, ...]:
    """Read the ``limits`` of the settings, and check every name against the installed suites.

    Raises
    ------
    UsageError
        If a limit is malformed, names what does not exist or can never be decided, or a waiver
        names no limit.
    """
    limits = [_limit(str(text), rules) for text, rules in plain.items()]
    for waiver in waivers:
        at = [n for n, limit in enumerate(limits) if same_target(limit.text, waiver.limit)]
        if not at:
            hint = "A waiver names a limit as it stands under `limits`."
            if not limits:
                raise UsageError(f"waive: {waiver.limit!r}: this project sets no limits.", hint)
            raise UnknownName.among("waive: limit", waiver.limit, plain, hint)
        for n in at:
            limits[n] = _waived(limits[n], waiver)
    return tuple(limits)


def _waived(limit: Limit, waiver: Waiver) -> Limit:
    if waiver.rule not in (None, *limit.rules):
        raise UsageError(f"waive: limit {limit.text!r} has no {waiver.rule}.")
    if any(waiver.rule is None or w.rule in (None, waiver.rule) for w in limit.waivers):
        raise UsageError(f"waive: limit {limit.text!r} is waived twice.", "Leave one of the two.")
    return replace(limit, waivers=(*limit.waivers, waiver))


def _limit(text: str, given: Any) -> Limit:
    target = read_target(text)
    rules = read_rules(text, given)
    for rule in ("max_distance", "max_regression"):
        if getattr(rules, rule) is not None:
            require_decidable(text, target, rule)
    return Limit(
        text,
        suite=target.suite.name,
        config=target.config,
        metric=target.metric,
        by=target.by,
        max_distance=rules.max_distance,
        max_regression=rules.max_regression,
        undecided=rules.undecided,
    )


def decide(
    report: Report,
    limits: Sequence[Limit],
    comparison: Comparison | None = None,
    *,
    first_run: bool = False,
    allow_missing_data: bool = False,
    level: float = LEVEL,
    today: date | None = None,
) -> Decision:
    """Hold a report, and its comparison with the baseline, against a project's limits.

    Parameters
    ----------
    first_run, allow_missing_data : bool
        Whether no baseline is expected; whether a suite without its data fails nothing.
    level : float
        Level of the intervals that decide, from `decision_level`; that of the comparison as well.
    today : date, optional
        The day on which waivers hold or have expired; by default the present one (UTC).
    """
    judge, day = _Judge(report, comparison, level), today or _today()
    outcomes = tuple(with_waiver(o, limit, day) for limit in limits for o in judge.outcomes(limit))
    outcomes = tuple(o for o in outcomes if not (first_run and o.verdict == "no_baseline"))
    problems, missing = failures(report.suites, allow_missing_data=allow_missing_data)
    verdicts = {o.verdict for o in outcomes if not o.is_waived}
    undecided_fails = any(o.fails for o in outcomes if o.verdict == "undecided")
    # From the gravest down: the first that holds is the status.
    cases: tuple[tuple[bool, Status, int], ...] = (
        ("exceeded" in verdicts, "exceeded", EXIT_EXCEEDED),
        (bool(problems) or "not_measured" in verdicts, "could-not-measure", EXIT_NOT_MEASURED),
        ("no_baseline" in verdicts, "no-baseline", EXIT_NOT_MEASURED),
        (undecided_fails, "undecided", EXIT_NOT_MEASURED),
        (any(o.is_waived for o in outcomes), "waived", EXIT_OK),
        ("undecided" in verdicts, "undecided", EXIT_OK),
        (bool(outcomes), "held", EXIT_OK),
        (True, "measured", EXIT_OK),
    )
    status, exit_code = next((s, code) for holds, s, code in cases if holds)
    about = report.digest, _about(comparison)
    return Decision(status, exit_code, outcomes, problems, *about, missing=missing)


def with_waiver(outcome: Outcome, limit: Limit, today: date) -> Outcome:
    """Return an outcome with what becomes of its limit's waiver on a day."""
    waiver = limit.waiver(outcome.rule)
    would_fail = outcome.fails or outcome.is_waived
    if waiver is None:
        return replace(outcome, fails=would_fail, waiver=None)
    became = waiver.became(outcome.verdict, today, would_fail=would_fail)
    return replace(outcome, fails=would_fail and became.state != "waives", waiver=became)


def _today() -> date:
    return datetime.now(UTC).date()


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
        # A sum of two decimal numbers is one, but for what is lost of its last digits.
        allowed = (
            max(round(score.ideal - distance, DIGITS), -math.inf if low is None else low),
            min(round(score.ideal + distance, DIGITS), math.inf if high is None else high),
        )
        found = Estimate(score.value, score.interval, score.interval_reason)
        if score.interval and self.level != score.level:
            if not suite.records:
                why = "its items are hidden" if is_hidden(suite) else "the records are missing"
                told = f"no interval at the level {self.level:.6g}: {why}"
                return replace(missing, reason=told)
            seed = int(self.report.settings["seed"])
            found = at_level(suite, score, self.level, seed)
        said = of_score(found, allowed, score)
        return self._judged(missing, limit, found, allowed, score, said)

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
        said = of_interval(change.decisive, allowed)
        return self._judged(missing, limit, change.decisive, allowed, score, said)

    def _judged(
        self,
        missing: Outcome,
        limit: Limit,
        found: Estimate,
        allowed: Allowed,
        score: Score,
        said: tuple[Decided, str | None],
    ) -> Outcome:
        verdict, reason = said
        low, high = (end if math.isfinite(end) else None for end in allowed)
        needed = n_to_decide(found, allowed, score) if verdict == "undecided" else None
        fails = verdict == "exceeded" or (verdict == "undecided" and limit.undecided == "fail")
        return replace(
            missing,
            verdict=verdict,
            value=found.value or 0.0,
            interval=found.interval,
            level=self.level,
            allowed=(low, high),
            reason=reason,
            n=score.n,
            n_to_decide=needed,
            fails=fails,
        )
