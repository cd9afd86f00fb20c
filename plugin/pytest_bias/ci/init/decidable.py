"""Which limits of a new settings file can be decided with the items at hand."""

from collections.abc import Iterator

from pytest_bias.ci.init.choices import Choices
from pytest_bias.data.sources import DataFolder
from pytest_bias.emit.decidable import amount, on_limits
from pytest_bias.reports.decidable import Reach, reach
from pytest_bias.reports.detectable_change import NotHere, items_of
from pytest_bias.reports.limit_names import read_target
from pytest_bias.reports.limits import Limit, read_limits
from pytest_bias.suites.suite import Configuration


def told_of_limits(choices: Choices) -> Iterator[str]:
    """Yield a line for each limit and configuration, with a warning if it can hardly be held.

    Nothing is fetched.
    """
    folder = DataFolder(None, offline=True, accepted={}, texts={})
    for limit in read_limits(choices.limits):
        target = read_target(limit.text)
        suite = target.suite
        for configuration in suite.configurations:
            if not _covers(limit, configuration, choices):
                continue
            items = items_of(suite, configuration, folder)
            if isinstance(items, NotHere):
                yield (
                    f"Limit     {limit.text}: once the data are here, `pytest-bias suites "
                    f"{suite.name}` says what it can decide"
                )
                continue
            # One way to measure represents all: they use the same items.
            found = reach(target.metrics[0], items, target.by)
            yield _told(limit, found, configuration.clusters)


def _covers(limit: Limit, configuration: Configuration, choices: Choices) -> bool:
    spoken = [tag.partition("-")[0].lower() for tag in choices.languages] or ["en"]
    is_asked = limit.config is not None or configuration.language.partition("-")[0] in spoken
    return is_asked and limit.covers(limit.suite, configuration.name, configuration.language)


def _told(limit: Limit, found: Reach, clusters: str) -> str:
    said = on_limits(found, clusters)
    if found.why_not:
        return f"Careful   {limit.text}: {said}"
    rules = (
        ("max_distance", limit.max_distance, found.distance),
        ("max_regression", limit.max_regression, found.regression),
    )
    short = [
        f"{rule} {given:g} is below {amount(least, found.unit)}"
        for rule, given, least in rules
        if given is not None and least is not None and given < least
    ]
    return f"{'Careful' if short else 'Limit':<10}{limit.text}: {'; '.join([*short, said])}"
