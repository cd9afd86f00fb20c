"""Does what people see follow from the report? Badges, the section of README.md, its metadata.

What is outside the section belongs to the model's owner and is not checked, but for one thing: a
picture there must not pass for a badge of ours.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from pytest_bias.checks import Check
from pytest_bias.claims import BADGES, README, Place, Standing
from pytest_bias.emit import badges, card, model_index
from pytest_bias.folder import differing
from pytest_bias.readme import hides_section, outside_of, results_of, section_of
from pytest_bias.records import Report

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


def badges_check(root: Path, report: Report, standing: Standing) -> Check:
    """Check that the badges of a repository are those that its report gives, and no others."""
    expected = badges.by_name(report, standing)
    folder = root / BADGES
    wrong = differing(folder, expected)
    if not any(p.is_file() for p in folder.rglob("*")):
        return Check("badges", "unknown" if expected else "holds", "there are none")
    if wrong and set(wrong) <= badges.without_wording(report):
        return Check(
            "badges", "unknown", f"of suites that are not installed: {', '.join(wrong[:4])}"
        )
    if wrong:
        return Check("badges", "fails", f"not what the report gives: {', '.join(wrong[:4])}")
    return Check("badges", "holds", f"{len(expected)} files follow from the report")


def card_check(root: Path, report: Report, places: Sequence[Place], standing: Standing) -> Check:
    """Check README.md: its section, the scores in its metadata, and pictures outside of these.

    Parameters
    ----------
    root : Path
        Folder of the repository.
    report : Report
        The report that counts.
    places : sequence of Place
        Where links may lead.
    standing : Standing
        What holds of it now.
    """
    path = root / README
    readme = path.read_bytes() if path.is_file() else b""
    drawn = set(badges.by_name(report, standing))
    if wrong := [*_foreign_scores(readme, report, places), *_imitations(readme, places, drawn)]:
        return Check(NAME, "fails", wrong[0])
    shown = section_of(readme)
    if shown is None:
        return Check(NAME, "unknown", f"{README} has no section of pytest-bias")
    if hides_section(readme):
        return Check(NAME, "fails", "the section stands in a block of code, where nobody sees it")
    if shown in [card.section(report, place, standing) for place in places]:
        return Check(NAME, "holds", "section and metadata are what the report gives")
    return Check(NAME, "fails", "the section is not what the report gives")


def _foreign_scores(readme: bytes, report: Report, places: Sequence[Place]) -> Iterator[str]:
    """Say which scores of the metadata go by our name and are not those of the report."""
    ours = [r for p in places for e in model_index.entries(report, p) for r in e["results"]]
    configurations = {f"{s.name}-{s.config}" for s in report.suites}
    for result in results_of(readme):
        dataset, source = (_table(result.get(key)) for key in ("dataset", "source"))
        is_named = source.get("name") == model_index.SOURCE
        if (is_named or dataset.get("config") in configurations) and result not in ours:
            what = str(dataset.get("config"))[:80]
            yield f"the metadata have other scores of {what!a} than the report"


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _imitations(readme: bytes, places: Sequence[Place], drawn: set[str]) -> Iterator[str]:
    """Say which pictures outside the section claim what only badges from the report may."""
    own = {f"{place.badges}/{name}" for place in places for name in drawn}
    for line, text in outside_of(readme):
        for found in _PICTURE.finditer(text):
            source = _SOURCE.search(found["html"] or "")
            address = found["url"] or found["target"] or (source[1] if source else "")
            if _CLAIM.search(unquote(found[0])) and address.removeprefix("./") not in own:
                at = line + text.count("\n", 0, found.start())
                yield f"line {at} shows a badge of its own beside the section"
