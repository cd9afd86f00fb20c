"""How a Hub on this machine is written to: upload modes, large files, commits, pull requests."""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any, TypedDict

import yaml

from hub_contents import FORBIDDEN, OWNER, Answer, Hub, Repository, git_sha, is_large, sha256

CI_TOKEN = "hf_jwt_"


class Header(TypedDict):
    """First line of a commit."""

    summary: str
    description: str
    parentCommit: str


def preupload(hub: Hub, repository: Repository, revision: str, body: bytes) -> Answer:
    """Say of every file how it is to be sent, whether .gitignore has it, and the id it has now."""
    asked = json.loads(body)
    now = repository.commits[repository.names.get(revision, revision)]
    ignored = () if "gitIgnore" in asked else repository.ignored
    files = []
    for file in asked["files"]:
        path, size = file["path"], file["size"]
        large = is_large(path, size)
        there = now.get(path)
        oid = None if there is None else sha256(there) if large else git_sha(there)
        mode = "lfs" if large else "regular"
        skip = path.endswith(ignored) if ignored else False
        files.append({"path": path, "uploadMode": mode, "shouldIgnore": skip, "oid": oid})
    return Answer.of({"files": files})


def batch(hub: Hub, body: bytes) -> Answer:
    """Say where large files are to be sent; one that is here needs not be."""
    objects = []
    for file in json.loads(body)["objects"]:
        href = f"{hub.address}/lfs/{file['oid']}"
        upload = {} if file["oid"] in hub.objects else {"actions": {"upload": {"href": href}}}
        objects.append({**file, **upload})
    return Answer.of({"transfer": "basic", "objects": objects})


def receive(hub: Hub, oid: str, body: bytes) -> Answer:
    """Keep a large file; no repository shows it before a commit names it."""
    if sha256(body) != oid:
        return Answer.refusal(400, "", "the content is not what its name says")
    hub.objects[oid] = body
    return Answer(200, b"")


def commit(
    hub: Hub, name: str, repository: Repository, revision: str, body: bytes, *, propose: bool
) -> Answer:
    """Apply one commit, whole or not at all."""
    lines = [json.loads(line) for line in body.splitlines()]
    header: Header = lines[0]["value"]
    now = repository.names[revision]
    parent = header.get("parentCommit") or now
    if parent != now and not propose:
        return Answer.refusal(412, "", "A commit has happened since. Please refresh and try again.")
    if parent not in repository.commits:
        return Answer.refusal(404, "RevisionNotFound", f"Invalid rev id: {parent}")
    files = dict(repository.commits[parent])
    for line in lines[1:]:
        if line["key"] == "deletedFile":
            files.pop(line["value"]["path"], None)
            continue
        content = _content(hub, line["key"], line["value"])
        if content is None:
            return Answer.refusal(400, "", "LFS pointer pointed to a file that does not exist")
        files[line["value"]["path"]] = content
    sha = _sha(parent, header["summary"], files)
    repository.commits[sha] = files
    answer = {"success": True, "commitOid": sha, "commitUrl": f"{hub.address}/{name}/commit/{sha}"}
    if propose:
        repository.pulls.append(header["summary"])
        number = len(repository.pulls)
        repository.names[f"refs/pr/{number}"] = sha
        return Answer.of(answer | {"pullRequestUrl": f"{hub.address}/{name}/discussions/{number}"})
    repository.names[revision] = sha
    return Answer.of(answer)


def _content(hub: Hub, kind: str, value: Mapping[str, Any]) -> bytes | None:
    if kind == "lfsFile":
        return hub.objects.get(value["oid"])
    return base64.b64decode(value["content"], validate=True)


def _sha(parent: str, title: str, files: Mapping[str, bytes]) -> str:
    lines = [parent, title, *(f"{git_sha(content)} {path}" for path, content in files.items())]
    return hashlib.sha1("\n".join(lines).encode()).hexdigest()


def discussions(name: str, repository: Repository, author: str | None) -> Answer:
    """List the pull requests, of one author or of all, the newest first."""
    listed = [
        {
            "title": title,
            "num": number,
            "author": {"name": repository.authors.get(number, OWNER)},
            "createdAt": "2026-11-01T00:00:00.000Z",
            "status": "open",
            "isPullRequest": True,
            "repo": {"name": name, "type": "model"},
        }
        for number, title in enumerate(repository.pulls, 1)
        if author in (None, repository.authors.get(number, OWNER))
    ]
    return Answer.of({"discussions": listed[::-1], "count": len(listed), "start": 0})


def validate(body: bytes) -> Answer:
    """Judge the metadata at the head of a README.md."""
    head = json.loads(body)["content"].split("---", 2)
    try:
        found = yaml.safe_load(head[1]) if len(head) == 3 else None
    except yaml.YAMLError as error:
        return Answer.of({"errors": [{"message": f"YAML: {error}"}], "warnings": []}, 400)
    if not found:
        warning = {"message": "empty or missing yaml metadata"}
        return Answer.of({"errors": [], "warnings": [warning]})
    if not isinstance(found, dict):
        return Answer.of({"errors": [{"message": "metadata is no table"}], "warnings": []}, 400)
    return Answer.of({"errors": [], "warnings": []})


def exchange(hub: Hub, body: bytes) -> Answer:
    """Give a token of ours for that of a CI job (RFC 8693), if the job is trusted."""
    asked = json.loads(body)
    grant = "urn:ietf:params:oauth:grant-type:token-exchange"
    trusted = hub.identities.get(asked["subject_token"])
    if asked["grant_type"] != grant or trusted is None or trusted != asked["resource"]:
        said = {
            "error": "invalid_grant",
            "error_description": f"no trusted publisher of {asked['resource']} matches the token",
        }
        return Answer.of(said, 400)
    token = f"{CI_TOKEN}{asked['subject_token']}"
    hub.tokens[token] = "write"
    return Answer.of({"access_token": token, "token_type": "bearer", "expires_in": 3600})


def may_write(hub: Hub, token: str, *, propose: bool, large: bool) -> Answer | None:
    """Return a refusal unless a token allows a commit, or one with large files."""
    access = hub.tokens.get(token)
    if access == "write" or (access == "propose" and propose and not large):
        return None
    if access is None:
        return Answer.refusal(401, "RepoNotFound")
    return Answer.refusal(403, "", FORBIDDEN)
