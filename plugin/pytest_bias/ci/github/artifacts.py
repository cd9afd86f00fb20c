"""The report that the last successful run of a workflow left as an artifact.

An artifact serves as a baseline only if it cannot have come from somebody else's change: its run
belongs to the same file of the same repository and to one branch of it, was started there and not
by a pull request, and succeeded.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pytest_bias.ci.archives import unpacked
from pytest_bias.ci.contents import MOST_BYTES
from pytest_bias.ci.github.api import Client
from pytest_bias.ci.provider import ReportExpired
from pytest_bias.errors import GitHubError, UsageError
from pytest_bias.untrusted import clean

NEEDS: Final = "actions: read"
EVENTS: Final = ("push", "schedule", "workflow_dispatch", "repository_dispatch")
"""Events whose runs measure the branch's own content. A run for a pull request, a comment or the
end of another workflow may name the default branch and still have measured something else."""
MOST_RUNS: Final = 100
"""Runs whose result is requested from GitHub."""
OTHERWISE: Final = (
    "Keep reports longer: a branch (`badges-branch` with `baseline: branch:NAME`), or the model's "
    "repository (`publish` with `baseline: published`). This once, leave `baseline` out."
)


@dataclass(frozen=True, slots=True)
class Found:
    """A report that was fetched.

    Parameters
    ----------
    folder : Path
        The folder with ``report.json`` and the files that belong to it.
    source : str
        Where it comes from, for messages.
    address : str
        Its page on GitHub.
    """

    folder: Path
    source: str
    address: str


def last_report(
    client: Client,
    *,
    name: str,
    workflow_ref: str,
    run_id: int,
    into: Path,
    branch: str | None = None,
    failed: bool = False,
) -> Found | None:
    """Fetch the report of the last successful run of a workflow; None if there never was one.

    Parameters
    ----------
    client : Client
        With a token that has ``actions: read``.
    name : str
        Name of the artifact.
    workflow_ref : str
        The workflow as GITHUB_WORKFLOW_REF names it: ``owner/name/.github/workflows/x.yml@ref``.
    run_id : int
        This run, which is excluded.
    into : Path
        A folder to create, or an empty one.
    branch : str, optional
        Whose runs; by default the default branch of the repository.
    failed : bool
        Whether failed runs count as well, such as one in which a limit was exceeded.

    Raises
    ------
    ReportExpired
        If there was one, and it has expired.
    GitHubError
        If the artifact holds no report, or GitHub does not answer.
    """
    workflow = _path_of(workflow_ref, client.repository)
    branch = branch or str(client.get("", needs="contents: read")["default_branch"])
    expired = None
    ended = ("success", *(["failure"] if failed else []))
    for artifact, run in _candidates(client, name, workflow, branch, run_id, ended):
        if artifact["expired"]:
            expired = expired or artifact
            continue
        source = f"the artifact {clean(name)} of run {run['id']} on {clean(branch)}"
        folder = _fetched(client, artifact, source, into)
        return Found(folder, source, str(run["html_url"]))
    if expired:
        when = f" on {clean(str(expired['expires_at']))[:10]}" if expired.get("expires_at") else ""
        raise ReportExpired(
            f"the last report on {clean(branch)}, the artifact {clean(name)} of run "
            f"{expired['workflow_run']['id']}, has expired{when}.",
            OTHERWISE,
        )
    return None


def _path_of(workflow_ref: str, repository: str) -> str:
    """Return the path of a workflow's file in the repository."""
    path = workflow_ref.partition("@")[0]
    owner = f"{repository}/"
    if not path.lower().startswith(owner.lower()) or not path[len(owner) :]:
        raise UsageError(
            f"GITHUB_WORKFLOW_REF is {clean(workflow_ref)!r}: it names no workflow of "
            f"{repository}, as {repository}/.github/workflows/FILE@REF does."
        )
    return path[len(owner) :]


def _candidates(
    client: Client, name: str, workflow: str, branch: str, run_id: int, ended: Sequence[str]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield usable artifacts with their runs, newest first."""
    listed = client.pages("actions/artifacts", needs=NEEDS, within="artifacts", name=name)
    # GitHub lists the newest first, but does not guarantee it.
    ordered = sorted(listed, key=_age, reverse=True)
    mine = [a for a in ordered if a["name"] == name and _is_of(a, branch, run_id)]
    for artifact in mine[:MOST_RUNS]:
        try:
            run = client.get(f"actions/runs/{int(artifact['workflow_run']['id'])}", needs=NEEDS)
        except GitHubError as error:
            if error.status != 404:
                raise
            continue
        if _serves(run, workflow, branch, ended):
            yield artifact, run
    if len(mine) > MOST_RUNS:
        raise GitHubError(
            f"none of the {MOST_RUNS} newest artifacts {clean(name)} on {clean(branch)} is of a "
            f"successful run of {clean(workflow)}.",
            OTHERWISE,
        )


def _age(artifact: Mapping[str, Any]) -> tuple[datetime, int]:
    return datetime.fromisoformat(artifact["created_at"]), int(artifact["id"])


def _is_of(artifact: Mapping[str, Any], branch: str, run_id: int) -> bool:
    run = artifact.get("workflow_run") or {}
    # The branch of a fork may have the same name.
    own = run.get("head_repository_id") == run.get("repository_id") is not None
    return own and run.get("head_branch") == branch and run.get("id") != run_id


def _serves(run: Mapping[str, Any], workflow: str, branch: str, ended: Sequence[str]) -> bool:
    home, head = ((run.get(key) or {}).get("id") for key in ("repository", "head_repository"))
    return (
        home is not None
        and head == home
        and str(run.get("path")).partition("@")[0] == workflow
        and run.get("head_branch") == branch
        and run.get("event") in EVENTS
        and run.get("conclusion") in ended
    )


def _fetched(client: Client, artifact: Mapping[str, Any], source: str, into: Path) -> Path:
    into.mkdir(parents=True, exist_ok=True)
    archive = into / "artifact.zip"
    try:
        path = f"actions/artifacts/{int(artifact['id'])}/zip"
        client.download(path, archive, needs=NEEDS, most=MOST_BYTES)
        _check_digest(archive, artifact.get("digest"), source)
        return unpacked(archive, into, source)
    finally:
        archive.unlink(missing_ok=True)


def _check_digest(archive: Path, stated: object, source: str) -> None:
    # Artifacts from before GitHub kept digests have none.
    if isinstance(stated, str) and stated.startswith("sha256:"):
        with archive.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if stated != f"sha256:{found}":
            raise GitHubError(f"{source} has not the digest that GitHub states.", OTHERWISE)
