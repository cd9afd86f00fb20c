"""Arguments of the command ``init``: a settings file and a workflow, or a job of the Hub."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from pytest_bias.ci.init.triggers import NAMES, SERVICES
from pytest_bias.errors import UsageError
from pytest_bias.settings.settings import read_settings

commands = typer.Typer()


def _text(flag: str, text: str, metavar: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(flag, help=text, metavar=metavar)
    return option


@commands.command()
def init(
    model: Annotated[
        str | None, _text("--model", "org/name, or a folder of this repository.", "MODEL")
    ] = None,
    ci: Annotated[
        str | None,
        _text(
            "--ci",
            f"CI service: {', '.join(SERVICES)}; by default the one the folder uses.",
            "NAME",
        ),
    ] = None,
    trigger: Annotated[
        str | None,
        _text(
            "--trigger",
            f"What starts a run: {', '.join(NAMES)}.",
            "NAME",
        ),
    ] = None,
    limits: Annotated[
        list[str] | None,
        _text("--limits", "none, max-distance:SUITE=N or max-regression:SUITE=N.", "LIMIT"),
    ] = None,
    publish: Annotated[
        str | None, _text("--publish", "Propose the results to a model of the Hub.", "ORG/NAME")
    ] = None,
    badges_branch: Annotated[
        str | None, _text("--badges-branch", "Branch that badges are committed to.", "BRANCH")
    ] = None,
    branch: Annotated[
        str | None, _text("--branch", "Branch whose pushes start a run.", "BRANCH")
    ] = None,
    runner: Annotated[
        str | None, _text("--runner", "Label of the runner with a GPU.", "LABEL")
    ] = None,
    shards: Annotated[
        int | None, typer.Option("--shards", help="Runners with a GPU at once.", metavar="N")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask nothing: use what is detected in the folder.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, and write nothing.")
    ] = False,
    hub_job: Annotated[
        str | None,
        _text("--hub-job", "Instead of a workflow: a job of the Hub, at every push.", "ORG/NAME"),
    ] = None,
    flavor: Annotated[
        str | None, _text("--flavor", "Hardware of the job, such as t4-small.", "NAME")
    ] = None,
    namespace: Annotated[
        str | None, _text("--namespace", "User or organization that runs the job and pays.", "NAME")
    ] = None,
    timeout: Annotated[
        str | None, _text("--timeout", "Time limit of a job, such as 1h.", "TIME")
    ] = None,
) -> None:
    """Write pytest-bias.yaml and .github/workflows/bias.yml, from three questions or flags.

    On GitLab the job is in .gitlab-ci.yml, or in a file to include there. With --hub-job, register
    a job of the Hub that every push to the model starts. Nothing is replaced without --force.
    """
    console = Console()
    of_job: dict[str, Any] = {"flavor": flavor, "namespace": namespace, "timeout": timeout}
    of_job = {name: value for name, value in of_job.items() if value is not None}
    of_workflow = {
        **{"model": model, "ci": ci, "trigger": trigger, "limits": limits, "publish": publish},
        **{"badges-branch": badges_branch, "branch": branch, "runner": runner, "shards": shards},
        **{"yes": yes or None, "force": force or None},
    }
    if hub_job is not None:
        others = [f"--{name}" for name, value in of_workflow.items() if value]
        if others:
            raise UsageError(
                f"{', '.join(others)} {'goes' if len(others) == 1 else 'go'} with a workflow, "
                "not with --hub-job.",
                "Settings of the run belong in pytest-bias.yaml.",
            )
        from pytest_bias.hub.job import hub_job_command

        settings = read_settings({"model": hub_job})
        raise typer.Exit(hub_job_command(hub_job, settings, console, dry_run=dry_run, **of_job))
    if of_job:
        named = ", ".join(f"--{name}" for name in of_job)
        raise UsageError(f"{named}: there is no job without --hub-job org/name.")

    from pytest_bias.ci.init.command import Flags, init_command

    flags = Flags(
        *(model, ci, trigger, limits or [], publish, badges_branch, branch, runner, shards),
        yes=yes,
        force=force,
        dry_run=dry_run,
    )
    asks = sys.stdin.isatty() and console.is_terminal
    raise typer.Exit(init_command(flags, Path.cwd(), console, asks=asks))
