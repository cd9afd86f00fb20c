"""Git's objects in memory, with git's own ids: files, trees and commits."""

import hashlib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

TREE, FILE = "040000", "100644"


class Entry(NamedTuple):
    """One line of a tree."""

    mode: str
    name: str
    sha: str

    @property
    def type(self) -> str:
        """What it stands for."""
        return {TREE: "tree", "160000": "commit"}.get(self.mode, "blob")


class Commit(NamedTuple):
    """A commit."""

    tree: str
    parents: tuple[str, ...]
    message: str


@dataclass
class Objects:
    """The objects of a repository by their ids."""

    raw: dict[str, bytes] = field(default_factory=dict)
    """Each with its header, as git stores it before it is compressed."""
    blobs: dict[str, bytes] = field(default_factory=dict)
    trees: dict[str, tuple[Entry, ...]] = field(default_factory=dict)
    commits: dict[str, Commit] = field(default_factory=dict)

    def _add(self, kind: str, content: bytes) -> str:
        whole = f"{kind} {len(content)}\0".encode() + content
        sha = hashlib.sha1(whole).hexdigest()
        self.raw[sha] = whole
        return sha

    def blob(self, content: bytes) -> str:
        """Add a file."""
        sha = self._add("blob", content)
        self.blobs[sha] = content
        return sha

    def tree(self, files: Mapping[str, tuple[str, str]]) -> str:
        """Add the tree, and the trees below it, of paths to mode and id."""
        below: dict[str, dict[str, tuple[str, str]]] = {}
        entries = []
        for path, (mode, sha) in files.items():
            name, _, rest = path.partition("/")
            if rest:
                below.setdefault(name, {})[rest] = (mode, sha)
            else:
                entries.append(Entry(mode, name, sha))
        entries += [Entry(TREE, name, self.tree(inner)) for name, inner in below.items()]
        # Git sorts a folder as if a slash stood behind its name.
        entries.sort(key=lambda e: f"{e.name}/".encode() if e.mode == TREE else e.name.encode())
        lines = (
            f"{e.mode.lstrip('0')} {e.name}\0".encode() + bytes.fromhex(e.sha) for e in entries
        )
        sha = self._add("tree", b"".join(lines))
        self.trees[sha] = tuple(entries)
        return sha

    def commit(self, tree: str, parents: Sequence[str], message: str) -> str:
        """Add a commit."""
        # Each a second after the one before.
        who = f"somebody <somebody@example.org> {1_700_000_000 + len(self.commits)} +0000"
        lines = [f"tree {tree}", *(f"parent {p}" for p in parents)]
        lines += [f"author {who}", f"committer {who}", "", message]
        sha = self._add("commit", "\n".join(lines).encode())
        self.commits[sha] = Commit(tree, tuple(parents), message)
        return sha

    def files(self, tree: str, above: str = "") -> dict[str, tuple[str, str]]:
        """Return path to mode and id of all files of a tree."""
        found = {}
        for mode, name, sha in self.trees[tree]:
            if mode == TREE:
                found |= self.files(sha, f"{above}{name}/")
            else:
                found[f"{above}{name}"] = (mode, sha)
        return found

    def contents(self, commit: str) -> dict[str, bytes]:
        """Return path to content of all files of a commit."""
        files = self.files(self.commits[commit].tree)
        return {path: self.blobs[sha] for path, (_, sha) in files.items()}

    def descends(self, commit: str, ancestor: str) -> bool:
        """Whether a commit is another one or comes after it."""
        return commit == ancestor or any(
            self.descends(p, ancestor) for p in self.commits[commit].parents
        )

    def write(self, repository: Path, refs: Mapping[str, str]) -> None:
        """Write them as a bare repository that git can read."""
        for name in ("objects", "refs"):
            (repository / name).mkdir(parents=True)
        (repository / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        for sha, whole in self.raw.items():
            path = repository / "objects" / sha[:2] / sha[2:]
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(zlib.compress(whole))
        for name, sha in refs.items():
            path = repository / "refs" / "heads" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{sha}\n", encoding="utf-8")
