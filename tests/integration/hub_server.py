"""A Hub on this machine: the few addresses that huggingface_hub asks for models and datasets."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar
from urllib.parse import unquote, urlsplit

_MODEL = re.compile(r"/api/models/(?P<id>[^/]+/[^/]+)(/revision/(?P<revision>[^/]+))?")
_TREE = re.compile(r"/api/models/(?P<id>[^/]+/[^/]+)/tree/(?P<revision>[^/]+)")
_FILE = re.compile(r"/(?P<id>(datasets/)?[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)")


@dataclass
class Repository:
    """Commits, each a mapping of path to content, and the names that stand for them."""

    commits: dict[str, Mapping[str, bytes]]
    names: dict[str, str]
    refusal: tuple[int, str] | None = None
    """Status and X-Error-Code of every answer, if access is refused."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """More headers of a refusal."""
    token: str = ""
    """What opens it in spite of the refusal."""
    about: Mapping[str, object] = field(default_factory=dict)
    """What else is said of it, such as that it is private."""


@dataclass
class Hub:
    """Repositories by id, that of a dataset after ``datasets/``, and what was asked for."""

    repositories: dict[str, Repository] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    address: str = ""

    @property
    def env(self) -> dict[str, str]:
        """Environment that leads a client here."""
        return {
            "HF_ENDPOINT": self.address,
            "HF_HUB_OFFLINE": "",
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_TOKEN": "",
            "NO_PROXY": "127.0.0.1",
        }


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Answer on a free port until the block ends."""
    handler = type("Handler", (_Handler,), {"hub": hub})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        hub.address = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield hub
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    hub: ClassVar[Hub]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:
        self.hub.asked.append(f"{self.command} {self.path}")

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        routes = ((_TREE, self._tree), (_MODEL, self._model), (_FILE, self._file))
        for pattern, answer in routes:
            if match := pattern.fullmatch(path):
                return self._answered(match, answer)
        return self._refuse(404, "EntryNotFound")

    def _answered(self, match: re.Match[str], answer: Callable[..., None]) -> None:
        repository = self.hub.repositories.get(match["id"])
        if repository is None:
            return self._refuse(401, "RepoNotFound")
        given = self.headers.get("Authorization", "")
        if repository.refusal and not (repository.token and given == f"Bearer {repository.token}"):
            return self._refuse(*repository.refusal, repository.headers)
        revision = match["revision"] or "main"
        sha = repository.names.get(revision, revision)
        if sha not in repository.commits:
            return self._refuse(404, "RevisionNotFound")
        return answer(match, sha, repository.commits[sha])

    def _model(self, match: re.Match[str], sha: str, files: Mapping[str, bytes]) -> None:
        digested = "blobs=" in urlsplit(self.path).query
        siblings = [_sibling(n, c) if digested else {"rfilename": n} for n, c in files.items()]
        about = self.hub.repositories[match["id"]].about
        plain = {"id": match["id"], "modelId": match["id"], "sha": sha, "siblings": siblings}
        self._json(plain | about)

    def _tree(self, match: re.Match[str], sha: str, files: Mapping[str, bytes]) -> None:
        entries = []
        for name, content in files.items():
            entry = {"type": "file", "path": name, "size": len(content), "oid": _git(content)}
            if _large(name):
                entry["lfs"] = {"oid": _sha256(content), "size": len(content), "pointerSize": 130}
            entries.append(entry)
        self._json(entries)

    def _file(self, match: re.Match[str], sha: str, files: Mapping[str, bytes]) -> None:
        content = files.get(match["path"])
        if content is None:
            return self._refuse(404, "EntryNotFound", {"X-Repo-Commit": sha})
        headers = {"X-Repo-Commit": sha, "ETag": f'"{_git(content)}"'}
        if _large(match["path"]):
            headers["X-Linked-Etag"] = f'"{_sha256(content)}"'
            headers["X-Linked-Size"] = str(len(content))
        return self._send(200, content, headers)

    def _refuse(self, status: int, code: str, headers: Mapping[str, str] | None = None) -> None:
        more = {"X-Error-Code": code, "X-Error-Message": code, **(headers or {})}
        self._send(status, json.dumps({"error": code}).encode(), more)

    def _json(self, plain: object) -> None:
        self._send(200, json.dumps(plain).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, content: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _sibling(name: str, content: bytes) -> dict[str, object]:
    plain: dict[str, object] = {
        "rfilename": name,
        "size": len(content),
        "blobId": _git(content),
    }
    if _large(name):
        lfs = {"sha256": _sha256(content), "size": len(content), "pointerSize": 130}
        plain["lfs"] = lfs
    return plain


def _large(name: str) -> bool:
    return name.endswith((".safetensors", ".bin", ".parquet"))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _git(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
