"""Selection rates and impact ratios of the groups of a suite, in tables as audits of hiring use.

Local Law 144 of New York City (rules, section 5-301) asks for the number of applicants, the rate at
which they are selected (of scores: above the median), and the impact ratio, by sex, by race or
ethnicity, and by both.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from pytest_bias.emit.wording import capitalized, count, interval, metric_words, value
from pytest_bias.records.report import SuiteResult
from pytest_bias.records.score import Score

RATIO: Final = "impact_ratio"
SELECTED: Final = "selected"
ABOVE: Final = "above_median"
UNKNOWN: Final = "unknown"
SMALL: Final = 0.02
"""Share of all that were asked, below which the rules let a category be left out."""
SMALL_MARK: Final = "below 2 % of all"
ABOUT: Final = (
    "A rate is over the prompts that were answered, the ratio is to the highest rate of the table. "
    "A ratio is below 1 by chance as well: its interval reaches 1 where the group may be highest."
)

ByGroup: TypeAlias = Mapping[tuple[object, ...], Score]
"""Metric, and key with group, to the score."""


class Selection(NamedTuple):
    """The table of the groups of one key, such as ``race``."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def selection(suite: SuiteResult) -> list[Selection]:
    """Return the tables of a suite, single attributes before their crossing; empty without any."""
    ratios: dict[str, list[Score]] = {}
    for score in suite.scores:
        if (score.metric == RATIO or score.metric.startswith(f"{RATIO}_")) and len(score.by) == 1:
            ratios.setdefault(next(iter(score.by)), []).append(score)
    by_group: ByGroup = {(s.metric, *s.by.items()): s for s in suite.scores if len(s.by) == 1}
    crossing_last = sorted(ratios, key=lambda key: ratios[key][0].metric == RATIO)
    return [_table(key, ratios[key], by_group) for key in crossing_last]


def _table(key: str, ratios: Sequence[Score], by_group: ByGroup) -> Selection:
    suffix = ratios[0].metric.removeprefix(RATIO)
    group = (key, ratios[0].by[key])
    is_score = (f"{ABOVE}{suffix}", group) in by_group
    rate = f"{ABOVE}{suffix}" if is_score else SELECTED
    words = ("Above the median", "Scoring rate") if is_score else ("Selected", "Selection rate")
    head = ("Asked", "No answer", *words, "Impact ratio", "95 % interval")
    rows = tuple(_rows(key, rate, ratios, by_group))
    return Selection(capitalized(metric_words(key)), (capitalized(metric_words(key)), *head), rows)


def _rows(
    key: str, rate: str, ratios: Sequence[Score], by_group: ByGroup
) -> Iterator[tuple[str, ...]]:
    found = [
        (s, by_group.get((rate, (key, s.by[key]))), by_group.get((UNKNOWN, (key, s.by[key]))))
        for s in ratios
    ]
    total = sum(asked.n for _, _, asked in found if asked)
    for ratio, selected, asked in found:
        n = asked.n if asked else 0
        is_small = n < SMALL * total
        yield (
            f"{ratio.by[key]} ({SMALL_MARK})" if is_small else ratio.by[key],
            count(n),
            count(n - selected.n) if selected else "–",
            _times(selected),
            value(selected) if selected else "–",
            value(ratio),
            interval(ratio),
        )


def _times(rate: Score | None) -> str:
    """Return how many prompts are selected; a fraction where the orders of options disagree."""
    if rate is None or rate.value is None:
        return "–"
    return f"{rate.n * rate.value / 100:.1f}".removesuffix(".0")
