"""What a suite is, and where suites come from.

A suite is one dataset or one method. It says which items it has, how each kind of model is measured
on them, and which metrics the records give. Built-in suites and those of other packages take the
same road: the entry-point group ``pytest_bias.suites``, each entry a tuple of `Suite`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Final, Literal, Protocol, TypeAlias

from pytest_bias.datasources import DataFile, DataFolder
from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.interface import Capability, Model
from pytest_bias.records import DataInfo, Item, Record
from pytest_bias.statistics import Estimate, Sampling

ENTRY_POINTS: Final = "pytest_bias.suites"

STRUCTURE: Final = "structure"
"""Name of the suite that runs right after every load."""

SuiteKind: TypeAlias = Literal["intrinsic", "downstream", "structure", "robustness", "quality"]


class Estimator(Protocol):
    """Turns scored records into a value with its uncertainty."""

    def __call__(self, records: Sequence[Record], sampling: Sampling) -> Estimate:
        """Return the estimate; `records` are scored, sorted by item, and may be empty."""


def every(record: Record) -> bool:
    """Select all records."""
    return True


@dataclass(frozen=True)
class Metric:
    """One number that many records give.

    Parameters
    ----------
    name : str
        Name in the report; the field's standard term.
    estimate : Estimator
        Computes the value from records alone.
    ideal : float
        Value of a model without the bias in question. Direction is distance to it.
    bounds : tuple of float or None
        Smallest and largest possible value; None where there is none.
    unit : str
        ``%``, ``nats``, ``bits``, ``d``, ``points``, or empty for a pure number.
    tolerance : float
        Largest difference, in the unit, that a re-run on another machine may show.
    by : tuple of tuple of str
        Groups that are reported beside the whole, each a tuple of `Item.by` keys.
    where : callable
        Selects the records that the metric is about, scored or not.
    headline : bool
        Whether this is the number that stands for the suite; exactly one a measure.
    whole : bool
        Whether the score over all groups together is reported.
    family : bool
        Whether the groups are tests of hypotheses, whose p-values are adjusted for one another by
        Holm's method; otherwise they are exploratory.
    floor : callable, optional
        What an unsigned metric comes to, on these records, without any bias.
    spread : str
        Key of the records' `detail` that names the template of an item, so that the score says how
        far it differs between templates; empty where there are none.
    spread_within : str
        `by` key within which templates can be compared, such as ``axis``; empty for all of them.
    versus : str
        `by` key along which a group is held against the others: its score is of the records of all
        groups of the key, and `estimate` is asked for ``against`` that group. Empty where a group's
        score is of its own records.
    """

    name: str
    estimate: Estimator
    ideal: float
    bounds: tuple[float | None, float | None]
    unit: str
    tolerance: float
    by: tuple[tuple[str, ...], ...] = ()
    where: Callable[[Record], bool] = every
    headline: bool = False
    whole: bool = True
    family: bool = False
    floor: Callable[[Sequence[Record]], float | None] | None = None
    spread: str = ""
    spread_within: str = ""
    versus: str = ""


@dataclass(frozen=True)
class Measure:
    """One way to measure a suite's items, for the models that have the capabilities it needs.

    Parameters
    ----------
    name : str
        What is measured, in a few words.
    needs : frozenset of Capability
        What the model must be able to do.
    take : callable
        Asks the model about items; returns one record an item.
    metrics : tuple of Metric
        What the records give.
    adapted : bool
        Whether it was made for another kind of model.
    reads : str
        Role (`labels.ROLES`) in which the labels of the model itself, a classifier, are read.
    scorer : str
        Role of the classifier, named by the user, that scores what the model writes.
    """

    name: str
    needs: frozenset[Capability]
    take: Callable[[Model, Sequence[Item]], Sequence[Record]]
    metrics: tuple[Metric, ...]
    adapted: bool = False
    reads: str = ""
    scorer: str = ""


@dataclass(frozen=True)
class LoadedData:
    """The items of one configuration and where they came from."""

    items: tuple[Item, ...]
    info: DataInfo


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
    needs : frozenset of Capability
        What these texts need of a model besides the measure.
    draft : bool
        Whether the texts await review: run only when named, no badge.
    only_named : bool
        Whether it runs only when it is named, in brackets, though it is no draft.
    only_full : bool
        Whether it takes so long, as long generation does, that without its name or tag it runs
        under ``--profile full`` only.
    clusters : str
        What the clusters of its items are, in the plural, such as ``pairs``: intervals say how far
        a score would move with others of them.
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
    needs: frozenset[Capability] = frozenset()
    draft: bool = False
    only_named: bool = False
    only_full: bool = False
    clusters: str = "items"
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
        ``{metric:value}`` without the interval, ``{metric:percent}`` a whole percentage and
        ``{metric:floor}`` what chance gives.
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


def find(name: str) -> Suite:
    """Return an installed suite by name, or raise `UnknownName`."""
    for suite in installed():
        if suite.name == name:
            return suite
    raise UnknownName.among(
        "suite", name, [s.name for s in installed()], "pytest-bias suites lists them."
    )


def select(requested: Sequence[str], languages: Sequence[str]) -> list[Entry]:
    """Turn the words behind ``--suite`` into entries, each once, structure first.

    A word is a suite's name, a name with a configuration in brackets, or a tag after ``@``; none at
    all means every suite. Languages choose among the configurations unless one is named.
    """
    entries: dict[str, Entry] = {}
    for word in requested or [s.name for s in installed()]:
        for entry in _entries(word, languages, by_name=bool(requested)):
            if entry.id not in entries or entry.named:
                entries[entry.id] = entry
    order = {s.name: i for i, s in enumerate(installed())}
    return sorted(entries.values(), key=lambda e: (order[e.suite.name], not e.named))


def _entries(word: str, languages: Sequence[str], *, by_name: bool) -> list[Entry]:
    if word.startswith("@"):
        tags = sorted({f"@{t}" for s in installed() for t in s.tags})
        if word not in tags:
            raise UnknownName.among("tag", word, tags, "pytest-bias suites lists them.")
        suites = [s for s in installed() if word[1:] in s.tags]
        return [Entry(s, c) for s in suites for c in _spoken(s, languages)]
    name, bracket, configuration = word.partition("[")
    suite = find(name)
    if bracket:
        return [Entry(suite, suite.configuration(configuration.rstrip("]")), named=True)]
    chosen = _spoken(suite, languages)
    if by_name and not chosen:
        raise _nothing_in(suite, languages)
    return [Entry(suite, c, named=by_name and c == chosen[0]) for c in chosen]


def _spoken(suite: Suite, languages: Sequence[str]) -> list[Configuration]:
    if suite.kind == "structure":
        return list(suite.configurations)
    spoken = [c for c in suite.configurations if c.language in languages]
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
    known = sorted({c.language for c in suite.configurations if not c.draft})
    return UsageError(
        f"{suite.name} has nothing in {asked}; it speaks {', '.join(known)}.",
        f"--language {known[0]}",
    )
