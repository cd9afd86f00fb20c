"""The plan of a run, made before any weight is read: which suites apply, and why others do not."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Any, Final

from pytest_bias.engine import scorers
from pytest_bias.engine.allowance import Allowance, allowance_for
from pytest_bias.engine.scorers import Scorer
from pytest_bias.errors import UsageError
from pytest_bias.models import Described, ModelRef, Trust, describe
from pytest_bias.models.applications.name import DEMO_CHAT
from pytest_bias.models.interface import Capability, ModelKind
from pytest_bias.models.labels import ROLES, labels_for
from pytest_bias.models.served.settings import settings_for
from pytest_bias.records.report import Item, Part, sha256
from pytest_bias.settings.context import check_context
from pytest_bias.settings.settings import NO_LANGUAGE, Settings, languages_of
from pytest_bias.suites.catalogue import Catalogue, supported_languages
from pytest_bias.suites.measures import Measure
from pytest_bias.suites.suite import STRUCTURE, Entry

NOT_IN_SHARD: Final = "none of its items falls into this shard"
DEMO_SUITES: Final[Mapping[str, tuple[str, ...]]] = {DEMO_CHAT: ("bbq[en-sample]",)}
"""Bundled model to what it is measured with unless suites are named: data in the package."""
NOT_REACHED: Final = "interrupted before it was measured"


@dataclass(frozen=True)
class Planned:
    """An entry with the measure that the model allows, or the reason why there is none.

    For a measure that reads a classifier's labels, `labels` maps each role to a label; `lacks` is
    what the user would have to name for the measure to be taken.
    """

    entry: Entry
    measure: Measure | None
    reason: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    lacks: str | None = None

    @property
    def scorer(self) -> str:
        """Role of the classifier that scores the model's texts; empty where there is none."""
        return self.entry.configuration.scorer or (self.measure.scorer if self.measure else "")

    @property
    def is_structure(self) -> bool:
        """Whether these are the structural checks, which are always run in full."""
        return self.entry.suite.name == STRUCTURE


@dataclass(frozen=True)
class Plan:
    """What a run will do: model, settings and entries, with coverage and notices."""

    model: Described
    settings: Settings
    entries: tuple[Planned, ...]
    coverage: Mapping[str, Any]
    notices: tuple[str, ...] = ()
    chat: bool = False
    """Whether prompts use the model's chat template."""
    scorers: Mapping[str, Scorer] = field(default_factory=dict)
    """Classifiers that score the model's texts, by role."""
    requested: tuple[str, ...] = ()
    """The suites that were requested; those defined in files by their names."""
    allowance: Allowance | None = None
    """Calls and money of the budget."""


def describe_for(settings: Settings, model: str) -> Described:
    """Describe a model as the settings allow, and check that device and precision are available."""
    s, described = settings, described_for(settings, model)
    described.precision(s.device, s.dtype, s.device_map, s.devices)
    return described


def described_for(settings: Settings, model: str) -> Described:
    """Describe a model as the settings allow, without checking the device."""
    ref = ModelRef.parse(model)
    return describe(
        ref,
        offline=settings.offline,
        trust=Trust(settings.allow_pickle, settings.trust_remote_code),
        asking=settings_for(settings.served, calls_code=ref.calls_code),
        chat=settings.chat,
        mapping=settings.application,
    )


def plan(model: Described, settings: Settings) -> Plan:
    """Decide which suites run, in which order, and why the others do not."""
    languages = languages_of(settings, model.languages)
    catalogue = settings.catalogue
    requested = settings.requested or DEMO_SUITES.get(str(model.ref), ())
    _check_texts(settings)
    check_context(settings.context, settings.stated, catalogue)
    entries = [
        Entry(s, c, named=True) for s in [catalogue.find(STRUCTURE)] for c in s.configurations
    ]
    chat = model.chats(settings.chat, settings.system)
    allowance = allowance_for(settings, model.ref)
    asks_long = bool(requested) or settings.profile == "full"
    entries += [
        e
        for e in catalogue.select(requested, languages, settings.texts, chat=chat)
        if e.suite.name != STRUCTURE and (asks_long or not e.configuration.only_full)
    ]
    asked = {word.partition("[")[0] for word in requested}
    if settings.beside:
        there = {e.id for e in entries}
        beside = catalogue.select(settings.beside, languages, chat=chat)
        entries += [e for e in beside if e.id not in there]
    if len(entries) == 1 and STRUCTURE not in asked:
        waiting = _only_named(catalogue, languages)
        if waiting:
            raise UsageError(
                f"what is in {', '.join(languages)} runs only when it is named: "
                f"{', '.join(waiting)}.",
                f"--suite '{waiting[0]}'",
            )
        known = supported_languages(catalogue.suites)
        raise UsageError(
            f"no suite is in {', '.join(languages)}; known are {', '.join(known)}.",
            "--language en measures an English view of the model.",
        )
    planned = _skip_unscorable_configurations(
        [_planned(e, model, settings) for e in entries], requested
    )
    return Plan(
        model,
        settings,
        planned,
        {
            "languages": list(languages),
            "social_suites": _social(model, settings, languages, chat=chat),
            "capabilities": sorted(c.value for c in model.capabilities),
        },
        (
            *model.notices,
            *_on_languages(settings, model, languages),
            *_on_writing(planned, model, chat=chat),
            *_on_shard(settings),
        ),
        chat,
        scorers.described(settings, [p.scorer for p in planned if p.measure]),
        requested,
        allowance,
    )


def _only_named(catalogue: Catalogue, languages: Sequence[str]) -> list[str]:
    """Return what is in some languages, whether or not it runs without being named."""
    return [
        f"{suite.name}[{c.name}]"
        for suite in catalogue.suites
        for c in suite.configurations
        if c.language in languages and not c.own_texts and c.control_of is None
    ]


def _check_texts(settings: Settings) -> None:
    """Check that the user's own texts are given only for suites that read such texts."""
    for name in settings.texts:
        with settings.stated.at(("texts", name)):
            if not any(c.own_texts for c in settings.catalogue.find(name).configurations):
                suites = settings.catalogue.suites
                readers = [s.name for s in suites if any(c.own_texts for c in s.configurations)]
                raise UsageError(
                    f"texts are named for {name}, which reads no texts of the user's.",
                    f"Those that do: {', '.join(readers)}.",
                )


def _on_writing(entries: Sequence[Planned], model: Described, *, chat: bool) -> tuple[str, ...]:
    if not any(p.measure and Capability.GENERATE in p.measure.needs for p in entries):
        return ()
    return tuple(filter(None, (model.about_chat if chat else "", model.about_writing)))


def _on_languages(
    settings: Settings, model: Described, languages: tuple[str, ...]
) -> tuple[str, ...]:
    if settings.languages or languages == ("en",):
        passed_over = [tag for tag in model.languages if tag.lower() in NO_LANGUAGE]
        if passed_over and not settings.languages:
            return (
                f"The model's card gives {', '.join(passed_over)}, which names no language: "
                "tested in en. --language chooses.",
            )
        return ()
    return (f"Tested in {', '.join(languages)}, as the model's card says. --language chooses.",)


def _on_shard(settings: Settings) -> tuple[str, ...]:
    if part_of(settings) is None:
        return ()
    if settings.budget is not None:
        raise UsageError(
            "--budget with --shard: every shard would stop at a different item.",
            "--profile quick takes one sample in all shards.",
        )
    return (f"Shard {settings.shard}: pytest-bias merge joins the shards, scores and decides.",)


def _social(
    model: Described, settings: Settings, languages: Sequence[str], *, chat: bool
) -> list[str]:
    """Name every social suite that applies to a model in these languages."""
    entries = settings.catalogue.social_entries(languages, chat=chat)
    return sorted({e.suite.name for e in entries if _planned(e, model, settings).measure})


def _planned(entry: Entry, model: Described, settings: Settings) -> Planned:
    measure = entry.suite.measure_for(_usable(model, settings), entry.configuration.name)
    if measure is None:
        measures = entry.suite.measures_of(entry.configuration.name)
        needed = " or ".join(_words(m.needs) for m in measures)
        wanted = frozenset(c for m in measures for c in m.needs)
        return Planned(entry, None, _needs(needed, model, wanted))
    lacking = entry.configuration.needs - model.capabilities
    if Capability.OPEN_VOCABULARY in lacking:
        return Planned(entry, None, "its texts are outside the model's closed vocabulary")
    if lacking:
        return Planned(entry, None, _needs(_words(lacking), model, lacking))
    labels: Mapping[str, str] = {}
    if role := measure.reads:
        try:
            chosen = settings.labels.get(role, {})
            also = measure.reads_also
            labels = labels_for(role, model.labels, chosen, "this classifier", also)
        except UsageError as error:
            return Planned(entry, None, " ".join(filter(None, (error.message, error.hint))))
    planned = Planned(entry, measure, labels=labels)
    return replace(planned, lacks=_lacks(planned.scorer, settings))


def _usable(model: Described, settings: Settings) -> frozenset[Capability]:
    """Return the capabilities that the settings allow to use.

    Raises
    ------
    UsageError
        If answers are to be read by letters, and the model gives no probabilities of them.
    """
    if settings.answers == "text" or settings.answer_samples > 1:
        return model.capabilities - {Capability.CHOOSE}
    lacks = settings.answers == "letters" and Capability.CHOOSE not in model.capabilities
    if lacks and Capability.GENERATE in model.capabilities:
        why = model.lacks.get(Capability.CHOOSE, "it gives no probabilities of letters")
        raise UsageError(f"--answers letters: {model.ref}: {why}.", "--answers text, or auto")
    return model.capabilities


def _skip_unscorable_configurations(
    planned: Sequence[Planned], requested: Sequence[str]
) -> tuple[Planned, ...]:
    """Skip configurations without a classifier where a suite was requested by its bare name.

    Where no configuration has its classifier, the first one stays requested: an error.
    """
    ready = {p.entry.suite.name for p in planned if p.measure and not p.lacks}
    spared = ready.intersection(requested)
    return tuple(
        replace(p, entry=replace(p.entry, named=False))
        if p.lacks and p.entry.suite.name in spared
        else p
        for p in planned
    )


def _lacks(role: str, settings: Settings) -> str | None:
    """Return which classifier is needed to score the texts, if the user has not named it."""
    if not role or role in settings.scorers:
        return None
    return (
        f"a classifier of {ROLES[role].title} has to score the texts, and none is named: "
        f"--scorer {role}=org/name, or in pytest-bias.yaml: scorers: {{{role}: org/name}}"
    )


def _needs(needed: str, model: Described, wanted: frozenset[Capability]) -> str:
    """Return which capability the model lacks, and why where other models of its kind have it."""
    if model.kind is ModelKind.MASKED and Capability.SLOT not in model.capabilities:
        return f"needs {needed}; this model's tokenizer has no mask token"
    if why := [model.lacks[c] for c in sorted(wanted & model.lacks.keys())]:
        return f"needs {needed}; {'; '.join(why)}"
    return f"needs {needed}, which {model.kind.facts.words} does not do"


def _words(capabilities: frozenset[Capability]) -> str:
    *most, last = sorted(c.words for c in capabilities)
    return f"{', '.join(most)} and {last}" if most else last


def part_of(settings: Settings) -> Part | None:
    """Return the requested shard and the number of shards, or None for the whole run.

    Raises
    ------
    UsageError
        If it is not written as 2/8, or there is no such shard.
    """
    if settings.shard is None:
        return None
    match = re.fullmatch(r"(\d{1,4})/(\d{1,4})", settings.shard)
    number, of = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= of:
        raise UsageError(
            f"--shard {settings.shard!r} is no part of a whole.",
            "--shard 2/8 is the second of eight; every one from 1/8 to 8/8 is needed.",
        )
    return number, of


def shard(items: Sequence[Item], part: Part) -> tuple[Item, ...]:
    """Return the items of a shard: whole clusters, spread so that shards cost about the same.

    Clusters are assigned in order of decreasing cost, each to the shard with the smallest cost so
    far (Graham 1969); ties are broken by a hash of their names. So a shard is a function of the
    items alone. The cost of a cluster is the length of its texts, in characters.
    """
    number, of = part
    costs: dict[str, int] = defaultdict(int)
    for item in items:
        costs[item.cluster] += 0 if item.status else sum(map(len, item.texts.values()))
    shards = [(0, n) for n in range(1, of + 1)]
    mine = set()
    for cluster in sorted(costs, key=lambda c: (-costs[c], sha256(c))):
        cost, lightest = heappop(shards)
        heappush(shards, (cost + costs[cluster], lightest))
        if lightest == number:
            mine.add(cluster)
    return tuple(i for i in items if i.cluster in mine)
