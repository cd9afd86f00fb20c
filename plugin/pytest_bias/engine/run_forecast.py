"""The forecast of a session, made before its first suite, and the order that suits a budget."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from pytest_bias.engine.allowance import Allowance
from pytest_bias.engine.events import Listener, ignore
from pytest_bias.engine.forecast import Expected, Forecaster
from pytest_bias.engine.planning import Plan, Planned
from pytest_bias.engine.report_building import environment
from pytest_bias.engine.schedule import Schedule
from pytest_bias.models.interface import Model
from pytest_bias.records.report import Part, SuiteResult
from pytest_bias.suites.suite import LoadedData


class Forecastable(Protocol):
    """What a forecast reads of a session."""

    plan: Plan
    unfinished: Path | None
    part: Part | None

    @property
    def listener(self) -> Listener:
        """Who is told."""

    @property
    def schedule(self) -> Schedule:
        """Which items are measured, in which order and until when."""

    @property
    def forecaster(self) -> Forecaster:
        """The forecaster for the loaded model."""

    @property
    def model(self) -> Model:
        """The loaded model."""

    @property
    def unsound(self) -> str | None:
        """Why nothing can be measured on this model."""

    def prepare(self, planned: Planned) -> LoadedData | SuiteResult:
        """Load the items of an entry."""


def expected(session: Forecastable, entries: Sequence[Planned]) -> list[Expected]:
    """Estimate what entries take; nothing where the model failed the structural checks."""
    waiting = [p for p in entries if not p.is_structure]
    if not waiting or session.unsound:
        return []
    there = [(p, data) for p in waiting if isinstance(data := session.prepare(p), LoadedData)]
    schedule, found = session.schedule, []
    schedule.n_entries = len(there)
    for planned, data in there:
        is_hidden = planned.entry.configuration.hidden
        # An error here occurs again when the entry is measured, and is reported then.
        with suppress(Exception), _knowing_answers(session, is_hidden=is_hidden):
            found += [schedule.expect(planned, data.items, session.forecaster, session.part)]
    return found


@contextmanager
def _knowing_answers(session: Forecastable, *, is_hidden: bool) -> Iterator[None]:
    """Let a model that is asked elsewhere know its kept answers: they are not asked again."""
    is_used = session.model.identity.asked and not is_hidden
    if is_used:
        session.model.keep(session.unfinished)
    try:
        yield
    finally:
        if is_used:
            session.model.keep(None)


def forecast_first(session: Forecastable, entries: Sequence[Planned]) -> list[Planned]:
    """Emit the forecast; return the entries in the order that suits a budget."""
    has_budget = session.plan.settings.budget is not None
    if session.listener is ignore and not has_budget:
        return list(entries)
    found = expected(session, entries)
    if not found:
        return list(entries)
    device = environment(session.model).get("device", "")
    session.listener(session.schedule.forecast(device, session.model))
    if not has_budget:
        return list(entries)
    sizes = {e.entry: _size(e, session.plan.allowance) for e in found}
    return sorted(entries, key=lambda p: sizes.get(p.entry.id, 0.0))


def _size(entry: Expected, allowance: Allowance | None) -> float:
    """Return what an entry takes of the budget: calls, else money, else time."""
    if allowance and entry.asked:
        calls, money = allowance.of(entry.asked)
        return calls if math.isfinite(allowance.calls) else money
    return math.inf if entry.seconds is None else entry.seconds
