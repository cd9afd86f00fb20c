"""A Hub on this machine: the few addresses that huggingface_hub asks for models and datasets."""

import re
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import hub_commits
import hub_jobs
from hub_contents import (
    OWNER,
    Answer,
    Failure,
    Hub,
    Repository,
    git_sha,
    is_large,
    sha256,
    stored,
)

__all__ = ["Failure", "Hub", "Repository", "serving"]


class Route(NamedTuple):
    """What is asked for by a method and an address."""

    name: str
    method: str
    pattern: re.Pattern[str]


def _route(name: str, method: str, pattern: str) -> Route:
    return Route(name, method, re.compile(pattern))


_API = "/api/(models/|(?=datasets/))(?P<id>(datasets/)?[^/]+/[^/]+)"
_AT = "(?P<revision>[^/]+)"
_ID = "(?P<id>(datasets/)?[^/]+/[^/]+)"
_HOOKS = "/api/settings/webhooks"
ROUTES = (
    _route("tree", "GET", f"{_API}/tree/{_AT}(/(?P<path>.+))?"),
    _route("discussions", "GET", f"{_API}/discussions"),
    _route("paths", "POST", f"{_API}/paths-info/{_AT}"),
    _route("model", "GET", f"{_API}(/revision/{_AT})?"),
    _route("benchmarks", "GET", "/api/datasets"),
    _route("whoami", "GET", "/api/whoami-v2"),
    _route("identity", "GET", "/ci/identity"),
    _route("xet", "GET", f"{_API}/xet-write-token/(main|None)"),
    _route("preupload", "POST", f"{_API}/preupload/{_AT}"),
    _route("commit", "POST", f"{_API}/commit/{_AT}"),
    _route("validate", "POST", "/api/validate-yaml"),
    _route("exchange", "POST", "/oauth/token"),
    _route("batch", "POST", rf"/{_ID}\.git/info/lfs/objects/batch"),
    _route("upload", "PUT", "/lfs/(?P<oid>[0-9a-f]{64})"),
    _route("reading", "GET", f"{_API}/auth-check"),
    _route("access", "GET", f"{_API}/auth-check/write"),
    _route("hardware", "GET", "/api/jobs/hardware"),
    _route("jobs", "GET", "/api/jobs/(?P<owner>[^/]+)"),
    _route("start", "POST", "/api/jobs/(?P<owner>[^/]+)"),
    _route("cancel", "POST", "/api/jobs/(?P<owner>[^/]+)/(?P<job>[^/]+)/cancel"),
    _route("webhooks", "GET", _HOOKS),
    _route("hook", "POST", f"{_HOOKS}(/(?P<hook>[^/]+))?"),
    _route("enable", "POST", f"{_HOOKS}/(?P<hook>[^/]+)/enable"),
    _route("file", "GET", f"/{_ID}/resolve/{_AT}/(?P<path>.+)"),
)
"""Names of `Hub.failures` and of the methods below; the first that fits counts."""


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Answer on a free port until the block ends."""
    handler = type("Handler", (_Handler,), {"hub": hub})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        hub.address = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield hub
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    hub: ClassVar[Hub]
    protocol_version = "HTTP/1.1"
    # Head and body go out apart, and the client need not confirm the one before the other.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:
        self.hub.asked.append(f"{self.command} {self.path}")

    def _answer(self) -> None:
        self.address = urlsplit(self.path)
        self.query = parse_qs(self.address.query)
        self.token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        method = "GET" if self.command == "HEAD" else self.command
        for route in ROUTES:
            match = route.pattern.fullmatch(self.address.path)
            if match and route.method == method:
                given = {k: unquote(v) for k, v in match.groupdict().items() if v is not None}
                return self._answer_to(route.name, given)
        return self._send(Answer.refusal(404, "EntryNotFound"))

    def _answer_to(self, what: str, given: dict[str, str]) -> None:
        failure = self.hub.failure(what)
        if failure.drop == "before":
            time.sleep(failure.late)
            return self._drop()
        failed = failure.status is not None
        if failure.status is not None:
            refusal = (failure.status, failure.code, failure.message, failure.headers)
            answer = Answer.refusal(*refusal)
        if not failed or failure.done:
            with self.hub.lock:
                made = self._made(what, given)
            answer = answer if failed else made
        time.sleep(failure.late)
        return self._drop() if failure.drop == "after" else self._send(answer)

    def _made(self, what: str, given: Mapping[str, str]) -> Answer:
        tokens = self.hub.tokens
        # A job of CI asks for its identity with a token that is not the Hub's.
        wrong = tokens and self.token and self.token not in tokens
        if wrong and what != "identity":
            message = "Invalid credentials in Authorization header"
            return Answer.refusal(401, "", message)
        if "id" not in given:
            return getattr(self, f"_{what}")(given)
        repository = self.hub.repositories.get(given["id"])
        hidden = repository is not None and repository.private and self.token not in tokens
        if repository is None or hidden:
            # As the Hub: who sends no token is not told whether there is one.
            return Answer.refusal(404 if self.token else 401, "RepoNotFound")
        if repository.refusal and not (repository.token and self.token == repository.token):
            return Answer.refusal(*repository.refusal, headers=repository.headers)
        revision = given.get("revision", "main")
        if repository.names.get(revision, revision) not in repository.commits:
            return Answer.refusal(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return getattr(self, f"_{what}")({"revision": revision, **given}, repository)

    # Reading

    def _model(self, given: Mapping[str, str], repository: Repository) -> Answer:
        sha, files = _at(repository, given["revision"])
        siblings: list[dict[str, object]] = [{"rfilename": name} for name in files]
        if "blobs" in self.query:
            siblings = [{"rfilename": n, **_sibling(stored(n, c))} for n, c in files.items()]
        return Answer.of(
            {
                "id": given["id"],
                "modelId": given["id"],
                "sha": sha,
                "private": repository.private,
                "gated": repository.gated,
                "siblings": siblings,
            }
        )

    def _tree(self, given: Mapping[str, str], repository: Repository) -> Answer:
        _, files = _at(repository, given["revision"])
        folder = f"{given['path']}/" if "path" in given else ""
        entries: dict[str, dict[str, object]] = {}
        for name, content in files.items():
            if not name.startswith(folder):
                continue
            parts = name.removeprefix(folder).split("/")
            for depth in range(1, len(parts)):
                path = folder + "/".join(parts[:depth])
                entries[path] = {"type": "directory", "path": path, "oid": "", "size": 0}
            entries[name] = {"type": "file", "path": name, **stored(name, content)}
        if folder and not entries:
            return Answer.refusal(404, "EntryNotFound")
        if self.query.get("recursive", ["false"])[0].lower() != "true":
            entries = {p: e for p, e in entries.items() if "/" not in p.removeprefix(folder)}
        return Answer.of(list(entries.values()))

    def _paths(self, given: Mapping[str, str], repository: Repository) -> Answer:
        _, files = _at(repository, given["revision"])
        asked = parse_qs(self.body.decode()).get("paths", [])
        found = [{"type": "file", "path": p, **stored(p, files[p])} for p in asked if p in files]
        return Answer.of(found)

    def _reading(self, given: Mapping[str, str], repository: Repository) -> Answer:
        return self._without_access(repository) or Answer.of({})

    def _without_access(self, repository: Repository) -> Answer | None:
        if not repository.gated or self.token in self.hub.tokens:
            return None
        return Answer.refusal(401, "GatedRepo", "Access to this model is restricted.")

    def _file(self, given: Mapping[str, str], repository: Repository) -> Answer:
        sha, files = _at(repository, given["revision"])
        if refusal := self._without_access(repository):
            return refusal
        name = given["path"]
        content = files.get(name)
        if content is None:
            return Answer.refusal(404, "EntryNotFound", headers={"X-Repo-Commit": sha})
        headers = {"X-Repo-Commit": sha, "ETag": f'"{git_sha(content)}"'}
        if is_large(name, len(content)):
            headers["X-Linked-Etag"] = f'"{sha256(content)}"'
            headers["X-Linked-Size"] = str(len(content))
        return Answer(200, content, headers)

    def _discussions(self, given: Mapping[str, str], repository: Repository) -> Answer:
        (author,) = self.query.get("author", [None])
        return hub_commits.discussions(given["id"], repository, author)

    def _benchmarks(self, given: Mapping[str, str]) -> Answer:
        """List datasets, of which only registered benchmarks are ever asked for."""
        if self.query.get("filter") != ["benchmark:official"]:
            return Answer.refusal(400, "", "only benchmarks are listed here")
        return Answer.of(
            [{"id": name, "tags": ["benchmark:official"]} for name in self.hub.benchmarks]
        )

    def _whoami(self, given: Mapping[str, str]) -> Answer:
        access = self.hub.tokens.get(self.token)
        if access is None:
            return Answer.refusal(401, "", "Invalid username or password.")
        role = "read" if access == "read" else "write"
        auth = {"type": "access_token", "accessToken": {"displayName": "key", "role": role}}
        return Answer.of({"type": "user", "name": OWNER, "orgs": [], "auth": auth})

    # Writing

    def _preupload(self, given: Mapping[str, str], repository: Repository) -> Answer:
        refused = hub_commits.may_write(self.hub, self.token, propose=self._proposed, large=False)
        made = hub_commits.preupload(self.hub, repository, given["revision"], self.body)
        return refused or made

    def _batch(self, given: Mapping[str, str], repository: Repository) -> Answer:
        refused = hub_commits.may_write(self.hub, self.token, propose=False, large=True)
        return refused or hub_commits.batch(self.hub, self.body)

    def _xet(self, given: Mapping[str, str], repository: Repository) -> Answer:
        return Answer.refusal(404, "", "There is no Xet storage here.")

    def _upload(self, given: Mapping[str, str]) -> Answer:
        return hub_commits.receive(self.hub, given["oid"], self.body)

    def _commit(self, given: Mapping[str, str], repository: Repository) -> Answer:
        propose = self._proposed
        refused = hub_commits.may_write(self.hub, self.token, propose=propose, large=False)
        if refused is not None:
            return refused
        name, revision = given["id"], given["revision"]
        return hub_commits.commit(self.hub, name, repository, revision, self.body, propose=propose)

    def _validate(self, given: Mapping[str, str]) -> Answer:
        return hub_commits.validate(self.body)

    @property
    def _proposed(self) -> bool:
        return self.query.get("create_pr") == ["1"]

    # Jobs of CI

    def _identity(self, given: Mapping[str, str]) -> Answer:
        """Answer as GitHub does when a job asks who it is; here the job asks with its identity."""
        return Answer.of({"value": self.token})

    def _exchange(self, given: Mapping[str, str]) -> Answer:
        return hub_commits.exchange(self.hub, self.body)

    # Jobs of the Hub, and webhooks

    def _access(self, given: Mapping[str, str], repository: Repository) -> Answer:
        refused = hub_commits.may_write(self.hub, self.token, propose=False, large=False)
        return refused or Answer.of({})

    def _hardware(self, given: Mapping[str, str]) -> Answer:
        return Answer.of(hub_jobs.HARDWARE)

    def _jobs(self, given: Mapping[str, str]) -> Answer:
        labels, stages = (self.query.get(name, []) for name in ("label", "stage"))
        return hub_jobs.listed(self.hub, given["owner"], labels, stages)

    def _start(self, given: Mapping[str, str]) -> Answer:
        return hub_jobs.may_manage(self.hub, self.token) or hub_jobs.start(
            self.hub, given["owner"], self.body
        )

    def _cancel(self, given: Mapping[str, str]) -> Answer:
        return hub_jobs.cancel(self.hub, given["owner"], given["job"])

    def _webhooks(self, given: Mapping[str, str]) -> Answer:
        return hub_jobs.may_manage(self.hub, self.token) or hub_jobs.hooks(self.hub)

    def _hook(self, given: Mapping[str, str]) -> Answer:
        return hub_jobs.may_manage(self.hub, self.token) or hub_jobs.hook(
            self.hub, given.get("hook"), self.body
        )

    def _enable(self, given: Mapping[str, str]) -> Answer:
        return hub_jobs.enable(self.hub, given["hook"])

    # The connection

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        length = {"Content-Length": str(len(answer.content))}
        for name, value in {**length, **answer.headers}.items():
            self.send_header(name, value)
        with suppress(ConnectionError):
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.content)

    def _drop(self) -> None:
        self.log_request()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


def _at(repository: Repository, revision: str) -> tuple[str, Mapping[str, bytes]]:
    sha = repository.names.get(revision, revision)
    return sha, repository.commits[sha]


def _sibling(file: dict[str, object]) -> dict[str, object]:
    """Return ids as the list of a model's files has them; elsewhere they are called otherwise."""
    found: dict[str, object] = {"size": file["size"], "blobId": file["oid"]}
    if isinstance(lfs := file.get("lfs"), dict):
        found["lfs"] = {"sha256": lfs["oid"], **{k: lfs[k] for k in ("size", "pointerSize")}}
    return found
