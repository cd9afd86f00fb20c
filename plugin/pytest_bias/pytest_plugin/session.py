"""The pytest plugin's work once a model is named: measure, collect from workers, write, print."""

import io
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

import pytest

from pytest_bias.emit.streams import fitted
from pytest_bias.engine.merging import Measured, gathered
from pytest_bias.environment import SUITE_FILE
from pytest_bias.errors import BiasError, UnknownName, UsageError
from pytest_bias.models.reference import asked_in_words
from pytest_bias.pytest_plugin.testing import BiasModel
from pytest_bias.records.report import Part
from pytest_bias.settings.options import OPTIONS
from pytest_bias.settings.settings import Settings, read_settings
from pytest_bias.suites.files.reading import files_below, name_of
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
"""Maximum characters of a reason in a test's report."""

P = ParamSpec("P")
T = TypeVar("T")


def of(config: pytest.Config) -> "BiasSession":
    """Return the session's state, made on first use."""
    if _KEY not in config.stash:
        config.stash[_KEY] = BiasSession(config)
    return config.stash[_KEY]


def existing(config: pytest.Config) -> "BiasSession | None":
    """Return the session's state if it was ever used."""
    return config.stash.get(_KEY, None)


def as_usage_error(function: Callable[P, T]) -> Callable[P, T]:
    """Let pytest print a user error as one message, with the plugin's names of options."""

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
        """Number of processes that share the tests; 1 without workers, 0 if only they know."""
        if self.on_worker:
            return int(self.config.workerinput["workercount"])  # type: ignore[attr-defined]
        if not self.config.pluginmanager.hasplugin("dsession"):
            return 1
        return int(self.config.getoption("numprocesses") or 0)

    @cached_property
    def settings(self) -> Settings:
        """Settings of the session; on a worker, with the device that it uses."""
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
        """The devices that workers use in turn; empty if all use the same."""
        return as_usage_error(self._devices)()

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
        elsewhere = asked_in_words(stated.model)
        if self.n_workers > 1 and stated.device == "auto" and not (elsewhere or stated.device_map):
            from pytest_bias.models.placing import gpus

            return gpus()
        return ()

    @cached_property
    def _stated(self) -> Settings:
        """Options of the command line, the environment and the settings file."""
        given = {o.name: self.config.getoption(f"bias_{o.name}") for o in OPTIONS if o.of_tests}
        given = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
        given["model"] = self.config.getoption("bias_model")
        settings = as_usage_error(read_settings)(given)
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
        job = as_usage_error(prepare)(self.settings, claims=claims)
        job.session.started = self.started
        if job.first:
            job.give_up()
            raise self._unmeasured(job.first)
        return job

    def _unmeasured(self, baseline: "Job") -> pytest.UsageError:
        """Return the error for an unmeasured baseline, since a session measures one model."""
        from pytest_bias.runs.baselines import command

        typed = self.config.getoption("bias_baseline") is not None
        return pytest.UsageError(
            f"the baseline {baseline.model} has not been measured with these settings yet, and a "
            "session of pytest measures one model. This writes its report where it is looked "
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
        """Names of the entries with tests of their own: suite files that were collected."""
        names = frozenset(self.settings.beside).difference(self.session.plan.requested)
        entries = self.session.plan.entries
        return frozenset(p.entry.id for p in entries if p.entry.suite.name in names)

    @property
    def test_ids(self) -> list[str]:
        """Names of the tests that measure the plan, the same on every worker.

        If workers have devices of their own, an entry has as many tests as there are workers, such
        as ``crows_pairs[en] 1/2``; tests of one entry are not adjacent, since neighbours often go
        to one worker.
        """
        n, session = self.n_workers, self.session
        s = self.settings
        # Each part would stop at a different item.
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
        """The loaded model, after it has passed the structural checks."""
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
        """Count the suites that share a budget, from the collected tests."""
        if self.settings.model is None or self.settings.budget is None:
            return
        structure = {p.entry.id for p in self.session.plan.entries if p.is_structure}
        asked = {i.callspec.params.get("bias_entry") for i in items if hasattr(i, "callspec")}
        # Those of suite files are named after their entries.
        asked |= {i.name for i in items} & self.of_files
        if n := len(asked - structure - {None}):
            workers = getattr(self.config, "workerinput", {}).get("workercount", 1)
            schedule = self.session.schedule
            schedule.n_entries = -(-n // workers)
            # Processes spend without knowing of one another.
            schedule.allowance = schedule.allowance and schedule.allowance.share(workers)

    def finish(self, session: pytest.Session) -> None:
        """On a worker, send results to the controller; otherwise write the report."""
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
        """Compare, decide, and write the report."""
        from pytest_bias.runs.finishing import finish_job

        try:
            report = (
                gathered(self.received, self.entry_ids, self.settings.catalogue)
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
        """Receive the results of a worker."""
        self.received.append(Measured.from_json(payload))

    def _payload(self) -> str:
        session = self.session
        parts = tuple(part for part, _ in session.measured())
        return Measured(
            session.report(only_measured=True), parts, session.schedule.sampled
        ).to_json()

    def print_summary(self, terminal: pytest.TerminalReporter) -> None:
        """Print the report as a section of pytest's output."""
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
