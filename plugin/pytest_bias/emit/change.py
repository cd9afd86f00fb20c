"""A comparison in words."""

from collections.abc import Iterable
from typing import Any, Final

from pytest_bias.emit.wording import (
    group,
    metric_words,
    model_name,
    number,
    p_value,
)
from pytest_bias.records.score import Score
from pytest_bias.reports.comparison import Change, Comparison, SuiteComparison
from pytest_bias.scoring.digits import beside, decimals
from pytest_bias.untrusted import clean

SHOWN_GROUPS: Final = 5
SHOWN_ITEMS: Final = 3

THESE_TWO: Final = "This compares these two checkpoints, not two ways to train."


def is_exploratory(change: Change) -> bool:
    """Whether a change is of a group that was not named in advance."""
    return bool(change.current.by) and change.family == "exploratory"


def distance(change: Change) -> str:
    """Return how the distance to the ideal changed, in words."""
    score, worse = change.current, change.worsening
    if worse.value is None:
        return "distance to the ideal unknown"
    amount = number(abs(worse.value), score.unit)
    text = f"{amount} {'closer to' if worse.value < 0 else 'further from'} {score.ideal:g}"
    if worse.interval:
        text += f" ({signed_ends(worse.interval, score.unit)})"
    return text


def evidence(change: Change) -> str:
    """Return the adjusted p-value of a change, and how many items changed."""
    counted = f"{change.n_changed} of {change.n} items changed"
    if change.p_adjusted is None:
        return counted
    return f"{p_value(change.p_adjusted)}, adjusted; {counted}"


def most_changed(change: Change, n: int = SHOWN_ITEMS) -> str:
    """Return the ids of the items that changed most."""
    return ", ".join(clean(item, 60) for item in change.items[:n])


def shown(suite: SuiteComparison) -> list[Change]:
    """Return the headline's change and, of its groups that clearly changed, the largest."""
    headline = next((c for c in suite.changes if c.current.headline), None)
    if headline is None:
        return []
    groups = [
        c
        for c in suite.changes
        if c.current.metric == headline.current.metric
        and len(c.current.by) == 1
        and c.direction != "unclear"
    ]
    groups.sort(key=lambda c: (-abs(c.change.value or 0), str(c.current.by)))
    return [headline, *groups[:SHOWN_GROUPS]]


def main_sentence(comparison: Comparison) -> str | None:
    """Return one sentence on the clearest change; None if nothing can be compared."""
    changes = [(s, c) for s in comparison.suites for c in shown(s)]
    if not changes:
        return None
    clear = [(s, c) for s, c in changes if c.direction != "unclear"]
    if not clear:
        return "Nothing changed clearly."
    suite, change = max(clear, key=lambda pair: _clarity(pair[1]))
    return f"{clean(suite.title)}: {sentence(change, comparison)}"


def summary_dict(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as plain data for decision.json: counts, without ids of items.

    ``sentence`` is empty if nothing can be compared, ``changed`` says whether a headline or a group
    of it changed clearly, ``headlines`` has the change of every headline, ``refused`` why a suite
    cannot be compared.
    """
    moved = [c for s in comparison.suites for c in shown(s)]
    return {
        "sentence": main_sentence(comparison) or "",
        "changed": any(c.direction != "unclear" for c in moved),
        "headlines": {
            suite.entry: {
                "metric": change.current.metric,
                "before": change.baseline.value,
                "change": change.change.value,
                "interval": change.change.interval,
                "direction": change.direction,
                "p_adjusted": change.p_adjusted,
                "n": change.n,
                "n_changed": change.n_changed,
            }
            for suite in comparison.suites
            for change in shown(suite)[:1]
        },
        "refused": {s.entry: s.reason for s in comparison.suites if s.reason},
    }


def before(comparison: Comparison) -> str:
    """Name the baseline: its model, or an earlier report if the model has the same name."""
    name = model_name(comparison.baseline)
    return name if name != model_name(comparison.current) else "the earlier report"


def sentence(change: Change, comparison: Comparison) -> str:
    """Describe one change, such as "religion rose 6.1 points (3.0 to 9.2) since org/name"."""
    score, moved = change.current, change.change
    what = group(score) or metric_words(score.metric)
    amount = moved.value or 0.0
    verb = "rose" if amount > 0 else "fell"
    unit = {"%": "points", "": "", "d": ""}.get(score.unit, clean(score.unit, 20))
    text = f"{what} {verb} {number(abs(amount), score.unit)} {unit}".rstrip()
    if moved.interval:
        ends = beside(sorted(map(abs, moved.interval)), (0,), decimals(score.unit))
        text += f" ({' to '.join(ends)})"
    text += f" since {before(comparison)}, {_towards(change)}"
    if change.n:
        text += f"; {change.n_changed} of {change.n} items changed"
    return f"{text}{'; exploratory' if is_exploratory(change) else ''}."


def _towards(change: Change) -> str:
    words = {
        "better": "closer to the ideal",
        "worse": "further from the ideal",
        "crossed": "to the other side of the ideal",
        "unclear": "which is not clear",
    }
    return words[change.direction]


def _clarity(change: Change) -> float:
    interval = change.change.interval
    if interval is None or change.change.value is None or interval[0] == interval[1]:
        return 0.0
    return abs(change.change.value) / (interval[1] - interval[0])


def signed(amount: float, score: Score) -> str:
    """Return a change of a score with its sign."""
    return signed_number(amount, score.unit)


def signed_number(amount: float, unit: str) -> str:
    """Return a difference with its sign and the decimals of its unit."""
    return _with_sign(number(amount, unit))


def signed_ends(interval: Iterable[float], unit: str) -> str:
    """Return the ends of a change with their signs; one beside zero never reads as zero."""
    return " to ".join(map(_with_sign, beside(tuple(interval), (0,), decimals(unit))))


def _with_sign(text: str) -> str:
    return f"+{text}" if float(text) > 0 else text
