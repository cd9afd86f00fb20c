"""The random reports: what a file may hold, in every state, and nothing untold in the rows."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from pytest_bias.emit.exports.rows import absent, score_rows
from pytest_bias.records.documents import read_document
from pytest_bias.records.report import Report
from pytest_bias.reports.decision import SCHEMA, Decision
from random_reports import Case, cases


@given(cases())
def test_a_drawn_report_and_its_decision_can_be_read_from_their_files(case: Case) -> None:
    assert Report.from_json(case.report.to_json()) == case.report
    if case.decision:
        assert read_document(case.decision.to_json(), SCHEMA, Decision) == case.decision


@given(cases())
def test_every_suite_is_in_the_rows_and_nothing_untold(case: Case) -> None:
    rows = score_rows(case.report)
    assert not {r.score.value for r in rows} & set(case.untold)
    assert case.told(repr(rows)) == []
    told = {r.suite.entry for r in rows} | {a.suite.entry for a in absent(case.report)}
    assert told == {s.entry for s in case.report.suites}


def _of(status: str) -> Callable[[Case], bool]:
    return lambda case: any(s.status == status for s in case.report.suites)


def _judged(verdict: str, *, waived: bool = False) -> Callable[[Case], bool]:
    wanted = (verdict, waived)
    return lambda case: any((o.verdict, o.is_waived) == wanted for o in case.decision.outcomes)


STATES: dict[str, Callable[[Case], bool]] = {
    **{s: _of(s) for s in ("scored", "not_applicable", "skipped", "unavailable", "inconclusive")},
    **{s: _of(s) for s in ("error", "withheld")},
    **{v: _judged(v) for v in ("held", "undecided", "exceeded", "not_measured", "no_baseline")},
    "waived": _judged("exceeded", waived=True),
    "hidden": lambda case: any(s.is_hidden and s.scores for s in case.report.suites),
    "served": lambda case: case.report.model.served is not None,
    "application": lambda case: case.report.model.application is not None,
    "fails undecided": lambda c: c.decision.status == "undecided" and c.decision.exit_code == 3,
}


@pytest.mark.slow
# What is found is told as a failure would be, and a whole report is long.
@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@pytest.mark.parametrize("state", STATES)
def test_every_state_is_drawn(state: str) -> None:
    often = settings(
        max_examples=2000,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    find(cases(decided=True), STATES[state], settings=often)
