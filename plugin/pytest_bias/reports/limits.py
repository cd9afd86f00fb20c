"""A project's own limits, and the decision on them that CI acts on.

A limit is *held* when the whole interval lies inside it, *exceeded* when the whole interval lies
outside, and *undecided* otherwise: measuring less never turns undecided into held. The worst value
of a scale exceeds a limit even without an interval, since no value is worse. A waived limit does
not fail the run and keeps its verdict. The decision is the project's policy, so it is in
decision.json and never in report, card or badge.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any, Literal, TypeAlias

from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.exit_codes import EXIT_EXCEEDED, EXIT_NOT_MEASURED, EXIT_OK
from pytest_bias.forms.yaml_with_lines import Marked, as_texts
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.records.suite_states import failures
from pytest_bias.reports.comparison import Comparison, Named
from pytest_bias.reports.decision import Decision, Outcome, Status
from pytest_bias.reports.limit_names import read_target, require_decidable, same_target
from pytest_bias.reports.verdicts import (
    Allowed,
    Decided,
    n_to_decide,
    of_interval,
    of_score,
)
from pytest_bias.scoring.digits import DIGITS
from pytest_bias.scoring.scores import LEVEL
from pytest_bias.scoring.statistics import Estimate
from pytest_bias.settings.limit_rules import read_rules
from pytest_bias.settings.settings import Settings
from pytest_bias.settings.waivers import WAIVERS, Waiver
from pytest_bias.suites.catalogue import INSTALLED, Catalogue
from pytest_bias.suites.results import at_level


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit that a project sets on one score.

    Parameters
    ----------
    text : str
        The limit as it was written.
    suite, config, metric, by
        Which score; without a configuration, the score in each language's own configuration, such
        as ``en``. Others, such as ``en-wikitext2``, have to be named.
    for_chat : frozenset of str
        Configurations that take the place of a language's own for models that answer chat turns.
    max_distance : float, optional
        Largest distance from the ideal, in the metric's unit.
    max_regression : float, optional
        Largest increase of that distance since the baseline, in the metric's unit.
    undecided : str
        Whether an undecided limit only warns, or fails the run.
    waivers : tuple of Waiver
        Waivers of single rules, or of all of them.
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
    for_chat: frozenset[str] = frozenset()

    def is_about(self, suite: SuiteResult) -> bool:
        """Whether the limit is about this result of a suite."""
        return self.covers(suite.name, suite.config, suite.language)

    def covers(self, name: str, config: str, language: str) -> bool:
        """Whether the limit is about a suite in one configuration."""
        own = (self.config,) if self.config else (language.partition("-")[0], *self.for_chat)
        return name == self.suite and config in (*own, "all")

    def names(self, suite: SuiteResult, score: Score) -> bool:
        """Whether the limit is about this score of a result."""
        same = (score.metric, dict(score.by)) == (self.metric, dict(self.by))
        return same and self.is_about(suite)

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules of the limit: on the distance, the regression, or both."""
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

    Each limit can be exceeded by chance, so with m limits every interval has the level
    1 - (1 - `level`) / m (Bonferroni): over all limits together, chance alone then exceeds one in
    at most 1 - `level` of the runs. Limits on regression count where there is a baseline.
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


def check_unambiguous(limits: Sequence[Limit], entries: Entries) -> None:
    """Check that a limit without a configuration is about one configuration of each language.

    Raises
    ------
    UsageError
        If several run that it could be about.
    """
    there = list(entries)
    for limit in limits:
        seen: dict[str, str] = {}
        for name, config, language in there if limit.config is None else ():
            if not limit.covers(name, config, language):
                continue
            other = seen.setdefault(language, config)
            if other != config:
                one, two = (f"{name}[{c}].{limit.metric}" for c in (other, config))
                raise UsageError(
                    f"limit {limit.text!r}: {name}[{other}] and {name}[{config}] both run, and the "
                    "limit does not say which one it is about.",
                    f"Name it: {one} or {two}",
                )


def named_by(limits: Sequence[Limit]) -> Named:
    """Return a predicate: whether a project named a score in advance, by a limit on it."""
    return lambda suite, score: any(limit.names(suite, score) for limit in limits)


def limits_of(settings: Settings) -> tuple[Limit, ...]:
    """Read the limits of settings with their waivers, as `read_limits` does."""
    waivers = WAIVERS(settings.stated, ("waive",), as_texts(settings.waive))
    return read_limits(settings.limits, waivers, settings.stated, settings.catalogue)


def read_limits(
    plain: Mapping[str, Any],
    waivers: Sequence[Waiver] = (),
    stated: Marked | None = None,
    catalogue: Catalogue = INSTALLED,
) -> tuple[Limit, ...]:
    """Read the ``limits`` of the settings, and check every name against the known suites.

    Parameters
    ----------
    plain : mapping
        Text of each limit to its rules.
    waivers : sequence of Waiver
        In the order of the settings.
    stated : Marked, optional
        Content of the settings file, for line numbers in messages.

    Raises
    ------
    UsageError
        If a limit is malformed, names what does not exist or can never be decided, or a waiver
        names no limit.
    """
    stated = stated or Marked()
    limits = [_limit(stated, text, rules, catalogue) for text, rules in plain.items()]
    for number, waiver in enumerate(waivers):
        with stated.at(("waive", number)):
            at = [n for n, limit in enumerate(limits) if same_target(limit.text, waiver.limit)]
            hint = "A waiver names a limit as it stands under `limits`."
            if not limits:
                raise UsageError(f"waive: {waiver.limit!r}: this project sets no limits.", hint)
            if not at:
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


def _limit(stated: Marked, text: str, given: Any, catalogue: Catalogue) -> Limit:
    place = ("limits", text)
    rules = read_rules(stated, place, as_texts(given))
    with stated.at(place):
        target = read_target(text, catalogue)
        for rule in rules.keys() - {"undecided"}:
            require_decidable(text, target, rule)
    return Limit(
        text,
        suite=target.suite.name,
        config=target.config,
        metric=target.metric,
        by=target.by,
        max_distance=rules.get("max_distance"),
        max_regression=rules.get("max_regression", {}).get("points"),
        undecided=rules.get("undecided", "warn"),
        for_chat=frozenset(c.name for c in target.suite.configurations if c.chat),
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
    catalogue: Catalogue = INSTALLED,
) -> Decision:
    """Decide on a project's limits, from a report and its comparison with the baseline.

    Parameters
    ----------
    first_run, allow_missing_data : bool
        Whether no baseline is expected; whether suites without their data do not fail the run.
    level : float
        Level of the intervals that decide, from `decision_level`; the comparison must use it too.
    today : date, optional
        The day that decides whether waivers have expired; by default today (UTC).
    """
    judge, day = _Judge(report, comparison, level, catalogue), today or _today()
    outcomes = tuple(with_waiver(o, limit, day) for limit in limits for o in judge.outcomes(limit))
    outcomes = tuple(o for o in outcomes if not (first_run and o.verdict == "no_baseline"))
    problems, missing = failures(report.suites, allow_missing_data=allow_missing_data)
    verdicts = {o.verdict for o in outcomes if not o.is_waived}
    undecided_fails = any(o.fails for o in outcomes if o.verdict == "undecided")
    # From the most severe down: the first that applies is the status.
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
    """Return an outcome with the state of its limit's waiver on a day."""
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
    """Judges the scores of a report by limits, with each interval at the level that decides."""

    report: Report
    comparison: Comparison | None
    level: float
    catalogue: Catalogue

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
        # The sum of two decimal numbers may differ in its last digits.
        allowed = (
            max(round(score.ideal - distance, DIGITS), -math.inf if low is None else low),
            min(round(score.ideal + distance, DIGITS), math.inf if high is None else high),
        )
        found = Estimate(score.value, score.interval, score.interval_reason)
        if score.interval and self.level != score.level:
            if not suite.records:
                why = "its items are hidden" if suite.is_hidden else "the records are missing"
                told = f"no interval at the level {self.level:.6g}: {why}"
                return replace(missing, reason=told)
            seed = int(self.report.settings["seed"])
            definition = self.catalogue.find(suite.name)
            found = at_level(suite, definition, score, self.level, seed)
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
