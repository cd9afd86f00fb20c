"""The smallest difference that each configuration of a suite can detect, from its items alone."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataError, DataMissing, LicenceNotAccepted, UsageError
from pytest_bias.records.report import Item, Record
from pytest_bias.reports.decidable import Reach, reach
from pytest_bias.scoring import power
from pytest_bias.scoring.estimators import Mean, Share
from pytest_bias.scoring.gaps import Range
from pytest_bias.scoring.metric import Metric
from pytest_bias.suites.suite import Configuration, Suite

CHANGED: Final = (0.1, 0.3)
"""Example shares of the items that change sides between two versions of a model."""
APART: Final = (0.1, 0.3, 0.5)
"""Example shares of prompts that a model answers in another way for one of two groups.

Half differ where answers to one prompt are independent and even.
"""


@dataclass(frozen=True, slots=True)
class OfShare:
    """Resolution of a percentage of independent items, in points.

    `half_width` is that of the interval at 50 %; `changes` gives the smallest detectable change for
    each share of changed items, or None.
    """

    half_width: float
    changes: Mapping[float, float | None]


@dataclass(frozen=True, slots=True)
class OfMean:
    """Resolution of a mean over clusters, in standard deviations of a cluster or of its change."""

    half_width: float
    change: float


@dataclass(frozen=True, slots=True)
class OfGroups:
    """Smallest difference of the rates of two groups that is detected, in points.

    The groups are compared within `n_pairs` prompts, whose outcomes are taken as independent;
    `differences` gives it for each share of these in which the two differ, or None.
    """

    n_pairs: int
    differences: Mapping[float, float | None]


Sees: TypeAlias = OfShare | OfMean | OfGroups | None
"""What a headline can detect; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The number of items of a headline, and what it can detect; None where that is not known."""

    entry: str
    n: int
    n_clusters: int
    clusters: str
    sees: Sees
    limits: tuple[Reach, ...] = ()
    """What limits on the headlines can decide, one for each measure with a headline of its own."""


@dataclass(frozen=True, slots=True)
class NotHere:
    """Data that are not available, and a hint on how to get them."""

    entry: str
    hint: str


def resolutions(suite: Suite, folder: DataFolder, only: str = "") -> list[Resolution | NotHere]:
    """Return what a suite's configurations can detect, by default those that run unnamed.

    Parameters
    ----------
    suite : Suite
        Any suite.
    folder : DataFolder
        Where its data may be; nothing is fetched if it is offline.
    only : str
        One configuration, whichever it is.
    """
    chosen = [suite.configuration(only)] if only else suite.configurations
    found: list[Resolution | NotHere] = []
    for configuration in chosen:
        if not only and (configuration.draft or configuration.only_named):
            continue
        items = items_of(suite, configuration, folder)
        if not isinstance(items, NotHere):
            found.append(_resolution(suite, configuration, items))
        else:
            found.append(items)
    return found


def items_of(
    suite: Suite, configuration: Configuration, folder: DataFolder
) -> tuple[Item, ...] | NotHere:
    """Return the items of a configuration, or a hint where they are not available."""
    entry = f"{suite.name}[{configuration.name}]"
    try:
        return tuple(configuration.load(folder.of(suite.name)).items)
    except (LicenceNotAccepted, UsageError) as error:
        return NotHere(entry, f"{error.message} {error.hint}")
    except DataMissing as error:
        own = all(file.address is None for file in configuration.files)
        hint = f"pytest-bias data fetch --suite {suite.name}"
        return NotHere(entry, error.hint or "" if own else hint)
    except DataError as error:
        return NotHere(entry, error.message)


def _resolution(suite: Suite, configuration: Configuration, items: Sequence[Item]) -> Resolution:
    headline = next(m for m in suite.measures[0].metrics if m.headline)
    records = [i.record("scored", headline.ideal) for i in items if i.status is None]
    sizes = Counter(r.cluster for r in records if headline.where(r))
    sees: Sees = _sees(headline, list(sizes.values())) if sizes else None
    # Of a design that crosses prompts with groups it is known how they pair.
    if suite.measures[0].calls and isinstance(headline.estimate, Range):
        sees = of_groups(headline, records)
    named = {m.name: m for measure in suite.measures for m in measure.metrics if m.headline}
    limits = tuple(reach(metric, items) for metric in named.values())
    return Resolution(
        f"{suite.name}[{configuration.name}]",
        sizes.total(),
        len(sizes),
        configuration.clusters,
        sees,
        limits,
    )


def _sees(metric: Metric, sizes: list[int]) -> OfShare | OfMean | None:
    if isinstance(metric.estimate, Share) and max(sizes) == 1:
        changes = {c: power.smallest_change_of_share(len(sizes), c) for c in CHANGED}
        return OfShare(power.half_width_of_share(len(sizes)), changes)
    if isinstance(metric.estimate, Share | Mean) and len(sizes) > 1:
        return OfMean(power.half_width_of_mean(sizes), power.smallest_change_of_mean(sizes))
    return None


def of_groups(metric: Metric, records: Sequence[Record]) -> OfGroups | None:
    """Return what a gap between groups sees; None where it is no gap of rates.

    A group has as many pairs with another as the smaller of both has items.
    """
    if not isinstance(metric.estimate, Range) or metric.bounds != (0, 100):
        return None
    groups = metric.estimate.compared(records)
    n = min(map(len, groups.values()), default=0)
    if not n:
        return None
    return OfGroups(n, {c: power.smallest_change_of_share(n, c) for c in APART})
