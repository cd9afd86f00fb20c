"""Which limits can be decided, in words."""

import math

from pytest_bias.reports.decidable import CHANGED, Reach
from pytest_bias.scoring.digits import decimals


def on_limits(reach: Reach, clusters: str) -> str:
    """Describe which limits on a score can be decided, and from which value on."""
    if reach.why_not:
        return f"no limit can be decided: {reach.why_not}"
    if reach.units is None:
        found = ["a first run shows whether one can be decided"]
    elif reach.distance is None:
        found = [f"can be decided, from where on depends on how {clusters} differ"]
    else:
        condition = "" if reach.is_least else f" if all {clusters} agree, else as they differ"
        least = amount(reach.distance, reach.unit)
        found = [f"max_distance can be held from {least} on{condition}"]
    if reach.why_no_regression:
        found.append("there can be no max_regression")
    elif reach.regression is not None:
        least = amount(reach.regression, reach.unit)
        found.append(f"max_regression from {least} on if {100 * CHANGED:g} % of items change")
    return ", ".join(found)


def amount(least: float, unit: str) -> str:
    """Return a sufficient distance, rounded up, with its unit."""
    places = decimals(unit)
    text = f"{math.ceil(round(least * 10**places, 6)) / 10**places:.{places}f}"
    return f"{text} {'points' if unit == '%' else unit}".rstrip()
