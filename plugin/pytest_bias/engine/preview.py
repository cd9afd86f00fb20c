"""A preview of a suite's items before a real model is run: counts, duplicates, a dry run."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from pytest_bias.data.sources import DataFolder
from pytest_bias.engine.hidden import too_small
from pytest_bias.errors import MeasurementError
from pytest_bias.models.interface import Model
from pytest_bias.records.report import Item, canonical_json
from pytest_bias.records.score import NO_GROUP
from pytest_bias.scoring.scores import Context, score_records
from pytest_bias.suites.hiding import NOT_TOLD, measure_quietly
from pytest_bias.suites.measures import Measure, measure_items
from pytest_bias.suites.suite import Configuration, Suite

SHOWN: Final = 5
"""Items that a preview shows."""

TRIED: Final = 20
"""Items in the dry run with the demo model."""

REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True, slots=True)
class DryRun:
    """The result of a dry run with the demo model; its numbers mean nothing.

    `reason` says why it could not be run.
    """

    measure: str = ""
    scored: int = 0
    others: Mapping[str, int] | None = None
    metrics: tuple[str, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """The items of one configuration.

    Parameters
    ----------
    items : tuple of Item
        All of them.
    problems : mapping of str to int
        Reason why the data alone exclude items, to the number of these items.
    groups : mapping of str to mapping
        Key of ``by`` to group to number of items, the largest first.
    doubles : tuple of tuple of str
        Groups of two or more item ids with the same texts.
    lengths : tuple of int
        Characters of the shortest, the median and the longest text.
    non_ascii, replaced : int
        Items with characters outside ASCII, and items with the replacement character (U+FFFD), a
        sign of a wrong encoding.
    is_hidden : bool
        Whether no identifier, and no text that may quote an item, is to be shown.
    """

    items: tuple[Item, ...]
    problems: Mapping[str, int]
    groups: Mapping[str, Mapping[str, int]]
    doubles: tuple[tuple[str, ...], ...]
    lengths: tuple[int, int, int]
    non_ascii: int
    replaced: int
    is_hidden: bool = False

    @property
    def n_clusters(self) -> int:
        """How many clusters the items form."""
        return len({item.cluster for item in self.items})

    @property
    def n_measurable(self) -> int:
        """How many items a model is asked about."""
        return len(self.items) - sum(self.problems.values())


def preview(configuration: Configuration, data: DataFolder) -> Preview:
    """Read the items of a configuration and count them.

    Raises
    ------
    DataError
        If they cannot be read.
    """
    loaded = configuration.load(data)
    items = loaded.items
    same: dict[str, list[str]] = {}
    for item in items:
        same.setdefault(canonical_json(dict(item.texts)), []).append(item.id)
    groups: dict[str, Counter[str]] = {}
    for item in items:
        for key, group in item.by.items():
            groups.setdefault(key, Counter())[group] += 1
    for key, sizes in groups.items():
        if none := sum(key not in item.by for item in items):
            sizes[NO_GROUP] = none
    texts = [text for item in items for text in item.texts.values()]
    lengths = sorted(map(len, texts)) or [0]
    found = Preview(
        items,
        Counter(item.reason or "" for item in items if item.status),
        {key: dict(found.most_common()) for key, found in groups.items()},
        tuple(tuple(ids) for ids in same.values() if len(ids) > 1),
        (lengths[0], int(statistics.median(lengths)), lengths[-1]),
        sum(any(not text.isascii() for text in item.texts.values()) for item in items),
        sum(any(REPLACEMENT in text for text in item.texts.values()) for item in items),
    )
    # What may be disclosed is in the data's description (`engine.hidden.load_hidden`).
    least = loaded.info.least
    return found if least is None else counts_of_hidden(found, least)


def counts_of_hidden(found: Preview, least: int) -> Preview:
    """Return what may be shown of hidden items: counts, and groups whose scores are disclosed."""
    groups = {
        key: {name: n for name, n in sizes.items() if name not in too_small(sizes, least)}
        for key, sizes in found.groups.items()
    }
    problems = {NOT_TOLD: n} if (n := sum(found.problems.values())) else {}
    groups = {key: told for key, told in groups.items() if told}
    return replace(found, problems=problems, groups=groups, is_hidden=True)


def shown(items: Sequence[Item]) -> list[Item]:
    """Return a few items, evenly spread over all of them."""
    step = max(1, len(items) // SHOWN)
    return list(items[::step][:SHOWN])


def dry_run(suite: Suite, items: Sequence[Item], model: Model) -> DryRun:
    """Measure a small model on a few items, and compute every score.

    Its vocabulary is closed: most texts have words that it does not know, so that many items are
    unscored for that reason.
    """
    measure = suite.measure_for(model.capabilities)
    if measure is None or measure.reads or measure.scorer:
        needed = " or ".join(sorted({c.words for m in suite.measures for c in m.needs}))
        return DryRun(reason=f"the demo model cannot be asked; the suite needs {needed}")
    asked = [item for item in items if item.status is None]
    asked = asked[:: max(1, len(asked) // TRIED)][:TRIED]
    return _dry_run(suite, measure, asked, model)


def hidden_dry_run(suite: Suite, items: Sequence[Item], model: Model) -> DryRun:
    """Do the same with hidden items, without giving the reason of any failure."""
    try:
        found = measure_quietly(partial(dry_run, suite, items, model))
    except MeasurementError as error:
        return DryRun(reason=error.message)
    n = sum((found.others or {}).values())
    return replace(found, others={NOT_TOLD: n} if n else {})


def _dry_run(suite: Suite, measure: Measure, items: Sequence[Item], model: Model) -> DryRun:
    records = measure_items(measure, model, items)
    context = Context(suite.name, suite.configurations[0].name)
    scores = score_records(records, measure.metrics, context)
    return DryRun(
        measure.name,
        sum(record.status == "scored" for record in records),
        Counter(record.reason or "" for record in records if record.status != "scored"),
        tuple(dict.fromkeys(score.metric for score in scores)),
    )
