"""The fixture ``bias_run``, which measures suites for hand-written tests."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import pytest

from pytest_bias.emit.absence import properties
from pytest_bias.pytest_plugin.session import MOST_SAID, BiasSession, as_usage_error
from pytest_bias.pytest_plugin.testing import assert_within, difference, group_values
from pytest_bias.records.report import SuiteResult
from pytest_bias.reports.comparison import compare
from pytest_bias.reports.decision import Outcome
from pytest_bias.reports.limits import decide, named_by
from pytest_bias.reports.withholding import verdict_alone
from pytest_bias.suites.hiding import measure_quietly


@dataclass(frozen=True)
class BiasRun:
    """Measures suites for one test, and records their numbers in its JUnit properties.

    If scores are withheld, no number is recorded.
    """

    owner: BiasSession
    node: pytest.Item

    def __call__(self, name: str) -> SuiteResult:
        """Measure a suite, once per session, and return its result.

        Parameters
        ----------
        name : str
            A suite's name, or a name with a configuration in brackets.
        """
        return self._measured(name).without_hidden_records()

    def _measured(self, name: str) -> SuiteResult:
        self.owner.asked.add(name)
        planned, part = as_usage_error(self.owner.planned)(name)
        result = self.owner.session.measure(planned, part)
        # The numbers of a part are not those of the suite.
        if part or self.owner.settings.withhold_scores:
            return result
        known = {key for key, _ in self.node.user_properties}
        told = (pair for pair in properties(result).items() if pair[0] not in known)
        self.node.user_properties.extend(told)
        return result

    def check(self, name: str) -> SuiteResult:
        """Measure a suite; skip, or fail the test, if it has no score or exceeds a limit.

        A bias score alone never fails a test.
        """
        result = self._measured(name)
        is_allowed = result.status == "unavailable" and self.owner.settings.allow_missing_data
        if is_allowed or result.status in ("not_applicable", "skipped"):
            pytest.skip((result.reason or result.status)[:MOST_SAID])
        if result.status != "scored":
            why = (result.reason or "")[:MOST_SAID]
            pytest.fail(f"{result.entry} could not be measured: {why}", pytrace=False)
        if as_usage_error(self.owner.planned)(name)[1]:
            # Limits are decided on the whole suite, at the end of the session.
            return result.without_hidden_records()
        judge = partial(self._failed, result)
        failed = measure_quietly(judge) if result.is_hidden else judge()
        if failed:
            pytest.fail("\n".join(map(self._told, failed)), pytrace=False)
        return result.without_hidden_records()

    def _told(self, outcome: Outcome) -> str:
        """Describe the outcome of a limit, for a message or a JUnit property."""
        from pytest_bias.emit.verdict import sentence

        if self.owner.settings.withhold_scores:
            outcome = verdict_alone(outcome)
        return sentence(outcome)

    def _failed(self, result: SuiteResult) -> list[Outcome]:
        """Return the outcomes of limits for which a test fails; warn about those with a waiver."""
        job, report = self.owner.job, self.owner.session.report(only_measured=True)
        report = replace(report, suites=(result,))
        limits = [limit for limit in job.limits if limit.is_about(result)]
        level, first_run = job.decision_level, self.owner.settings.first_run
        comparison = (
            compare(report, job.baseline, named_by(limits), level, self.owner.settings.catalogue)
            if job.baseline
            else None
        )
        decision = decide(
            report,
            limits,
            comparison,
            first_run=first_run,
            level=level,
            catalogue=self.owner.settings.catalogue,
        )
        outcomes = decision.outcomes
        self.node.user_properties += [("waiver", self._told(o)) for o in outcomes if o.waiver]
        return [o for o in outcomes if o.is_failure]

    def assert_alike(
        self,
        name: str,
        first: dict[str, str],
        second: dict[str, str],
        *,
        within: float,
        undecided: Literal["warn", "fail"] = "warn",
    ) -> None:
        """Assert that two groups of a suite's items have about the same mean value.

        Parameters
        ----------
        name : str
            A suite's name.
        first, second : dict
            The groups, such as ``{"bias_type": "religion"}``.
        within : float
            Largest allowed difference of the means, in the unit of the suite's headline.
        undecided : str
            What to do if the interval of the difference crosses the limit.
        """
        result = self(name)
        withholds = self.owner.settings.withhold_scores
        try:
            values = (group_values(result, **first), group_values(result, **second))
            found = difference(*values, paired=False)
            return assert_within(found, within, undecided, withholds=withholds)
        except (AssertionError, ValueError) as error:
            if not withholds:
                raise
            text = str(error)
        # A traceback shows arguments, which include scores.
        pytest.fail(text, pytrace=False)
