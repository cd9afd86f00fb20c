"""Verification of a report from its own files, without the model.

It checks that the digest is that of the content, that the records are those that were digested,
that the records give the scores, and that the scores give the badges. Withheld scores cannot be
checked without the full report and the salt.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from pytest_bias.emit import badges
from pytest_bias.errors import BiasError, ReportError, UsageError
from pytest_bias.evidence.checks import Check
from pytest_bias.evidence.data_check import data_check
from pytest_bias.evidence.provenance import Traits, provenance, traits_of
from pytest_bias.evidence.rendered import not_installed
from pytest_bias.records.identity import tool_version
from pytest_bias.records.report import Report, SuiteResult, digest_of, records_digest
from pytest_bias.records.score import Score, Spread
from pytest_bias.reports.folder import REPORT, differing, read_plain_report, read_records
from pytest_bias.reports.withholding import SALT, read_salt, withheld
from pytest_bias.scoring import statistics
from pytest_bias.scoring.families import with_decision_family
from pytest_bias.scoring.scores import statistics_of
from pytest_bias.scoring.statistics import VERSION
from pytest_bias.settings.settings import Settings
from pytest_bias.suites.about import with_about
from pytest_bias.suites.results import scored
from pytest_bias.suites.suite import STRUCTURE, Suite

RELATIVE: Final = 1e-9
"""Relative difference up to which a recomputed number is the same, since builds of numpy differ in
the order of summation."""


def verify(
    path: Path,
    full: Path | None = None,
    settings: Settings | None = None,
    *,
    traits: Traits | None = None,
    is_run: bool = True,
) -> list[Check]:
    """Check a report's folder, or its report.json.

    Parameters
    ----------
    path : Path
        The report.
    full : Path, optional
        The full report of one whose scores are withheld; its salt is beside the withheld one.
    settings : Settings, optional
        Where to look for data; by default only in caches.
    traits : Traits, optional
        Traits of the model, where its files are available.
    is_run : bool
        Whether the folder is as a run wrote it, with its badges; otherwise it is published.

    Raises
    ------
    ReportError
        If there is no report, or its schema cannot be read.
    UsageError
        If a full report is given although the scores are not withheld.
    """
    file = path / REPORT if path.is_dir() else path
    report = read_plain_report(file, check=False)
    settings = settings or Settings()
    checks = [_digest(file, report)]
    if full and not report.withheld:
        raise UsageError(f"--full {full}: {path} withholds no scores.")
    if report.withheld or any(s.status == "withheld" for s in report.suites):
        checks += _withheld(report, file.parent, full)
    checks += provenance(report, tool_version(), traits or traits_of(report), settings.catalogue)
    for suite in report.suites:
        found = _suite(suite, file.parent, report, settings, published=not is_run)
        checks += [replace(c, about=suite.entry) for c in found]
    return [*checks, *(_badges(report, file.parent, settings) if is_run else ())]


def _digest(file: Path, report: Report) -> Check:
    plain: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    found = digest_of({k: v for k, v in plain.items() if k not in ("digest", "run")})
    if found == report.sealed:
        return Check("report", "holds", f"digest {found[:19]}")
    return Check("report", "fails", f"its digest is {found[:19]}, it says {report.sealed!s:.19}")


def _withheld(report: Report, folder: Path, full: Path | None) -> Iterator[Check]:
    name = "withheld scores"
    if report.withheld is None:
        yield Check(name, "fails", "the report has no digest of what is withheld")
        return
    kept = [s.entry for s in report.suites if s.scores or s.records_sha256]
    kept += [s.records_path for s in report.suites if (folder / s.records_path).is_file()]
    if kept:
        yield Check(name, "fails", f"they are there: {', '.join(kept[:4])}")
    if full is None:
        yield Check(name, "unknown", f"need the full report (--full) and {SALT} to be checked")
        return
    try:
        salt = read_salt(folder)
    except BiasError as error:
        yield Check(name, "fails", error.message)
        return
    if salt is None:
        yield Check(name, "unknown", f"there is no {SALT} beside the report")
        return
    whole = read_plain_report(full / REPORT if full.is_dir() else full)
    if withheld(whole, salt).digested() == report.digested():
        yield Check(name, "holds", f"they are those of the report {whole.digest[:19]}")
    else:
        yield Check(name, "fails", "salt and full report give another withheld report")


def _suite(
    suite: SuiteResult, folder: Path, report: Report, settings: Settings, *, published: bool
) -> Iterator[Check]:
    name = "records"
    if suite.records_sha256 is None:
        if suite.is_hidden:
            told = "its items are hidden: only a holder of them and the salt can run it again"
            yield Check(name, "unknown", told)
        elif suite.scores:
            yield Check(name, "fails", "it has scores but names no records")
        return
    try:
        records = read_records(folder / suite.records_path)
    except ReportError as error:
        yield Check(name, "fails", error.message)
        return
    if not records:
        yield Check(name, "fails", f"{suite.records_path} is missing")
        return
    if records_digest(records) != suite.records_sha256:
        yield Check(name, "fails", "they are not the records that the report was made from")
    else:
        yield Check(name, "holds", f"{len(records)} records")
    suite = replace(suite, records=records)
    yield _scores(suite, report, settings)
    if suite.kind != STRUCTURE:
        yield data_check(suite, settings, report, published=published)


def _scores(suite: SuiteResult, report: Report, settings: Settings) -> Check:
    name = "scores"
    try:
        definition = settings.catalogue.find(suite.name)
        configuration = definition.configuration(suite.config)
    except BiasError as error:
        return Check(name, "unknown", error.message)
    if definition.version != suite.version:
        ran, here = suite.version, definition.version
        return Check(name, "unknown", f"version {ran} of the suite was run, {here} is installed")
    try:
        again = _scored(_Records.of(suite, definition), int(report.settings["seed"]))
        # The p-value of a headline is adjusted for the other headlines of the report.
        others = [again if s.entry == suite.entry else s for s in report.suites]
        again = next(s for s in with_decision_family(others) if s.entry == suite.entry)
        measure = definition.measure_named(suite.measure or "")
    except (BiasError, KeyError, TypeError, ValueError) as error:
        return Check(name, "fails", f"they cannot be computed from the records: {error!r:.200}")
    stated = {
        "kind": (suite.kind, definition.kind),
        "title": (suite.title, definition.title),
        "language": (suite.language, configuration.language),
        "validity": (suite.validity, definition.validity),
        "draft": (suite.draft, configuration.draft),
        "adapted": (suite.adapted, measure.adapted),
        "clusters": (suite.clusters, configuration.clusters),
        "control of": (suite.control_of, configuration.control_of),
        "status": (suite.status, again.status),
        "reason": (suite.reason, again.reason),
        "number of scores": (len(suite.scores), len(again.scores)),
    }
    for what, (claimed, found) in stated.items():
        if claimed != found:
            return Check(name, "fails", f"{what} is given as {claimed}, it is {found}")
    version = statistics_of(report)
    n_of_others = 0
    for score, right in zip(suite.scores, again.scores, strict=True):
        names = _ALL
        if version != VERSION:
            # An older one left nothing out whose partner is unscored, and counted sets by members.
            of_others = score.n > right.n
            n_of_others += of_others
            names = _VALUES if not of_others else _ABOUT if right.n_unscored else (*_ABOUT, "value")
        if wrong := _differing(score, right, names):
            group = f" {dict(score.by)}" if score.by else ""
            claimed, found = (getattr(s, wrong) for s in (score, right))
            what = "" if wrong == "value" else f", {wrong}"
            return Check(
                name,
                "fails",
                f"{score.metric}{group}{what} is given as {claimed}, the records give {found}",
            )
    if version != VERSION:
        told = "the values follow from the records; intervals and p-values are of statistics "
        more = f", and {n_of_others} values are of more items" if n_of_others else ""
        return Check(name, "unknown", f"{told}{version}{more}, {VERSION} is installed")
    return Check(name, "holds", f"{len(again.scores)} scores recomputed")


@dataclass(frozen=True, slots=True)
class _Records:
    """A suite's result as a cache key: the digest of its records and all that scores depend on."""

    key: tuple[str, ...]
    suite: SuiteResult = field(compare=False)
    definition: Suite = field(compare=False)

    @classmethod
    def of(cls, suite: SuiteResult, definition: Suite) -> "_Records":
        about = repr(replace(suite, scores=(), records_sha256=None))
        # A suite file of the user may have changed since.
        key = (records_digest(suite.records), about, repr(statistics.DRAWS), str(id(definition)))
        return cls(key, suite, definition)


@lru_cache(maxsize=64)
def _scored(records: _Records, seed: int) -> SuiteResult:
    """Score records; cached, since a report is checked several times while it is published."""
    return scored(records.suite, records.definition, seed)


_ALL: Final = tuple(about.name for about in fields(Score))
_ABOUT: Final = (
    *("metric", "by", "ideal", "tolerance", "headline"),
    *("n_unscored", "n_excluded"),
)
"""Fields that do not depend on how scores, intervals and tests are computed from the records."""
_VALUES: Final = (*_ABOUT, "value", "n")
"""Fields that do not depend on how intervals and tests are computed."""


def _differing(claimed: Score, found: Score, names: Sequence[str]) -> str | None:
    """Return the first of some fields in which two scores differ by more than rounding."""
    for name in names:
        if not _alike(getattr(claimed, name), getattr(found, name)):
            return name
    return None


def _alike(claimed: Any, found: Any) -> bool:
    if isinstance(claimed, Spread) and isinstance(found, Spread):
        return _alike(astuple(claimed), astuple(found))
    if isinstance(claimed, tuple) and isinstance(found, tuple):
        return len(claimed) == len(found) and all(map(_alike, claimed, found))
    if isinstance(claimed, float) and isinstance(found, float):
        return math.isclose(claimed, found, rel_tol=RELATIVE, abs_tol=1e-12)
    return bool(claimed == found)


def _badges(report: Report, folder: Path, settings: Settings) -> Iterator[Check]:
    report = with_about(report, settings.catalogue)
    own, expected = folder / "badges", badges.by_name(report)
    is_there = any(p.is_file() for p in own.rglob("*"))
    wrong = differing(own, expected)
    named = ", ".join(f"badges/{name}" for name in wrong[:4])
    if not is_there and not expected:
        yield Check("badges", "holds", "the scores give none")
    elif not is_there:
        yield Check("badges", "unknown", "there are none beside the report")
    elif wrong and set(wrong) <= not_installed(report, settings.catalogue):
        yield Check("badges", "unknown", f"of suites that are not installed: {named}")
    elif wrong:
        yield Check("badges", "fails", f"not what the scores give: {named}")
    else:
        yield Check("badges", "holds", f"{len(expected)} files follow from the scores")
