"""Every suite measured on its case: by a model whose answers are a hash of what it is asked."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import pytest

import draws
from cases import CASES, Case
from hashed import Hashed
from pytest_bias.records.report import Item, Record, SuiteResult, records_digest
from pytest_bias.records.score import Score
from pytest_bias.scoring.metric import Metric
from pytest_bias.suites import find
from pytest_bias.suites.measures import Measure, measure_items
from pytest_bias.suites.results import scored
from pytest_bias.suites.suite import Suite


def measured(
    suite: Suite,
    measure: Measure,
    config: str,
    items: Sequence[Item],
    model: Hashed | None = None,
) -> SuiteResult:
    return result_of(suite, measure, config, measure_items(measure, model or Hashed(), items))


def result_of(
    suite: Suite, measure: Measure, config: str, records: Sequence[Record]
) -> SuiteResult:
    configuration = suite.configuration(config)
    empty = SuiteResult(
        suite.name,
        config,
        suite.version,
        suite.kind,
        "scored",
        language=configuration.language,
        measure=measure.name,
        records=tuple(records),
        records_sha256=records_digest(records),
    )
    with enough_draws(suite):
        return scored(empty, suite, seed=0)


def enough_draws(suite: Suite) -> AbstractContextManager[None]:
    """What two sets of resamples of an effect size have in common needs many."""
    return draws.as_for_users() if suite.name == "seat" else nullcontext()


def every_case() -> list[Any]:
    return [
        pytest.param((name, measure.name), id=f"{name}-{measure.name}")
        for name, case in CASES.items()
        for measure in find(case.suite).measures
    ]


@dataclass(frozen=True)
class Measured:
    """A case measured once, for all tests."""

    case: Case
    suite: Suite
    measure: Measure
    items: tuple[Item, ...]
    result: SuiteResult

    @property
    def metrics(self) -> dict[str, Metric]:
        return {m.name: m for m in self.measure.metrics}

    def again(self, records: Sequence[Record]) -> SuiteResult:
        return result_of(self.suite, self.measure, self.case.config, records)

    def pairs(self, other: SuiteResult) -> list[tuple[Score, Score]]:
        """Return each score beside that of another result, by metric and group."""
        theirs = {(s.metric, tuple(s.by.items())): s for s in other.scores}
        assert len(theirs) == len(self.result.scores) > 0
        return [(s, theirs[s.metric, tuple(s.by.items())]) for s in self.result.scores]


def case_measured(name: str, measure_name: str, model: Hashed | None = None) -> Measured:
    """Return a case in one of its suite's measures."""
    case = CASES[name]
    suite, items = find(case.suite), tuple(case.items())
    measure = suite.measure_named(measure_name)
    result = measured(suite, measure, case.config, items, model)
    return Measured(case, suite, measure, items, result)
