"""Preparation of a run: every check that is possible before any weight is read."""

from __future__ import annotations

import errno
import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bias.engine.events import Listener, Notice, ignore
from pytest_bias.errors import BiasError, OutputError, UsageError
from pytest_bias.models import ModelRef
from pytest_bias.records.report import Report
from pytest_bias.reports.folder import UNFINISHED, Held, claim, default_folder, release, run_key
from pytest_bias.reports.limits import Limit, check_unambiguous, decision_level, limits_of
from pytest_bias.reports.withholding import read_salt
from pytest_bias.runs import baselines
from pytest_bias.settings.settings import Settings, require_data_dir, require_model

if TYPE_CHECKING:
    from pytest_bias.engine.session import Session
    from pytest_bias.models import Described


@dataclass(frozen=True)
class Job:
    """A run that is ready to start; only the model's weights are not loaded yet.

    `first` is the job that measures the baseline, if that is a model without a report; it has no
    limits and decides nothing.
    """

    session: Session
    limits: tuple[Limit, ...]
    baseline: Report | None
    out: Path
    key: str
    first: Job | None = None
    whole: str | None = None
    """Key of the whole run that a shard belongs to."""
    held: Held | None = None
    """The output folder, if it was claimed."""

    @property
    def decision_level(self) -> float:
        """Level of the intervals that decide; it depends on the number and rules of the limits."""
        return decision_level(self.limits, self.entries, has_baseline=self.baseline is not None)

    @property
    def entries(self) -> list[tuple[str, str, str]]:
        """Name, configuration and language of every suite of the run."""
        planned = [p.entry for p in self.session.plan.entries]
        return [(e.suite.name, e.configuration.name, e.configuration.language) for e in planned]

    @property
    def model(self) -> str:
        """Name of the model, with its adapter."""
        return str(self.session.plan.model.ref)

    def close(self) -> None:
        """Release the output folder."""
        if self.held:
            self.held.close()

    def give_up(self) -> None:
        """Release the output folder, and remove it if it is empty."""
        if self.held:
            self.held.close()
            release(self.out)

    def claim(self) -> Held:
        """Claim the output folder of a baseline.

        Raises
        ------
        OutputError
            If it cannot be written, or holds something else.
        """
        try:
            return claim(self.out, self.key, fresh=False)
        except OutputError as error:
            raise OutputError(
                f"the baseline {self.model}: {error.message}",
                f"Remove {self.out}, or give a report: --baseline DIR",
            ) from None


def prepare(settings: Settings, listener: Listener = ignore, *, claims: bool = True) -> Job:
    """Run every check that is possible before the weights are read, and claim the output folder.

    If several processes share a run, only one of them `claims` the folder.
    """
    from pytest_bias.engine.planning import describe_for

    require_data_dir(settings)
    limits = limits_of(settings)
    if settings.shard:
        # A shard decides nothing: `merge` does.
        limits = ()
        if settings.baseline:
            raise UsageError("--baseline with --shard.", "Compare what merge joins.")
    described = describe_for(settings, require_model(settings))
    found = None
    if settings.baseline:
        found = baselines.find(settings.baseline, described, settings, listener)
    job = replace(_job(described, settings, listener), limits=limits)
    check_unambiguous(limits, job.entries)
    if isinstance(found, ModelRef):
        job = _after(job, found)
    elif found:
        job = replace(job, baseline=found)
    if claims:
        job = replace(job, held=claim_for(settings, job.out, job.key, listener))
    return job


def claim_for(settings: Settings, out: Path, key: str, listener: Listener = ignore) -> Held:
    """Claim the output folder; check the salt if scores are withheld, and where JUnit goes."""
    if settings.junit:
        _require_writable(settings.junit)
    held = claim(out, key, fresh=settings.fresh, withholds=settings.withhold_scores)
    try:
        if settings.withhold_scores:
            # So that an unreadable salt is found before the model runs.
            read_salt(out)
    except BaseException:
        held.close()
        raise
    if held.notice:
        listener(Notice(held.notice))
    return held


def _require_writable(file: Path) -> None:
    """Check, before a model runs, that a file of --junit can be written; make its folder.

    Raises
    ------
    OutputError
        If it is a folder, or its folder cannot be made or written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with tempfile.TemporaryFile(dir=file.parent):
            pass
    except OSError as error:
        raise OutputError(
            f"--junit {file} cannot be written: {error.strerror or error}.",
            "Name a file in a folder that can be written, such as --junit results/bias.xml",
        ) from None


def _job(described: Described, settings: Settings, listener: Listener) -> Job:
    from pytest_bias.engine.planning import plan
    from pytest_bias.engine.session import Session

    session = Session(plan(described, settings), listener)
    depends = session.depends_on()
    key, whole = run_key(depends), None
    if settings.shard:
        whole = run_key({name: of for name, of in depends.items() if name != "shard"})
    name = described.identity.reference + (f"-{settings.shard}" if settings.shard else "")
    out = settings.out or default_folder(name, key)
    session.unfinished = out / UNFINISHED
    return Job(session, (), None, out, key, whole=whole)


def _after(job: Job, baseline: ModelRef) -> Job:
    """Return a job with the report of a baseline model, or with the job that measures it first."""
    from pytest_bias.engine.planning import describe_for

    plan, tell = job.session.plan, job.session.listener
    settings = baselines.settings_for(plan, baseline)
    try:
        described = describe_for(settings, require_model(settings))
    except BiasError as error:
        raise baselines.about(plan.settings.baseline or "", error) from None
    baselines.check_kinds(plan.model, described)
    first = _job(described, settings, tell)
    report = baselines.kept(first.session.plan, first.out, first.key)
    if report is None:
        return replace(job, first=first)
    tell(Notice(f"Baseline {first.model}: {first.out} is reused."))
    return replace(job, baseline=report)
