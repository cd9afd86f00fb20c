"""What `init` detects in a folder: weights, settings, the card's languages, git remotes."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_bias.errors import UsageError
from pytest_bias.models import ModelRef
from pytest_bias.models.snapshot import Snapshot
from pytest_bias.settings.settings import read_settings

WEIGHTS: Final = ("*.safetensors", "*.bin", "*.gguf")
DEPTH: Final = 3
"""Folders that are searched for weights, from the current one down."""


def _address(hosts: str, name: str = r"[\w.-]+/[\w.-]+?") -> re.Pattern[str]:
    return re.compile(
        rf"(?:https?://|ssh://|)(?:[^@/]*@)?(?:{hosts})[/:](?P<name>{name})(?:\.git)?/?"
    )


_HUB: Final = _address(r"huggingface\.co|hf\.co")
"""Git address of a model on the Hub; those of datasets and Spaces have a prefix."""
_GITHUB: Final = _address(r"github\.com")
_GITLAB: Final = _address(
    r"(?P<host>(?:[\w-]+\.)*gitlab(?:\.[\w-]+)+)(?::\d+)?", r"[\w.-]+/[\w./-]+?"
)
"""Git address of a project on a host that is called GitLab; groups may be nested."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was detected before any question.

    Parameters
    ----------
    folder : Path
        Where `init` was started.
    settings : Path, optional
        Existing settings file.
    model : str, optional
        Model that it names.
    weights : str, optional
        Folder with a model, or a GGUF file, as the settings would name it.
    hub : str, optional
        Repository of the Hub that git pushes to.
    github : str, optional
        Repository of GitHub that git pushes to.
    gitlab : str, optional
        Address of the project of GitLab that git pushes to.
    branch : str
        Branch whose pushes start a run.
    is_git : bool
        Whether the folder is the root of a git repository.
    """

    folder: Path
    settings: Path | None
    model: str | None
    weights: str | None
    hub: str | None
    github: str | None
    gitlab: str | None
    branch: str
    is_git: bool

    @property
    def is_gitlab(self) -> bool:
        """Whether this is a project of GitLab, and not of GitHub as well."""
        has_jobs = (self.folder / ".gitlab-ci.yml").exists()
        on_github = self.github or (self.folder / ".github" / "workflows").exists()
        return bool(self.gitlab or has_jobs) and not on_github


def look(folder: Path) -> Found:
    """Inspect a folder.

    Raises
    ------
    UsageError
        If it is below the root of a git repository, since only the root can hold workflows, or if
        existing settings cannot be read.
    """
    root = git(folder, "rev-parse", "--show-toplevel")
    if root and Path(root).resolve() != folder.resolve():
        raise UsageError(
            f"{folder} is a folder of the repository {root}: workflows are read at its root only.",
            f"cd {root} && pytest-bias init",
        )
    # From a file, not the environment: variables that are set here are not set on the runner.
    there = read_settings({}, environment={}, folder=folder)
    there_too = _remote(folder, _GITLAB)
    return Found(
        folder,
        settings=there.config,
        model=there.model,
        weights=next(_models(folder), None),
        hub=_named(_remote(folder, _HUB)),
        github=_named(_remote(folder, _GITHUB)),
        gitlab=f"https://{there_too['host']}/{there_too['name']}" if there_too else None,
        branch=_branch(folder),
        is_git=root is not None,
    )


def git(folder: Path, *words: str) -> str | None:
    """Return what git prints, or None if it fails or is not installed."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, encoding="utf-8", check=False
        )
    except (OSError, ValueError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def is_ignored(folder: Path, path: str) -> bool:
    """Whether git ignores a path, so that it never reaches a runner."""
    return git(folder, "check-ignore", "--quiet", "--", path) is not None


def languages(folder: Path, model: str) -> tuple[str, ...]:
    """Return the languages in the model card of a folder; empty without a card."""
    path = folder / model
    if not path.is_dir():
        return ()
    given = Snapshot(ModelRef.parse(str(path)), path).card.get("language")
    listed = given if isinstance(given, list) else [given] if given else []
    return tuple(str(tag) for tag in listed if tag is not None)


def _models(folder: Path) -> Iterator[str]:
    """Yield folders with a configuration and weights, and GGUF files, nearest first."""
    level = [folder]
    for _ in range(DEPTH):
        for place in level:
            relative = place.relative_to(folder).as_posix()
            here = "." if relative == "." else f"./{relative}"
            if (place / "config.json").is_file() and any(
                True for pattern in WEIGHTS[:2] for _ in place.glob(pattern)
            ):
                yield here
            yield from (f"{here}/{p.name}" for p in sorted(place.glob(WEIGHTS[2])))
        level = [p for place in level for p in sorted(place.iterdir()) if _is_looked_into(p)]


def _is_looked_into(path: Path) -> bool:
    hidden = path.name.startswith(".") or path.name in ("node_modules", "bias-report", "venv")
    return path.is_dir() and not path.is_symlink() and not hidden


def _named(remote: re.Match[str] | None) -> str | None:
    return remote["name"] if remote else None


def _remote(folder: Path, address: re.Pattern[str]) -> re.Match[str] | None:
    for line in (git(folder, "remote", "-v") or "").splitlines():
        match = address.fullmatch(line.partition("\t")[2].rpartition(" ")[0])
        if match:
            return match
    return None


def _branch(folder: Path) -> str:
    """Return the default branch: that of the remote, else a usual name, else the current one."""
    of_remote = git(folder, "symbolic-ref", "--short", "refs/remotes/origin/HEAD")
    if of_remote:
        return of_remote.removeprefix("origin/")
    for usual in ("main", "master"):
        if git(folder, "rev-parse", "--verify", "--quiet", f"refs/heads/{usual}"):
            return usual
    return git(folder, "symbolic-ref", "--short", "HEAD") or "main"
