"""A session measures suites on one model, one at a time, and returns one report.

The engine does not depend on pytest or the terminal. A `Session` holds one loaded model and
measures the entries of a plan, so that a command, a pytest worker and a notebook do the same.
"""

import datetime
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from pytest_bias.data.sources import DataFolder
from pytest_bias.engine import scorers
from pytest_bias.engine.allowance import costs as spent_in_numbers
from pytest_bias.engine.allowance import costs_of, price_for
from pytest_bias.engine.events import (
    Fetching,
    Listener,
    Loading,
    Notice,
    Progress,
    SuiteFinished,
    SuiteStarted,
    ignore,
)
from pytest_bias.engine.forecast import Forecaster
from pytest_bias.engine.hidden import NOTICE, WHOLE, load_hidden, scored_hidden
from pytest_bias.engine.isolation import told
from pytest_bias.engine.planning import NOT_IN_SHARD, NOT_REACHED, Plan, Planned, part_of
from pytest_bias.engine.preparation import without_data
from pytest_bias.engine.report_building import build_report, depends_on, environment
from pytest_bias.engine.run_forecast import forecast_first
from pytest_bias.engine.sampling import extent
from pytest_bias.engine.schedule import Schedule
from pytest_bias.engine.timeline import Timeline
from pytest_bias.errors import BiasError, ModelStopped
from pytest_bias.models import load
from pytest_bias.models.energy import GpuEnergy
from pytest_bias.models.file_digests import files_of, signed
from pytest_bias.models.interface import Model
from pytest_bias.models.memory import free
from pytest_bias.records.report import Item, Part, Report, SuiteResult, items_digest, records_digest
from pytest_bias.settings.settings import Settings
from pytest_bias.suites.hiding import measure_quietly
from pytest_bias.suites.measures import measure_items
from pytest_bias.suites.results import scored
from pytest_bias.suites.suite import LoadedData


@dataclass
class Session:
    """One model, loaded when it is first needed, and the results measured on it."""

    plan: Plan
    listener: Listener = ignore
    results: dict[tuple[str, Part | None], SuiteResult] = field(default_factory=dict)
    """Results by entry and part; the part is None for a whole entry."""
    prepared: dict[str, LoadedData | SuiteResult] = field(default_factory=dict)
    costs: dict[str, dict[str, float]] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)
    timeline: Timeline = field(default_factory=Timeline)
    energy: GpuEnergy = field(default_factory=GpuEnergy)
    unfinished: Path | None = None
    """Folder in which answers are kept until the run has ended."""
    part: Part | None = None
    """Part of every entry that is measured; by default the shard of the settings."""
    stopped: str | None = None
    """Why a server no longer answers; its answers so far are kept for the next run."""

    def __post_init__(self) -> None:
        self.part = self.part or part_of(self.settings)

    @property
    def elapsed(self) -> float:
        """Seconds since the session began."""
        return round(time.perf_counter() - self.started, 3)

    @property
    def settings(self) -> Settings:
        """Settings of the run."""
        return self.plan.settings

    def notify(self, text: str) -> None:
        """Send a notice to the user, now and in the report."""
        self.notices.append(text)
        self.listener(Notice(text))

    @cached_property
    def schedule(self) -> Schedule:
        """The schedule: which items are measured, in which order and until when."""
        measurable = [p for p in self.plan.entries if p.measure and not p.is_structure]
        allowance, price = self.plan.allowance, price_for(self.settings, self.plan.model.ref)
        return Schedule(self.settings, self.started, len(measurable), allowance, price)

    @cached_property
    def data(self) -> DataFolder:
        """The folder in which suites find their data."""
        s = self.settings
        return DataFolder(s.data_dir, s.offline, s.accept_licences, s.texts, tell=self._fetching)

    def _fetching(self, path: str, done: int, total: int | None) -> None:
        self.listener(Fetching(path, done, total))

    @property
    def model(self) -> Model:
        """The loaded model; loading is tried once, and its failure is raised every time."""
        loaded = self._loaded
        if isinstance(loaded, BiasError):
            raise loaded
        return loaded

    @cached_property
    def _loaded(self) -> Model | BiasError:
        identity = self.plan.model.identity
        self.listener(Loading(str(self.plan.model.ref), identity.parameters))
        try:
            s, model = self.settings, self.plan.model
            with self.timeline.during("load"):
                how = {
                    n: getattr(s, n) for n in ("device", "dtype", "device_map", "chat", "system")
                }
                found = load(model, **how)
                found.scorers = scorers.loaded(self.plan.scorers, self.settings)
            found.seed = s.seed
            found.answer_tokens, found.answer_samples = s.answer_tokens, s.answer_samples
        except BiasError as error:
            return error
        found.label_names = {
            p.measure.reads: p.labels for p in self.plan.entries if p.measure and p.measure.reads
        }
        self.energy = GpuEnergy(found.devices)
        for text in found.notices:
            self.notify(text)
        return found

    @cached_property
    def forecaster(self) -> Forecaster:
        """The forecaster for the loaded model."""
        return Forecaster(self.model)

    def unload(self) -> None:
        """Release the model and the memory of its devices before another one is loaded."""
        for name in ("forecaster", "_loaded"):
            self.__dict__.pop(name, None)
        free()

    @property
    def loaded(self) -> Model | None:
        """The model if it has been loaded."""
        found = self.__dict__.get("_loaded")
        return None if isinstance(found, BiasError) else found

    @cached_property
    def unsound(self) -> str | None:
        """Why nothing can be measured on this model, found by the structural checks."""
        for planned in self.plan.entries:
            if planned.is_structure:
                result = self.measure(planned)
                if result.status in ("inconclusive", "error"):
                    return result.reason
        return None

    def prepare(self, planned: Planned) -> LoadedData | SuiteResult:
        """Load the items of an entry once, or return the result that says why they are missing."""
        key = planned.entry.id
        if key not in self.prepared:
            with self.timeline.during("data"):
                self.prepared[key] = self._prepare(planned)
        return self.prepared[key]

    def _prepare(self, planned: Planned) -> LoadedData | SuiteResult:
        entry = planned.entry
        if planned.measure is None:
            return entry.result("not_applicable", planned.reason)
        if planned.lacks:
            return entry.result("error" if entry.named else "skipped", planned.lacks)
        data = self.data.of(entry.suite.name)
        try:
            if entry.configuration.hidden:
                return load_hidden(entry.configuration, data)
            return entry.configuration.load(data)
        except BiasError as error:
            return entry.result(without_data(error, named=entry.named), str(error))
        except Exception as error:
            return entry.result("error", told(error))

    def depends_on(self, known: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return everything that the scores of this run depend on, with data; no weight is loaded.

        Data whose digests are in `known`, by entry, are not read.
        """
        with self.timeline.during("hash"):
            # Kept by the description, which is asked again below.
            self.plan.model.weights_digest()
        data = {}
        for planned in self.plan.entries:
            if (found := (known or {}).get(planned.entry.id)) is None:
                ready = self.prepare(planned)
                found = ready.info.sha256 if isinstance(ready, LoadedData) else ready.status
            data[planned.entry.id] = [planned.entry.suite.version, found]
        return depends_on(self.plan, data)

    def items(self) -> dict[str, dict[str, Item]]:
        """Return items by entry and id, without hidden ones: records have no texts."""
        return {
            entry: {item.id: item for item in loaded.items}
            for entry, loaded in self.prepared.items()
            if isinstance(loaded, LoadedData) and not loaded.hiding
        }

    def measure(self, planned: Planned, part: Part | None = None) -> SuiteResult:
        """Measure one entry or a part of it once; a failure is a result, not an exception."""
        prepared = self.prepare(planned)
        # Every process runs the structural checks itself.
        whole = planned.is_structure or not isinstance(prepared, LoadedData)
        part = None if whole else part or self.part
        if part and part[0] == 1 and planned.entry.configuration.hidden:
            part = None
        key = planned.entry.id, part
        if key not in self.results:
            self.results[key] = (
                self._measure(planned, prepared, part)
                if isinstance(prepared, LoadedData)
                else prepared
            )
            self.listener(SuiteFinished(self.results[key]))
        return self.results[key]

    def _measure(self, planned: Planned, data: LoadedData, part: Part | None) -> SuiteResult:
        entry = planned.entry
        try:
            model = self.model
        except BiasError as error:
            return entry.result("error", str(error))
        if not planned.is_structure and self.unsound:
            return entry.result("inconclusive", f"not measured: {self.unsound}")
        if part and data.hiding:
            return entry.result("skipped", WHOLE)
        ask = partial(self._asked, planned, model, data, part)
        try:
            return measure_quietly(ask) if data.hiding else ask()
        except ModelStopped as error:
            self.stopped = error.message
            return entry.result("error", error.message)
        except (Exception, SystemExit) as error:
            return entry.result("error", told(error))

    def _asked(
        self, planned: Planned, model: Model, data: LoadedData, part: Part | None
    ) -> SuiteResult:
        entry, measure = planned.entry, planned.measure
        assert measure is not None, "an entry without a measure has no data"
        clusters = self.schedule.clusters(entry, data.items, part)
        if part and not clusters:
            return entry.result("skipped", NOT_IN_SHARD)
        self.listener(SuiteStarted(entry.id, sum(map(len, clusters))))
        with self.timeline.during("ask"), self._watched(planned, model):
            ask = partial(measure_items, measure, model)
            found = self.schedule.take(planned, data.items, self.forecaster, ask, part)
        if not found and clusters:
            why = (
                f"not measured: --budget {self.settings.budget} does not suffice for an item of it"
            )
            return entry.result("inconclusive", why)
        records = tuple(sorted(found, key=lambda r: r.item))
        sampled, n_available = extent(data.items, {r.item for r in records})
        n_items = sum(r.status != "excluded" for r in records)
        result = entry.result(
            "scored",
            measure=measure.name,
            adapted=measure.adapted,
            **self._classifiers(planned, model),
            sampled=sampled,
            n_available=n_available,
            data=replace(data.info, n_items=n_items, items_sha256=items_digest(records)),
            records=records,
            records_sha256=records_digest(records),
        )
        with self.timeline.during("score"):
            start = time.perf_counter()
            if data.hiding:
                return scored_hidden(result, entry.suite, self.settings.seed, data.hiding)
            result = scored(result, entry.suite, self.settings.seed)
            self._add_cost(entry.id, {"score_s": round(time.perf_counter() - start, 3)})
        # Whether too many items are unscored is decided for the whole entry.
        return replace(result, status="scored", reason=None) if part else result

    def _classifiers(self, planned: Planned, model: Model) -> dict[str, Any]:
        """Return the fields of a result about the classifiers that were used."""
        scorer = self.plan.scorers.get(planned.scorer)
        if scorer is None:
            return {"labels": planned.labels}
        about = scorer.identity(model.scorers[scorer.role])
        return {"labels": scorer.labels, "scorer": about}

    @contextmanager
    def _watched(self, planned: Planned, model: Model) -> Iterator[None]:
        """Listen to a model, keep its answers, and record its cost."""
        entry, meter = planned.entry, model.meter
        meter.on_progress = lambda done, total: self.listener(Progress(entry.id, done, total))
        is_hidden = entry.configuration.hidden
        meter.on_notice = lambda text: self.notify(f"{entry.id}: {NOTICE if is_hidden else text}")
        # Structural checks use no kept answers: these cannot show whether an answer repeats. Of an
        # application that is not asked, and each call may be paid for.
        asks_again = planned.is_structure and not self.plan.model.keeps_answers
        folder = None if asks_again or is_hidden else self.unfinished
        for each in (model, *model.scorers.values()):
            each.keep(folder)
        started, before = time.perf_counter(), (meter.seconds, meter.tokens, meter.forwards)
        asked = replace(meter.asked)
        try:
            yield
        finally:
            for each in (model, *model.scorers.values()):
                each.keep(None)
            meter.on_progress = meter.on_notice = None
            cost = {
                "wall_s": round(time.perf_counter() - started, 3),
                "model_s": round(meter.seconds - before[0], 3),
                "tokens": meter.tokens - before[1],
                "forwards": meter.forwards - before[2],
            }
            if model.identity.asked:
                cost |= spent_in_numbers(meter.asked - asked, self.schedule.price)
            self.timeline.move(meter.seconds - before[0], "ask", "forward")
            self._add_cost(entry.id, cost)

    def _add_cost(self, entry: str, cost: Mapping[str, float]) -> None:
        spent = self.costs.setdefault(entry, {})
        for name, number in cost.items():
            spent[name] = spent.get(name, 0) + number

    def measured(self) -> list[tuple[Part | None, SuiteResult]]:
        """Return every result so far with its part, in the order of the plan."""
        return [
            (part, result)
            for planned in self.plan.entries
            for (entry, part), result in self.results.items()
            if entry == planned.entry.id
        ]

    def _about_files(self) -> Mapping[str, Any]:
        files = files_of(self.plan.model) if self.loaded else {}
        about = {"files": files, "signed": signed(self.plan.model, files)}
        return {name: what for name, what in about.items() if what}

    def report(self, *, only_measured: bool = False, interrupted: bool = False) -> Report:
        """Return the report of what was measured so far, entries in the order of the plan."""
        model = self.loaded
        suites = [result for _, result in self.measured()]
        if not only_measured:
            there = {s.entry: s for s in suites}
            entries = [planned.entry for planned in self.plan.entries]
            suites = [there.get(e.id) or e.result("inconclusive", NOT_REACHED) for e in entries]
        return build_report(
            self.plan,
            model.identity if model else self.plan.model.identity,
            suites,
            {
                "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                "environment": environment(model, self.settings.device_map),
                "cost": {
                    "wall_s": self.elapsed,
                    "model_s": round(model.meter.seconds, 3) if model else 0.0,
                    "tokens": model.meter.tokens if model else 0,
                    "forwards": model.meter.forwards if model else 0,
                    **(costs_of(model, self.schedule.price) if model else {}),
                    **self.energy.cost(self.settings.energy),
                    "suites": self.costs,
                    "phases": self.timeline.so_far(),
                },
                "notices": list(dict.fromkeys([*self.plan.notices, *self.notices])),
                **self._about_files(),
                "interrupted": interrupted,
                **({"stopped": self.stopped} if self.stopped else {}),
                **({"context": dict(context)} if (context := self.settings.context) else {}),
                "shard": {"part": self.settings.shard, "sampled": self.schedule.sampled}
                if self.settings.shard
                else None,
            },
        )


def run(session: Session) -> Report:
    """Measure everything in a session's plan.

    Data are loaded before the weights, so that missing data are reported early. An interrupt ends
    the run; the report has the results so far.

    Raises
    ------
    BiasError
        If the model cannot be loaded.
    """
    for notice in session.plan.notices:
        session.notify(notice)
    entries = session.plan.entries
    try:
        ready = [p for p in entries if isinstance(session.prepare(p), LoadedData)]
        for planned in entries:
            if planned not in ready:
                session.measure(planned)
        if ready:
            _ = session.model
        with session.timeline.during("forecast"):
            in_order = forecast_first(session, ready)
        for planned in in_order:
            session.measure(planned)
    except KeyboardInterrupt:
        return session.report(interrupted=True)
    return session.report()
