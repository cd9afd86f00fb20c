"""A GitHub on this machine: the part of its REST API that the Action uses, and a second address.

Artifacts are given away at the second one, which refuses whoever sends a token along.
"""

import base64
import json
import re
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar, NamedTuple
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from git_objects import TREE
from github_contents import (
    INTEGRATION,
    JOB,
    READER,
    Artifact,
    Comment,
    GitHub,
    Run,
    Token,
    refusal,
    zipped,
)
from hub_contents import Answer, Failure

__all__ = ["JOB", "READER", "Failure", "GitHub", "Token", "serving", "zipped"]

Given = Mapping[str, str]


class Route(NamedTuple):
    """What is asked for by a method and an address, and the permission that it takes."""

    name: str
    method: str
    pattern: re.Pattern[str]
    permission: str
    access: str


def _route(name: str, method: str, pattern: str, permission: str = "contents") -> Route:
    access = "read" if method == "GET" else "write"
    return Route(name, method, re.compile(pattern), permission, access)


_REPO = "/repos/(?P<repo>[^/]+/[^/]+)"
_ID = r"(?P<id>\d+)"
_SHA = "(?P<sha>[0-9a-f]{40})"
_COMMENTS = f"{_REPO}/issues/(?P<number>\\d+)/comments"
_COMMENT = f"{_REPO}/issues/comments/{_ID}"
_PULLS, _RUNS = "pull-requests", "actions"
ROUTES = (
    _route("user", "GET", "/user"),
    _route("repository", "GET", _REPO),
    _route("comments", "GET", _COMMENTS, _PULLS),
    _route("comment", "POST", _COMMENTS, _PULLS),
    _route("edit_comment", "PATCH", _COMMENT, _PULLS),
    _route("delete_comment", "DELETE", _COMMENT, _PULLS),
    _route("artifacts", "GET", f"{_REPO}/actions/artifacts", _RUNS),
    _route("zip", "GET", f"{_REPO}/actions/artifacts/{_ID}/zip", _RUNS),
    _route("run", "GET", f"{_REPO}/actions/runs/{_ID}", _RUNS),
    _route("ref", "GET", f"{_REPO}/git/ref/heads/(?P<branch>.+)"),
    _route("new_ref", "POST", f"{_REPO}/git/refs"),
    _route("move_ref", "PATCH", f"{_REPO}/git/refs/heads/(?P<branch>.+)"),
    _route("git_commit", "GET", f"{_REPO}/git/commits/{_SHA}"),
    _route("new_commit", "POST", f"{_REPO}/git/commits"),
    _route("tree", "GET", f"{_REPO}/git/trees/{_SHA}"),
    _route("new_tree", "POST", f"{_REPO}/git/trees"),
    _route("blob", "GET", f"{_REPO}/git/blobs/{_SHA}"),
    _route("new_blob", "POST", f"{_REPO}/git/blobs"),
)
"""Names of `GitHub.failures` and of the methods below."""


@contextmanager
def serving(github: GitHub) -> Iterator[GitHub]:
    """Answer on two free ports until the block ends."""
    with _listening(_Handler, github) as api, _listening(_Storage, github) as storage:
        github.address, github.storage = api, storage
        yield github


@contextmanager
def _listening(kind: type["_Connection"], github: GitHub) -> Iterator[str]:
    handler = type(kind.__name__, (kind,), {"github": github})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Connection(BaseHTTPRequestHandler):
    github: ClassVar[GitHub]
    protocol_version = "HTTP/1.1"
    # Head and body go out apart, and the client need not confirm the one before the other.
    disable_nagle_algorithm = True
    mark = ""

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PATCH(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: what is asked is kept in `GitHub.asked`."""

    def _answer(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.url = urlsplit(self.path)
        self.query = {k: v[0] for k, v in parse_qs(self.url.query).items()}
        line = f"{self.mark}{self.command} {self.path}"
        self.github.asked.append(line)
        self.github.sent.append((line, dict(self.headers)))
        answer = self._made()
        if answer is None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(answer.status)
        length = {} if answer.status == 204 else {"Content-Length": str(len(answer.content))}
        for name, value in {**length, **answer.headers}.items():
            self.send_header(name, value)
        with suppress(ConnectionError):
            self.end_headers()
            self.wfile.write(answer.content)

    def _failing(self, failure: Failure) -> Answer | None:
        time.sleep(failure.late)
        if failure.status is None:
            return None
        return refusal(failure.status, failure.message, failure.headers)

    def _made(self) -> Answer | None:
        raise NotImplementedError


class _Storage(_Connection):
    """The storage of artifacts: whoever has the signed address may read, and nobody else.

    Where the connection is dropped ``after`` the work, that is in the middle of the file.
    """

    mark = "storage "

    def _made(self) -> Answer | None:
        failure = self.github.failure("storage")
        if failure.status is not None or failure.drop == "before":
            return self._failing(failure)
        if "Authorization" in self.headers:
            return refusal(400, "Only one authentication method is allowed")
        number = int(self.url.path.rpartition("/")[2])
        found = [a for a in self.github.artifacts if a.id == number]
        if not found or self.query.get("sig") != f"secret-{number}":
            return refusal(403, "Server failed to authenticate the request.")
        content, headers = found[0].content, {"Content-Type": "application/zip"}
        if failure.drop == "after":
            self.close_connection = True
            return Answer(200, content[:50], {**headers, "Content-Length": str(len(content))})
        return Answer(200, content, headers)


class _Handler(_Connection):
    def _made(self) -> Answer | None:
        for route in ROUTES:
            match = route.pattern.fullmatch(self.url.path)
            if match and route.method == self.command:
                return self._failed(route, {k: unquote(v) for k, v in match.groupdict().items()})
        return refusal(404, "Not Found")

    def _failed(self, route: Route, given: Given) -> Answer | None:
        failure = self.github.failure(route.name)
        if failure.drop == "before" or (failure.status is not None and not failure.done):
            return self._failing(failure)
        with self.github.lock:
            made = self._allowed(route, given)
        broken = failure.drop is not None or failure.status is not None
        return self._failing(failure) if broken else made

    def _allowed(self, route: Route, given: Given) -> Answer:
        token = self.github.tokens.get(self.headers.get("Authorization", "")[len("Bearer ") :])
        if token is None:
            return refusal(401, "Bad credentials")
        self.token = token
        allowed = token.allows(route.permission, route.access)
        if route.name == "user":
            return refusal(403, INTEGRATION) if token.kind == "Bot" else Answer.of(token.user)
        if given["repo"].lower() != self.github.repository.lower():
            return refusal(404, "Not Found")
        if not allowed and (self.github.private or route.access == "write"):
            hidden = self.github.private and not token.may
            return refusal(404, "Not Found") if hidden else refusal(403, INTEGRATION)
        answer: Answer = getattr(self, f"_{route.name}")(given)
        return answer

    @property
    def sent(self) -> dict[str, Any]:
        """The JSON that was sent."""
        found: dict[str, Any] = json.loads(self.body)
        return found

    def _page(self, items: Sequence[object], within: str | None = None) -> Answer:
        """Return one page of a list, with the address of the next one."""
        size = min(int(self.query.get("per_page", 30)), self.github.page_size)
        page = int(self.query.get("page", 1))
        part = items[(page - 1) * size : page * size]
        answer = Answer.of({within: part, "total_count": len(items)} if within else part)
        if page * size >= len(items):
            return answer
        query = urlencode({**self.query, "page": page + 1})
        link = f'<{self.github.address}{self.url.path}?{query}>; rel="next"'
        return Answer(200, answer.content, {**answer.headers, "Link": link})

    def _repository(self, given: Given) -> Answer:
        return Answer.of({"id": 1, "default_branch": self.github.default_branch})

    # Comments

    def _comments(self, given: Given) -> Answer:
        number = int(given["number"])
        return self._page([self._plain(c) for c in self.github.comments if c.number == number])

    def _comment(self, given: Given) -> Answer:
        number = int(given["number"])
        if number not in self.github.pulls:
            return refusal(404, "Not Found")
        if len(self.sent["body"]) > 65_536:
            return refusal(422, "Body is too long (maximum is 65536 characters)")
        made = self.github.comment(self.sent["body"], self.token.user, number)
        return Answer.of(self._plain(made), 201)

    def _edit_comment(self, given: Given) -> Answer:
        for comment in self._named(given):
            comment.body = self.sent["body"]
            return Answer.of(self._plain(comment))
        return refusal(404, "Not Found")

    def _delete_comment(self, given: Given) -> Answer:
        for comment in self._named(given):
            self.github.comments.remove(comment)
            return Answer(204, b"")
        return refusal(404, "Not Found")

    def _named(self, given: Given) -> list[Comment]:
        return [c for c in self.github.comments if c.id == int(given["id"])]

    def _plain(self, comment: Comment) -> dict[str, Any]:
        page = f"https://github.com/{self.github.repository}/pull/{comment.number}"
        address = f"{page}#issuecomment-{comment.id}"
        about = {"id": comment.id, "body": comment.body, "user": comment.user}
        return {**about, "html_url": address}

    # Runs and artifacts

    def _artifacts(self, given: Given) -> Answer:
        name = self.query.get("name")
        newest = sorted(self.github.artifacts, key=lambda a: a.created, reverse=True)
        return self._page([_about(a) for a in newest if name in (None, a.name)], "artifacts")

    def _run(self, given: Given) -> Answer:
        run = self.github.runs.get(int(given["id"]))
        return Answer.of(self._about_run(run)) if run else refusal(404, "Not Found")

    def _about_run(self, run: Run) -> dict[str, Any]:
        return {
            "id": run.id,
            "path": run.path,
            "event": run.event,
            "status": "completed" if run.conclusion else "in_progress",
            "conclusion": run.conclusion,
            "head_branch": run.branch,
            "repository": {"id": 1},
            "head_repository": {"id": run.head_repository},
            "html_url": f"https://github.com/{self.github.repository}/actions/runs/{run.id}",
        }

    def _zip(self, given: Given) -> Answer:
        found = [a for a in self.github.artifacts if a.id == int(given["id"])]
        if not found:
            return refusal(404, "Not Found")
        if found[0].expired:
            return refusal(410, "Artifact has expired")
        address = f"{self.github.storage}/artifacts/{found[0].id}?sig=secret-{found[0].id}"
        return Answer(302, b"", {"Location": address})

    # The data of git

    def _ref(self, given: Given) -> Answer:
        if not self.github.branches:
            return refusal(409, "Git Repository is empty.")
        sha = self.github.branches.get(given["branch"])
        return Answer.of(_about_ref(given["branch"], sha)) if sha else refusal(404, "Not Found")

    def _new_ref(self, given: Given) -> Answer:
        branch, sha = self.sent["ref"].removeprefix("refs/heads/"), self.sent["sha"]
        if branch in self.github.branches:
            return refusal(422, "Reference already exists")
        if sha not in self.github.objects.commits:
            return refusal(422, "Object does not exist")
        self.github.branches[branch] = sha
        return Answer.of(_about_ref(branch, sha), 201)

    def _move_ref(self, given: Given) -> Answer:
        branch, sha, objects = given["branch"], self.sent["sha"], self.github.objects
        if branch not in self.github.branches:
            return refusal(422, "Reference does not exist")
        if sha not in objects.commits:
            return refusal(422, "Object does not exist")
        if not objects.descends(sha, self.github.branches[branch]) and not self.sent.get("force"):
            return refusal(422, "Update is not a fast forward")
        self.github.branches[branch] = sha
        return Answer.of(_about_ref(branch, sha))

    def _git_commit(self, given: Given) -> Answer:
        commit = self.github.objects.commits.get(given["sha"])
        if commit is None:
            return refusal(404, "Not Found")
        page = f"https://github.com/{self.github.repository}/commit/{given['sha']}"
        about = {"sha": given["sha"], "tree": {"sha": commit.tree}, "message": commit.message}
        return Answer.of({**about, "parents": list(commit.parents), "html_url": page})

    def _new_commit(self, given: Given) -> Answer:
        objects, sent = self.github.objects, self.sent
        wrong = [p for p in sent["parents"] if p not in objects.commits]
        if wrong or sent["tree"] not in objects.trees:
            return refusal(422, "Tree SHA does not exist")
        sha = objects.commit(sent["tree"], sent["parents"], sent["message"])
        return Answer(201, self._git_commit({"sha": sha}).content)

    def _tree(self, given: Given) -> Answer:
        if given["sha"] not in self.github.objects.trees:
            return refusal(404, "Not Found")
        found = list(self._entries(given["sha"], deep="recursive" in self.query))
        return Answer.of({"sha": given["sha"], "tree": found, "truncated": False})

    def _entries(self, tree: str, above: str = "", *, deep: bool) -> Iterator[dict[str, Any]]:
        objects = self.github.objects
        for entry in objects.trees[tree]:
            path = f"{above}{entry.name}"
            about = {"path": path, "mode": entry.mode, "type": entry.type, "sha": entry.sha}
            size = {"size": len(objects.blobs[entry.sha])} if entry.type == "blob" else {}
            yield {**about, **size}
            if deep and entry.mode == TREE:
                yield from self._entries(entry.sha, f"{path}/", deep=True)

    def _new_tree(self, given: Given) -> Answer:
        objects, sent = self.github.objects, self.sent
        files = objects.files(sent["base_tree"]) if "base_tree" in sent else {}
        for entry in sent["tree"]:
            if "content" in entry:
                files[entry["path"]] = (entry["mode"], objects.blob(entry["content"].encode()))
            elif entry["sha"] is None:
                if entry["path"] not in files:
                    return refusal(422, "GitRPC::BadObjectState")
                del files[entry["path"]]
            elif entry["sha"] not in objects.blobs:
                return refusal(422, f"tree.sha {entry['sha']} is not a valid blob")
            else:
                files[entry["path"]] = (entry["mode"], entry["sha"])
        return Answer.of({"sha": objects.tree(files)}, 201)

    def _blob(self, given: Given) -> Answer:
        content = self.github.objects.blobs.get(given["sha"])
        if content is None:
            return refusal(404, "Not Found")
        # GitHub breaks the lines.
        text = base64.encodebytes(content).decode("ascii")
        about = {"sha": given["sha"], "size": len(content), "encoding": "base64"}
        return Answer.of({**about, "content": text})

    def _new_blob(self, given: Given) -> Answer:
        if not self.github.branches:
            return refusal(409, "Git Repository is empty.")
        sha = self.github.objects.blob(base64.b64decode(self.sent["content"], validate=True))
        return Answer.of({"sha": sha}, 201)


def _about_ref(branch: str, sha: str) -> dict[str, Any]:
    return {"ref": f"refs/heads/{branch}", "object": {"type": "commit", "sha": sha}}


def _about(artifact: Artifact) -> dict[str, Any]:
    run = artifact.run
    return {
        "id": artifact.id,
        "name": artifact.name,
        "size_in_bytes": len(artifact.content),
        "expired": artifact.expired,
        "created_at": artifact.created,
        "expires_at": "2027-01-30T00:00:00Z",
        "digest": artifact.digest,
        "workflow_run": {
            "id": run.id,
            "repository_id": 1,
            "head_repository_id": run.head_repository,
            "head_branch": run.branch,
        },
    }
