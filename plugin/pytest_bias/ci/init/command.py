"""The command ``init``: two files written from the choices, and checked afterwards."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml
from rich.console import Console
from rich.text import Text

from pytest_bias.ci.init.choices import Choices, check_branch, check_publish, check_text, is_path
from pytest_bias.ci.init.decidable import told_of_limits
from pytest_bias.ci.init.files import File, write
from pytest_bias.ci.init.found import Found, languages, look
from pytest_bias.ci.init.gitlab import include, job_path
from pytest_bias.ci.init.next_steps import next_steps
from pytest_bias.ci.init.questions import Asker, ask_limits, ask_model, ask_publish, ask_trigger
from pytest_bias.ci.init.rendering import settings, workflow
from pytest_bias.ci.init.triggers import GITLAB, RUNNER, SERVICES, Trigger, trigger
from pytest_bias.environment import FILE_NAME
from pytest_bias.errors import BiasError, UnknownName, UsageError
from pytest_bias.reports.limits import limits_of
from pytest_bias.settings.settings import read_settings

MOST_SHARDS: Final = 16
"""Jobs among which the reusable workflow divides a run."""


@dataclass(frozen=True, slots=True)
class Flags:
    """Options of the command line; None for those that were not given."""

    model: str | None = None
    ci: str | None = None
    trigger: str | None = None
    limits: list[str] = field(default_factory=list)
    publish: str | None = None
    badges_branch: str | None = None
    branch: str | None = None
    runner: str | None = None
    shards: int | None = None
    yes: bool = False
    force: bool = False
    dry_run: bool = False


def init_command(flags: Flags, folder: Path, console: Console, *, asks: bool) -> int:
    """Write the settings file and the workflow into a folder; returns the exit code.

    Raises
    ------
    UsageError
        If an answer is missing and there is no terminal to ask on, if a value is not valid in a
        workflow, or if a file would be replaced without ``--force``.
    """
    found = look(folder)
    choices = choose(flags, found, Asker(console, asks=asks, takes_defaults=flags.yes))
    text = workflow(choices)
    path = job_path(folder, text) if choices.trigger is GITLAB else choices.trigger.path
    files = [File.at(folder, path, text)]
    if _writes_settings(choices, found):
        files.insert(0, File.at(folder, FILE_NAME, settings(choices)))
    check(files, choices)
    write(files, console, force=flags.force, dry_run=flags.dry_run)
    if not flags.dry_run:
        _check_written(files, choices, found)
    told = [*told_of_limits(choices), *include(folder, choices.trigger, path)]
    for line in (*told, *next_steps(choices, found, [f.shown for f in files])):
        console.print(Text(line), soft_wrap=True)
    return 0


def choose(flags: Flags, found: Found, asker: Asker) -> Choices:
    """Combine flags, answers and what was found in the folder.

    Raises
    ------
    UsageError
        If something is missing, or a flag belongs to another trigger.
    """
    chosen = trigger(flags.trigger) if flags.trigger is not None else None
    if _service(flags, found) == "gitlab":
        chosen = GITLAB
    model = ask_model(asker, found, flags.model, chosen)
    chosen = chosen or ask_trigger(asker, found, model)
    _require_taken(flags, chosen)
    publish = None
    if flags.publish is not None:
        publish = check_publish(flags.publish)
    elif "publish" in chosen.needs:
        publish = ask_publish(asker, found, model)
    return Choices(
        chosen,
        model=model,
        publish=publish,
        badges_branch=flags.badges_branch and check_branch("--badges-branch", flags.badges_branch),
        branch=_branch(flags, found) if "branch" in chosen.options else "",
        runner=check_text("--runner", flags.runner) if flags.runner is not None else RUNNER,
        shards=flags.shards or 2,
        limits=ask_limits(asker, flags.limits) if chosen.measures else {},
        languages=languages(found.folder, model) if model else (),
    )


def _service(flags: Flags, found: Found) -> str:
    """Return the CI service to write for; by default the one that the folder uses."""
    if flags.ci is None:
        return "gitlab" if found.is_gitlab and flags.trigger is None else "github"
    if flags.ci not in SERVICES:
        raise UnknownName.among("--ci", flags.ci, SERVICES)
    if flags.ci == "gitlab" and flags.trigger is not None:
        raise UsageError(
            f"--trigger {flags.trigger} does not go with --ci gitlab.",
            f"Its job runs for {GITLAB.about}; a pipeline schedule of GitLab's runs it as well.",
        )
    return flags.ci


def _branch(flags: Flags, found: Found) -> str:
    return check_branch("--branch", found.branch if flags.branch is None else flags.branch)


def _require_taken(flags: Flags, chosen: Trigger) -> None:
    for name in ("publish", "badges_branch", "branch", "runner", "shards"):
        if getattr(flags, name) is not None and name not in chosen.options:
            flag = f"--{name.replace('_', '-')}"
            with_what = "--ci gitlab" if chosen is GITLAB else f"--trigger {chosen.name}"
            raise UsageError(f"{flag} does not go with {with_what}.")
    if flags.limits not in ([], ["none"]) and not chosen.measures:
        raise UsageError(
            f"--limits does not go with --trigger {chosen.name}, which holds no score against one."
        )
    if flags.shards is not None and not 1 <= flags.shards <= MOST_SHARDS:
        raise UsageError(f"--shards {flags.shards} is not from 1 to {MOST_SHARDS}.")


def _writes_settings(choices: Choices, found: Found) -> bool:
    """Whether to write the settings file: one with the same content stays as it is."""
    if not choices.trigger.measures:
        return False
    if found.settings is None:
        return True
    if found.settings.name != FILE_NAME:
        # A file of its own would hide those settings.
        if choices.limits:
            raise UsageError(
                f"{found.settings.name} holds the settings already: --limits is not added to them.",
                "Write the limits there, and leave --limits out.",
            )
        return False
    return bool(choices.limits) or not _is_same(found.model, choices.model, found.folder)


def _is_same(one: str | None, other: str | None, folder: Path) -> bool:
    """Whether two names denote one model; a path may be written in several ways."""
    if one is None or other is None or one == other:
        return one == other
    are_paths = is_path(one, folder) and is_path(other, folder)
    return are_paths and (folder / one).resolve() == (folder / other).resolve()


def check(files: list[File], choices: Choices) -> None:
    """Check that the settings name the model that was chosen, before they are written.

    Raises
    ------
    BiasError
        If they do not, which is a bug to be reported.
    """
    for file in files:
        if file.shown == FILE_NAME and yaml.safe_load(file.after).get("model") != choices.model:
            raise BiasError(
                f"{file.shown} would be wrong: it names another model.",
                "Please report it: this is a bug.",
            )


def _check_written(files: list[File], choices: Choices, found: Found) -> None:
    """Read the files back as a run on a runner will."""
    if choices.trigger.measures:
        settings = read_settings({}, environment={}, folder=found.folder)
        limits_of(settings)
    for file in files:
        if file.path.read_text(encoding="utf-8") != file.after:
            raise BiasError(f"{file.shown} is not what was written.")
