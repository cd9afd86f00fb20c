"""The results of a hidden suite: scores, the number of items and salted digests, nothing else.

A group of few items is left out, together with as many others as are needed so that its score
cannot be derived by subtracting the published groups from the whole.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataError
from pytest_bias.records.report import Record, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.scoring.estimators import Additive
from pytest_bias.scoring.metric import Metric
from pytest_bias.scoring.scores import members
from pytest_bias.suites.hiding import NOT_TOLD, Hiding, read_quietly
from pytest_bias.suites.results import scored
from pytest_bias.suites.suite import Configuration, LoadedData, Suite

WHOLE: Final = "it is hidden, so no records are left to be joined: the first part measures it whole"
NOTICE: Final = f"there was a notice, which is {NOT_TOLD}"

Group = TypeVar("Group", bound=Hashable)


def load_hidden(configuration: Configuration, data: DataFolder) -> LoadedData:
    """Load hidden items, with what may be disclosed about them.

    Raises
    ------
    DataError
        As `suites.hiding.read_quietly` does, or if there is no salt.
    """
    loaded = read_quietly(partial(configuration.load, data))
    if loaded.hiding is None:
        raise DataError("its items are said to be hidden, and its data have no salt.")
    return replace(loaded, info=loaded.hiding.described(loaded.info))


def scored_hidden(result: SuiteResult, suite: Suite, seed: int, hiding: Hiding) -> SuiteResult:
    """Return a result with the scores that may be disclosed.

    Its records stay with it as long as the process lives, so that it can be compared item by item
    with a baseline that was measured in the same process. They have no digest, and
    `Report.without_hidden_records` removes them before anything is written.

    Parameters
    ----------
    result : SuiteResult
        With records.
    """
    metrics = suite.measure_named(result.measure or "").metrics
    records, small = _without_small_groups(result.records, metrics, hiding.least)
    found = scored(replace(result, records=records), suite, seed)
    told, smaller = _told(found, metrics, hiding.least)
    data = result.data
    assert data is not None, "what is measured has data"
    n_scored = sum(r.status == "scored" for r in records)
    if found.reason:
        unscored = sum(r.status not in ("scored", "excluded") for r in records)
        why = f"{unscored} of {data.n_items} items could not be scored; why is {NOT_TOLD}"
        found = replace(found, reason=why)
    elif not any(s.headline for s in told):
        why = f"{n_scored} items were scored; of fewer than {hiding.least} no score is told"
        found, told = replace(found, status="inconclusive", reason=why), ()
    return replace(
        found,
        scores=told,
        records_sha256=None,
        data=replace(
            data,
            items_sha256=data.items_sha256 and hiding.salted(data.items_sha256),
            groups_left_out=len(small | smaller),
        ),
    )


def too_small(sizes: Mapping[Group, int], least: int) -> set[Group]:
    """Return the groups that are left out: the small ones, and the next ones to hide them among.

    Parameters
    ----------
    sizes : mapping
        Group to number of items; groups share no items.
    least : int
        The groups left out have at least so many items together; otherwise all are left out.
    """
    out = {group for group, n in sizes.items() if n < least}
    if not out:
        return out
    for group in sorted(sizes.keys() - out, key=lambda g: (sizes[g], repr(g))):
        if sum(sizes[g] for g in out) >= least and len(out) > 1:
            break
        out.add(group)
    return out


def _without_small_groups(
    records: Sequence[Record], metrics: Sequence[Metric], least: int
) -> tuple[tuple[Record, ...], set[tuple[str, str]]]:
    """Return records without comparisons to small groups, and these groups by their keys.

    A record of a small group still counts in all other scores.
    """
    out = set[tuple[str, str]]()
    for key in sorted({key for metric in metrics if (key := _compared(metric, records))}):
        sizes = Counter(r.by[key] for r in records if key in r.by and r.status == "scored")
        out |= {(key, group) for group in too_small(sizes, least)}
    kept = tuple(
        replace(r, by={k: v for k, v in r.by.items() if (k, v) not in out}) for r in records
    )
    return kept, out


def _compared(metric: Metric, records: Sequence[Record]) -> str:
    """Return the key by which a metric compares groups with each other, if it does."""
    over = str(getattr(metric.estimate, "over", ""))
    if not over or not isinstance(metric.estimate, Additive):
        return metric.versus
    return over if metric.estimate.compared(records) else metric.versus


def _told(
    result: SuiteResult, metrics: Sequence[Metric], least: int
) -> tuple[tuple[Score, ...], set[tuple[str, str]]]:
    """Return the scores that are disclosed, and the groups that are not, by their keys.

    A metric may use only some of the items, so that a group can be small in it and large elsewhere.
    """
    held = {m.name: m for m in metrics if m.versus}
    sizes: dict[tuple[str, tuple[str, ...]], dict[int, int]] = {}
    for number, score in enumerate(result.scores):
        n_scored = score.n
        if (metric := held.get(score.metric)) and metric.versus in score.by:
            # It counts all groups of the key.
            group = members(result.records, replace(metric, versus=""), score.by)
            n_scored = sum(r.status == "scored" for r in group)
        sizes.setdefault((score.metric, tuple(score.by)), {})[number] = n_scored
    out = set[int]().union(*(too_small(found, least) for found in sizes.values()))
    told = tuple(_without_words(s) for n, s in enumerate(result.scores) if n not in out)
    left_out = (result.scores[n].by for n in out)
    return told, {(" ".join(by), " ".join(by.values())) for by in left_out if by}


def _without_words(score: Score) -> Score:
    """Return a score without the texts that an estimator made, and without values of few items."""
    return replace(
        score,
        note=NOT_TOLD if score.value is None else None,
        interval_reason=score.interval_reason and NOT_TOLD,
        p_reason=score.p_reason and NOT_TOLD,
        spread=None,
    )
