"""Which limits on a score can be decided with the items of a suite, whatever the model does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pytest_bias.records.report import Item
from pytest_bias.reports.limit_names import why_undecidable
from pytest_bias.scoring import power, statistics
from pytest_bias.scoring.estimators import MacroMean, Mean, Share, own_value
from pytest_bias.scoring.gaps import Gap, Range
from pytest_bias.scoring.metric import Metric
from pytest_bias.scoring.resampling import FEWEST, FEWEST_ALIKE
from pytest_bias.scoring.scores import estimator_for, members

CHANGED: Final = 0.1
"""Example share of the items that change sides between two versions of a model."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What limits on a score can decide.

    Parameters
    ----------
    metric, unit : str
        The score; its ideal is `ideal`.
    ideal : float
        Of the metric.
    units : int, optional
        Number of clusters on the side that has the fewest; None where other units are resampled.
    why_not : str
        Why no limit can be decided, empty where one can.
    why_no_regression : str
        Why no limit on a regression can be decided, empty where one can.
    distance : float, optional
        Smallest `max_distance` that is held by a model whose clusters are all at the ideal; None
        where that depends on how they differ.
    is_least : bool
        Whether no model can hold a smaller distance.
    regression : float, optional
        Smallest `max_regression` that is held where one item in ten changes, equally often in
        either direction; None where that depends on how much items change.
    """

    metric: str
    unit: str
    ideal: float
    units: int | None
    why_not: str = ""
    why_no_regression: str = ""
    distance: float | None = None
    is_least: bool = False
    regression: float | None = None


def reach(metric: Metric, items: Sequence[Item], by: Mapping[str, str] | None = None) -> Reach:
    """Return what limits on a score can decide with a suite's items.

    Parameters
    ----------
    metric : Metric
        Of the suite.
    items : sequence of Item
        All its items.
    by : mapping, optional
        The group that the score is of.
    """
    estimator = estimator_for(metric, by or {})
    # Factors are read from the fields of an item.
    records = [i.record("scored", metric.ideal, i.meta) for i in items if i.status is None]
    records = members(records, metric, by or {})
    unknown = Reach(
        metric.name,
        metric.unit,
        metric.ideal,
        None,
        metric.without_interval,
        why_undecidable(metric, "max_regression"),
    )
    if metric.without_interval:
        return unknown
    if not records:
        return replace(unknown, units=0, why_not="it has no items")
    if not isinstance(estimator, Share | Mean | MacroMean | Gap | Range):
        return unknown
    sides = estimator.compared(records) or {"": records}
    clusters = {name: {r.cluster for r in of} for name, of in sides.items()}
    name = min(clusters, key=lambda side: len(clusters[side]))
    n = len(clusters[name])
    found = replace(unknown, units=n)
    if isinstance(estimator, Share) and n == len(sides[name]):
        ends = [100 * end for end in statistics.wilson(metric.ideal / 100 * n, n)]
        change = power.smallest_change_of_share(n, CHANGED, power=0.5)
        least = max(abs(end - metric.ideal) for end in ends)
        return replace(found, distance=least, is_least=True, regression=change)
    if n < FEWEST:
        few = "1 cluster" if n == 1 else f"{n} clusters"
        of = f" of {name}" if name else ""
        return replace(found, why_not=f"{few}{of}; it takes {FEWEST}")
    low, high = metric.bounds
    effective = float(replace(estimator, of=own_value).sums(records).n_effective.min())
    if low is None or high is None or effective < FEWEST_ALIKE:
        return found
    interval = statistics.of_equal_units(metric.ideal, (low, high), effective)
    return replace(found, distance=max(abs(end - metric.ideal) for end in interval))
