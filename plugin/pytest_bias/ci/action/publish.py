"""What was measured goes to the model's repository on the Hub, or to a branch of this one."""

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pytest_bias.ci.action.runner import annotation, quiet, without_secrets, write_outputs
from pytest_bias.ci.github.api import Client
from pytest_bias.ci.github.branches import FOLDER, commit_report, place_for
from pytest_bias.errors import BiasError
from pytest_bias.untrusted import clean

_PUBLISHED: Final = re.compile(
    r"^(?:Published|This report is proposed already): (https?://\S+)$", re.MULTILINE
)


def is_proposal(event: str) -> bool:
    """Whether an event is of what is not merged: a pull request, its review, a merge queue."""
    return event.startswith("pull_request") or event == "merge_group"


def main(environment: Mapping[str, str]) -> int:
    """Publish as the inputs say; returns 0, since `decide` ends the action."""
    repository = environment.get("INPUT_PUBLISH", "").strip()
    branch = environment.get("INPUT_BADGES_BRANCH", "").strip()
    if not (repository or branch) or environment.get("BIAS_SKIPPED") == "true":
        return 0
    if why := _why_not(environment):
        remark = f"Not published: {why}."
        sys.stdout.write(annotation("notice", remark) + "\n")
        write_outputs({"remark": remark}, environment)
        return 0
    out = Path(environment["BIAS_OUT"])
    code, address, folder, problems = 0, "", "", []
    if branch:
        try:
            client = Client.of(environment.get("GITHUB_TOKEN", ""), environment)
            place = place_for(client, branch, environment.get("BIAS_FOLDER") or FOLDER, out)
            commit_report(client, place, out)
            folder = place.folder
        except BiasError as error:
            code = error.exit_code
            problems.append(f"badges-branch: {error}")
    if repository:
        is_proposed = environment.get("INPUT_CREATE_PR", "").lower() != "false"
        ended, address = to_repository(out, repository, is_proposed=is_proposed)
        if ended:
            code = code or ended
            problems.append(f"publishing to {clean(repository)} ended with exit code {ended}")
    for problem in problems:
        told = without_secrets(problem, environment)
        sys.stdout.write(annotation("error", told, title="pytest-bias: not published") + "\n")
    remark = without_secrets("; ".join(problems), environment)
    values = {"exit-code": str(code), "published": address, "folder": folder, "remark": remark}
    write_outputs(values, environment)
    return 0


def _why_not(environment: Mapping[str, str]) -> str:
    """Say why nothing is published; empty if it is."""
    if is_proposal(environment.get("GITHUB_EVENT_NAME", "")):
        return "a pull request is no version yet"
    if not environment.get("BIAS_REPORT"):
        return "there is no report"
    if environment.get("BIAS_STATUS") == "could-not-measure":
        return "not everything could be measured"
    return ""


def to_repository(out: Path, repository: str, *, is_proposed: bool) -> tuple[int, str]:
    """Publish to a model's repository; returns the command's exit code, and the address."""
    words = ["publish", str(out), f"--repo={repository}", *(["--create-pr"] * is_proposed)]
    command = [sys.executable, "-m", "pytest_bias", *words]
    with quiet(sys.stdout):
        ran = subprocess.run(command, check=False, stdout=subprocess.PIPE, encoding="utf-8")
        sys.stdout.write(ran.stdout)
    found = _PUBLISHED.search(ran.stdout)
    return ran.returncode, found[1] if found else ""
