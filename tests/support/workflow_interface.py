"""What the action and the reusable workflow take and give, and what a workflow asks of them."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import yaml

from pytest_bias.ci.init.triggers import ACTION, WORKFLOW

ROOT: Final = Path(__file__).parents[2]

Plain: TypeAlias = Mapping[str, Any]

_OUTPUT: Final = re.compile(r"\b(steps|needs)\.([\w-]+)\.outputs\.([\w-]+)")
_EXPRESSION: Final = re.compile(r"\$\{\{.*?\}\}", re.DOTALL)
_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "text": (str, bool, int, float),
    "string": (str,),
    "boolean": (bool,),
    "number": (int, float),
}
"""Types allowed below ``with:``: an action converts values to text, a workflow refuses others."""

FEATURES: Final = (
    ("baseline", "last-run", {"actions": "read"}),
    ("badges-branch", None, {"contents": "write"}),
    ("attest", None, {"id-token": "write", "attestations": "write"}),
)
"""Inputs that need a permission: the input, its value (or any), and the permission."""

_LEVELS: Final = {"none": 0, "read": 1, "write": 2}


@dataclass(frozen=True, slots=True)
class Interface:
    """Inputs, secrets, outputs and permissions of an action or workflow named by ``uses:``.

    Parameters
    ----------
    inputs : mapping
        Name to ``type`` and ``required``.
    secrets, outputs : tuple of str
        Names.
    permissions : mapping
        Those that the jobs of a reusable workflow declare. GitHub starts nothing unless the caller
        grants all of them, whether a job runs or not.
    """

    inputs: Mapping[str, Plain]
    secrets: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    permissions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def of_action(text: str) -> Interface:
    """Return the interface of an action.yml."""
    plain = yaml.safe_load(text)
    inputs = {
        name: {"type": "text", "required": bool(about.get("required"))}
        for name, about in plain["inputs"].items()
    }
    return Interface(inputs, outputs=tuple(plain.get("outputs", {})))


def of_workflow(text: str) -> Interface:
    """Return the interface of a reusable workflow."""
    plain = yaml.safe_load(text)
    # YAML 1.1 reads the key `on` as true.
    call = plain[True]["workflow_call"]
    permissions: dict[str, str] = {}
    for job in plain["jobs"].values():
        declared = job.get("permissions", plain.get("permissions", {}))
        for name, level in declared.items():
            permissions[name] = max(level, permissions.get(name, "none"), key=_LEVELS.__getitem__)
    inputs = {
        name: {"type": about["type"], "required": bool(about.get("required"))}
        for name, about in call.get("inputs", {}).items()
    }
    return Interface(
        inputs, tuple(call.get("secrets", {})), tuple(call.get("outputs", {})), permissions
    )


@cache
def interfaces() -> Mapping[str, Interface]:
    """Return those of action and reusable workflow, by what ``uses:`` names."""
    action = (ROOT / "action.yml").read_text(encoding="utf-8")
    workflow = (ROOT / WORKFLOW.removeprefix(f"{ACTION}/")).read_text(encoding="utf-8")
    return {ACTION: of_action(action), WORKFLOW: of_workflow(workflow)}


def problems(text: str) -> list[str]:
    """Return the mistakes in a workflow where it uses pytest-bias.

    These are unknown and missing inputs and secrets, values of the wrong type, unknown outputs, and
    permissions that are not granted.
    """
    try:
        plain = yaml.safe_load(text)
    except yaml.YAMLError as error:
        return [f"it is not well-formed: {error}"]
    jobs: Plain = plain["jobs"]
    found = []
    for name, job in jobs.items():
        found += [f"job {name}: {told}" for told in _of_job(plain, job)]
    found += _outputs(jobs)
    found += _comments(plain)
    return found


def uses(use: Plain) -> Interface | None:
    """Return the interface that a job or step uses; None if it is not pytest-bias."""
    return interfaces().get(str(use.get("uses", "")).partition("@")[0])


def _of_job(workflow: Plain, job: Plain) -> Iterator[str]:
    granted = _granted(workflow, job)
    for use in (job, *job.get("steps", ())):
        interface = uses(use)
        if interface is None:
            continue
        given: Plain = use.get("with", {})
        yield from _inputs(interface, given)
        yield from _secrets(interface, use)
        needed = [*_needed(given), *interface.permissions.items()]
        for permission, level in needed:
            if _LEVELS[granted.get(permission, "none")] < _LEVELS[level]:
                yield f"it needs `{permission}: {level}`"


def _inputs(interface: Interface, given: Plain) -> Iterator[str]:
    for name, value in given.items():
        if name not in interface.inputs:
            yield f"input {name!r} is not known"
            continue
        kind = interface.inputs[name]["type"]
        is_expression = isinstance(value, str) and _EXPRESSION.fullmatch(value.strip())
        is_bool = isinstance(value, bool) and "number" in kind
        if not is_expression and (is_bool or not isinstance(value, _KINDS[kind])):
            yield f"input {name!r} is {value!r}, no {kind}"
    for name, about in interface.inputs.items():
        if about["required"] and name not in given:
            yield f"input {name!r} is missing"


def _secrets(interface: Interface, use: Plain) -> Iterator[str]:
    secrets = use.get("secrets", {})
    if secrets == "inherit":
        yield "it hands on every secret"
        return
    yield from (f"secret {n!r} is not known" for n in secrets if n not in interface.secrets)


def _needed(given: Plain) -> Iterator[tuple[str, str]]:
    for name, value, permissions in FEATURES:
        if name in given and value in (None, given[name]):
            yield from permissions.items()
    yield "contents", "read"


def _comments(workflow: Plain) -> Iterator[str]:
    """Report if no job may write the comment of a pull request."""
    ours = [
        _granted(workflow, job)
        for job in workflow["jobs"].values()
        if any(uses(use) for use in (job, *job.get("steps", ())))
    ]
    may = any(granted.get("pull-requests") == "write" for granted in ours)
    if ours and not may and "pull_request" in _events(workflow):
        yield "no job has `pull-requests: write`, which the comment needs"


def _granted(workflow: Plain, job: Plain) -> Plain:
    granted: Plain = job.get("permissions", workflow.get("permissions", {}))
    return granted


def _events(workflow: Mapping[Any, Any]) -> Iterable[str]:
    # YAML 1.1 reads the key `on` as true.
    on: Plain | str = workflow.get(True, workflow.get("on", {}))
    return (on,) if isinstance(on, str) else on


def _outputs(jobs: Plain) -> Iterator[str]:
    for name, job in jobs.items():
        steps = {step["id"]: step for step in job.get("steps", ()) if "id" in step}
        for kind, of, output in _OUTPUT.findall(json.dumps(job)):
            if kind == "steps":
                interface = uses(steps.get(of, {}))
                known: Iterable[str] = interface.outputs if interface else (output,)
                missing = of not in steps
            else:
                interface = uses(jobs.get(of, {}))
                known = interface.outputs if interface else jobs.get(of, {}).get("outputs", ())
                missing = of not in jobs
            if missing or output not in known:
                yield f"job {name}: there is no output {kind}.{of}.outputs.{output}"
