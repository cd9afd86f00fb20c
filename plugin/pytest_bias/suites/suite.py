"""Suites, their configurations, and the entries of a run.

A suite is one dataset or one method. It defines its items, how each kind of model is measured on
them, and the metrics of the records. Built-in suites and those of other packages are registered in
the same way: in the entry-point group ``pytest_bias.suites``, each entry a tuple of `Suite`.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from pytest_bias.data.sources import DataFile, DataFolder, Source
from pytest_bias.errors import UnknownName
from pytest_bias.models.interface import Capability
from pytest_bias.records.report import DataInfo, Item, SuiteResult
from pytest_bias.records.suite_states import SuiteStatus
from pytest_bias.suites.hiding import Hiding
from pytest_bias.suites.measures import Measure

STRUCTURE: Final = "structure"
"""Name of the suite that runs right after every load."""
SOCIAL: Final = "social"
"""Tag of the suites that count for the badge Social Bias Evaluated."""

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
        Written in brackets after the suite's name; begins with the language.
    language : str
        BCP 47 tag of the texts.
    load : callable
        Reads the items; may raise `DataMissing` or `LicenceNotAccepted`.
    files : tuple of DataFile
        Files that `load` reads; empty for bundled texts.
    consents : tuple of Source
        Sources of `files` whose licence the user has to accept first, as `load` requires.
    needs : frozenset of Capability
        Capabilities that these texts need in addition to those of the measure.
    draft : bool
        Whether the texts are not reviewed yet: run only when named, no badge.
    only_named : bool
        Whether it runs only when it is named, in brackets, although it is not a draft.
    only_full : bool
        Whether it is so slow, such as long generation, that it runs only with its name or tag, or
        under ``--profile full``.
    own_texts : bool
        Whether it uses the texts that settings name for the suite: it runs if and only if there are
        some, whatever the languages.
    clusters : str
        Name of the clusters of its items, in the plural, such as ``pairs``: intervals show how much
        a score would vary with other clusters.
    scorer : str
        Role of the classifier, named by the user, that scores generated text, where configurations
        differ in it; by default that of the measure.
    hidden : bool
        Whether the items are secret (`hiding`): `load` returns a `Hiding` with them.
    chat : bool
        Whether its items are meant for models that answer chat turns: for those it takes the place
        of the other configurations of its language; for others it runs only when it is named.
    control_of : str or None
        Name of the configuration whose scores these texts check: this one is reported with it,
        does not count as a separate suite and earns no badge. Metrics ``control_*`` by ``control``
        are those of the changed items, ``original_*`` of the items that these were made from.
    block : callable, optional
        Returns what an item belongs to within its cluster, such as the four questions about the
        same two people: of large clusters, ``--profile quick`` measures one block each.
    note : str
        How the configuration differs from others, in a few words.
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
    chat: bool = False
    control_of: str | None = None
    block: Callable[[Item], Hashable] | None = None
    note: str = ""


@dataclass(frozen=True)
class Suite:
    """One dataset or one method.

    Parameters
    ----------
    name, version, title : str
        Name in commands and reports; version, raised whenever scores can change; display name.
    kind : str
        ``intrinsic`` (of the model itself), ``downstream`` (of an application), ``structure``,
        ``robustness`` or ``quality`` (whether the model still works).
    configurations : tuple of Configuration
        The first one of a language is its default.
    measures : tuple of Measure
        In order of preference; the first that the model supports is used.
    scope : mapping
        The scope card: what the suite measures, for which groups, and what it does not show.
    tags : tuple of str
        For ``--suite @tag``; ``social`` suites count for the badge Social Bias Evaluated.
    badge : tuple of str
        Wordings of the badge's message; the first whose numbers are all known is used.
        ``{metric}`` is the value with unit and interval, ``{metric:bare}`` without the unit,
        ``{metric:value}`` without the interval, ``{metric:interval}`` the interval alone,
        ``{metric:percent}`` a whole percentage, ``{metric:floor}`` and ``:floor_of`` its floor.
    disputed : callable
        Maps the name of a configuration to the number of its disputed items, by reason.
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

    def measures_of(self, configuration: str) -> tuple[Measure, ...]:
        """Return the ways of measuring one configuration, in order of preference."""
        return tuple(
            m for m in self.measures if not m.configurations or configuration in m.configurations
        )

    def measure_for(
        self, capabilities: frozenset[Capability], configuration: str | None = None
    ) -> Measure | None:
        """Return the first measure that these capabilities allow, or None.

        Without a configuration, it is that of any of them.
        """
        measures = self.measures if configuration is None else self.measures_of(configuration)
        return next((m for m in measures if m.needs <= capabilities), None)

    def measure_named(self, name: str) -> Measure:
        """Return a measure by name."""
        for measure in self.measures:
            if measure.name == name:
                return measure
        raise UnknownName.among(f"measure of {self.name}", name, [m.name for m in self.measures])


@dataclass(frozen=True)
class Entry:
    """One suite in one configuration, as requested.

    `named` means that the user requested exactly this configuration, so that a draft may run and
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
        """Return the result of the entry, with the fields that are known before it is measured."""
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
