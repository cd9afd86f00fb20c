"""What was found, where people look: the summary of the run, its annotations, the pull request."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pytest_bias.ci.action.inputs import AUTO, PLAIN
from pytest_bias.ci.action.publish import is_proposal
from pytest_bias.ci.action.runner import (
    MOST_SUMMARY,
    Level,
    annotations,
    without_secrets,
    write_summary,
)
from pytest_bias.ci.github.api import Client
from pytest_bias.ci.github.comments import comment, marker, pull_request
from pytest_bias.emit import comment as emit_comment
from pytest_bias.emit.verdict import because, word
from pytest_bias.environment import FILE_NAME
from pytest_bias.errors import BiasError, UsageError
from pytest_bias.reports.decision import Decision, Outcome, read_decision
from pytest_bias.reports.folder import DECISION, SUMMARY, read_report
from pytest_bias.settings.settings import read_file
from pytest_bias.untrusted import markdown

LEVELS: Final[Mapping[str, Level]] = {
    "exceeded": "error",
    "not_measured": "error",
    "no_baseline": "error",
    "undecided": "warning",
}
"""How grave an annotation of a limit is; one that is held has none.

What is waived is a warning, and so is a waiver that is not needed.
"""
_Told = tuple[str, str, int]


def main(environment: Mapping[str, str]) -> int:
    """Write summary, annotations and comment; returns 0, since `decide` ends the action."""
    problem = _problem(environment)
    decision = _decision(environment)
    for level in ("error", "warning"):
        told = list(_told(level, environment, decision, problem))
        for line in annotations(level, told):
            sys.stdout.write(without_secrets(line, environment) + "\n")
    remarks = [_remark(environment), commented(environment, decision, problem)]
    shown = environment.get("INPUT_SUMMARY") or "always"
    if shown == "always" or (shown == "problems" and problem):
        text = summary(environment, problem, [r for r in remarks if r])
        write_summary(without_secrets(text, environment), environment)
    return 0


def _problem(environment: Mapping[str, str]) -> str:
    """Return what went wrong, if something did that is no limit."""
    steps = ("PREPARE", "MEASURE", "KEEP")
    said = next((p for step in steps if (p := environment.get(f"BIAS_{step}_PROBLEM"))), "")
    if said or environment.get("BIAS_REPORT"):
        return said
    return "The run ended before it left a report. Its log says more."


def _decision(environment: Mapping[str, str]) -> Decision | None:
    if not (report := environment.get("BIAS_REPORT")):
        return None
    return read_decision(Path(report).parent / DECISION)


# Annotations


def _told(
    level: Level, environment: Mapping[str, str], decision: Decision | None, problem: str
) -> Iterator[_Told]:
    if problem and level == "error":
        yield problem, "", 0
    if decision is None:
        return
    for text in decision.problems if level == "error" else decision.missing:
        if level == "error" or text not in decision.problems:
            yield text, "", 0
    file, lines = lines_of_limits(environment.get("INPUT_CONFIG", "").strip() or FILE_NAME)
    for outcome in decision.outcomes:
        if _level(outcome) == level:
            line = lines.get(outcome.limit, 0)
            told = f"{outcome.limit} {word(outcome)}: {because(outcome)}"
            yield told, file if line else "", line


def _level(outcome: Outcome) -> Level | None:
    if outcome.waiver and outcome.waiver.state in ("waives", "unneeded"):
        return "warning"
    return LEVELS.get(outcome.verdict)


def lines_of_limits(name: str) -> tuple[str, dict[str, int]]:
    """Return the settings file, and the line of each limit in it."""
    try:
        lines = read_file(file := Path(name)).lines
    except UsageError:
        return "", {}
    return file.as_posix(), {
        str(p[1]): n for p, n in lines.items() if p[:1] == ("limits",) and len(p) == 2
    }


# The summary


def summary(environment: Mapping[str, str], problem: str, remarks: list[str]) -> str:
    """Return the Markdown of the step's summary."""
    parts = []
    if report := environment.get("BIAS_REPORT"):
        parts.append(_read(Path(report).parent / SUMMARY))
    if problem:
        parts.append(f"## Could not measure\n\n{markdown(problem, 2000)}")
    parts += [markdown(remark, 1000) for remark in remarks]
    if address := environment.get("BIAS_ARTIFACT"):
        parts.append(f"[The whole report, its page and its badges]({address})")
    if address := environment.get("BIAS_PUBLISHED"):
        parts.append(f"[What was published]({address})")
    return "\n\n".join(parts)


def _read(file: Path) -> str:
    """Return the summary that a run wrote, or why there is none."""
    try:
        with file.open(encoding="utf-8", errors="replace") as stream:
            return stream.read(MOST_SUMMARY).rstrip()
    except OSError as error:
        return f"{SUMMARY} cannot be read: {markdown(error.strerror or str(error))}."


def _remark(environment: Mapping[str, str]) -> str:
    steps = ("PREPARE", "PUBLISH")
    said = [r for step in steps if (r := environment.get(f"BIAS_{step}_REMARK"))]
    if environment.get("BIAS_SKIPPED") == "true":
        said.append("Not measured again: the model is the one of the report above.")
    return " ".join(said)


# The comment


def commented(environment: Mapping[str, str], decision: Decision | None, problem: str) -> str:
    """Write the comment of a pull request; returns why there is none, empty if there is."""
    if environment.get("INPUT_COMMENT", "auto") != "auto":
        return ""
    if not is_proposal(environment.get("GITHUB_EVENT_NAME", "")):
        return ""
    try:
        pull = pull_request(environment)
        if pull is None:
            return ""
        job = ("GITHUB_WORKFLOW", "GITHUB_JOB")
        names = (*job, "BIAS_IDENTITY", "BIAS_ARTIFACT_NAME")
        report = environment.get("BIAS_REPORT")
        text = emit_comment.render(
            read_report(Path(report).parent) if report else None,
            decision,
            _links(environment),
            problem=problem,
        )
        client = Client.of(environment.get("GITHUB_TOKEN", ""), environment)
        mark = marker(*(environment.get(name, "") for name in names))
        artifact = environment.get("INPUT_ARTIFACT", "")
        before = marker(
            *(environment.get(name, "") for name in (*job, "INPUT_MODEL")),
            PLAIN if artifact == AUTO else artifact,
        )
        done = comment(client, pull, mark, without_secrets(text, environment), before=before)
    except BiasError as error:
        return f"No comment was written: {error}"
    return f"No comment was written: {done.reason}" if done.outcome == "refused" else ""


def _links(environment: Mapping[str, str]) -> emit_comment.Links:
    """Return the pages that the comment leads to."""
    server, repository, run = (
        environment.get(f"GITHUB_{name}", "") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID")
    )
    at = f"{server}/{repository}/actions/runs/{run}" if server and run else None
    return emit_comment.Links(at, environment.get("BIAS_ARTIFACT") or None)
