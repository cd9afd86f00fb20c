"""Suites on a model: what applies, what was measured, one report.

The engine knows neither pytest nor the terminal. `plan` needs no weights; a `Session` holds one
loaded model and measures entries one at a time, so that a command, a pytest worker and a notebook
do the same thing.
"""

import datetime
import os
import platform
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from pytest_bias.config import Settings, languages_of
from pytest_bias.datasources import DataFolder
from pytest_bias.errors import BiasError, DataMissing, LicenceNotAccepted, UsageError
from pytest_bias.events import (
    Listener,
    Loading,
    Notice,
    Progress,
    SuiteFinished,
    SuiteStarted,
    ignore,
)
from pytest_bias.interface import Capability, Model, ModelKind
from pytest_bias.models import Description, ModelRef, Trust, describe, load
from pytest_bias.records import (
    Item,
    ModelIdentity,
    Record,
    Report,
    SuiteResult,
    records_digest,
    sha256,
)
from pytest_bias.scoring import LEVEL, scored
from pytest_bias.suites import STRUCTURE, Entry, LoadedData, Measure, find, installed, select

QUICK_ITEMS: Final = 200
"""Items of a suite under ``--profile quick``; whole clusters, so a few more may come."""

SOCIAL: Final = "social"


@dataclass(frozen=True)
class Planned:
    """An entry with the measure that the model allows, or the reason why there is none."""

    entry: Entry
    measure: Measure | None
    reason: str | None = None


@dataclass(frozen=True)
class Plan:
    """What a run will do, known before any weight is read."""

    model: Description
    settings: Settings
    entries: tuple[Planned, ...]
    coverage: Mapping[str, Any]


def describe_for(settings: Settings, model: str) -> Description:
    """Describe a model as the settings allow."""
    trust = Trust(settings.allow_pickle, settings.trust_remote_code)
    return describe(ModelRef.parse(model), offline=settings.offline, trust=trust)


def plan(model: Description, settings: Settings) -> Plan:
    """Decide which suites run, in which order, and why the others do not."""
    languages = languages_of(settings, model.languages)
    entries = [Entry(s, c, named=True) for s in [find(STRUCTURE)] for c in s.configurations]
    entries += [e for e in select(settings.suites, languages) if e.suite.name != STRUCTURE]
    asked = {word.partition("[")[0] for word in settings.suites}
    if len(entries) == 1 and STRUCTURE not in asked:
        spoken = sorted({c.language for s in installed() for c in s.configurations if not c.draft})
        raise UsageError(
            f"no suite speaks {', '.join(languages)}; known are {', '.join(spoken)}.",
            "--language en measures an English view of the model.",
        )
    return Plan(
        model,
        settings,
        tuple(_planned(e, model) for e in entries),
        {"languages": list(languages), "social_suites": _social(model, languages)},
    )


def _social(model: Description, languages: Sequence[str]) -> list[str]:
    """Name every social suite that applies to a model in these languages."""
    entries = [e for e in select((), languages) if SOCIAL in e.suite.tags]
    return sorted({e.suite.name for e in entries if _planned(e, model).measure})


def _planned(entry: Entry, model: Description) -> Planned:
    measure = entry.suite.measure_for(model.capabilities)
    if measure is None:
        needed = " or ".join(_words(m.needs) for m in entry.suite.measures)
        return Planned(entry, None, f"needs {needed}; {_what_it_gives(model)}")
    lacking = entry.configuration.needs - model.capabilities
    if Capability.OPEN_VOCABULARY in lacking:
        return Planned(entry, None, "its texts are outside the model's closed vocabulary")
    if lacking:
        return Planned(entry, None, f"needs {_words(lacking)}; {_what_it_gives(model)}")
    return Planned(entry, measure)


def _what_it_gives(model: Description) -> str:
    given = _words(model.capabilities - {Capability.OPEN_VOCABULARY})
    if model.kind is ModelKind.MASKED and Capability.SLOT not in model.capabilities:
        return f"the tokenizer of this masked model has no mask token, which leaves {given}"
    return f"this {model.kind} model gives {given}"


def _words(capabilities: frozenset[Capability]) -> str:
    return " and ".join(sorted(c.words for c in capabilities))


@dataclass
class Session:
    """One model, loaded when it is first needed, and what was measured on it."""

    plan: Plan
    listener: Listener = ignore
    results: dict[str, SuiteResult] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)

    @property
    def settings(self) -> Settings:
        """Settings of the run."""
        return self.plan.settings

    @cached_property
    def data(self) -> DataFolder:
        """Where suites find their data."""
        s = self.settings
        return DataFolder(s.data_dir, s.offline, s.accept_licences)

    @cached_property
    def model(self) -> Model:
        """The loaded model; its structure is checked before anything else is measured."""
        identity = self.plan.model.identity
        self.listener(Loading(str(self.plan.model.snapshot.ref), identity.parameters))
        return load(self.plan.model, device=self.settings.device, dtype=self.settings.dtype)

    @cached_property
    def unsound(self) -> str | None:
        """Why nothing can be measured on this model, found by the structural checks."""
        for planned in self.plan.entries:
            if planned.entry.suite.name == STRUCTURE:
                result = self.measure(planned)
                if result.status in ("inconclusive", "error"):
                    return result.reason
        return None

    def prepare(self, planned: Planned) -> LoadedData | SuiteResult:
        """Load the items of an entry, or return the result that says why they are not there."""
        entry = planned.entry
        if planned.measure is None:
            return _result(entry, "not_applicable", planned.reason)
        try:
            return entry.configuration.load(self.data)
        except LicenceNotAccepted as error:
            return _result(entry, "skipped", str(error))
        except DataMissing as error:
            return _result(entry, "error" if entry.named else "skipped", str(error))
        except BiasError as error:
            return _result(entry, "error", str(error))

    def measure(self, planned: Planned) -> SuiteResult:
        """Measure one entry, once; a failure is a result, not an exception."""
        key = planned.entry.id
        if key not in self.results:
            self.results[key] = self._measure(planned)
            self.listener(SuiteFinished(self.results[key]))
        return self.results[key]

    def _measure(self, planned: Planned) -> SuiteResult:
        prepared = self.prepare(planned)
        if isinstance(prepared, SuiteResult) or planned.measure is None:
            assert isinstance(prepared, SuiteResult)
            return prepared
        entry, measure = planned.entry, planned.measure
        model = self.model
        if entry.suite.name != STRUCTURE and self.unsound:
            return _result(entry, "inconclusive", f"not measured: {self.unsound}")
        items, sampled = _sample(prepared.items, self.settings)
        self.listener(SuiteStarted(entry.id, len(items)))
        model.meter.on_progress = lambda done, total: self.listener(Progress(entry.id, done, total))
        try:
            records = take(measure, model, items)
        except Exception as error:
            if os.environ.get("PYTEST_BIAS_DEBUG"):
                raise
            first = str(error).splitlines()[:1]
            return _result(entry, "error", f"{type(error).__name__}: {''.join(first)}")
        finally:
            model.meter.on_progress = None
        n_items = sum(r.status != "excluded" for r in records)
        result = _result(
            entry,
            "scored",
            measure=measure.name,
            adapted=measure.adapted,
            sampled=sampled,
            data=replace(prepared.info, n_items=n_items),
            records=records,
            records_sha256=records_digest(records),
        )
        return scored(result, entry.suite, self.settings.seed)

    def report(self, *, only_measured: bool = False, interrupted: bool = False) -> Report:
        """Return the report of what was measured so far, entries in the order of the plan."""
        model = self.__dict__.get("model")
        suites = []
        for planned in self.plan.entries:
            missing = _result(planned.entry, "inconclusive", "interrupted before it was measured")
            if planned.entry.id in self.results or not only_measured:
                suites.append(self.results.get(planned.entry.id, missing))
        return build_report(
            self.plan,
            model.identity if model else self.plan.model.identity,
            suites,
            {
                "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                "environment": environment(model),
                "cost": {
                    "wall_s": round(time.perf_counter() - self.started, 3),
                    "model_s": round(model.meter.seconds, 3) if model else 0.0,
                    "tokens": model.meter.tokens if model else 0,
                    "forwards": model.meter.forwards if model else 0,
                    "energy_kwh": None,
                    "co2e_g": None,
                },
                "interrupted": interrupted,
            },
        )


def run(plan: Plan, listener: Listener = ignore) -> Report:
    """Measure everything in a plan.

    Data are loaded before the weights, so that what is missing is said early. An interrupt ends the
    run; what was measured until then is in the report.
    """
    session = Session(plan, listener)
    for notice in plan.model.notices:
        listener(Notice(notice))
    try:
        for planned in plan.entries:
            prepared = session.prepare(planned)
            if isinstance(prepared, SuiteResult):
                session.results[planned.entry.id] = prepared
                listener(SuiteFinished(prepared))
        for planned in plan.entries:
            session.measure(planned)
    except KeyboardInterrupt:
        return session.report(interrupted=True)
    return session.report()


def items_of(plan: Plan) -> dict[str, dict[str, Item]]:
    """Return the items of every entry that runs, by id: their texts are in no record."""
    session = Session(plan)
    prepared = {p.entry.id: session.prepare(p) for p in plan.entries}
    return {
        entry: {i.id: i for i in loaded.items}
        for entry, loaded in prepared.items()
        if isinstance(loaded, LoadedData)
    }


def take(measure: Measure, model: Model, items: Sequence[Item]) -> tuple[Record, ...]:
    """Measure items; those that the data alone decide are not shown to the model."""
    ready = [i for i in items if i.status is None]
    settled = [i.record(i.status, reason=i.reason) for i in items if i.status is not None]
    records = [*settled, *(measure.take(model, ready) if ready else ())]
    return tuple(sorted(records, key=lambda r: r.item))


def build_report(
    plan: Plan,
    identity: ModelIdentity,
    suites: Sequence[SuiteResult],
    about_run: Mapping[str, Any],
) -> Report:
    """Put results together; what does not change scores goes into `run`."""
    settings = plan.settings
    return Report(
        tool={"name": "pytest-bias", "version": tool_version()},
        model=identity,
        settings={
            "requested": list(settings.suites),
            "profile": settings.profile,
            "seed": settings.seed,
            "level": LEVEL,
        },
        suites=tuple(suites),
        coverage=plan.coverage,
        run=about_run,
    )


def tool_version() -> str:
    """Version of the installed distribution."""
    try:
        return version("pytest-bias")
    except PackageNotFoundError:
        return "unknown"


def environment(model: Model | None) -> dict[str, str]:
    """Versions and device, for the part of the report that the digest does not cover."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for name in ("torch", "transformers", "numpy", "scipy"):
        found[name] = version(name)
    body = getattr(model, "body", None)
    if body is not None:
        found["device"] = _device_name(body.device)
    return found


def _device_name(device: Any) -> str:
    if device.type == "cuda":
        import torch

        return torch.cuda.get_device_name(device)
    return str(device)


def _result(entry: Entry, status: Any, reason: str | None = None, **more: Any) -> SuiteResult:
    suite, configuration = entry.suite, entry.configuration
    return SuiteResult(
        name=suite.name,
        config=configuration.name,
        version=suite.version,
        kind=suite.kind,
        title=suite.title,
        language=configuration.language,
        draft=configuration.draft,
        validity=suite.validity,
        status=status,
        reason=reason,
        **more,
    )


def _sample(items: tuple[Item, ...], settings: Settings) -> tuple[tuple[Item, ...], int | None]:
    """Under the quick profile, take whole clusters in a seeded order, group by group in turn."""
    if settings.profile != "quick" or len(items) <= QUICK_ITEMS:
        return items, None
    clusters: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        clusters[item.cluster].append(item)
    strata: dict[str, list[str]] = defaultdict(list)
    for name in sorted(clusters, key=lambda c: sha256(f"{settings.seed}/{c}")):
        strata[repr(sorted(clusters[name][0].by.items()))].append(name)
    chosen: list[Item] = []
    queues = [iter(strata[key]) for key in sorted(strata)]
    while queues and len(chosen) < QUICK_ITEMS:
        for queue in list(queues):
            cluster = next(queue, None)
            if cluster is None:
                queues.remove(queue)
            elif len(chosen) < QUICK_ITEMS:
                chosen += clusters[cluster]
    return tuple(sorted(chosen, key=lambda i: i.id)), len(chosen)
