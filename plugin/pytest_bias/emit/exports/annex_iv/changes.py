"""Point 6: the comparison with the baseline, from the decision of the run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from pytest_bias.emit.bounds import LISTED, NAME
from pytest_bias.emit.change import THESE_TWO, signed_ends, signed_number
from pytest_bias.emit.exports.annex_iv.document import Block, Text, facts, table, words
from pytest_bias.emit.exports.annex_iv.source import Source
from pytest_bias.emit.wording import (
    count,
    ideal,
    interval,
    metric_words,
    p_number,
    suite_label,
    value,
)
from pytest_bias.records.report import SuiteResult

DIRECTIONS = {
    "better": "closer to the ideal",
    "worse": "further from the ideal",
    "crossed": "on the other side of the ideal",
    "unclear": "not clear",
}


def changes(source: Source) -> Iterator[Block]:
    """Return the change of each headline since the baseline; numbers of suites shown only."""
    decision, report = source.decision, source.report
    if report.withheld:
        yield Text("The scores are not published, so no change of them stands here.")
        return
    change = decision.change if decision else None
    baseline = decision.baseline if decision else None
    if not isinstance(change, Mapping) or not isinstance(baseline, Mapping):
        yield Text("The run was not compared with an earlier report.")
        return
    yield Text(f"The run was compared with a baseline. {THESE_TWO}")
    yield from facts(*((_title(k), _said(v)) for k, v in baseline.items()))
    moved = _table(change.get("headlines"))
    rows = [_row(s, moved[s.entry]) for s in source.shown if _is_row(moved.get(s.entry), s)]
    ends = ("Ideal", "Change", "Interval", "p", "n", "Direction")
    head = ("Suite and metric", "Value now, interval", *ends)
    if rows:
        yield table("Change of the headlines since the baseline", head, rows, (1, 2, 3, 4, 5, 6))
        yield Text(
            "p is adjusted for the tests of this comparison; n counts the items that both have."
        )
    refused = [(words(k, NAME), _said(v)) for k, v in _table(change.get("refused")).items()]
    if refused:
        yield table("Suites that could not be compared", ("Suite", "Because"), refused[:LISTED])


def _title(key: str) -> str:
    titles = {"reference": "Baseline", "digest": "Digest of its report"}
    return titles.get(key) or words(f"{key} of the baseline".capitalize(), NAME)


def _table(content: Any) -> Mapping[str, Any]:
    return content if isinstance(content, Mapping) else {}


def _is_row(moved: Any, suite: SuiteResult) -> bool:
    """Whether a change is one of the headline that the report has."""
    headline = suite.headline
    told = _table(moved)
    return bool(headline and told.get("metric") == headline.metric) and _is_number(told["change"])


def _is_number(content: Any) -> bool:
    return isinstance(content, int | float) and not isinstance(content, bool)


def _row(suite: SuiteResult, moved: Mapping[str, Any]) -> tuple[str, ...]:
    score = suite.headline
    assert score is not None, "asked for before"
    ends = moved.get("interval")
    p = moved.get("p_adjusted")
    return (
        f"{words(suite_label(suite), NAME)}: {words(metric_words(score.metric), NAME)}",
        f"{words(value(score), NAME)} ({words(interval(score), NAME)})",
        ideal(score),
        signed_number(moved["change"], score.unit),
        signed_ends(ends, score.unit) if _is_pair(ends) else "none",
        p_number(p) if _is_number(p) else "–",
        count(moved["n"]) if isinstance(moved.get("n"), int) else "–",
        DIRECTIONS.get(str(moved.get("direction")), "not known"),
    )


def _is_pair(content: Any) -> TypeGuard[Sequence[float]]:
    return isinstance(content, list | tuple) and len(content) == 2 and all(map(_is_number, content))


def _said(content: Any) -> str:
    return words(str(content), 200) if content is not None else ""
