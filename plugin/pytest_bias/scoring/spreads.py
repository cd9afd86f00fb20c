"""Spread of a score over the templates that its items were made from."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from pytest_bias.records.report import Record
from pytest_bias.records.score import Spread
from pytest_bias.scoring.estimators import Additive
from pytest_bias.scoring.metric import Metric


def spread(records: Sequence[Record], metric: Metric, by: Mapping[str, str]) -> Spread | None:
    """Return the spread of a metric over the templates that its records name."""
    if not metric.spread or not isinstance(metric.estimate, Additive):
        return None
    if metric.spread_within and metric.spread_within not in by:
        return None
    by_template: dict[str, list[Record]] = {}
    for record in records:
        if name := record.detail.get(metric.spread):
            by_template.setdefault(str(name), []).append(record)
    values = [metric.estimate.sums(by_template[name]).value for name in sorted(by_template)]
    values = [v for v in values if math.isfinite(v)]
    if len(values) < 2:
        return None
    with np.errstate(over="ignore"):
        sd = float(np.std(values, ddof=1))
    if not math.isfinite(sd):
        return None
    return Spread(metric.spread, len(values), sd, min(values), max(values))
