"""The verdict of an interval on a limit: held, exceeded, or undecided with the reason."""

import math
from typing import Final, Literal, TypeAlias

from pytest_bias.records.score import Score
from pytest_bias.scoring.digits import DIGITS
from pytest_bias.scoring.resampling import FEWEST_ALIKE
from pytest_bias.scoring.statistics import Estimate

Verdict: TypeAlias = Literal["held", "exceeded", "undecided", "not_measured", "no_baseline"]

MOST_SEVERE: Final[tuple[Verdict, ...]] = (
    *("exceeded", "not_measured", "no_baseline", "undecided", "held"),
)
"""Verdicts, the most severe first."""

Decided: TypeAlias = Literal["held", "exceeded", "undecided"]
"""Verdicts on a measured value."""

Allowed: TypeAlias = tuple[float, float]
"""Smallest and largest value that a limit allows."""


MOST_TIMES: Final = 1e6
"""Largest factor by which more items may narrow an interval: beyond it no number decides."""


def of_interval(found: Estimate, allowed: Allowed) -> tuple[Decided, str | None]:
    """Return whether an interval is inside the allowed range, outside it, or across its edge.

    Without an interval a limit is undecided, unless a test shows that the value exceeds the allowed
    range.
    """
    if found.interval is None:
        reason = f"no interval: {found.interval_reason}"
        if found.at_least is not None and round(found.at_least, DIGITS) > allowed[1]:
            return "exceeded", f"a test rejects that it is {allowed[1]:.12g} at most ({reason})"
        return "undecided", reason
    low, high = (round(end, DIGITS) for end in found.interval)
    if allowed[0] <= low and high <= allowed[1]:
        return "held", None
    if high < allowed[0] or low > allowed[1]:
        return "exceeded", None
    return "undecided", "the limit lies inside the interval"


def of_score(found: Estimate, allowed: Allowed, score: Score) -> tuple[Decided, str | None]:
    """Return the same for a score, whose worst value exceeds a limit even without an interval.

    On a scale with two ends no value is worse; with few clusters all could be at it by chance.
    """
    verdict, reason = of_interval(found, allowed)
    is_outside = found.value is not None and not allowed[0] <= found.value <= allowed[1]
    if found.interval is None and is_outside and _is_worst(score):
        return "exceeded", f"the worst that there is on its scale ({reason})"
    return verdict, reason


def _is_worst(score: Score) -> bool:
    """Whether a value over enough clusters is as far from the ideal as its scale allows."""
    ends = [abs(end - score.ideal) for end in score.bounds if end is not None]
    return len(ends) == 2 and score.distance == max(ends) and score.n_clusters >= FEWEST_ALIKE


def n_to_decide(found: Estimate, allowed: Allowed, score: Score) -> int | None:
    """Estimate how many items would decide the limit if the value stayed the same.

    The width of an interval falls with the square root of the number of items. At an end of the
    scale there is nothing to decide.
    """
    value, interval = found.value or 0.0, found.interval
    if interval is None:
        return None
    numbers = []
    for end, edge in zip(allowed, score.bounds, strict=True):
        if interval[0] < end < interval[1] and end != edge and end != value:
            reach = value - interval[0] if end < value else interval[1] - value
            times = abs(reach / (value - end))
            if times > MOST_TIMES:
                return None
            numbers.append(math.ceil(score.n * times**2))
    return max(numbers, default=None)
