"""What the pytest plugin does once a model is named: measure, gather from workers, write, print."""

import io
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, wraps
from typing import TYPE_CHECKING, Final, Literal, ParamSpec, TypeVar

import pytest

from pytest_bias.emit.absence import properties
from pytest_bias.emit.streams import fitted
from pytest_bias.engine.hidden import is_hidden, without_records
from pytest_bias.engine.merging import Measured, gathered
from pytest_bias.environment import SUITE_FILE
from pytest_bias.errors import BiasError, UnknownName, UsageError
from pytest_bias.models.served.address import PROTOCOL
from pytest_bias.pytest_plugin.testing import BiasModel, assert_within, difference, group_values
from pytest_bias.records.report import Part, SuiteResult
from pytest_bias.reports.comparison import compare
from pytest_bias.reports.limits import Outcome, decide, named_by
from pytest_bias.reports.withholding import verdict_alone
from pytest_bias.settings.options import OPTIONS
from pytest_bias.settings.settings import Settings, read_settings
from pytest_bias.suites.files.reading import files_below, name_of, with_files
from pytest_bias.suites.hiding import measure_quietly
from pytest_bias.suites.suite import LoadedData
from pytest_bias.untrusted import clean

if TYPE_CHECKING:
    from pytest_bias.engine.planning import Planned
    from pytest_bias.engine.session import Session
    from pytest_bias.runs.finishing import Finished
    from pytest_bias.runs.job import Job

_KEY: Final = pytest.StashKey["BiasSession"]()
_FLAGS = re.compile(rf"--(?=(?:{'|'.join(o.flag for o in OPTIONS)})\b)")

MOST_SAID: Final = 4_000
"""Characters of a reason in a test's report."""

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
    """Let pytest print a user's mistake as one message, with options as they are called here."""

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except BiasError as error:
            raise pytest.UsageError(_FLAGS.sub("--bias-", str(error))) from None

    return wrapped


@dataclass
class BiasSession:
    """State of one pytest session, on a worker or on the controller."""

    config: pytest.Config
    received: list[Measured] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    finished: "Finished | None" = None
    problem: str | None = None
    started: float = field(default_factory=time.perf_counter)

    @property
    def on_worker(self) -> bool:
        """Whether this process is one of xdist's workers."""
        return hasattr(self.config, "workerinput")

    @cached_property
    def n_workers(self) -> int:
        """How many processes share the tests; 1 without workers, 0 if only they know."""
        if self.on_worker:
            return int(self.config.workerinput["workercount"])  # type: ignore[attr-defined]
        if not self.config.pluginmanager.hasplugin("dsession"):
            return 1
        return int(self.config.getoption("numprocesses") or 0)

    @cached_property
    def settings(self) -> Settings:
        """What was asked for; on a worker, with the device that it is to use."""
        if not self.devices:
            return self._stated
        device = self.devices[0]
        if self.on_worker:
            name = str(self.config.workerinput["workerid"])  # type: ignore[attr-defined]
            number = re.search(r"\d*$", name)
            device = self.devices[int(number[0] or 0 if number else 0) % len(self.devices)]
        return replace(self._stated, device=device, devices=None)

    @cached_property
    def devices(self) -> tuple[str, ...]:
        """The devices that workers share, in turn; none where all take the same."""
        return _as_usage_error(self._devices)()

    def _devices(self) -> tuple[str, ...]:
        stated = self._stated
        if stated.model is None:
            return ()
        if stated.devices:
            from pytest_bias.models.placing import shared

            found = shared(stated.devices)
            if 0 < self.n_workers < len(found):
                raise UsageError(
                    f"--devices {stated.devices}: {len(found)} devices need as many processes of "
                    f"pytest-xdist, there {'is' if self.n_workers == 1 else 'are'} "
                    f"{self.n_workers}.",
                    f"-n {len(found)}",
                )
            return found
        served = stated.model.startswith(PROTOCOL)
        if self.n_workers > 1 and stated.device == "auto" and not (served or stated.device_map):
            from pytest_bias.models.placing import gpus

            return gpus()
        return ()

    @cached_property
    def _stated(self) -> Settings:
        """Options of the command line, the environment and the settings file."""
        given = {o.name: self.config.getoption(f"bias_{o.name}") for o in OPTIONS if o.of_tests}
        given = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
        given["model"] = self.config.getoption("bias_model")
        settings = _as_usage_error(read_settings)(given)
        start, config = self.config.invocation_params.dir, self.config
        places = [start / word.partition("::")[0] for word in config.args]
        return replace(settings, collected=files_below(places, config.getini("norecursedirs")))

    @cached_property
    def job(self) -> "Job":
        """The run, ready to start; the controller has claimed the output folder."""
        from pytest_bias.runs.job import prepare

        if self.on_worker and self.devices:
            from pytest_bias.models.placing import share_threads

            share_threads(self.n_workers)
        claims = not (self.on_worker or self.config.option.collectonly)
        job = _as_usage_error(prepare)(self.settings, claims=claims)
        job.session.started = self.started
        if job.first:
            job.give_up()
            raise self._unmeasured(job.first)
        return job

    def _unmeasured(self, baseline: "Job") -> pytest.UsageError:
        """Say how to measure a baseline: workers would each do it, and tests measure one model."""
        from pytest_bias.runs.baselines import command

        typed = self.config.getoption("bias_baseline") is not None
        return pytest.UsageError(
            f"the baseline {baseline.model} has not been measured with these settings yet, and a "
            "session of pytest measures one model. This leaves its report where it is looked "
            f"for:\n  {command(baseline.session.settings, stated=not typed)}"
        )

    @property
    def session(self) -> "Session":
        """The engine's session, which loads the model when it is first needed."""
        return self.job.session

    @property
    def entry_ids(self) -> list[str]:
        """Names of the planned entries, in order; every worker finds the same."""
        return [p.entry.id for p in self.session.plan.entries if p.entry.id not in self.of_files]

    @cached_property
    def of_files(self) -> frozenset[str]:
        """Names of the entries that are tests of their own: suite files that were collected."""
        names = frozenset(with_files(self.settings.collected)).difference(
            self.session.plan.requested
        )
        entries = self.session.plan.entries
        return frozenset(p.entry.id for p in entries if p.entry.suite.name in names)

    @property
    def test_ids(self) -> list[str]:
        """Names of the tests that measure the plan, the same on every worker.

        Where workers have devices of their own, an entry is as many tests as there are workers,
        such as ``crows_pairs[en] 1/2``; those of one entry apart, since neighbours often go to one
        worker.
        """
        n, session = self.n_workers, self.session
        s = self.settings
        # A part would stop at a place of its own.
        if n < 2 or len(self.devices) < 2 or s.shard or s.budget is not None:
            return self.entry_ids
        split = [
            p.entry.id
            for p in session.plan.entries
            if not (p.is_structure or p.entry.configuration.hidden)
            and isinstance(session.prepare(p), LoadedData)
        ]
        whole = [entry for entry in self.entry_ids if entry not in split]
        return whole + [f"{entry} {k}/{n}" for k in range(1, n + 1) for entry in split]

    @cached_property
    def bias_model(self) -> BiasModel:
        """The loaded model, found sound by the structural checks."""
        try:
            model = self.session.model
        except BiasError as error:
            pytest.fail(str(error), pytrace=False)
        if self.session.unsound:
            pytest.fail(self.session.unsound, pytrace=False)
        return BiasModel(model)

    def planned(self, name: str) -> "tuple[Planned, Part | None]":
        """Return a planned entry by its name, with or without configuration, and which part."""
        starts = (self.config.invocation_params.dir, self.config.rootpath)
        name, _, words = name_of(name, starts).partition(" ")
        for planned in self.session.plan.entries:
            if name in (planned.entry.id, planned.entry.suite.name):
                number, _, of = words.partition("/")
                return planned, (int(number), int(of)) if words else None
        known = [p.entry.id for p in self.session.plan.entries]
        hint = f"--bias-suite={name} measures it; of a file *{SUITE_FILE} give the file."
        raise UnknownName.among("entry", name, known, hint)

    def expect(self, items: Sequence[pytest.Item]) -> None:
        """Learn how many suites share a budget here, from the tests that were collected."""
        if self.settings.model is None or self.settings.budget is None:
            return
        structure = {p.entry.id for p in self.session.plan.entries if p.is_structure}
        asked = {i.callspec.params.get("bias_entry") for i in items if hasattr(i, "callspec")}
        if n := len(asked - structure - {None}):
            workers = getattr(self.config, "workerinput", {}).get("workercount", 1)
            self.session.schedule.n_entries = -(-n // workers)

    def finish(self, session: pytest.Session) -> None:
        """Hand results to the controller on a worker; write the report elsewhere."""
        measured = bool(self.asked)
        if self.on_worker:
            if measured:
                output: dict[str, object] = self.config.workeroutput  # type: ignore[attr-defined]
                output["pytest_bias"] = self._payload()
            return
        if self.config.option.collectonly:
            return
        if measured or self.received:
            self._write(session)
        if "job" in self.__dict__:
            self.job.give_up()

    def _write(self, session: pytest.Session) -> None:
        """Compare, decide and write what was measured."""
        from pytest_bias.runs.finishing import finish_job

        try:
            report = (
                gathered(self.received, self.entry_ids)
                if self.received
                else self.session.report(only_measured=True)
            )
            self.finished = finish_job(self.job, report)
        except (BiasError, pytest.UsageError) as error:
            self.problem = str(error)
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
            return
        if self.finished.decision.exit_code and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def receive(self, payload: str) -> None:
        """Take what a worker measured."""
        self.received.append(Measured.from_json(payload))

    def _payload(self) -> str:
        session = self.session
        parts = tuple(part for part, _ in session.measured())
        return Measured(
            session.report(only_measured=True), parts, session.schedule.sampled
        ).to_json()

    def print_summary(self, terminal: pytest.TerminalReporter) -> None:
        """Print the report as a section of pytest's own."""
        if self.problem:
            terminal.section("bias")
            terminal.write_line(f"ERROR: {self.problem}", red=True)
        if self.finished is None:
            return
        from rich.console import Console

        stream, encoding = io.StringIO(), getattr(terminal._tw._file, "encoding", None)
        width = max(80, terminal._tw.fullwidth)
        self.finished.show(Console(file=stream, width=width, force_terminal=terminal.hasmarkup))
        terminal.section("bias")
        for notice in self.finished.report.notices:
            terminal.write_line(fitted(clean(notice, 1000), encoding))
        terminal.write(fitted(stream.getvalue(), encoding))


@dataclass(frozen=True)
class BiasRun:
    """Measures suites for one test, and leaves their numbers in its JUnit properties.

    Where scores are withheld, no number is left anywhere.
    """

    owner: BiasSession
    node: pytest.Item

    def __call__(self, name: str) -> SuiteResult:
        """Measure a suite, once a session, and return its result.

        Parameters
        ----------
        name : str
            A suite's name, or a name with a configuration in brackets.
        """
        return without_records(self._measured(name))

    def _measured(self, name: str) -> SuiteResult:
        self.owner.asked.add(name)
        planned, part = _as_usage_error(self.owner.planned)(name)
        result = self.owner.session.measure(planned, part)
        # The numbers of a part are none of the suite's.
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
        if _as_usage_error(self.owner.planned)(name)[1]:
            # The whole decides, at the end of the session.
            return without_records(result)
        judge = partial(self._failed, result)
        failed = measure_quietly(judge) if is_hidden(result) else judge()
        if failed:
            pytest.fail("\n".join(map(self._told, failed)), pytrace=False)
        return without_records(result)

    def _told(self, outcome: Outcome) -> str:
        """Return what became of a limit, for a message or a property of JUnit."""
        from pytest_bias.emit.verdict import sentence

        if self.owner.settings.withhold_scores:
            outcome = verdict_alone(outcome)
        return sentence(outcome)

    def _failed(self, result: SuiteResult) -> list[Outcome]:
        """Return the outcomes of limits for which a test fails; tell of those with a waiver."""
        job, report = self.owner.job, self.owner.session.report(only_measured=True)
        report = replace(report, suites=(result,))
        limits = [limit for limit in job.limits if limit.is_about(result)]
        level, first_run = job.decision_level, self.owner.settings.first_run
        comparison = (
            compare(report, job.baseline, named_by(limits), level) if job.baseline else None
        )
        outcomes = decide(report, limits, comparison, first_run=first_run, level=level).outcomes
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
            Largest difference of the means, in the unit of the suite's headline.
        undecided : str
            What to do where the interval of the difference crosses the limit.
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
        # A traceback shows what was passed on, scores among it.
        pytest.fail(text, pytrace=False)
