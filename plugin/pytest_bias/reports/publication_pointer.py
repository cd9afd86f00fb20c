"""The published report of a model: found by its pointer, fetched without any weights."""

import re
from dataclasses import dataclass
from pathlib import Path

from pytest_bias.environment import is_offline
from pytest_bias.errors import ModelError, ReportError
from pytest_bias.models import ModelRef
from pytest_bias.models.repository import NOT_REACHED, OFFLINE, fetch, listed
from pytest_bias.models.snapshot import locate
from pytest_bias.records.documents import with_schema
from pytest_bias.records.report import Report
from pytest_bias.reports.folder import REPORT, read_report
from pytest_bias.reports.publication_layout import (
    BIAS,
    CURRENT,
    CURRENT_SCHEMA,
    DIGEST,
    DIGEST12,
    README,
    digest12,
)


@dataclass(frozen=True, slots=True)
class Published:
    """The reports published in a model's repository, and which of them counts.

    Parameters
    ----------
    root : Path
        Folder of the repository at one commit, with README.md and everything below ``bias``.
    folder : Path
        Folder of the report that counts.
    digest : str
        Digest by which the pointer names that report.
    revision : str, optional
        The commit.
    notice : str, optional
        What a user should know about how it was found.
    """

    root: Path
    folder: Path
    digest: str
    revision: str | None = None
    notice: str | None = None

    def read(self) -> Report:
        """Return the report, with its records where they are available.

        Raises
        ------
        ReportError
            If it cannot be read, or is not the one that the pointer names.
        """
        report = read_report(self.folder)
        self.check(report)
        return report

    def check(self, report: Report) -> None:
        """Raise `ReportError` if a report is not the one that the pointer names."""
        if report.digest != self.digest:
            raise ReportError(
                f"{CURRENT} names the report {self.digest}, and the one in {self.folder.name} is "
                f"{report.digest}.",
                "Its publisher has to publish it again: pytest-bias publish",
            )


def published(ref: ModelRef, *, offline: bool = False) -> Published | None:
    """Return the report of a model that counts, by its repository's pointer; None without reports.

    On the Hub, the repository is read at the revision of `ref`, by default the head of its default
    branch. No weights are fetched.

    Raises
    ------
    ReportError
        If the repository holds reports, and its pointer to the one that counts is missing or wrong.
    ModelError
        If that is not known: the Hub does not answer or is not asked, and the cache has no report.
    """
    if ref.path:
        root = ref.path.parent if ref.source == "gguf" else ref.path
        names = tuple(p.relative_to(root).as_posix() for p in (root / BIAS).rglob("*"))
        revision = locate(ref).revision if names else None
        return _pointed(ref, root, names, revision, None)
    offline = is_offline(offline)
    names, notice = ((), None) if offline else listed(ref)
    cached = offline or notice is not None
    if not cached and not _reports(names) and CURRENT not in names:
        return None
    why = OFFLINE if offline else NOT_REACHED
    root = fetch(ref, ref.revision, (f"{BIAS}/*", README), cached=cached, why=why)
    if cached:
        names = tuple(p.relative_to(root).as_posix() for p in (root / BIAS).rglob("*"))
        if not names:
            raise ModelError(
                f"the published report of {ref.name} is not in the cache, and {why}.",
                f"Where there is a network: hf download {ref.name} --include '{BIAS}/*'",
            )
    return _pointed(ref, root, names, root.name, notice)


def _reports(names: tuple[str, ...]) -> list[str]:
    """Return the names of the folders that hold a report."""
    pattern = re.compile(f"{BIAS}/({DIGEST12})/{re.escape(REPORT)}")
    return sorted(m[1] for name in names if (m := pattern.fullmatch(name)))


def _pointed(
    ref: ModelRef, root: Path, names: tuple[str, ...], revision: str | None, notice: str | None
) -> Published | None:
    reports = _reports(names)
    if CURRENT not in names:
        if not reports:
            return None
        raise ReportError(
            f"{ref.name} has {len(reports)} published report{'s' * (len(reports) > 1)} "
            f"({BIAS}/{reports[0]}) and no {CURRENT}, which says which one counts.",
            "Its publisher has to publish it again: pytest-bias publish",
        )
    digest = _pointer(ref, root / CURRENT)
    folder = root / BIAS / digest12(digest)
    if not (folder / REPORT).is_file():
        raise ReportError(
            f"the {CURRENT} of {ref.name} names the report {digest}, and there is no "
            f"{BIAS}/{folder.name}/{REPORT}.",
            f"It holds {', '.join(reports) or 'no report'}. Publish again: pytest-bias publish",
        )
    return Published(root, folder, digest, revision, notice)


def _pointer(ref: ModelRef, file: Path) -> str:
    """Return the digest that a pointer names."""
    where = f"the {CURRENT} of {ref.name}"
    try:
        plain = with_schema(file.read_text(encoding="utf-8"), CURRENT_SCHEMA, "pointer")
    except (OSError, UnicodeDecodeError, ReportError) as error:
        raise ReportError(f"{where} cannot be read: {error}"[:300]) from None
    digest = plain.get("report")
    if not (isinstance(digest, str) and re.fullmatch(DIGEST, digest)):
        raise ReportError(
            f"{where} names no report: {digest!r:.80} is not sha256: and 64 hexadecimal digits."
        )
    return digest
