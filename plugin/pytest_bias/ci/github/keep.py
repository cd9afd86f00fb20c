"""Check that an artifact only replaces one that an earlier attempt of the same job uploaded."""

import json
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pytest_bias.ci.contents import JOB, MOST_BYTES
from pytest_bias.ci.github.api import Client
from pytest_bias.ci.github.artifacts import NEEDS
from pytest_bias.ci.provider import Provider
from pytest_bias.ci.steps.inputs import AUTO
from pytest_bias.errors import GitHubError, UsageError
from pytest_bias.untrusted import clean

HINT: Final = (
    "Give each job a name of its own with the input `artifact`; left out, the name has the model, "
    "and a digest of suites and settings."
)


def main(provider: Provider) -> int:
    """State whether an artifact may be replaced; returns 0, since `decide` ends the action."""
    again = int(provider.environment.get("GITHUB_RUN_ATTEMPT") or 1) > 1
    replaces = again
    if again and provider.given.get("artifact", "") != AUTO:
        replaces = is_there(provider)
    provider.write_outputs("keep", {"overwrite": json.dumps(replaces)})
    return 0


def is_there(provider: Provider) -> bool:
    """Whether an earlier attempt of this job uploaded the artifact.

    Raises
    ------
    UsageError
        If another job of this run uploaded it.
    GitHubError
        If GitHub does not answer.
    """
    name, environment = provider.output("prepare", "artifact"), provider.environment
    client = Client.of(environment.get("GITHUB_TOKEN", ""), environment)
    run = int(provider.run or 0)
    try:
        listed = client.pages("actions/artifacts", needs=NEEDS, within="artifacts", name=name)
        named = [a for a in listed if a["name"] == name and not a["expired"]]
        found = [a for a in named if (a.get("workflow_run") or {}).get("id") == run]
        whose = [_identity_in(client, a, provider) for a in found]
    except GitHubError as error:
        if error.forbidden:
            raise GitHubError(
                f"whether the artifact {clean(name)} is of this job is not known: {error.message}",
                f"Give the job `{NEEDS}`. {HINT}",
            ) from None
        raise
    if any(identity != provider.output("prepare", "identity") for identity in whose):
        raise UsageError(f"the artifact {clean(name)} of this run is of another job.", HINT)
    return bool(found)


def _identity_in(client: Client, artifact: Mapping[str, Any], provider: Provider) -> str | None:
    """Return the job that an artifact states it belongs to; None if it states none."""
    with tempfile.TemporaryDirectory(dir=provider.temp) as folder:
        archive = Path(folder) / "artifact.zip"
        path = f"actions/artifacts/{int(artifact['id'])}/zip"
        client.download(path, archive, needs=NEEDS, most=MOST_BYTES)
        try:
            with zipfile.ZipFile(archive) as opened:
                (name,) = [n for n in opened.namelist() if n.split("/")[-1] == JOB]
                with opened.open(name) as file:
                    plain = json.loads(file.read(1000))
        except (zipfile.BadZipFile, ValueError, OSError, RuntimeError):
            return None
    return plain.get("identity") if isinstance(plain, dict) else None
