"""What a Hub on this machine holds: repositories, tokens, large files, and failures to come."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, Literal, TypeAlias

LARGE = (".safetensors", ".bin", ".parquet")
"""Names whose contents are stored as large files, whatever their size."""
LARGEST = 1_000_000
"""Bytes of a file of any other name that is not stored as a large one."""

Access: TypeAlias = Literal["read", "propose", "write"]
"""What a token is good for; who may only propose opens pull requests.

Large files the Hub takes of them by Xet, which is not here, and not by LFS (huggingface_hub#3816).
"""

OWNER = "somebody"
"""To whom every token belongs."""

FORBIDDEN = "Forbidden: you must use a write token to upload to a repository."


@dataclass(frozen=True)
class Answer:
    """One answer; null content stands for that of a HEAD request."""

    status: int
    content: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, plain: object, status: int = 200) -> "Answer":
        """Return JSON."""
        return cls(status, json.dumps(plain).encode(), {"Content-Type": "application/json"})

    @classmethod
    def refusal(
        cls, status: int, code: str, message: str = "", headers: Mapping[str, str] | None = None
    ) -> "Answer":
        """Return an error as the Hub words it: in two headers and in the body."""
        plain = cls.of({"error": message or code}, status)
        named = {"X-Error-Code": code} if code else {}
        # A header cannot have every text; the body can.
        said = {"X-Error-Message": message or code} if message.isprintable() else {}
        return cls(status, plain.content, {**plain.headers, **named, **said, **(headers or {})})


@dataclass(frozen=True)
class Failure:
    """What happens once in place of an answer, or after the work and before its answer.

    Parameters
    ----------
    status, code, message, headers
        An answer with an error.
    drop : str, optional
        Close the connection: ``before`` the work is done, or ``after`` it.
    late : float
        Seconds to wait before the answer, or before the connection is closed.
    """

    status: int | None = None
    code: str = ""
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: Literal["before", "after"] | None = None
    late: float = 0
    done: bool = False
    """Whether the work is done in spite of an answer with an error."""


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
    private: bool = False
    gated: Literal["auto", "manual", False] = False
    """Whether files are given to those only who send a token."""
    ignored: tuple[str, ...] = ()
    """Endings of names that its .gitignore has, unless a commit brings another .gitignore."""
    pulls: list[str] = field(default_factory=list)
    """Titles of the pull requests; that of number N is the branch ``refs/pr/N``."""
    authors: dict[int, str] = field(default_factory=dict)
    """Who opened a pull request, by its number, if it was not `OWNER`."""

    @property
    def head(self) -> Mapping[str, bytes]:
        """The files of its main branch."""
        return self.commits[self.names["main"]]


@dataclass
class Hub:
    """Repositories by id, that of a dataset after ``datasets/``, and what was asked for.

    Without `tokens` nobody is asked for one and nobody can write. `identities` are the tokens of CI
    jobs, each with the repository that it is trusted to write to.
    """

    repositories: dict[str, Repository] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    address: str = ""
    tokens: dict[str, Access] = field(default_factory=dict)
    identities: dict[str, str] = field(default_factory=dict)
    failures: dict[str, list[Failure]] = field(default_factory=dict)
    """By the name of what is asked for, in the order in which they happen; each happens once."""
    objects: dict[str, bytes] = field(default_factory=dict)
    """Large files by their SHA-256, whether a commit has them or not."""
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Jobs by their ids, as they were asked for: with their secrets, and `stage`."""
    webhooks: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Webhooks by their ids, each with a copy of its job and the secrets that this gets."""
    benchmarks: list[str] = field(default_factory=list)
    """Ids of the datasets that are registered as benchmarks."""
    lock: RLock = field(default_factory=RLock)

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

    def failure(self, what: str) -> Failure:
        """Take what happens next when `what` is asked for."""
        with self.lock:
            coming = self.failures.get(what)
            return coming.pop(0) if coming else Failure()


def is_large(name: str, size: int) -> bool:
    """Whether a file is stored as a large one."""
    return name.endswith(LARGE) or size > LARGEST


def sha256(content: bytes) -> str:
    """Return the id of a large file."""
    return hashlib.sha256(content).hexdigest()


def git_sha(content: bytes) -> str:
    """Return git's id of a file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def stored(name: str, content: bytes) -> dict[str, object]:
    """Return size and ids of a file; of a large one git has a pointer only."""
    if not is_large(name, len(content)):
        return {"size": len(content), "oid": git_sha(content)}
    digest = sha256(content)
    pointer = (
        f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(content)}\n"
    ).encode()
    lfs = {"oid": digest, "size": len(content), "pointerSize": len(pointer)}
    return {"size": len(content), "oid": git_sha(pointer), "lfs": lfs}
