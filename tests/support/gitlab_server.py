"""A GitLab on this machine: notes of merge requests and artifacts of jobs, by its REST API.

Artifacts are given away at an address of their own, which refuses whoever sends a token along.
"""

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from hub_contents import Answer, Failure

LARGEST_NOTE = 1_000_000
API = "/api/v4"
_MR = r"/projects/(?P<project>\d+)/merge_requests/(?P<iid>\d+)"
ROUTES = (
    ("user", "GET", "/user"),
    ("notes", "GET", f"{_MR}/notes"),
    ("note", "POST", f"{_MR}/notes"),
    ("edit_note", "PUT", rf"{_MR}/notes/(?P<id>\d+)"),
    ("delete_note", "DELETE", rf"{_MR}/notes/(?P<id>\d+)"),
    ("artifacts", "GET", r"/projects/(?P<project>\d+)/jobs/artifacts/(?P<ref>[^/]+)/download"),
)
"""Names of `GitLab.failures` and of the methods below."""


@dataclass(frozen=True)
class Token:
    """Whose a token is, and what it may do."""

    user: int
    scope: str = "api"
    can_note: bool = True


@dataclass
class GitLab:
    """One project with one merge request.

    Parameters
    ----------
    tokens : dict
        Those of people and projects; `job_token` is that of the running job.
    failures : dict
        By the name of what is asked for; each happens once.
    artifacts : dict
        ZIP file by branch and job, of the last pipeline that succeeded.
    """

    project: int = 12
    merge_request: int = 7
    tokens: dict[str, Token] = field(default_factory=lambda: {"glpat-own": Token(5)})
    job_token: str = "glcbt-job"
    page_size: int = 100
    notes: list[dict[str, Any]] = field(default_factory=list)
    artifacts: dict[tuple[str, str], bytes] = field(default_factory=dict)
    failures: dict[str, list[Failure]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    sent: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    address: str = ""
    storage: str = ""
    lock: Lock = field(default_factory=Lock)

    @property
    def env(self) -> dict[str, str]:
        """Variables of a job for the merge request, as the runner sets them."""
        job = "https://gitlab.example/org/name/-/jobs/99"
        return {
            **{"CI": "true", "GITLAB_CI": "true", "CI_API_V4_URL": f"{self.address}{API}"},
            **{"CI_PROJECT_ID": str(self.project), "CI_JOB_NAME": "bias", "CI_JOB_URL": job},
            **{"CI_PIPELINE_ID": "98", "CI_DEFAULT_BRANCH": "main", "NO_PROXY": "127.0.0.1"},
            **{"CI_PIPELINE_SOURCE": "merge_request_event", "CI_JOB_TOKEN": self.job_token},
            "CI_MERGE_REQUEST_IID": str(self.merge_request),
            "CI_MERGE_REQUEST_PROJECT_ID": str(self.project),
            "CI_REPOSITORY_URL": f"https://gitlab-ci-token:{self.job_token}@gitlab.example/x.git",
        }

    def note(self, body: str, author: int = 1, *, system: bool = False) -> dict[str, Any]:
        """Put a note there."""
        number = len(self.notes) + 1000
        made = {"id": number, "body": body, "author": {"id": author}, "system": system}
        self.notes.append(made)
        return made

    def wrote(self) -> list[str]:
        """Return the requests that changed something."""
        return [line for line in self.asked if not line.startswith("GET")]


@contextmanager
def serving(gitlab: GitLab) -> Iterator[GitLab]:
    """Answer on two free ports until the block ends."""
    with _listening(_Api, gitlab) as api, _listening(_Storage, gitlab) as storage:
        gitlab.address, gitlab.storage = api, storage
        yield gitlab


@contextmanager
def _listening(kind: type["_Connection"], gitlab: GitLab) -> Iterator[str]:
    handler = type(kind.__name__, (kind,), {"gitlab": gitlab})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def refusal(status: int, message: str, headers: Mapping[str, str] | None = None) -> Answer:
    """Return an error as GitLab words it."""
    answer = Answer.of({"message": message}, status)
    return Answer(status, answer.content, {**answer.headers, **(headers or {})})


class _Connection(BaseHTTPRequestHandler):
    gitlab: GitLab

    def _answered(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.url = urlsplit(self.path)
        self.query = {k: v[0] for k, v in parse_qs(self.url.query).items()}
        line = f"{self.command} {self.path}"
        self.gitlab.asked.append(line)
        self.gitlab.sent.append((line, dict(self.headers)))
        answer = self._made()
        if answer is None:
            self.close_connection = True
            return
        self.send_response(answer.status)
        length = {} if answer.status == 204 else {"Content-Length": str(len(answer.content))}
        for name, value in {**length, **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.content)

    do_GET = do_POST = do_PUT = do_DELETE = _answered

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: what is asked is kept in `GitLab.asked`."""

    def _made(self) -> Answer | None:
        raise NotImplementedError


class _Storage(_Connection):
    """The storage of artifacts: whoever has the signed address may read, and no token is wanted."""

    def _made(self) -> Answer | None:
        if {"PRIVATE-TOKEN", "JOB-TOKEN", "Authorization"} & {k.upper() for k in self.headers}:
            return refusal(400, "Only one authentication method is allowed")
        key = (self.query.get("ref", ""), self.query.get("job", ""))
        if self.query.get("sig") != "secret":
            return refusal(403, "Forbidden")
        return Answer(200, self.gitlab.artifacts[key])


class _Api(_Connection):
    def _made(self) -> Answer | None:
        for name, method, pattern in ROUTES:
            match = re.fullmatch(f"{API}{pattern}", self.url.path)
            if match and method == self.command:
                return self._failing(name, match.groupdict())
        return refusal(404, "404 Not Found")

    def _failing(self, name: str, given: dict[str, str]) -> Answer | None:
        coming = self.gitlab.failures.get(name)
        failure = coming.pop(0) if coming else Failure()
        time.sleep(failure.late)
        if failure.status is not None and not failure.done:
            return refusal(failure.status, failure.message, failure.headers)
        if failure.drop == "before":
            return None
        with self.gitlab.lock:
            made = self._allowed(name, given)
        if failure.status is not None:
            return refusal(failure.status, failure.message, failure.headers)
        return None if failure.drop else made

    def _allowed(self, name: str, given: dict[str, str]) -> Answer:
        gitlab = self.gitlab
        if "JOB-TOKEN" in self.headers:
            if self.headers["JOB-TOKEN"] != gitlab.job_token or name != "artifacts":
                return refusal(401, "401 Unauthorized")
            return self._artifacts(given)
        token = gitlab.tokens.get(self.headers.get("PRIVATE-TOKEN", ""))
        if token is None:
            return refusal(401, "401 Unauthorized")
        if token.scope != "api" and self.command != "GET":
            # This refusal has its words below other keys.
            plain = {"error": "insufficient_scope", "error_description": "needs higher privileges"}
            return Answer.of(plain, 403)
        if name == "user":
            return Answer.of({"id": token.user, "username": f"project_{token.user}_bot"})
        is_there = int(given.get("iid", gitlab.merge_request)) == gitlab.merge_request
        if int(given["project"]) != gitlab.project or not is_there:
            return refusal(404, "404 Not Found")
        if not token.can_note and self.command != "GET":
            return refusal(403, "403 Forbidden")
        self.token = token
        answer: Answer = getattr(self, f"_{name}")(given)
        return answer

    def _notes(self, given: dict[str, str]) -> Answer:
        size = min(int(self.query.get("per_page", 20)), self.gitlab.page_size)
        page = int(self.query.get("page", 1))
        listed = sorted(
            self.gitlab.notes, key=lambda n: int(n["id"]), reverse=self.query.get("sort") != "asc"
        )
        following = str(page + 1) if page * size < len(listed) else ""
        answer = Answer.of(listed[(page - 1) * size : page * size])
        return Answer(200, answer.content, {**answer.headers, "x-next-page": following})

    def _note(self, given: dict[str, str]) -> Answer:
        body = json.loads(self.body)["body"]
        if not body or len(body) > LARGEST_NOTE:
            return refusal(400, "400 Bad request")
        return Answer.of(self.gitlab.note(body, self.token.user), 201)

    def _edit_note(self, given: dict[str, str]) -> Answer:
        for note in self._own(given):
            note["body"] = json.loads(self.body)["body"]
            return Answer.of(note)
        return refusal(403, "403 Forbidden")

    def _delete_note(self, given: dict[str, str]) -> Answer:
        for note in self._own(given):
            self.gitlab.notes.remove(note)
            return Answer(204, b"")
        return refusal(403, "403 Forbidden")

    def _own(self, given: dict[str, str]) -> list[dict[str, Any]]:
        user = self.token.user
        notes = [n for n in self.gitlab.notes if n["author"]["id"] == user]
        return [n for n in notes if n["id"] == int(given["id"])]

    def _artifacts(self, given: dict[str, str]) -> Answer:
        ref, job = unquote(given["ref"]), self.query.get("job", "")
        if int(given["project"]) != self.gitlab.project or (ref, job) not in self.gitlab.artifacts:
            return refusal(404, "404 Not Found")
        address = f"{self.gitlab.storage}/artifacts.zip?ref={ref}&job={job}&sig=secret"
        return Answer(302, b"", {"Location": address})
