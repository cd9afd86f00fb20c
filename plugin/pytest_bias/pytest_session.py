"""What the pytest plugin does once a model is named: measure, gather from workers, write, print."""

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Final, Literal, ParamSpec, TypeVar

import pytest

from pytest_bias.compare import Comparison, compare
from pytest_bias.config import Settings, read_settings
from pytest_bias.errors import BiasError, UnknownName
from pytest_bias.limits import Decision, Limit, decide, read_limits
from pytest_bias.options import OPTIONS
from pytest_bias.records import Record, Report, SuiteResult
from pytest_bias.testing import BiasModel, assert_within, difference, group_values

if TYPE_CHECKING:
    from pytest_bias.engine import Plan, Planned, Session

_KEY: Final = pytest.StashKey["BiasSession"]()

P = ParamSpec("P")
T = TypeVar("T")


def of(config: pytest.Config) -> "BiasSession":
    """Return the session's state, made on first use."""
    if _KEY not in config.stash:
        config.stash[_KEY] = BiasSession(config)
    return config.stash[_KEY]


def existing(config: pytest.Config) -> "BiasSession | None":
    """Return the session's state if anything asked for it."""
    return config.stash.get(_KEY, None)


def _as_usage_error(function: Callable[P, T]) -> Callable[P, T]:
    """Let pytest print a user's mistake as one message."""

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except BiasError as error:
            raise pytest.UsageError(str(error)) from None

    return wrapped


@dataclass
class BiasSession:
    """State of one pytest session, on a worker or on the controller."""

    config: pytest.Config
    received: list[Report] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    report: Report | None = None
    decision: Decision | None = None
    comparison: Comparison | None = None
    out: str | None = None

    @cached_property
    def settings(self) -> Settings:
        """Options of the command line, the environment and the settings file."""
        return self._settings()

    @_as_usage_error
    def _settings(self) -> Settings:
        given = {o.name: self.config.getoption(f"bias_{o.name}") for o in OPTIONS}
        given = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
        given["model"] = self.config.getoption("bias_model")
        return read_settings(given)

    @property
    def model(self) -> str | None:
        """Name of the model under test."""
        return self.settings.model

    @cached_property
    def limits(self) -> tuple[Limit, ...]:
        """The project's limits."""
        return _as_usage_error(read_limits)(self.settings.limits)

    @cached_property
    def baseline(self) -> Report | None:
        """Report to compare with."""
        from pytest_bias.run import read_baseline

        return _as_usage_error(read_baseline)(self.settings)

    @cached_property
    def plan(self) -> "Plan":
        """What will run; known without weights."""
        return self._plan()

    @_as_usage_error
    def _plan(self) -> "Plan":
        from pytest_bias import engine
        from pytest_bias.run import claim_folder

        plan = engine.plan(engine.describe_for(self.settings, self.model or ""), self.settings)
        # What is wrong with limits or baseline is said before anything runs.
        _ = self.limits, self.baseline
        if not hasattr(self.config, "workerinput") and not self.config.option.collectonly:
            claim_folder(plan, self.settings)
        return plan

    @property
    def entry_ids(self) -> list[str]:
        """Names of the planned entries, in order; every worker finds the same."""
        return [p.entry.id for p in self.plan.entries]

    @cached_property
    def session(self) -> "Session":
        """The engine's session, which loads the model when it is first needed."""
        from pytest_bias.engine import Session

        return Session(self.plan)

    @cached_property
    def bias_model(self) -> BiasModel:
        """The loaded model."""
        return BiasModel(self.session.model)

    def planned(self, name: str) -> "Planned":
        """Return a planned entry by its name, with or without configuration."""
        for planned in self.plan.entries:
            if name in (planned.entry.id, planned.entry.suite.name):
                return planned
        raise UnknownName.among("entry", name, self.entry_ids, "Name it with --bias-suite.")

    def run_for(self, node: pytest.Item) -> "BiasRun":
        """Return what the `bias_run` fixture gives to one test."""
        return BiasRun(self, node)

    def finish(self, session: pytest.Session) -> None:
        """Hand results to the controller on a worker; write the report elsewhere."""
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            if "session" in self.__dict__:
                output["pytest_bias"] = self._payload()
            return
        if self.config.option.collectonly:
            return
        self.report = self._gathered()
        if self.report is None:
            return
        self.comparison = compare(self.report, self.baseline) if self.baseline else None
        self.decision = decide(
            self.report, self.limits, self.comparison, first_run=self.settings.first_run
        )
        self._save(self.report, self.decision)
        if self.decision.exit_code and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def receive(self, payload: str) -> None:
        """Take what a worker measured."""
        plain = json.loads(payload)
        self.order = plain["order"]
        self.out = plain["out"]
        report = Report.from_json(plain["report"])
        suites = (replace(s, records=_records(plain["records"][s.entry])) for s in report.suites)
        self.received.append(replace(report, suites=tuple(suites)))

    def _payload(self) -> str:
        from pytest_bias.run import claim_folder

        report = self.session.report(only_measured=True)
        plan = replace(self.plan, settings=replace(self.settings, fresh=True))
        out, key = claim_folder(plan, plan.settings)
        report = replace(report, run={**report.run, "key": key})
        return json.dumps(
            {
                "order": self.entry_ids,
                "out": str(out),
                "report": report.to_json(),
                "records": {s.entry: [asdict(r) for r in s.records] for s in report.suites},
            }
        )

    def _gathered(self) -> Report | None:
        if self.received:
            return merged(self.received, self.order)
        if "session" in self.__dict__ and self.session.results:
            return self.session.report(only_measured=True)
        return None

    def _save(self, report: Report, decision: Decision) -> None:
        from pathlib import Path

        from pytest_bias.run import claim_folder, save

        if self.out is None:
            out, key = claim_folder(self.plan, replace(self.settings, fresh=True))
            self.report = report = replace(report, run={**report.run, "key": key})
            self.out = str(out)
        save(report, decision, Path(self.out), self.comparison)

    def print_summary(self, terminal: pytest.TerminalReporter) -> None:
        """Print the report as a section of pytest's own."""
        if self.report is None or self.decision is None or self.out is None:
            return
        from pathlib import Path

        from rich.console import Console

        from pytest_bias.emit import terminal as emit
        from pytest_bias.run import say_where

        width = max(80, terminal._tw.fullwidth)
        console = Console(
            file=io.StringIO(), width=width, force_terminal=terminal.hasmarkup, no_color=None
        )
        emit.show(self.report, self.decision, console, self.comparison)
        console.print()
        say_where(Path(self.out), self.decision, console)
        terminal.section("bias")
        assert isinstance(console.file, io.StringIO)
        terminal.write(console.file.getvalue())


def _records(plain: Sequence[dict[str, Any]]) -> tuple[Record, ...]:
    return tuple(Record(**r) for r in plain)


def merged(reports: Sequence[Report], order: Sequence[str]) -> Report:
    """Put together what several workers measured of one model.

    Raises
    ------
    ValueError
        If they did not measure the same model under the same settings.
    """
    first = reports[0]
    for other in reports[1:]:
        if (other.model, other.settings) != (first.model, first.settings):
            raise ValueError("workers measured different models or settings")
    results = {s.entry: s for report in reversed(reports) for s in report.suites}
    suites = tuple(results[entry] for entry in order if entry in results)
    cost = {
        key: max(r.run["cost"][key] for r in reports)
        if key == "wall_s"
        else sum(r.run["cost"][key] or 0 for r in reports)
        for key in ("wall_s", "model_s", "tokens", "forwards")
    }
    return replace(
        first, suites=suites, sealed=None, run={**first.run, "cost": {**first.run["cost"], **cost}}
    )


@dataclass(frozen=True)
class BiasRun:
    """Measures suites for one test, and leaves their numbers in its JUnit properties."""

    owner: BiasSession
    node: pytest.Item

    def __call__(self, name: str) -> SuiteResult:
        """Measure a suite, once a session, and return its result.

        Parameters
        ----------
        name : str
            A suite's name, or a name with a configuration in brackets.
        """
        result = self.owner.session.measure(_as_usage_error(self.owner.planned)(name))
        for score in result.scores:
            if score.headline and score.value is not None:
                key = f"{result.entry}.{score.metric}"
                self.node.user_properties.append((key, score.value))
                if score.interval:
                    self.node.user_properties.append((f"{key}.low", score.interval[0]))
                    self.node.user_properties.append((f"{key}.high", score.interval[1]))
                self.node.user_properties.append((f"{key}.n", score.n))
        return result

    def check(self, name: str) -> SuiteResult:
        """Measure a suite; skip, or fail the test, if it has no score or exceeds a limit.

        A bias score alone never fails a test.
        """
        result = self(name)
        if result.status in ("not_applicable", "skipped"):
            pytest.skip(result.reason or result.status)
        if result.status != "scored":
            pytest.fail(f"{result.entry} could not be measured: {result.reason}", pytrace=False)
        report = replace(self.owner.session.report(only_measured=True), suites=(result,))
        limits = [x for x in self.owner.limits if x.is_about(result)]
        comparison = compare(report, self.owner.baseline) if self.owner.baseline else None
        first_run = self.owner.settings.first_run
        outcomes = decide(report, limits, comparison, first_run=first_run).outcomes
        failed = [o for o in outcomes if o.fails or o.verdict in ("not_measured", "no_baseline")]
        if failed:
            from pytest_bias.emit.terminal import VERDICTS, because

            lines = [f"{o.limit} is {VERDICTS[o.verdict]}: {because(o)}" for o in failed]
            pytest.fail("\n".join(lines), pytrace=False)
        return result

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
            Largest difference of the means, in the unit of the suite's headline.
        undecided : str
            What to do where the interval of the difference crosses the limit.
        """
        result = self(name)
        values = (group_values(result, **first), group_values(result, **second))
        assert_within(difference(*values, paired=False), within, undecided)
