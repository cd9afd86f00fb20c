"""A job of the Hub that measures a model at every push to it, without GitHub.

``pytest-bias init --hub-job org/name`` registers it; the job runs `pytest_bias.hub_event`.
"""

import math
import os
import secrets
from collections.abc import Mapping
from importlib.metadata import version
from typing import Final

from rich.console import Console
from rich.text import Text

from pytest_bias.environment import FILE_NAME
from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.hub import repository, webhooks
from pytest_bias.hub.webhooks import MODEL, REGISTRATION, SECRET, TOKEN, Flavor, Plan, Surroundings
from pytest_bias.models.reference import REPOSITORY
from pytest_bias.settings.budget import seconds
from pytest_bias.settings.options import OPTIONS
from pytest_bias.settings.settings import Settings
from pytest_bias.untrusted import visible

IMAGE: Final = "pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime"
"""Image of every job, on CPUs as well.

It contains torch and CUDA, so that no job pays for the minutes of downloading them; its CUDA
supports every GPU that the Hub offers, from the T4 to the RTX PRO 6000; and pytest-bias supports
its version of Python.
"""
FLAVOR: Final = "t4-small"
TIMEOUT: Final = "1h"

PUBLISH: Final = "PYTEST_BIAS_HUB_PUBLISH"
"""Variable of a job that sets how it publishes."""
PUBLISH_AS: Final = ("pull-request", "commit")
JOB_TOKEN: Final = "PYTEST_BIAS_JOB_TOKEN"
"""Variable with the token for the job, if it differs from the one that registers the job."""

CARRIED: Final = ("trust_remote_code", "allow_pickle")
"""Settings that are passed to the job; all others come from the model's own settings file.

The owner of the token in the job decides whether code of the model may run, and not everybody
who can write to the repository.
"""


def hub_job_command(
    name: str,
    settings: Settings,
    console: Console,
    *,
    flavor: str = FLAVOR,
    namespace: str | None = None,
    timeout: str = TIMEOUT,
    dry_run: bool = False,
    create_pr: bool | None = None,
) -> int:
    """Register a job that measures a model now and at every push; returns the exit code.

    Parameters
    ----------
    name : str
        ``org/name`` of a model on the Hub.
    settings : Settings
        Those in `CARRIED` are passed to the job, and `offline` is respected.
    flavor : str
        Hardware, such as ``t4-small``.
    namespace : str, optional
        User or organization that runs the job and pays; by default the owner of the token.
    timeout : str
        Time limit of one run, such as ``1h``.
    dry_run : bool
        Whether to show only what would be registered.
    create_pr : bool, optional
        Whether results are proposed as a pull request or committed; by default the variable
        `PUBLISH` decides, and without it they are proposed.

    Raises
    ------
    BiasError
        If it cannot be registered; then nothing is left half-registered.
    """
    _require_name(name)
    limit = math.ceil(seconds(timeout, "--timeout"))
    there = repository.look(name, offline=settings.offline)
    given = os.environ.get(JOB_TOKEN)
    if create_pr is None:
        create_pr = proposes(os.environ)
    found = webhooks.survey(there.name, namespace, given, offline=settings.offline)
    hardware = webhooks.require_flavor(flavor, found.flavors)
    plan = _plan(there.name, settings, found, flavor, limit, create_pr=create_pr)
    access = [there.about_access] if there.about_access else []
    for notice in (*found.notices, *_surplus(found), *access):
        _say(console, notice, style="yellow")
    if dry_run:
        _show_plan(plan, hardware, found, timeout, _measured(there), console)
        return 0
    own = {TOKEN: given} if given else {}
    made = webhooks.register(plan, found, {SECRET: secrets.token_urlsafe(24), **own})
    for notice in made.notices:
        _say(console, notice, style="yellow")
    done = f"Changed on {flavor}" if found.hooks else f"Registered on {flavor}"
    _say(console, f"{done}: {there.name}", style="bold")
    _say(console, f"Cost     {price(hardware, limit, timeout)}")
    _say(console, f"Job      {made.page} measures {there.name} now")
    _say(console, f"Webhook  {made.hook} starts it at every push; {webhooks.WEBHOOKS_PAGE}")
    _say(console, f"Runs     {_measured(there)}")
    _say(console, f"Results  {_results(plan)}")
    _say(console, f"Logs     hf jobs logs -f {plan.namespace}/{made.job}")
    _say(console, f"Change   pytest-bias init --hub-job {there.name} --flavor OTHER")
    _say(console, f"Remove   hf webhooks delete {made.hook}")
    _say(console, f"         hf jobs cancel {plan.namespace}/{made.job}")
    return 0


def proposes(environment: Mapping[str, str]) -> bool:
    """Whether `PUBLISH` asks for a pull request rather than a commit.

    Raises
    ------
    UnknownName
        If its value is neither.
    """
    how = environment.get(PUBLISH, PUBLISH_AS[0])
    if how not in PUBLISH_AS:
        raise UnknownName.among(PUBLISH, how, PUBLISH_AS)
    return how == PUBLISH_AS[0]


def price(flavor: Flavor, limit_s: int, timeout: str) -> str:
    """State the price per minute, and of a run that uses its whole time limit."""
    if flavor.micro_usd is None:
        return "not known here: hf jobs hardware"
    told = f"${flavor.micro_usd / 1e6:.4f} per {flavor.unit}"
    if flavor.unit == "minute":
        most = math.ceil(limit_s / 60) * flavor.micro_usd / 1e6
        told += f", at most ${most:.2f} per run (--timeout {timeout})"
    return told


def _require_name(name: str) -> None:
    if REPOSITORY.fullmatch(name):
        return
    bare, at, _ = name.partition("@")
    if at and REPOSITORY.fullmatch(bare):
        raise UsageError(
            f"--hub-job {name}: every push is measured at its own commit.",
            f"pytest-bias init --hub-job {bare}",
        )
    raise UsageError(
        f"--hub-job {name!r:.120} is no model of the Hub.", "pytest-bias init --hub-job org/name"
    )


def _plan(
    name: str,
    settings: Settings,
    found: Surroundings,
    flavor: str,
    limit_s: int,
    *,
    create_pr: bool,
) -> Plan:
    environment = {
        MODEL: name,
        REGISTRATION: secrets.token_hex(6),
        PUBLISH: PUBLISH_AS[0 if create_pr else 1],
        **_carried(settings),
    }
    return Plan(name, found.namespace, IMAGE, command(), environment, flavor, limit_s)


def command() -> tuple[str, ...]:
    """Return the command of a job: install this version of pytest-bias and handle the event."""
    wanted = f"pytest-bias[adapters,gpu,models]=={version('pytest-bias')}"
    install = f"python -m pip install --quiet --root-user-action=ignore '{wanted}'"
    return ("bash", "-c", f"{install} && exec python -m pytest_bias.hub_event")


def _carried(settings: Settings) -> Mapping[str, str]:
    """Return the variables that pass a consent on to the job."""
    return {o.variable: "1" for o in OPTIONS if o.name in CARRIED and getattr(settings, o.name)}


def _surplus(found: Surroundings) -> list[str]:
    return [
        f"Another webhook of pytest-bias starts a job for the same model: hf webhooks delete {h.id}"
        for h in found.hooks[1:]
    ]


def _measured(there: repository.Repository) -> str:
    if FILE_NAME in there.files:
        return f"what {FILE_NAME} of {there.name} says, at the commit that was pushed"
    return f"every suite that applies; {FILE_NAME} in {there.name} would say which"


def _results(plan: Plan) -> str:
    how = "pull request" if proposes(plan.environment) else "commit"
    return f"a {how} to {plan.name}"


def _show_plan(
    plan: Plan, hardware: Flavor, found: Surroundings, timeout: str, runs: str, console: Console
) -> None:
    hooks = [h.id for h in found.hooks[:1]]
    about = f" ({hardware.about})" if hardware.about else ""
    lines = (
        ("Model", plan.name),
        ("Job", f"of {plan.namespace}, on {plan.flavor}{about}"),
        ("Cost", price(hardware, plan.timeout_s, timeout)),
        ("Image", plan.image),
        ("Command", plan.command[-1]),
        *(("Variable", f"{k}={v}") for k, v in plan.environment.items() if k != REGISTRATION),
        ("Secrets", f"{TOKEN}, {SECRET}"),
        ("Webhook", f"changes {hooks[0]}" if hooks else f"new, watches model:{plan.name}"),
        ("Runs", runs),
        ("Results", _results(plan)),
    )
    for what, told in lines:
        _say(console, f"{what:<9}{told}")
    _say(console, "Dry run: nothing was registered.", style="bold")


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(visible(text), style=style), soft_wrap=True)
