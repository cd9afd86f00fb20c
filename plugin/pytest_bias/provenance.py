"""What a report says of where its numbers come from: is it so, as far as this machine can tell?

Digests show that nothing was changed afterwards. They do not show that a suite was run on its own
data, that no suite was left out, or that a name is what it looks like. That is checked here,
without the model and without a network.
"""

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pytest_bias.checks import Check, Outcome
from pytest_bias.claims import lacking
from pytest_bias.config import Settings
from pytest_bias.datasources import DataFolder, pinned
from pytest_bias.errors import BiasError
from pytest_bias.interface import CAPABILITIES, MASKING, Capability, ModelKind
from pytest_bias.models.reference import DEMOS, ModelRef
from pytest_bias.models.snapshot import Snapshot, locate
from pytest_bias.records import Item, Report, SuiteResult, canonical_json, items_digest, sha256
from pytest_bias.suites import LoadedData, find, select

SOCIAL: Final = "social"


@dataclass(frozen=True, slots=True)
class Traits:
    """What the files of a model say that decides which suites apply to it."""

    closed_vocabulary: bool = False

    @classmethod
    def of(cls, snapshot: Snapshot) -> "Traits":
        """Read them from a model's configuration."""
        return cls(closed_vocabulary=bool(snapshot.table("config.json").get("closed_vocabulary")))


def traits_of(report: Report) -> Traits | None:
    """Return the traits of a model that comes with this package; null for any other."""
    if report.model.reference not in DEMOS:
        return None
    snapshot = locate(ModelRef.parse(report.model.reference))
    own = snapshot.weights_sha256(allow_pickle=False)
    return Traits.of(snapshot) if own == report.model.weights_sha256 else None


def provenance(
    report: Report, settings: Settings, version: str, traits: Traits | None = None
) -> Iterator[Check]:
    """Check name, completeness and denominator of a report.

    Parameters
    ----------
    report : Report
        Without its records.
    settings : Settings
        Where data are looked for.
    version : str
        Version of pytest-bias that checks.
    traits : Traits, optional
        Of the model, where its files are at hand.
    """
    yield from _name(report)
    missing = lacking(report)
    if missing:
        yield Check("complete record", "unknown", f"it does not state {', '.join(missing[:3])}")
    else:
        yield Check("complete record", "holds", "model, suites, data, seed, version and n")
    yield _denominator(report, version, traits)


def _name(report: Report) -> Iterator[Check]:
    """Check that a name is what it looks like: names on the Hub have ASCII letters alone."""
    name = report.model.reference
    strange = [c for c in name if not c.isascii()]
    scripts = {unicodedata.name(c, "?").split()[0] for c in name if c.isalpha()}
    if strange and ("/" in name or len(scripts) > 1):
        what = unicodedata.name(strange[0], "an unnamed letter")
        yield Check("name of the model", "fails", f"{name!a} has a letter that is {what}")


def _denominator(report: Report, version: str, traits: Traits | None) -> Check:
    name = "denominator"
    stated, languages, words = (
        _names(report.coverage.get(key)) for key in ("social_suites", "languages", "capabilities")
    )
    if stated is None or languages is None or words is None:
        return Check(name, "unknown", "the report does not say which suites apply, and why")
    if report.tool.get("version") != version:
        ran = report.tool.get("version")
        return Check(name, "unknown", f"version {ran} of pytest-bias made it, {version} is here")
    capabilities = frozenset(c for c in Capability if c.value in words)
    if reason := _unexplained(report, capabilities, traits):
        return Check(name, "unknown", reason)
    sure, possible = _applicable(capabilities, languages)
    if left_out := sorted(sure - set(stated)):
        return Check(name, "fails", f"suites that apply are left out: {', '.join(left_out)}")
    if too_many := sorted(set(stated) - sure - possible):
        return Check(name, "fails", f"suites that do not apply are counted: {', '.join(too_many)}")
    of = f"{len(stated)} social suites apply in {', '.join(languages)}"
    return Check(name, "holds", of)


def _names(value: object) -> list[str] | None:
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        return value
    return None


def _unexplained(
    report: Report, capabilities: frozenset[Capability], traits: Traits | None
) -> str | None:
    """Say what a model is said to lack that its kind has, unless its files explain it."""
    try:
        kind = CAPABILITIES[ModelKind(report.model.kind)]
    except ValueError:
        return f"{report.model.kind!r} is no kind of model"
    lacks = (kind | {Capability.OPEN_VOCABULARY}) - capabilities
    if traits and traits.closed_vocabulary:
        lacks -= {Capability.OPEN_VOCABULARY}
    if not lacks:
        return None
    what = "words at a mask" if lacks == MASKING else ", ".join(sorted(c.words for c in lacks))
    return f"the model is said to lack {what}, which its files, not at hand, would show"


def _applicable(
    capabilities: frozenset[Capability], languages: list[str]
) -> tuple[set[str], set[str]]:
    """Return the social suites that apply, and those that do if labels of a classifier fit."""
    sure: set[str] = set()
    possible: set[str] = set()
    for entry in select((), languages):
        suite, configuration = entry.suite, entry.configuration
        measure = suite.measure_for(capabilities)
        counts = SOCIAL in suite.tags and configuration.control_of is None
        if counts and measure and configuration.needs <= capabilities:
            (possible if measure.reads else sure).add(suite.name)
    return sure, possible - sure


def data_check(suite: SuiteResult, settings: Settings, *, published: bool) -> Check:
    """Check that a suite was run on its own data.

    The digest of the files is the pinned one; and where the data are at hand, every item of the
    records has the text that it has there. What is `published` cannot be of changed copies.
    """
    name = "data"
    try:
        configuration = find(suite.name).configuration(suite.config)
    except BiasError as error:
        return Check(name, "unknown", error.message)
    if find(suite.name).version != suite.version:
        return Check(name, "unknown", f"version {suite.version} of the suite is not installed")
    stated = suite.data
    if stated is None or stated.sha256 is None:
        return Check(name, "fails", "the report does not say which data were used")
    expected = pinned(configuration.files, stated.source) if configuration.files else None
    if expected and stated.sha256 != expected:
        told = f"{stated.sha256[:12]} was used, {expected[:12]} is pinned"
        # Copies of one's own may be changed; what is published of the suite may not rest on them.
        outcome: Outcome = "unverified" if stated.local and not published else "fails"
        return Check(name, outcome, f"not the data of {suite.entry}: {told}")
    if suite.records and items_digest(suite.records) != stated.items_sha256:
        return Check(name, "fails", "the records are of other items than the report says")
    loaded = _at_hand(suite, settings)
    if loaded is None:
        if expected is None:
            return Check(name, "unknown", "the data are not at hand, and not pinned as one file")
        return Check(name, "holds", "the pinned file, which is not at hand: texts not compared")
    if loaded.info.sha256 != stated.sha256:
        return Check(name, "fails", "other data than those that are here")
    return _texts(suite, {i.id: i for i in loaded.items})


def _at_hand(suite: SuiteResult, settings: Settings) -> LoadedData | None:
    definition = find(suite.name)
    configuration = definition.configuration(suite.config)
    # Reading what the user has fetched already needs no consent anew.
    accepted = {suite.name: ", ".join(source.licence for source in configuration.consents)}
    folder = DataFolder(settings.data_dir, offline=True, accepted=accepted)
    try:
        return configuration.load(folder.of(suite.name))
    except BiasError:
        return None


def _texts(suite: SuiteResult, items: Mapping[str, Item]) -> Check:
    """Check the items of the records against those of the data."""
    unknown = [r.item for r in suite.records if r.item not in items]
    if unknown:
        return Check("data", "fails", f"{len(unknown)} items are not in the data: {unknown[0]}")
    other = [r.item for r in suite.records if r.text_sha256 != _text_digest(items[r.item])]
    if other:
        return Check("data", "fails", f"{len(other)} items have another text: {other[0]}")
    if suite.records and suite.sampled is None and len(suite.records) != len(items):
        missing = len(items) - len(suite.records)
        return Check("data", "fails", f"{missing} of {len(items)} items are not in the records")
    return Check("data", "holds", "texts as in the data")


def _text_digest(item: Item) -> str:
    return sha256(canonical_json(dict(item.texts)))
