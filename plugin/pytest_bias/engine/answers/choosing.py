"""Which configuration of a suite answers are scored as, and by which of its measures."""

from collections.abc import Sequence
from typing import NamedTuple

from pytest_bias.data.answer_logs import AnswerLog
from pytest_bias.errors import UsageError
from pytest_bias.models.answered import CAPABILITIES
from pytest_bias.models.interface import Capability
from pytest_bias.settings.settings import Settings
from pytest_bias.suites.measures import Measure
from pytest_bias.suites.suite import Configuration, Entry, Suite


class Chosen(NamedTuple):
    """A configuration, and a measure that the answers allow."""

    entry: Entry
    measure: Measure


def capabilities_of(log: AnswerLog, answers: str = "auto") -> frozenset[Capability]:
    """Return what a measure may ask of a log; `answers` is the setting of that name."""
    has = set()
    for answer in log.answers:
        if answer.kind == "log-likelihood":
            has.add("likelihoods")
        elif answer.kind == "probability":
            has.add("labels")
        if answer.answer is not None:
            has |= {"texts", "labels"}
    found = frozenset(c for name in has for c in CAPABILITIES[name])
    if answers == "text" and "texts" in has:
        found -= {Capability.CHOOSE}
    if answers == "letters":
        found -= {Capability.GENERATE}
    return found | {Capability.OPEN_VOCABULARY}


def suite_of(settings: Settings) -> Suite:
    """Return the one suite that is named.

    Raises
    ------
    UsageError
        If none or several are named, or a tag; if there is no such suite or configuration.
    """
    if len(settings.requested) != 1 or settings.requested[0].startswith("@"):
        given = " ".join(settings.requested) or "none"
        raise UsageError(
            f"answers are scored as those of one suite; given: {given}.",
            "pytest-bias score --suite 'bbq[en-options]' --answers FILE",
        )
    name, bracket, configuration = settings.requested[0].partition("[")
    suite = settings.catalogue.find(name)
    if bracket:
        suite.configuration(configuration.rstrip("]"))
    return suite


def choose(log: AnswerLog, settings: Settings) -> Chosen:
    """Return the configuration that was named, else the first that the answers can be of.

    Raises
    ------
    UsageError
        If not one suite is named, or no measure of it can use such answers.
    """
    suite = suite_of(settings)
    _, bracket, configuration = settings.requested[0].partition("[")
    can = capabilities_of(log, settings.answers)
    if bracket:
        among: Sequence[Configuration] = [suite.configuration(configuration.rstrip("]"))]
    else:
        languages = settings.languages or ("en",)
        among = [
            c for c in suite.configurations if c.language in languages and not c.only_named
        ] or list(suite.configurations)
    for one in among:
        if one.hidden:
            raise UsageError(
                f"{suite.name} is hidden: an answer of somebody's shows that its items are known.",
                "Hidden suites are measured by a run only.",
            )
        measure = suite.measure_for(can, one.name)
        if measure and not (measure.scorer or one.scorer):
            return Chosen(Entry(suite, one, named=True), measure)
    raise _none(suite, among[0], can)


def _none(suite: Suite, one: Configuration, can: frozenset[Capability]) -> UsageError:
    has = ", ".join(sorted(c.words for c in can - {Capability.OPEN_VOCABULARY})) or "nothing"
    measures = suite.measures_of(one.name)
    scorer = one.scorer or next((m.scorer for m in measures if m.scorer), "")
    if scorer:
        return UsageError(
            f"{suite.name}[{one.name}] scores texts by a classifier of {scorer}, which `score` "
            "does not run.",
            "pytest-bias run measures it.",
        )
    needs = " or ".join(
        " and ".join(sorted(c.words for c in m.needs if c is not Capability.OPEN_VOCABULARY))
        for m in measures
    )
    others = [
        f"{suite.name}[{c.name}]" for c in suite.configurations if suite.measure_for(can, c.name)
    ]
    hint = f"With such answers: --suite '{others[0]}'" if others else None
    return UsageError(
        f"{suite.name}[{one.name}] needs {needs}; the files can stand for {has}.", hint
    )
