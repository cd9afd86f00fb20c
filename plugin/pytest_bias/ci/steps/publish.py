"""Publish the results to the model's repository on the Hub, or to a branch of this one."""

import os
from pathlib import Path

from pytest_bias.ci.provider import Annotation, Provider
from pytest_bias.ci.steps.command import run_command
from pytest_bias.errors import BiasError
from pytest_bias.untrusted import clean, without_secrets


def main(provider: Provider) -> int:
    """Publish as the inputs say; returns 0, since `decide` ends the job."""
    repository, branch = (provider.given.get(name, "") for name in ("publish", "badges-branch"))
    if not (repository or branch) or provider.output("prepare", "skipped") == "true":
        return 0
    if why := _why_not(provider):
        remark = f"Not published: {why}."
        provider.annotate([Annotation("notice", remark)])
        provider.write_outputs("publish", {"remark": remark})
        return 0
    out = Path(provider.output("prepare", "out"))
    code, address, folder, problems = 0, "", "", []
    if branch:
        try:
            folder = provider.commit_report(branch, out)
        except BiasError as error:
            code = error.exit_code
            problems.append(f"badges-branch: {error}")
    if repository:
        is_proposed = provider.given.get("create-pr", "").lower() != "false"
        words = ["publish", str(out), f"--repo={repository}", *(["--create-pr"] * is_proposed)]
        # With every variable of this process: the job's identity may replace a token.
        result = run_command(words, provider, os.environ)
        address = result.published or result.proposed or ""
        if ended := result.exit_code:
            code = code or ended
            problems.append(f"publishing to {clean(repository)} ended with exit code {ended}")
    problems = [without_secrets(problem, provider.environment) for problem in problems]
    title = "pytest-bias: not published"
    provider.annotate([Annotation("error", p, ("publish",), title=title) for p in problems])
    values = {"exit-code": str(code), "published": address, "folder": folder}
    provider.write_outputs("publish", {**values, "remark": "; ".join(problems)})
    return 0


def _why_not(provider: Provider) -> str:
    """Return why nothing is published; empty if something is."""
    if provider.proposal:
        return f"a {provider.proposal} is no version yet"
    if not provider.output("measure", "report"):
        return "there is no report"
    if provider.output("measure", "status") == "could-not-measure":
        return "not everything could be measured"
    return ""
