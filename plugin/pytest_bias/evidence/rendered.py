"""Check that badges, the section of README.md and its metadata follow from the report.

Text outside the section belongs to the model's owner and is not checked, with one exception: an
image there must not imitate a badge of pytest-bias.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from pytest_bias.emit import badges
from pytest_bias.emit.card import model_index, section
from pytest_bias.emit.card.readme import hides_section, outside_of, results_of, section_of
from pytest_bias.emit.card.results import bare, is_own
from pytest_bias.errors import ReportError
from pytest_bias.evidence.checks import Check
from pytest_bias.records.report import Report
from pytest_bias.reports.folder import REPORT, differing, read_plain_report
from pytest_bias.reports.publication_layout import (
    BADGES,
    BIAS,
    DIGEST,
    README,
    Place,
    PublicationStatus,
    digest12,
    evidence,
)
from pytest_bias.suites.catalogue import INSTALLED, Catalogue

NAME: Final = "model card"

_CLAIM: Final = re.compile(
    r"(?i)results[\W_]*validated|social[\W_]*bias[\W_]*(evaluated|available)"
)
_PICTURE: Final = re.compile(
    r"!\[(?P<alt>[^\]]*)\](?:\(\s*<?(?P<url>[^\s)>]*))?"
    r"|<img\b(?P<html>[^>]*)>"
    r"|^ {0,3}\[[^\]]+\]:\s*<?(?P<target>[^\s>]+)",
    re.IGNORECASE | re.MULTILINE,
)
_SOURCE: Final = re.compile(r"""(?i)\bsrc\s*=\s*["']?([^"'\s>]+)""")


def not_installed(report: Report, catalogue: Catalogue) -> set[str]:
    """Return the names of badges that cannot be rendered again: their suites are not installed.

    Or another version of a suite is installed, which may word the same score differently.
    """
    found = set()
    for suite in report.suites:
        here = catalogue.get(suite.name)
        if here is None or here.version != suite.version:
            found |= {f"{suite.name}-{suite.config}.{kind}" for kind in ("svg", "json")}
    return found


def badges_check(
    root: Path, report: Report, standing: PublicationStatus, catalogue: Catalogue = INSTALLED
) -> Check:
    """Check that the badges of a repository are exactly those that its report gives."""
    expected = badges.by_name(report, standing)
    folder = root / BADGES
    wrong = differing(folder, expected)
    if not any(p.is_file() for p in folder.rglob("*")):
        return Check("badges", "unknown" if expected else "holds", "there are none")
    if wrong and set(wrong) <= not_installed(report, catalogue):
        return Check(
            "badges", "unknown", f"of suites that are not installed: {', '.join(wrong[:4])}"
        )
    if wrong:
        return Check("badges", "fails", f"not what the report gives: {', '.join(wrong[:4])}")
    return Check("badges", "holds", f"{len(expected)} files follow from the report")


def card_check(
    root: Path, report: Report, places: Sequence[Place], standing: PublicationStatus
) -> Check:
    """Check README.md: its section, the scores in its metadata, and images outside the section.

    Parameters
    ----------
    root : Path
        Folder of the repository.
    report : Report
        The report that counts.
    places : sequence of Place
        Where links may point.
    standing : PublicationStatus
        Current status of the report.
    """
    path = root / README
    readme = path.read_bytes() if path.is_file() else b""
    drawn = set(badges.by_name(report, standing))
    wrong, kept = _foreign_scores(root, readme, report, places)
    if wrong := [*wrong, *_imitations(readme, places, drawn)]:
        return Check(NAME, "fails", wrong[0])
    shown = section_of(readme)
    if shown is None:
        return Check(NAME, "unknown", f"{README} has no section of pytest-bias")
    if hides_section(readme):
        return Check(NAME, "fails", "the section is in a code block, where it is not rendered")
    if shown in [section.section(report, place, standing) for place in places]:
        more = f"; {kept} results are of earlier reports, and follow from these" if kept else ""
        return Check(NAME, "holds", f"section and metadata are what the report gives{more}")
    return Check(NAME, "fails", "the section is not what the report gives")


def _foreign_scores(
    root: Path, readme: bytes, report: Report, places: Sequence[Place]
) -> tuple[list[str], int]:
    """Return the scores in the metadata that bear our name but follow from no report here.

    Returns
    -------
    tuple of list of str and int
        What is wrong, and how many results of earlier reports are kept.
    """
    ours = _results(report, places)
    configurations = {f"{s.name}-{s.config}" for s in report.suites}
    given = {r["dataset"]["config"] for r in ours}
    wrong, kept = [], 0
    for result in results_of(readme):
        dataset = _table(result.get("dataset"))
        config = dataset.get("config")
        if not (is_own(result) or config in configurations) or _is_among(result, ours, report):
            continue
        earlier = _earlier(root, _table(dataset.get("args")).get("report"))
        if earlier and config not in given and _is_among(result, *_of(earlier, report, places)):
            kept += 1
            continue
        wrong.append(f"the metadata have other scores of {str(config)[:80]!a} than the report")
    return wrong, kept


def _results(report: Report, places: Sequence[Place]) -> list[Any]:
    return [r for p in places for e in model_index.entries(report, p) for r in e["results"]]


def _is_among(result: Mapping[str, Any], ours: Sequence[Any], report: Report) -> bool:
    """Whether a report gives a result; results from before they had a mark match as well."""
    stated = _table(_table(result.get("dataset")).get("args")).get("report")
    if stated not in (None, report.digest):
        return False
    source, said = result.get("source"), bare(result)
    return any(one.get("source") == source and bare(one) == said for one in ours)


def _of(earlier: Report, report: Report, places: Sequence[Place]) -> tuple[list[Any], Report]:
    """Return the results of an earlier report, with links to its own evidence."""
    own = evidence(earlier)
    moved = [replace(p, report=p.report.replace(evidence(report), own)) for p in places]
    return _results(earlier, moved), earlier


def _earlier(root: Path, digest: object) -> Report | None:
    """Return the report with a digest, if a repository has it as evidence."""
    if not isinstance(digest, str) or not re.fullmatch(DIGEST, digest):
        return None
    try:
        found = read_plain_report(root / BIAS / digest12(digest) / REPORT)
    except ReportError:
        return None
    return found if found.digest == digest else None


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _imitations(readme: bytes, places: Sequence[Place], drawn: set[str]) -> Iterator[str]:
    """Yield the images outside the section that claim what only badges from the report may."""
    own = {f"{place.badges}/{name}" for place in places for name in drawn}
    for line, text in outside_of(readme):
        for found in _PICTURE.finditer(text):
            source = _SOURCE.search(found["html"] or "")
            address = found["url"] or found["target"] or (source[1] if source else "")
            if _CLAIM.search(unquote(found[0])) and address.removeprefix("./") not in own:
                at = line + text.count("\n", 0, found.start())
                yield f"line {at} shows a badge of its own beside the section"
