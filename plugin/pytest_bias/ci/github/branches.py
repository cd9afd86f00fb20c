"""A report on a branch of the repository, read and written (in one commit) by the Git data API.

It needs neither a checkout nor git. A branch is only moved forward, never forced: if it moved
meanwhile, the commit is made anew on top.
"""

import base64
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pytest_bias.ci.contents import (
    FOLDER,
    JOB,
    is_report_file,
    is_safe,
    job_of,
    to_show,
    within_limits,
)
from pytest_bias.ci.github.api import Client, path_of
from pytest_bias.ci.github.artifacts import Found
from pytest_bias.errors import GitHubError, ReportError, UsageError
from pytest_bias.records.report import Report, git_blob_id
from pytest_bias.reports.folder import REPORT
from pytest_bias.untrusted import clean

READS: Final = "contents: read"
WRITES: Final = "contents: write"
TRIES: Final = 4
"""Attempts to commit to a branch that moves meanwhile: the first and three more."""

_BRANCH: Final = re.compile(
    r"(?!/)(?!.*(?:\.\.|//|@\{|\.lock(?:/|$)|/\.))[^\s~^:?*\[\\\x00-\x1f\x7f]+"
)
_FILE: Final = "100644"
SHORT: Final = 20_000
TOGETHER: Final = 2_000_000
"""Bytes of one text, and of all texts, that are sent within the tree: GitHub allows a token eighty
writing requests per minute, and a report may have more badges."""


@dataclass(frozen=True, slots=True)
class Place:
    """A folder of a branch.

    Raises
    ------
    UsageError
        If it is no valid name of a branch or folder.
    """

    branch: str
    folder: str = FOLDER

    def __post_init__(self) -> None:
        if not _BRANCH.fullmatch(self.branch) or self.branch.endswith(("/", ".")):
            raise UsageError(f"{clean(self.branch)!r} is no name of a branch.")
        hidden = any(part.startswith(".git") for part in self.folder.lower().split("/"))
        if not is_safe(self.folder) or hidden:
            raise UsageError(
                f"{clean(self.folder)!r} is no folder for a report on a branch.",
                f"Give a path such as {FOLDER} or docs/{FOLDER}.",
            )

    @classmethod
    def parse(cls, text: str) -> "Place":
        """Read ``NAME`` or ``NAME:folder``."""
        branch, _, folder = text.partition(":")
        return cls(branch.strip(), folder.strip().strip("/") or FOLDER)

    def __str__(self) -> str:
        return f"{self.folder} of the branch {self.branch}"


@dataclass(frozen=True, slots=True)
class Committed:
    """The head of a branch after a commit; `changed` is false if it had the report already."""

    sha: str
    address: str
    changed: bool


@dataclass(frozen=True, slots=True)
class _Head:
    """Head of a branch: commit, tree, and the files of the folder by their paths below it."""

    commit: str
    page: str
    tree: str
    files: Mapping[str, Mapping[str, Any]]


def read_report_of(client: Client, place: Place, into: Path) -> Found | None:
    """Fetch the report in a folder of a branch; None if there is no branch or no report.

    Parameters
    ----------
    client : Client
        With a token that has ``contents: read``.
    into : Path
        A folder to create, or an empty one.

    Raises
    ------
    GitHubError
        If GitHub does not deliver it, or it is larger than a report can be.
    """
    head = _head(client, place)
    files = {p: f for p, f in head.files.items() if is_report_file(p)} if head else {}
    if head is None or REPORT not in files:
        return None
    within_limits(str(place), {p: int(f.get("size", 0)) for p, f in files.items()})
    for path, file in files.items():
        # A link of git is a file as well, with another mode.
        if file["mode"] not in (_FILE, "100755"):
            raise GitHubError(f"{clean(path)} in {place} is a link.")
        target = into / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(_blob(client, str(file["sha"]), f"{clean(path)} in {place}"))
    source = f"{place} at {head.commit[:7]}"
    return Found(into, source, head.page)


def commit_report(client: Client, place: Place, folder: Path) -> Committed:
    """Commit badges, report, records, page and summary to a folder of a branch.

    Other files below that folder are removed. A branch that does not exist yet begins with this
    commit.

    Parameters
    ----------
    client : Client
        With a token that has ``contents: write``.
    folder : Path
        Output folder of a run.

    Raises
    ------
    ReportError
        If the folder is inconsistent, or holds the report of one shard.
    GitHubError
        If the branch is protected, keeps moving, or GitHub refuses.
    """
    report, files = to_show(folder)
    within_limits(str(folder), {path: len(content) for path, content in files.items()})
    job = job_of(files.get(JOB))
    message = commit_message(report)
    ours: list[str] = []
    for attempt in range(1, TRIES + 1):
        head = _head(client, place)
        if head:
            _require_own(client, place, head, report, job)
        tree = _tree(client, place, head, files)
        if head and tree is None:
            return Committed(head.commit, head.page, changed=head.commit in ours)
        parents = [head.commit] if head else []
        made = {"message": message, "tree": tree, "parents": parents}
        done = client.send("POST", "git/commits", made, needs=WRITES)
        sha = str(done["sha"])
        ours.append(sha)
        try:
            _move(client, place.branch, sha, new=head is None)
        except GitHubError as error:
            if error.status not in (409, 422) or attempt == TRIES:
                raise
            continue
        return Committed(sha, str(done["html_url"]), changed=True)
    raise AssertionError("the last attempt returns or raises")


def place_for(client: Client, text: str, own: str, folder: Path) -> Place:
    """Return where a job keeps its report: the folder that is named, else one of its own.

    The folder ``bias``, the default name of earlier versions, stays with the job that has it.

    Parameters
    ----------
    text : str
        ``NAME`` or ``NAME:folder``.
    own : str
        The folder of this job.
    folder : Path
        Output folder of the run.
    """
    place = Place.parse(text)
    if text.partition(":")[2].strip():
        return place
    head = _head(client, place)
    if head and REPORT in head.files:
        report, files = to_show(folder)
        about, identity = job_of(files.get(JOB)), _job_at(client, place, head).get("identity")
        same = _report_at(client, place, head).model.reference == report.model.reference
        if same and identity in (None, about.get("identity")):
            return place
    return replace(place, folder=own)


def _job_at(client: Client, place: Place, head: _Head) -> dict[str, str]:
    file = head.files.get(JOB)
    return job_of(_blob(client, str(file["sha"]), f"{JOB} in {place}")) if file else {}


def _report_at(client: Client, place: Place, head: _Head) -> Report:
    what = f"{REPORT} in {place}"
    content = _blob(client, str(head.files[REPORT]["sha"]), what)
    return Report.from_json(content.decode("utf-8", "replace"), check=False)


def _require_own(
    client: Client, place: Place, head: _Head, report: Report, job: Mapping[str, str]
) -> None:
    """Raise `UsageError` if a folder belongs to another job, whose report would be lost."""
    if REPORT not in head.files:
        return
    hint = f"Give each job a folder of its own: badges-branch: {place.branch}:FOLDER"
    try:
        there = _report_at(client, place, head).model.reference
    except ReportError:
        return
    if there != report.model.reference:
        raise UsageError(f"{place} holds the report of another model, {clean(there)}.", hint)
    other = _job_at(client, place, head)
    same_run = other.get("run") and other.get("run") == job.get("run")
    if same_run and other.get("identity") != job.get("identity"):
        raise UsageError(f"{place} holds the report of another job of this run.", hint)


def commit_message(report: Report) -> str:
    """Return a commit message with model, revision and digest; names in it are inert."""
    model = report.model
    name = re.sub(r"[^\w./+-]+", "-", clean(model.reference, 100), flags=re.ASCII) or "model"
    revision = f", revision {clean(model.revision, 40)}" if model.revision else ""
    return f"Bias report: {name}\n\nModel {name}{revision}\nReport {report.digest}\n"


def _head(client: Client, place: Place) -> _Head | None:
    """Return the head of a branch; None if there is no such branch."""
    try:
        ref = client.get(f"git/ref/heads/{path_of(place.branch)}", needs=READS)
    except GitHubError as error:
        # A repository without any commit has no branch either.
        if error.status == 409 and "empty" in error.message:
            return None
        if error.status != 404:
            raise
        # GitHub answers the same for a repository that the token may not see.
        client.get("", needs=READS)
        return None
    commit = str(ref["object"]["sha"])
    made = client.get(f"git/commits/{commit}", needs=READS)
    tree = str(made["tree"]["sha"])
    return _Head(commit, str(made["html_url"]), tree, _listed(client, tree, place))


def _listed(client: Client, tree: str, place: Place) -> dict[str, dict[str, Any]]:
    """Return the files below the folder of a tree."""
    for part in place.folder.split("/"):
        found = [e for e in _entries(client, tree, place) if e["path"] == part]
        if not found:
            return {}
        if found[0]["type"] != "tree":
            raise GitHubError(f"{place} is a file.")
        tree = str(found[0]["sha"])
    below = _entries(client, tree, place, recursive="1")
    return {e["path"]: e for e in below if e["type"] != "tree"}


def _entries(client: Client, tree: str, place: Place, **query: str) -> list[dict[str, Any]]:
    listed = client.get(f"git/trees/{tree}", needs=READS, **query)
    if listed["truncated"]:
        raise GitHubError(f"{place}: GitHub does not list all of its files, there are too many.")
    entries: list[dict[str, Any]] = listed["tree"]
    return entries


def _blob(client: Client, sha: str, what: str) -> bytes:
    plain = client.get(f"git/blobs/{sha}", needs=READS)
    content = base64.b64decode(plain["content"])
    if git_blob_id(content) != sha:
        raise GitHubError(f"{what} is not what its id says.")
    return content


def _tree(
    client: Client, place: Place, head: _Head | None, files: Mapping[str, bytes]
) -> str | None:
    """Create the tree of a commit; None if it equals that of the head."""
    there = head.files if head else {}
    changes: list[dict[str, Any]] = []
    room = TOGETHER
    for path, content in sorted(files.items()):
        sha = git_blob_id(content)
        if path in there and (there[path]["sha"], there[path]["mode"]) == (sha, _FILE):
            continue
        entry = _entry(place, path, "blob")
        if (text := _short_text(content)) is not None and len(content) <= room:
            room -= len(content)
            changes.append({**entry, "content": text})
            continue
        body = {"content": base64.b64encode(content).decode("ascii"), "encoding": "base64"}
        made = client.send("POST", "git/blobs", body, needs=WRITES)
        changes.append({**entry, "sha": made["sha"]})
    gone = sorted(there.keys() - files)
    changes += [{**_entry(place, p, str(there[p]["type"])), "sha": None} for p in gone]
    # The same result from another run is no reason for a commit.
    if head and not [
        c for c in changes if c["path"] != f"{place.folder}/{JOB}" or JOB not in there
    ]:
        return None
    if head is None:
        # With this file GitHub Pages serves the branch as it is, without rendering Markdown.
        changes.append({"path": ".nojekyll", "mode": _FILE, "type": "blob", "content": ""})
    base = {"base_tree": head.tree} if head else {}
    tree = client.send("POST", "git/trees", {**base, "tree": changes}, needs=WRITES)
    return str(tree["sha"])


def _entry(place: Place, path: str, kind: str) -> dict[str, Any]:
    return {"path": f"{place.folder}/{path}", "mode": _FILE, "type": kind}


def _short_text(content: bytes) -> str | None:
    if len(content) <= SHORT:
        with suppress(UnicodeDecodeError):
            return content.decode("utf-8")
    return None


def _move(client: Client, branch: str, sha: str, *, new: bool) -> None:
    if new:
        body = {"ref": f"refs/heads/{branch}", "sha": sha}
        client.send("POST", "git/refs", body, needs=WRITES)
    else:
        path = f"git/refs/heads/{path_of(branch)}"
        client.send("PATCH", path, {"sha": sha, "force": False}, needs=WRITES)
