"""What a GitHub on this machine holds: one repository, its tokens, and failures to come."""

import hashlib
import io
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

from git_objects import FILE, Objects
from hub_contents import Answer, Failure

INTEGRATION = "Resource not accessible by integration"
FORBIDDEN = Failure(403, message=INTEGRATION)
"""What a token is told that has not the permission."""


def refusal(status: int, message: str, headers: Mapping[str, str] | None = None) -> Answer:
    """Return an error as GitHub words it."""
    plain = {"message": message, "documentation_url": "https://docs.github.com/rest"}
    answer = Answer.of({**plain, "status": str(status)}, status)
    return Answer(status, answer.content, {**answer.headers, **(headers or {})})


@dataclass(frozen=True)
class Token:
    """Who a token is of and what it may do; that of a job is an app's, and no user."""

    login: str = "github-actions[bot]"
    kind: str = "Bot"
    may: Mapping[str, str] = field(default_factory=dict)
    """Permission to ``read`` or ``write``, as below ``permissions:``."""

    @property
    def user(self) -> dict[str, Any]:
        """The account as the API has it."""
        return {"login": self.login, "type": self.kind}

    def allows(self, permission: str, access: str) -> bool:
        """Whether it may read or write something."""
        return self.may.get(permission, "none") in (access, "write")


JOB = Token(may={"contents": "write", "pull-requests": "write", "actions": "read"})
READER = Token(may={"contents": "read", "pull-requests": "read", "actions": "read"})
"""The token of a run for a pull request from a fork."""


@dataclass
class Comment:
    """A comment on an issue or a pull request."""

    id: int
    number: int
    body: str
    user: Mapping[str, Any] | None


@dataclass
class Run:
    """A run of a workflow."""

    id: int
    branch: str = "main"
    path: str = ".github/workflows/bias.yml"
    event: str = "push"
    conclusion: str | None = "success"
    head_repository: int = 1
    """1 is the repository itself, any other a fork."""


@dataclass
class Artifact:
    """What a run left."""

    id: int
    run: Run
    name: str
    content: bytes
    expired: bool = False
    created: str = "2026-11-01T00:00:00Z"
    digest: str | None = None


@dataclass
class GitHub:
    """One repository, and what was asked for.

    Parameters
    ----------
    repository : str
        ``owner/name``.
    tokens : dict
        Who may do what. Whoever sends another token is told nothing.
    private : bool
        Whether only those may read who have the permission.
    """

    repository: str = "org/training"
    tokens: dict[str, Token] = field(default_factory=lambda: {"job-token": JOB})
    private: bool = False
    default_branch: str = "main"
    page_size: int = 100
    pulls: set[int] = field(default_factory=lambda: {7})
    comments: list[Comment] = field(default_factory=list)
    runs: dict[int, Run] = field(default_factory=dict)
    artifacts: list[Artifact] = field(default_factory=list)
    objects: Objects = field(default_factory=Objects)
    branches: dict[str, str] = field(default_factory=dict)
    failures: dict[str, list[Failure]] = field(default_factory=dict)
    """By the name of what is asked for, in the order in which they happen; each happens once."""
    meanwhile: dict[str, list[Callable[[], object]]] = field(default_factory=dict)
    """What somebody else does right before the answer; each is done once."""
    asked: list[str] = field(default_factory=list)
    """Method and path of each request to the API, and those to the storage after ``storage``."""
    sent: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    """The same with the headers."""
    address: str = ""
    storage: str = ""
    lock: RLock = field(default_factory=RLock)
    _last: int = 1000

    @property
    def env(self) -> dict[str, str]:
        """Environment that leads a client here."""
        return {
            "GITHUB_API_URL": self.address,
            "GITHUB_REPOSITORY": self.repository,
            "NO_PROXY": "127.0.0.1",
        }

    def new_id(self) -> int:
        """Return a number that nothing has yet."""
        self._last += 1
        return self._last

    def failure(self, what: str) -> Failure:
        """Take what happens next when `what` is asked for, after what others do meanwhile."""
        with self.lock:
            if others := self.meanwhile.get(what):
                others.pop(0)()
            coming = self.failures.get(what)
            return coming.pop(0) if coming else Failure()

    def wrote(self, *methods: str) -> list[str]:
        """Return the requests that changed something, or those of some methods."""
        wanted = methods or ("POST", "PATCH", "PUT", "DELETE")
        return [line for line in self.asked if line.split()[0] in wanted]

    def comment(self, body: str, user: Mapping[str, Any] | None = None, number: int = 7) -> Comment:
        """Put a comment there, of the job's token if of nobody else."""
        user = JOB.user if user is None else user
        made = Comment(self.new_id(), number, body, user)
        self.comments.append(made)
        return made

    def run(self, **more: Any) -> Run:
        """Put a run there, by default a successful one of the default branch."""
        made = Run(self.new_id(), **more)
        self.runs[made.id] = made
        return made

    def artifact(
        self, run: Run, files: Mapping[str, bytes] | bytes, name: str = "bias-report", **more: Any
    ) -> Artifact:
        """Put an artifact there, as the ZIP file of some files or as it is given."""
        content = files if isinstance(files, bytes) else zipped(files)
        number = self.new_id()
        more = {"created": f"2026-11-01T00:00:{number % 60:02}Z", **more}
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        made = Artifact(number, run, name, content, **{"digest": digest, **more})
        self.artifacts.append(made)
        return made

    def push(self, branch: str, files: Mapping[str, bytes], message: str = "A change\n") -> str:
        """Let a branch have some more files, in one commit."""
        head = self.branches.get(branch)
        there = self.objects.files(self.objects.commits[head].tree) if head else {}
        new = {path: (FILE, self.objects.blob(content)) for path, content in files.items()}
        tree = self.objects.tree({**there, **new})
        self.branches[branch] = self.objects.commit(tree, [head] if head else [], message)
        return self.branches[branch]

    def files(self, branch: str) -> dict[str, bytes]:
        """Return path to content of all files of a branch."""
        return self.objects.contents(self.branches[branch])


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return a ZIP file."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as opened:
        for path, content in files.items():
            opened.writestr(path, content)
    return stream.getvalue()
