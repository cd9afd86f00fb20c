"""Descriptions of an interval: what is resampled, and what is held fixed."""

from collections.abc import Mapping

from pytest_bias.emit.wording import counted, level, number, plural
from pytest_bias.records.report import SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.untrusted import clean


def on_interval(suite: SuiteResult, score: Score) -> str:
    """Describe in one line what an interval is over, and the spread reported with it."""
    parts = []
    if score.interval:
        parts.append(f"interval over {sampled(suite, score)}")
    if score.held_fixed:
        parts.append(f"{_factors(score.held_fixed)} held fixed")
    if (spread := score.spread) is not None:
        ends = " – ".join(number(end, score.unit) for end in (spread.low, spread.high))
        parts.append(f"{counted(spread.n, plural(spread.over))} from {ends}")
    return "; ".join(parts)


def resampled(suite: SuiteResult, score: Score) -> str:
    """Describe what a score's interval resamples and what it holds fixed, or why there is none."""
    if score.interval is None:
        return f"No interval: {clean(score.interval_reason or 'no reason is given', 300)}."
    fixed = ["this checkpoint", *(f"these {clean(name, 40)}" for name in score.held_fixed)]
    if score.spread is not None:
        fixed.append(f"these {plural(score.spread.over)}")
    held = " and ".join(filter(None, [", ".join(fixed[:-1]), fixed[-1]]))
    return f"{level(score)} interval over {sampled(suite, score)}; {held} held fixed."


def sampled(suite: SuiteResult, score: Score) -> str:
    """Return what an interval is over, such as ``47 occupations and 19 pairs of words``."""
    clusters = counted(score.n_clusters, clean(suite.clusters, 40))
    return f"{clusters} and {_factors(score.factors)}" if score.factors else clusters


def _factors(levels: Mapping[str, int]) -> str:
    return " and ".join(counted(n, clean(name, 40)) for name, n in levels.items())
