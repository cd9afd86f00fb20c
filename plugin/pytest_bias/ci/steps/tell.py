"""Report the results: the summary of the run, its annotations, and the comment."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pytest_bias.ci.provider import Annotation, Level, Provider
from pytest_bias.emit import comment as emit_comment
from pytest_bias.emit.verdict import because, word
from pytest_bias.environment import FILE_NAME
from pytest_bias.errors import BiasError, UsageError
from pytest_bias.reports.decision import Decision, Outcome, read_decision
from pytest_bias.reports.folder import DECISION, SUMMARY, read_report
from pytest_bias.settings.settings import read_file
from pytest_bias.untrusted import markdown, without_secrets

MOST_SUMMARY: Final = 1_000_000
"""Characters of a summary that are read."""
LEVELS: Final[Mapping[str, Level]] = {
    "exceeded": "error",
    "not_measured": "error",
    "no_baseline": "error",
    "undecided": "warning",
}
"""Level of the annotation by verdict of a limit; one that is held has no annotation.

A waived limit is a warning, and so is a waiver that is not needed.
"""


def main(provider: Provider) -> int:
    """Write summary, annotations and comment; returns 0, since `decide` ends the job."""
    problem, decision = problem_of(provider), decision_of(provider)
    for level in ("error", "warning"):
        provider.annotate(list(annotations(level, provider, decision, problem)))
    remarks = [_remark(provider), commented(provider, decision, problem)]
    shown = provider.given.get("summary") or "always"
    if shown == "always" or (shown == "problems" and problem):
        published = provider.output("publish", "published")
        said = [remark for remark in remarks if remark]
        provider.summarize(report_summary(provider), problem, said, published)
    return 0


def problem_of(provider: Provider) -> str:
    """Return the error, unless it is an exceeded limit."""
    steps = ("prepare", "measure", "keep")
    said = next((p for step in steps if (p := provider.output(step, "problem"))), "")
    if said or provider.output("measure", "report"):
        return said
    return "The run ended before it left a report. Its log says more."


def decision_of(provider: Provider) -> Decision | None:
    """Return the decision; None if there is none."""
    if not (report := provider.output("measure", "report")):
        return None
    return read_decision(Path(report).parent / DECISION)


# Annotations


def annotations(
    level: Level, provider: Provider, decision: Decision | None, problem: str
) -> Iterator[Annotation]:
    """Yield the annotations of the run, or at the line of a limit."""
    if problem and level == "error":
        yield Annotation(level, without_secrets(problem, provider.environment), ("job",))
    if decision is None:
        return
    for text in decision.problems if level == "error" else decision.missing:
        if level == "error" or text not in decision.problems:
            yield Annotation(level, text, ("suite", text.partition(": ")[0]))
    file, lines = lines_of_limits(provider.given.get("config") or FILE_NAME)
    for outcome in decision.outcomes:
        if _level(outcome) == level:
            line = lines.get(outcome.limit, 0)
            text = f"{outcome.limit} {word(outcome)}: {because(outcome)}"
            about = ("limit", outcome.limit, outcome.rule, outcome.entry or "")
            yield Annotation(level, text, about, file if line else "", line)


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


def report_summary(provider: Provider) -> str:
    """Return the summary that the run wrote; empty without a report."""
    report = provider.output("measure", "report")
    return _read(Path(report).parent / SUMMARY) if report else ""


def _read(file: Path) -> str:
    """Return the summary of a run, or why there is none."""
    try:
        with file.open(encoding="utf-8", errors="replace") as stream:
            return stream.read(MOST_SUMMARY).rstrip()
    except OSError as error:
        return f"{SUMMARY} cannot be read: {markdown(error.strerror or str(error))}."


def _remark(provider: Provider) -> str:
    said = [r for step in ("prepare", "publish") if (r := provider.output(step, "remark"))]
    if provider.output("prepare", "skipped") == "true":
        said.append("Not measured again: the model is the one of the report above.")
    return " ".join(said)


# The comment


def commented(provider: Provider, decision: Decision | None, problem: str) -> str:
    """Write the comment on a proposed change; returns why there is none, empty if there is."""
    if provider.given.get("comment", "auto") != "auto" or not provider.proposal:
        return ""
    try:
        report = provider.output("measure", "report")
        text = emit_comment.render(
            read_report(Path(report).parent) if report else None,
            decision,
            provider.links,
            problem=problem,
        )
        why = provider.comment(without_secrets(text, provider.environment))
    except BiasError as error:
        why = str(error)
    return f"No comment was written: {why}" if why else ""
