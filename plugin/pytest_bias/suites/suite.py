"""What a suite is, and where suites come from.

A suite is one dataset or one method. It says which items it has, how each kind of model is measured
on them, and which metrics the records give. Built-in suites and those of other packages take the
same road: the entry-point group ``pytest_bias.suites``, each entry a tuple of `Suite`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Final, Literal, TypeAlias

from pytest_bias.data.sources import DataFile, DataFolder, Source
from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.models.interface import Capability
from pytest_bias.records.report import DataInfo, Item, SuiteResult, SuiteStatus
from pytest_bias.scoring.metric import Estimator, Floor, Metric, every, own_cluster
from pytest_bias.suites.hiding import Hiding
from pytest_bias.suites.measures import Measure, Sides, between
from pytest_bias.suites.user_texts import none_named

ENTRY_POINTS: Final = "pytest_bias.suites"

# fmt: off
__all__ = [
    "STRUCTURE", "Configuration", "Entry", "Estimator", "Floor", "LoadedData", "Measure",
    "Metric", "Sides", "Suite", "between", "every", "find", "installed", "own_cluster",
    "select"
]
# fmt: on

STRUCTURE: Final = "structure"
"""Name of the suite that runs right after every load."""
SOCIAL: Final = "social"
"""Tag of the suites that the badge Social Bias Evaluated counts."""

SuiteKind: TypeAlias = Literal["intrinsic", "downstream", "structure", "robustness", "quality"]


def _none(configuration: str) -> Mapping[str, int]:
    return {}


@dataclass(frozen=True)
class LoadedData:
    """The items of one configuration, where they came from, and what hides them."""

    # pytest shows variables and arguments of functions that failed.
    items: tuple[Item, ...] = field(repr=False)
    info: DataInfo
    hiding: Hiding | None = None


@dataclass(frozen=True)
class Configuration:
    """One version of a suite: a language, a source of texts.

    Parameters
    ----------
    name : str
        Stands in brackets behind the suite's name; begins with the language.
    language : str
        BCP 47 tag of the texts.
    load : callable
        Reads the items; may raise `DataMissing` or `LicenceNotAccepted`.
    files : tuple of DataFile
        Files that `load` reads; empty for bundled texts.
    consents : tuple of Source
        Sources of `files` whose licence the user has to accept first, as `load` asks for it.
    needs : frozenset of Capability
        What these texts need of a model besides the measure.
    draft : bool
        Whether the texts await review: run only when named, no badge.
    only_named : bool
        Whether it runs only when it is named, in brackets, though it is no draft.
    only_full : bool
        Whether it takes so long, as long generation does, that without its name or tag it runs
        under ``--profile full`` only.
    own_texts : bool
        Whether it is made of the texts that settings name for the suite: it runs whenever there are
        some, whatever the languages, and never without.
    clusters : str
        What the clusters of its items are, in the plural, such as ``pairs``: intervals say how far
        a score would move with others of them.
    scorer : str
        Role of the classifier, named by the user, that scores what the model writes, where that is
        what sets configurations apart; by default that of the measure.
    hidden : bool
        Whether the items are secret (`hidden_data`): `load` returns what hides them.
    control_of : str or None
        Name of the configuration whose scores these texts put to the test: it is reported with
        that one, counts as no suite of its own and earns no badge. Metrics ``control_*`` by
        ``control`` are those of the changed items, ``original_*`` of what these were made from.
    note : str
        What sets the configuration apart, in a few words.
    """

    name: str
    language: str
    load: Callable[[DataFolder], LoadedData]
    files: tuple[DataFile, ...] = ()
    consents: tuple[Source, ...] = ()
    needs: frozenset[Capability] = frozenset()
    draft: bool = False
    only_named: bool = False
    only_full: bool = False
    own_texts: bool = False
    clusters: str = "items"
    scorer: str = ""
    hidden: bool = False
    control_of: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Suite:
    """One dataset or one method.

    Parameters
    ----------
    name, version, title : str
        Name in commands and reports; version, raised whenever scores can change; name for people.
    kind : str
        ``intrinsic`` (of the model itself), ``downstream`` (of an application), ``structure``,
        ``robustness`` or ``quality`` (whether the model still works at all).
    configurations : tuple of Configuration
        The first one of a language is its default.
    measures : tuple of Measure
        In order of preference; the first that the model can do is taken.
    scope : mapping
        The scope card: what the suite measures, of whom, and what a score does not show.
    tags : tuple of str
        For ``--suite @tag``; ``social`` marks what the badge Social Bias Evaluated counts.
    badge : tuple of str
        Wordings of the badge's message; the first is taken of which all numbers are known.
        ``{metric}`` is the value with unit and interval, ``{metric:bare}`` without the unit,
        ``{metric:value}`` without the interval, ``{metric:interval}`` the interval alone,
        ``{metric:percent}`` a whole percentage, ``{metric:floor}`` and ``:floor_of`` its floor.
    disputed : callable
        From the name of a configuration to the number of its items that are disputed, by reason.
    """

    name: str
    version: str
    title: str
    kind: SuiteKind
    configurations: tuple[Configuration, ...]
    measures: tuple[Measure, ...]
    scope: Mapping[str, Any]
    tags: tuple[str, ...] = ()
    badge: tuple[str, ...] = ()
    disputed: Callable[[str], Mapping[str, int]] = field(default=_none, repr=False)

    @property
    def validity(self) -> str:
        """How well the evidence supports the measure: contested, partial or supported."""
        return str(self.scope["validity"])

    def configuration(self, name: str) -> Configuration:
        """Return a configuration by name."""
        for configuration in self.configurations:
            if configuration.name == name:
                return configuration
        raise UnknownName.among(
            f"configuration of {self.name}", name, [c.name for c in self.configurations]
        )

    def measure_for(self, capabilities: frozenset[Capability]) -> Measure | None:
        """Return the first measure that these capabilities allow, or null."""
        return next((m for m in self.measures if m.needs <= capabilities), None)

    def measure_named(self, name: str) -> Measure:
        """Return a measure by name."""
        for measure in self.measures:
            if measure.name == name:
                return measure
        raise UnknownName.among(f"measure of {self.name}", name, [m.name for m in self.measures])


@dataclass(frozen=True)
class Entry:
    """One suite in one configuration, as it was asked for.

    `named` says that the user asked for exactly this configuration, so that a draft may run and
    missing data are an error.
    """

    suite: Suite
    configuration: Configuration
    named: bool = field(default=False, compare=False)

    @property
    def id(self) -> str:
        """Name with configuration, such as ``crows_pairs[en]``."""
        return f"{self.suite.name}[{self.configuration.name}]"

    def result(self, status: SuiteStatus, reason: str | None = None, **more: Any) -> SuiteResult:
        """Return what became of the entry, with all that is known of it beforehand."""
        suite, configuration = self.suite, self.configuration
        return SuiteResult(
            name=suite.name,
            config=configuration.name,
            version=suite.version,
            kind=suite.kind,
            title=suite.title,
            language=configuration.language,
            draft=configuration.draft,
            validity=suite.validity,
            clusters=configuration.clusters,
            control_of=configuration.control_of,
            status=status,
            reason=reason,
            **more,
        )


@cache
def installed() -> tuple[Suite, ...]:
    """Return every installed suite, built-in ones first.

    Raises
    ------
    UsageError
        If a package's entry point cannot be loaded, or two packages bring the same name.
    """
    found: dict[str, Suite] = {}
    points = entry_points(group=ENTRY_POINTS)
    for point in sorted(points, key=lambda p: (not p.value.startswith("bias_suites"), p.name)):
        try:
            suites: tuple[Suite, ...] = tuple(point.load())
            if not all(isinstance(s, Suite) for s in suites):
                raise TypeError("it must be a tuple of Suite")
        except Exception as error:
            raise UsageError(
                f"the suites of {point.value!r} cannot be loaded: {error!r}.",
                "Uninstall or update the package that brings them.",
            ) from error
        for suite in suites:
            if suite.name in found:
                raise UsageError(f"two installed packages bring a suite named {suite.name!r}.")
            found[suite.name] = suite
    return tuple(found.values())


_FROM_FILES: Final[dict[str, Suite]] = {}
"""Suites of this process that are data (`suite_files`)."""


def register(suite: Suite, file: str) -> None:
    """Make a suite known that a file of the user's defines, in place of one of that name before.

    Raises
    ------
    UsageError
        If an installed suite has its name.
    """
    if any(s.name == suite.name for s in installed()):
        raise UsageError(f"{file}: a suite named {suite.name} is installed.", "suite: another_name")
    _FROM_FILES[suite.name] = suite


def known() -> tuple[Suite, ...]:
    """Return every suite that can be asked for: those installed, then those of files."""
    return (*installed(), *_FROM_FILES.values())


def find(name: str) -> Suite:
    """Return a known suite by name, or raise `UnknownName`."""
    if found := next((s for s in known() if s.name == name), None):
        return found
    raise UnknownName.among(
        "suite",
        name,
        [s.name for s in known()],
        "pytest-bias suites lists them; --suite FILE names a file of your own.",
    )


def select(
    requested: Sequence[str], languages: Sequence[str], own_texts: Collection[str] = ()
) -> list[Entry]:
    """Turn the words behind ``--suite`` into entries, each once, structure first.

    A word is a suite's name, a name with a configuration in brackets, or a tag after ``@``; none at
    all means every suite. Languages choose among the configurations unless one is named;
    `own_texts` are the suites for which the settings name texts of the user's own.
    """
    entries: dict[str, Entry] = {}
    for word in requested or [s.name for s in installed()]:
        for entry in _entries(word, languages, own_texts, by_name=bool(requested)):
            if entry.id not in entries or entry.named:
                entries[entry.id] = entry
    order = {s.name: i for i, s in enumerate(known())}
    return sorted(entries.values(), key=lambda e: (order[e.suite.name], not e.named))


def social_entries(languages: Sequence[str]) -> list[Entry]:
    """Return the entries in these languages that count for the badge Social Bias Evaluated."""
    return [
        e
        for e in select((), languages)
        if SOCIAL in e.suite.tags and e.configuration.control_of is None
    ]


def scope_of(name: str) -> Mapping[str, Any]:
    """Return the scope card of a suite; empty where it is not installed."""
    try:
        return find(name).scope
    except UnknownName:
        return {}


def every_entry(requested: Sequence[str], languages: Sequence[str]) -> list[Entry]:
    """Turn the words behind ``--suite`` into all entries that they may stand for, each once.

    Other than `select`, which says what a run measures, this has every configuration of a suite:
    those that run only when they are named too, and all languages unless some are given. Named are
    the configurations that were named, and the default ones of a suite that was.
    """
    entries: dict[str, Entry] = {}
    for word in requested or [s.name for s in installed()]:
        name, bracket, configuration = word.partition("[")
        suites = _tagged(word) if word.startswith("@") else [find(name)]
        found = [
            Entry(s, c, named=bool(bracket) or (word == s.name in requested and c in _defaults(s)))
            for s in suites
            for c in ([s.configuration(configuration.rstrip("]"))] if bracket else s.configurations)
            if bracket or not languages or c.language in languages
        ]
        if requested and not found and len(suites) == 1:
            raise _nothing_in(suites[0], languages)
        for entry in found:
            if entry.id not in entries or entry.named:
                entries[entry.id] = entry
    if not entries:
        spoken = ", ".join(spoken_by(installed()))
        raise UsageError(f"no suite speaks {', '.join(languages)}.", f"Known: {spoken}.")
    return list(entries.values())


def _defaults(suite: Suite) -> list[Configuration]:
    """Return the first configuration of each language."""
    return list({c.language: c for c in reversed(suite.configurations)}.values())


def _tagged(word: str) -> list[Suite]:
    tags = sorted({f"@{t}" for s in known() for t in s.tags})
    if word not in tags:
        raise UnknownName.among("tag", word, tags, "pytest-bias suites lists them.")
    return [s for s in known() if word[1:] in s.tags]


def _entries(
    word: str, languages: Sequence[str], own_texts: Collection[str], *, by_name: bool
) -> list[Entry]:
    if word.startswith("@"):
        return [
            Entry(s, c, named=c.own_texts)
            for s in _tagged(word)
            for c in _spoken(s, languages, own_texts)
        ]
    name, bracket, configuration = word.partition("[")
    suite = find(name)
    if bracket:
        chosen = [suite.configuration(configuration.rstrip("]"))]
        if chosen[0].own_texts and name not in own_texts:
            raise none_named(name)
        return [Entry(suite, chosen[0], named=True)]
    chosen = _spoken(suite, languages, own_texts)
    if by_name and not chosen:
        raise _nothing_in(suite, languages)
    return [Entry(suite, c, named=c.own_texts or (by_name and c == chosen[0])) for c in chosen]


def _spoken(
    suite: Suite, languages: Sequence[str], own_texts: Collection[str]
) -> list[Configuration]:
    if suite.kind == "structure" or suite.name in _FROM_FILES:
        return list(suite.configurations)
    spoken = [
        c
        for c in suite.configurations
        if (suite.name in own_texts if c.own_texts else c.language in languages)
    ]
    return [c for c in spoken if not (c.draft or c.only_named)]


def _nothing_in(suite: Suite, languages: Sequence[str]) -> UsageError:
    asked = ", ".join(languages)
    drafts = [c for c in suite.configurations if c.draft and c.language in languages]
    if drafts:
        return UsageError(
            f"{suite.name} in {asked} is a draft that no native reader has reviewed; it runs only "
            "when it is named, and earns no badge.",
            f"--suite '{suite.name}[{drafts[0].name}]'",
        )
    spoken = spoken_by([suite])
    if not spoken:
        return none_named(suite.name)
    return UsageError(
        f"{suite.name} has nothing in {asked}; it speaks {', '.join(spoken)}.",
        f"--language {spoken[0]}",
    )


def spoken_by(suites: Sequence[Suite]) -> list[str]:
    """Return the languages of suites, sorted, without those of which there are drafts alone."""
    configurations = [c for s in suites for c in s.configurations]
    return sorted({c.language for c in configurations if not (c.draft or c.own_texts)})
