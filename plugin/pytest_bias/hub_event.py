"""The entry point of a job of the Hub: ``python -m pytest_bias.hub_event``.

Without an event, that is in the job that was just registered, the head of the model is measured.
With the event of a webhook it is measured only if the push changed the model.
"""

import os
import re
import secrets
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from pytest_bias.cli.app import print_error
from pytest_bias.cli.evidence_commands import publish_command
from pytest_bias.emit import streams
from pytest_bias.environment import FILE_NAME
from pytest_bias.errors import BiasError, MeasurementError, ReportError, UsageError
from pytest_bias.evidence.verification import Trust
from pytest_bias.exit_codes import EXIT_INTERRUPTED, EXIT_OK, EXIT_UNEXPECTED
from pytest_bias.hub import repository
from pytest_bias.hub.due import Due, Measured, at_head, is_due, pushed, read_event
from pytest_bias.hub.job import CARRIED, proposes
from pytest_bias.hub.webhooks import MODEL, SECRET
from pytest_bias.models import ModelRef
from pytest_bias.models.fingerprint import fingerprint
from pytest_bias.models.repository import fetch
from pytest_bias.reports.folder import REPORT, read_plain_report
from pytest_bias.reports.publication_layout import TITLE
from pytest_bias.reports.publication_pointer import published
from pytest_bias.runs.finishing import Finished, run_job
from pytest_bias.settings.options import OPTIONS
from pytest_bias.settings.settings import Settings, read_settings
from pytest_bias.untrusted import clean

PAYLOAD: Final = "WEBHOOK_PAYLOAD"
SENT_SECRET: Final = "WEBHOOK_SECRET"
"""Variables that the Hub sets in a job that a webhook starts."""
OUT: Final = Path("bias-report") / "hub-job"


def handle(environment: Mapping[str, str], console: Console) -> int:
    """Measure and publish a model if the event calls for it; returns the exit code.

    Parameters
    ----------
    environment : mapping of str to str
        Variables of the job: those of `hub.webhooks` and `hub.job`, and those of the Hub.

    Raises
    ------
    BiasError
        If it fails, or the variables are not those of a registered job.
    """
    name, create_pr = _model(environment), proposes(environment)
    payload = environment.get(PAYLOAD)
    push = Due(True, "there is no event: this job was just registered")
    if payload is not None:
        _require_secret(environment)
        push = pushed(read_event(payload), name)
    if push.due:
        there = repository.look(name)
        ref = ModelRef(name, "hub", there.head)
        push = replace(push, sha=there.head) if payload is None else at_head(push, there.head)
    if push.due and payload is not None:
        push = is_due(push, fingerprint(ref), name, _measured(ref, there, console))
    if not push.due:
        _say(console, f"Nothing is measured: {push.why}.")
        return 0
    _say(console, f"Measuring {name} at {push.sha[:7]}: {push.why}.")
    done = run_job(settings_at(ref, environment), console)
    console.print()
    published_code = _publish(done, name, push.sha, console, create_pr=create_pr)
    return done.exit_code or published_code


def settings_at(ref: ModelRef, environment: Mapping[str, str]) -> Settings:
    """Return the settings in a model's repository, at the commit of `ref`.

    Raises
    ------
    UsageError
        If the file is wrong, or asks for what only the person who registered the job can allow.
    """
    folder = fetch(ref, ref.revision, (FILE_NAME,))
    given = {"model": str(ref), "out": OUT, "fresh": True}
    file = folder / FILE_NAME
    if file.is_file():
        given["config"] = file
    settings = read_settings(given, environment=environment, folder=folder)
    for option in OPTIONS:
        if option.name not in CARRIED or not getattr(settings, option.name):
            continue
        if not environment.get(option.variable):
            raise UsageError(
                f"{FILE_NAME} of {ref.name} has {option.name}, and whoever can write to it could "
                "run code with the token of this job.",
                f"To allow it: {option.variable}=1 pytest-bias init --hub-job {ref.name}",
            )
    return settings


def _model(environment: Mapping[str, str]) -> str:
    name = environment.get(MODEL, "")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise UsageError(
            f"{MODEL} is {name!r:.120}, no name of a model.",
            "pytest-bias init --hub-job org/name registers a job that has it.",
        )
    return name


def _require_secret(environment: Mapping[str, str]) -> None:
    """Raise `UsageError` if the event did not come from the registered webhook."""
    expected, sent = environment.get(SECRET), environment.get(SENT_SECRET)
    if expected is None or sent is None:
        return
    if not secrets.compare_digest(expected.encode(), sent.encode("utf-8", "replace")):
        raise UsageError(
            f"{SENT_SECRET} is not the secret of the webhook that was registered.",
            "After a change of it by hand: pytest-bias init --hub-job org/name",
        )


def _measured(ref: ModelRef, there: repository.Repository, console: Console) -> Iterator[Measured]:
    """Yield the models that were measured: of the published report, then of our proposed ones."""
    yield from _reported(ref, "the report that is published", console)
    for pull in repository.own_proposals(there):
        if TITLE.fullmatch(pull.title):
            proposed = replace(ref, revision=pull.reference)
            yield from _reported(proposed, f"the report that is proposed: {pull.page}", console)


def _reported(ref: ModelRef, where: str, console: Console) -> Iterator[Measured]:
    try:
        if found := published(ref):
            report = read_plain_report(found.folder / REPORT)
            found.check(report)
            yield Measured(report.model, where)
    except ReportError as error:
        _say(console, f"A report is passed over: {error.message}", style="yellow")


def _publish(done: Finished, name: str, sha: str, console: Console, *, create_pr: bool) -> int:
    """Publish a run unless it is incomplete or outdated by now; returns the exit code.

    Limits of the project do not matter here.
    """
    failed = [s.entry for s in done.report.suites if s.status == "error"]
    # Missing data come first; if they are allowed to be missing they are no problem.
    lacking = set(done.decision.missing) & set(done.decision.problems)
    failed[:0] = sorted(text.partition(": ")[0] for text in lacking)
    if failed or done.report.run.get("interrupted"):
        why = f"{', '.join(failed)} could not be measured" if failed else "it was interrupted"
        _say(console, f"Nothing is published: {why}.")
        return MeasurementError.exit_code
    there = repository.look(name)
    if there.head != sha:
        _say(
            console,
            f"Nothing is published: {sha[:7]} is no longer the head, and the event of "
            f"{there.head[:7]} starts a job of its own.",
        )
        return 0
    publish_command(
        done.out, name, Settings(), Trust(), console, create_pr=create_pr, dry_run=False
    )
    return EXIT_OK


def _say(console: Console, text: str, style: str = "bold") -> None:
    console.print(Text(clean(text, 1000), style=style), soft_wrap=True)


def main() -> int:
    """Run the job; an error is one message, never a traceback."""
    streams.prepare()
    errors = Console(stderr=True)
    try:
        return handle(os.environ, Console())
    except BiasError as error:
        print_error(error, errors)
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:
        if os.environ.get("PYTEST_BIAS_DEBUG"):
            raise
        print_error(BiasError(f"unexpected {type(error).__name__}: {error}"), errors)
        return EXIT_UNEXPECTED


if __name__ == "__main__":
    sys.exit(main())
