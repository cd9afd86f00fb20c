"""Find a report or a published model by what a user names: a path, an address, or a model."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urljoin, urlsplit

from pytest_bias.data import downloads
from pytest_bias.environment import is_offline
from pytest_bias.errors import DataMissing, HubNotReached, ReportError, UsageError
from pytest_bias.evidence.checks import Check
from pytest_bias.evidence.provenance import Traits
from pytest_bias.evidence.verification import Publication
from pytest_bias.models import ModelRef
from pytest_bias.models.applications.name import is_address
from pytest_bias.models.fingerprint import fingerprint
from pytest_bias.models.reference import asked_in_words
from pytest_bias.models.repository import ask, endpoint, fetch
from pytest_bias.models.snapshot import locate
from pytest_bias.reports.folder import REPORT, read_plain_report
from pytest_bias.reports.publication_layout import (
    BIAS,
    CURRENT,
    DIGEST,
    DIGEST12,
    HUB,
    SIGNATURE,
    TEST_RESULT,
)
from pytest_bias.reports.publication_pointer import Published, published

FORMS: Final = (
    "a folder with a report.json, a model's folder with bias/, an address of a report.json, or a "
    "model of the Hub (org/name)"
)
MOST_FILES: Final = 1000
"""Largest number of files of records that are downloaded for one report."""

_ON_HUB: Final = re.compile(
    r"/(?P<name>[\w.-]+/[\w.-]+)(/(tree|blob|resolve|raw)/(?P<revision>[^/]+)(/(?P<path>.*))?)?/?"
)


@dataclass(frozen=True, slots=True)
class Named:
    """What a text names: the folder of one report, or the publication of a model's repository.

    `digest` is given by a link, and the report must have it: empty if the link has none, None if
    there is no link. `is_run` says that the folder is as a run wrote it, badges included. `remarks`
    are checks from finding it.
    """

    report: Path | None = None
    publication: Publication | None = None
    ref: ModelRef | None = None
    digest: str | None = None
    is_run: bool = False
    remarks: tuple[Check, ...] = ()

    @property
    def is_public(self) -> bool:
        """Whether it is public: published by a model on the Hub, or available at an address."""
        return (self.ref is not None and self.ref.source == "hub") or self.digest is not None

    @property
    def folder(self) -> Path:
        """Folder of the report."""
        if self.report:
            return self.report
        assert self.publication is not None
        return self.publication.folder


@contextmanager
def named(text: str, *, offline: bool) -> Iterator[Named]:
    """Find what a text names; downloaded files are removed when the block ends.

    Raises
    ------
    BiasError
        If nothing has that name, or it publishes no report.
    """
    path = Path(text).expanduser()
    if (what := asked_in_words(text)) and not is_address(text):
        raise UsageError(
            f"{what} publishes no report, and none can be checked against it.",
            f"What can be checked is {FORMS}.",
        )
    if "://" in text:
        with _at_address(text, offline=offline) as found:
            yield found
    elif (path / CURRENT).is_file():
        # Whatever else is there, the report that its pointer names is the one that is published.
        yield of_model(ModelRef.parse(text), offline=offline)
    elif (path / REPORT).is_file() or path.is_file():
        # The badges of published evidence are elsewhere.
        folder = path if path.is_dir() else path.parent
        yield Named(report=path, is_run=folder.absolute().parent.name != BIAS)
    elif path.is_dir():
        is_model = (path / "config.json").is_file()
        what = "a model, and nothing published of it" if is_model else "no report"
        raise ReportError(f"{text!r} holds {what}.", f"What can be checked is {FORMS}.")
    else:
        yield of_model(ModelRef.parse(text), offline=offline)


def of_model(ref: ModelRef, *, offline: bool) -> Named:
    """Return the publication of a model's repository.

    Raises
    ------
    ReportError
        If it publishes no report.
    """
    found = published(ref, offline=offline)
    if found is None:
        raise ReportError(
            f"{ref} publishes no report: there is no {CURRENT} in its repository.",
            f"pytest-bias publish DIR --repo {ref.name} publishes one.",
        )
    return _public(ref, found, offline=offline)


def _public(ref: ModelRef, found: Published, *, offline: bool) -> Named:
    there = publication(ref, found, offline=offline)
    return Named(publication=there, ref=ref, remarks=_of_revision(ref, offline=offline))


def _of_revision(ref: ModelRef, *, offline: bool) -> tuple[Check, ...]:
    """Return a remark on a commit that is not the head: it may be that of a pull request."""
    commit = ref.revision or ""
    if ref.source != "hub" or not re.fullmatch("[0-9a-f]{7,40}", commit):
        return ()
    name = "revision"
    try:
        main = "" if is_offline(offline) else str(ask(ModelRef(ref.name, "hub")).sha)
    except HubNotReached as error:
        return (Check(name, "unknown", error.message),)
    if main.startswith(commit):
        return ()
    told = f"{commit[:7]} is not the head of {ref.name}: anybody can propose a commit to it"
    return (Check(name, "unknown", told),)


def publication(ref: ModelRef, found: Published | None, *, offline: bool) -> Publication:
    """Return a model's repository as it is; without a report, its folder is ``bias``."""
    now = fingerprint(ref, offline=offline)
    snapshot = locate(ref, offline=offline)
    root = found.root if found else ref.path or snapshot.folder
    return Publication(
        name=ref.name,
        root=root,
        folder=found.folder if found else root / BIAS,
        digest=found.digest if found else "",
        head=now,
        traits=Traits.of(snapshot),
        endpoint=endpoint() if ref.source == "hub" else "",
    )


@contextmanager
def _at_address(text: str, *, offline: bool) -> Iterator[Named]:
    """Find what an address names: a model's page, a report in a repository, or another report."""
    parts = urlsplit(text)
    digest = parts.fragment
    if digest and not re.fullmatch(DIGEST, digest):
        raise UsageError(
            f"{text}: {digest!r:.80} is not the digest of a report.",
            "ADDRESS#sha256: and 64 hexadecimal digits",
        )
    if f"{parts.scheme}://{parts.netloc}" in (HUB, endpoint()):
        match = _ON_HUB.fullmatch(unquote(parts.path))
        if match is None:
            raise UsageError(f"{text} is no model on the Hub.", f"What can be checked is {FORMS}.")
        ref = ModelRef.parse(match["name"])
        if match["revision"] not in (None, "main"):
            ref = ModelRef.parse(f"{match['name']}@{match['revision']}")
        yield _in_repository(ref, match["path"] or "", digest, offline=offline)
        return
    if is_offline(offline):
        raise ReportError(f"{text} is an address, and this run is offline.")
    with tempfile.TemporaryDirectory(prefix="pytest-bias-") as folder:
        yield Named(report=_downloaded(text.partition("#")[0], Path(folder)), digest=digest)


def _in_repository(ref: ModelRef, path: str, digest: str, *, offline: bool) -> Named:
    folder = re.fullmatch(rf"({BIAS}/{DIGEST12})(/.*)?", path)
    if folder is None:
        found = of_model(ref, offline=offline)
        return replace(found, digest=digest)
    current = published(ref, offline=offline)
    if current and current.folder.name == Path(folder[1]).name:
        return replace(_public(ref, current, offline=offline), digest=digest)
    root = fetch(ref, ref.revision, (f"{folder[1]}/*",), cached=is_offline(offline), why="offline")
    if not (root / folder[1] / REPORT).is_file():
        raise ReportError(f"{ref} has no {folder[1]}/{REPORT}.")
    counts = f"bias/{current.folder.name}" if current else "none"
    remark = Check("report that counts", "unknown", f"{counts} counts now, this one may be old")
    remarks = (remark, *_of_revision(ref, offline=offline))
    return Named(report=root / folder[1], ref=ref, digest=digest, remarks=remarks)


def _downloaded(address: str, folder: Path) -> Path:
    """Download a report, its signature, and its records."""
    downloads.save(address, folder / REPORT)
    name = urlsplit(address).path.rpartition("/")[2]
    for there, here in ((name, REPORT), (TEST_RESULT, TEST_RESULT)):
        with suppress(DataMissing):
            downloads.save(urljoin(address, f"{there}{SIGNATURE}"), folder / f"{here}{SIGNATURE}")
    report = read_plain_report(folder / REPORT, check=False)
    named_ones = [s.records_path for s in report.suites if s.records_sha256]
    if len(named_ones) > MOST_FILES:
        raise ReportError(f"{address} names {len(named_ones)} files of records.")
    for path in named_ones:
        downloads.save(urljoin(address, path), folder / path)
    return folder
