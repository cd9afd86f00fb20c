"""Names of scores in limits, checked against the suites of a catalogue."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.scoring.estimators import Additive
from pytest_bias.scoring.metric import Metric
from pytest_bias.settings.limit_rules import FORM
from pytest_bias.suites.catalogue import INSTALLED, Catalogue
from pytest_bias.suites.suite import Suite

_KEY: Final = re.compile(
    r"(?P<suite>\w+)(?:\[(?P<config>[\w.-]+)\])?\.(?P<metric>\w+)(?:\[(?P<by>[^\]]+)\])?"
)


@dataclass(frozen=True, slots=True)
class Target:
    """The score that a limit names; `metrics` all have one name, with one per measure."""

    suite: Suite
    config: str | None
    metrics: Sequence[Metric]
    by: Mapping[str, str]

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return self.metrics[0].name


def read_target(text: str, catalogue: Catalogue = INSTALLED) -> Target:
    """Read the text of a limit, such as ``crows_pairs[en].stereotype_preference``.

    Raises
    ------
    UsageError
        If it is malformed, or names something that is not installed.
    """
    if "*" in text:
        raise UsageError(
            f"limit {text!r}: a limit is on one metric, since each has a unit of its own.",
            f"Name every metric: {FORM}",
        )
    match = _KEY.fullmatch(text)
    if match is None:
        raise UsageError(f"limit {text!r} is malformed.", f"For instance: {FORM}")
    suite = catalogue.find(match["suite"])
    if match["config"]:
        suite.configuration(match["config"])
    metrics = [m for measure in suite.measures for m in measure.metrics]
    named = [m for m in metrics if m.name == match["metric"]]
    if not named:
        what, known = f"limit on {suite.name}: metric", dict.fromkeys(m.name for m in metrics)
        raise UnknownName.among(what, match["metric"], known)
    return Target(suite, match["config"], named, _group(text, match["by"], named))


def _group(text: str, written: str | None, named: Sequence[Metric]) -> dict[str, str]:
    parts = [p.strip().split("=", 1) for p in written.split(",")] if written else []
    if not all(len(p) == 2 and all(p) for p in parts):
        raise UsageError(f"limit {text!r}: a group is written [bias_type=religion].")
    by = dict(parts)
    groups = {k for m in named for k in m.by}
    if by and tuple(sorted(by)) not in {tuple(sorted(k)) for k in groups}:
        known = [" and ".join(k) for k in sorted(groups)]
        what = f"limit {text!r}: {named[0].name} by"
        raise UnknownName.among(what, " and ".join(sorted(by)), known)
    if not by and not any(m.whole for m in named):
        keys = ", ".join(f"{key}=…" for key in min(groups))
        raise UsageError(
            f"limit {text!r}: {named[0].name} is of groups only.",
            f"Name one: {text}[{keys}]; report.json has all of them.",
        )
    return by


def suite_named(text: str) -> tuple[str, str | None] | None:
    """Return the suite and the configuration that the text of a limit names; None if none."""
    match = _KEY.fullmatch(text)
    return (match["suite"], match["config"]) if match else None


def same_target(one: str, other: str) -> bool:
    """Whether two texts name the same score, ignoring spaces and order."""
    return _plain(one) == _plain(other)


def _plain(text: str) -> object:
    match = _KEY.fullmatch("".join(text.split()))
    if match is None:
        return text
    return match["suite"], match["config"], match["metric"], sorted((match["by"] or "").split(","))


def why_undecidable(metric: Metric, rule: str) -> str:
    """Return why a limit on a metric can never be decided; empty where it can."""
    if metric.without_interval:
        return f"{metric.name} has no interval: {metric.without_interval}"
    if rule == "max_regression" and not isinstance(metric.estimate, Additive):
        return f"{metric.name} has no value for single items, so that no change of it is known"
    return ""


def require_decidable(text: str, target: Target, rule: str) -> None:
    """Raise `UsageError` for a limit on a score that can never have an interval."""
    if not all(why_undecidable(m, rule) for m in target.metrics):
        return
    # Of the same measure, since another measure is for other kinds of models.
    measures = (m.metrics for m in target.suite.measures if target.metrics[0] in m.metrics)
    others = [m for m in next(measures) if m.whole and not why_undecidable(m, rule)]
    best = next((m for m in others if m.headline), others[0] if others else None)
    raise UsageError(
        f"limit {text!r} can never be decided: {why_undecidable(target.metrics[0], rule)}.",
        f"What can: {rule} on {target.suite.name}.{best.name}." if best else None,
    )
