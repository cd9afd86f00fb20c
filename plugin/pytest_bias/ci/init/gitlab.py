"""Where the GitLab job is written; an existing .gitlab-ci.yml stays as it is."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pytest_bias.ci.init.triggers import GITLAB, Trigger
from pytest_bias.errors import OutputError

INCLUDED: Final = ".gitlab/bias.gitlab-ci.yml"
"""File of the job if there is a .gitlab-ci.yml already."""


def job_path(folder: Path, job: str) -> str:
    """Return .gitlab-ci.yml, unless it holds anything but our own job."""
    there = _read(folder)
    is_ours = there is not None and there.splitlines()[:3] == job.splitlines()[:3]
    return GITLAB.path if is_ours or there is None else INCLUDED


def include(folder: Path, chosen: Trigger, path: str) -> Iterator[str]:
    """Yield what to add to the user's .gitlab-ci.yml, unless it is there already."""
    if chosen is GITLAB and path == INCLUDED and INCLUDED not in (_read(folder) or ""):
        yield f"Include   {GITLAB.path} stays as it is. Add to it:"
        yield "            include:"
        yield f"              - local: {INCLUDED}"


def _read(folder: Path) -> str | None:
    try:
        return (folder / GITLAB.path).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise OutputError(f"{GITLAB.path} cannot be read: {error}") from None
