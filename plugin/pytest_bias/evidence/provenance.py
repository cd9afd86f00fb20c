"""Checks of the provenance that a report states: name, completeness and denominator.

Digests show that nothing was changed afterwards. They do not show that a suite was run on its own
data, that no suite was left out, or that a name is not a look-alike. These are checked without the
model and without a network; `data_check` checks the data.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_bias.evidence.checks import Check
from pytest_bias.models.kind_table import MASKING, Capability, ModelKind, kind_of_class
from pytest_bias.models.reference import DEMOS, ModelRef
from pytest_bias.models.snapshot import Snapshot, locate
from pytest_bias.records.report import Report
from pytest_bias.reports.publication_layout import lacking, unproven
from pytest_bias.suites.catalogue import INSTALLED, Catalogue


@dataclass(frozen=True, slots=True)
class Traits:
    """Facts from a model's files that decide which suites apply to it."""

    closed_vocabulary: bool = False
    architecture: str = ""
    kind: ModelKind | None = None

    @classmethod
    def of(cls, snapshot: Snapshot) -> "Traits":
        """Read them from a model's configuration and tokenizer.

        A stated closed vocabulary is checked, since most suites do not apply then: a tokenizer with
        pieces of words can represent any word.
        """
        config = snapshot.table("config.json")
        named = config.get("architectures")
        is_closed = bool(config.get("closed_vocabulary"))
        if is_closed:
            tokens = snapshot.table("tokenizer.json").get("model")
            is_closed = isinstance(tokens, dict) and tokens.get("type") == "WordLevel"
        first = str(named[0]) if isinstance(named, list) and named else ""
        # A class that comes with the checkpoint is taken as stated.
        return cls(is_closed, first, None if config.get("auto_map") else kind_of_class(first))


def traits_of(report: Report) -> Traits | None:
    """Return the traits of a model that comes with this package; None for any other."""
    if report.model.reference not in DEMOS:
        return None
    snapshot = locate(ModelRef.parse(report.model.reference))
    own = snapshot.weights_sha256(allow_pickle=False)
    return Traits.of(snapshot) if own == report.model.weights_sha256 else None


def provenance(
    report: Report,
    version: str,
    traits: Traits | None = None,
    catalogue: Catalogue = INSTALLED,
) -> Iterator[Check]:
    """Check name, completeness and denominator of a report.

    Parameters
    ----------
    report : Report
        The report, without its records.
    version : str
        Version of pytest-bias that checks.
    traits : Traits, optional
        Traits of the model, where its files are available.
    """
    yield from _name(report)
    if traits and traits.architecture:
        yield from _kind(report, traits)
    if report.model.asked:
        yield Check("model", "unknown", unproven(report.model))
    missing = lacking(report)
    if missing:
        yield Check("complete record", "unknown", f"it does not state {', '.join(missing[:3])}")
    else:
        yield Check("complete record", "holds", "model, suites, data, seed, version and n")
    if report.model.answers_from:
        said = "which suites apply to a model cannot be told from answers of it"
        yield Check("denominator", "unknown", said)
    else:
        yield _denominator(report, version, traits, catalogue)


def _name(report: Report) -> Iterator[Check]:
    """Check that a name is not a look-alike: names on the Hub have only ASCII letters."""
    name = report.model.reference
    # The name of a folder claims no owner; it is shown without invisible characters.
    if "/" in name and any(not c.isprintable() or c.isspace() for c in name):
        told = f"{name!a} has an invisible character"
        yield Check("name of the model", "fails", told)
        return
    strange = [c for c in name if not c.isascii()]
    scripts = {unicodedata.name(c, "?").split()[0] for c in name if c.isalpha()}
    if strange and ("/" in name or len(scripts) > 1):
        what = unicodedata.name(strange[0], "an unnamed letter")
        yield Check("name of the model", "fails", f"{name!a} has a letter that is {what}")


def _kind(report: Report, traits: Traits) -> Iterator[Check]:
    """Check that a model is of the class that its configuration names: suites depend on it."""
    model, name, has = report.model, "kind of the model", traits.architecture
    if model.architecture != has:
        said = f"it is given as {model.architecture!a}, its configuration has {has!a}"
        yield Check(name, "fails", said)
    elif traits.kind and model.kind != traits.kind:
        yield Check(name, "fails", f"{has} is given as {model.kind}, it is {traits.kind}")


def _denominator(
    report: Report, version: str, traits: Traits | None, catalogue: Catalogue
) -> Check:
    name = "denominator"
    stated, languages, words = (
        _names(report.coverage.get(key)) for key in ("social_suites", "languages", "capabilities")
    )
    if stated is None or languages is None or words is None:
        return Check(name, "unknown", "the report does not say which suites apply, and why")
    if report.tool.get("version") != version:
        ran = report.tool.get("version")
        return Check(
            name, "unknown", f"version {ran} of pytest-bias made it, {version} is installed"
        )
    capabilities = frozenset(c for c in Capability if c.value in words)
    if reason := _unexplained(report, capabilities, traits):
        return Check(name, "unknown", reason)
    chat = report.settings.get("chat") == "on"
    sure, possible = _applicable(capabilities, languages, catalogue, chat=chat)
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
    """Return a stated lack of a capability of the model's kind, unless its files explain it."""
    try:
        kind = ModelKind(report.model.kind).facts.capabilities
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
    capabilities: frozenset[Capability], languages: list[str], catalogue: Catalogue, *, chat: bool
) -> tuple[set[str], set[str]]:
    """Return the social suites that apply, and those that apply if a classifier's labels fit."""
    sure: set[str] = set()
    possible: set[str] = set()
    for entry in catalogue.social_entries(languages, chat=chat):
        suite, configuration = entry.suite, entry.configuration
        measure = suite.measure_for(capabilities, configuration.name)
        if measure and configuration.needs <= capabilities:
            (possible if measure.reads else sure).add(suite.name)
    return sure, possible - sure
