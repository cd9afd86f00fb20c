"""Descriptions of a report's suites, added to their results for outputs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pytest_bias.errors import UnknownName
from pytest_bias.records.about import About, Furthest, Known
from pytest_bias.records.report import Record, Report, SuiteResult
from pytest_bias.scoring.estimators import Additive, Mean
from pytest_bias.scoring.metric import Metric
from pytest_bias.suites.catalogue import INSTALLED, Catalogue
from pytest_bias.suites.suite import STRUCTURE, Suite

NAMED_ITEMS: Final = 10
"""Number of items furthest from the ideal that are listed."""


def with_about(
    report: Report, catalogue: Catalogue = INSTALLED, *, names_items: bool = False
) -> Report:
    """Return a report with the descriptions of its suites from the catalogue.

    A description in the report is kept for suites that the catalogue does not have, or has in
    another version. With `names_items`, the items furthest from the ideal are found in the records.
    """
    suites = tuple(_told(s, catalogue.get(s.name), names_items) for s in report.suites)
    return replace(report, suites=suites, known=_known(report, catalogue))


def _known(report: Report, catalogue: Catalogue) -> Known:
    applicable = report.coverage.get("social_suites")
    names = applicable if isinstance(applicable, list | tuple) else ()
    found = {name: suite.title for name in names if (suite := catalogue.get(name))}
    cards = (suite.scope.get("dimensions") for suite in catalogue.suites)
    dimensions = {str(d) for card in cards if isinstance(card, list) for d in card}
    return Known({**report.known.titles, **found}, tuple(sorted(dimensions)))


def _told(result: SuiteResult, suite: Suite | None, names_items: bool) -> SuiteResult:
    if suite is None or (suite.version != result.version and result.about):
        return result
    about = About(suite.version, suite.badge, suite.scope)
    if names_items:
        about = replace(about, furthest=furthest(result, suite))
    elif result.about:
        about = replace(about, furthest=result.about.furthest)
    return replace(result, about=about)


def furthest(result: SuiteResult, suite: Suite) -> Furthest:
    """Return the ids of the items whose contribution to the headline is furthest from the ideal."""
    headline = result.headline
    if headline is None or result.name == STRUCTURE:
        return Furthest()
    if result.is_hidden:
        return Furthest(reason="The items are hidden.")
    if not result.records:
        return Furthest(reason="The records are not beside this report.")
    if suite.version != result.version:
        return Furthest(
            reason=f"{result.name} {result.version} is not installed here, so what its records "
            "mean is not known."
        )
    try:
        metrics = suite.measure_named(result.measure or "").metrics
    except UnknownName as error:
        return Furthest(reason=error.message)
    metric = next((m for m in metrics if m.name == headline.metric), None)
    # What a gap compares are groups: no item by itself is far from its ideal.
    if metric is None or not isinstance(metric.estimate, Additive) or metric.estimate.between:
        return Furthest(reason="This score has no value for single items.")
    try:
        return _ordered(result.records, metric, metrics)
    except (KeyError, TypeError, ValueError):
        return Furthest(reason="The records do not fit the suite; pytest-bias verify says more.")


def _ordered(records: Sequence[Record], metric: Metric, metrics: Sequence[Metric]) -> Furthest:
    distances = order = _distances(records, metric)
    ends = sorted(distances.values())
    tied, by = 0, ""
    if len(ends) > NAMED_ITEMS and ends[-1] == ends[-NAMED_ITEMS - 1]:
        tied = ends.count(ends[-1])
        # A percentage weights all items alike; a mean over the same items orders them.
        # Controls of how the model answered, which are means too, do not.
        if other := next((m for m in metrics if type(m.estimate) is Mean and m != metric), None):
            by, order = other.name, _distances(records, other)
    found = sorted(distances, key=lambda i: (-distances[i], -order.get(i, 0.0), i))
    return Furthest(tuple(found[:NAMED_ITEMS]), tied, by)


def _distances(records: Sequence[Record], metric: Metric) -> dict[str, float]:
    """Return the distance of each item's contribution to a metric from the ideal."""
    if not isinstance(metric.estimate, Additive):
        return {}
    scored = [r for r in records if r.status == "scored" and metric.where(r)]
    kept, values = metric.estimate.contributing(scored)
    distances = abs(values - metric.ideal).tolist()
    return dict(zip((r.item for r in kept), distances, strict=True))
