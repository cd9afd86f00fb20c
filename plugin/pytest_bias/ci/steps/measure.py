"""Run the command, and pass its result to later steps."""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from pytest_bias.ci.contents import JOB
from pytest_bias.ci.provider import MOST_OUTPUT, Provider
from pytest_bias.ci.steps.command import run_command
from pytest_bias.emit.exports.intoto import of_limits
from pytest_bias.errors import BiasError, MeasurementError
from pytest_bias.evidence.reproduction import EXITS, Reproduction
from pytest_bias.models.snapshot import file_sha256
from pytest_bias.records.report import Report
from pytest_bias.records.suite_states import FAILED
from pytest_bias.reports.decision import Decision, Outcome, read_decision, severity
from pytest_bias.reports.folder import DECISION, REPORT, read_report, remove
from pytest_bias.reports.publication_layout import REPRODUCTION, SIGNATURE, TEST_RESULT
from pytest_bias.untrusted import clean, without_secrets

NOTHING: Final[Mapping[str, str]] = {
    **{"report": "", "badges": "", "status": "could-not-measure", "scores": "{}", "worst": ""},
    **{"changed": "", "change": "", "digest": "", "sha256": "", "complete": "false"},
    **{"test-result": "", "test-subjects": ""},
}
"""Outputs of a run without a report."""


def main(provider: Provider) -> int:
    """Run the command that was prepared; returns 0, since `decide` ends the job."""
    words = json.loads(provider.output("prepare", "command"))
    out = Path(provider.output("prepare", "out"))
    if words:
        # Left by an earlier run, on a machine that keeps its files.
        signed = (f"{name}{SIGNATURE}" for name in (REPRODUCTION, REPORT, TEST_RESULT))
        remove((REPRODUCTION, *signed), out)
    before = _written(out)
    code, problem = measure(words, provider) if words else (None, "")
    values = dict(NOTHING)
    if not words or _written(out) not in (None, before):
        values, decided = outputs(out)
        code = decided if code is None else code
        if words and (identity := provider.output("prepare", "identity")):
            about = {"identity": identity, "run": provider.run}
            (out / JOB).write_text(_json(about) + "\n", encoding="utf-8")
    elif code == 0:
        code, problem = MeasurementError.exit_code, f"the command left no report in {out}"
    provider.write_outputs("measure", {**values, "exit-code": str(code), "problem": problem})
    return 0


def measure(words: Sequence[str], provider: Provider) -> tuple[int, str]:
    """Run a command; returns its exit code and its error message.

    It can neither communicate with the runner nor see a token of the service, since code of a model
    may run in it.
    """
    sys.stdout.write(f"{clean(shlex.join(['pytest-bias', *words]), 2000)}\n")
    result = run_command(words, provider, provider.for_a_model)
    return result.exit_code, without_secrets(result.problem, provider.environment)


def outputs(out: Path) -> tuple[dict[str, str], int]:
    """Return the outputs for later steps, and the exit code of the decision, from a folder."""
    report = read_report(out)
    evidence = out / REPRODUCTION
    decision = read_decision(out / DECISION)
    change = decision.change or {}
    code = decision.exit_code
    if evidence.is_file():
        code = code or EXITS[Reproduction.from_json(evidence.read_text(encoding="utf-8")).verdict]
    values = {
        "report": str(out / REPORT),
        "badges": str(out / "badges"),
        "status": decision.status,
        "scores": _json(scores(report)),
        "worst": _json(worst(decision.outcomes)) if decision.outcomes else "",
        "changed": _json(change["changed"]) if change else "",
        "change": change.get("sentence", ""),
        "digest": str(report.digest),
        # A cache is saved only once, so not when data could not be fetched in this run.
        "complete": _json(not any(s.status in FAILED for s in report.suites)),
        # Of the file to sign, so that the signing job can check that it has the right one.
        "sha256": file_sha256(evidence if evidence.is_file() else out / REPORT),
        **({} if evidence.is_file() else to_attest(report, decision, out / REPORT)),
    }
    return {**NOTHING, **values}, code


def to_attest(report: Report, decision: Decision, file: Path) -> dict[str, str]:
    """Return the verdicts on limits as actions/attest takes them; empty if none can be stated.

    They are its predicate, as JSON, and its subjects, as a list of checksums.
    """
    try:
        statement = of_limits(report, decision, file_sha256(file))
    except BiasError:
        # Without limits, weights or a measurement; where there are limits, the run says which.
        return {}
    subjects = "\n".join(f"{s['digest']['sha256']}  {s['name']}" for s in statement["subject"])
    found = {"test-result": _json(statement["predicate"]), "test-subjects": subjects}
    # What is longer is cut, and then is no predicate.
    return found if all(len(value) <= MOST_OUTPUT for value in found.values()) else {}


def scores(report: Report) -> dict[str, dict[str, Any]]:
    """Return the headline of every suite."""
    return {
        suite.entry: {
            "metric": score.metric,
            "value": score.value,
            "interval": score.interval,
            "ideal": score.ideal,
            "unit": score.unit,
            "n": score.n,
        }
        for suite in report.suites
        if (score := suite.headline)
    }


def worst(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the most severe outcome of the limits; of several, the clearest."""
    found = min(outcomes, key=lambda o: (severity(o), -_beyond(o)))
    kept = ("limit", "rule", "verdict", "entry", "value", "interval", "allowed", "reason")
    waiver = {"waiver": asdict(found.waiver)} if found.waiver else {}
    return {name: getattr(found, name) for name in kept} | waiver


def _beyond(outcome: Outcome) -> float:
    """Return how far an interval exceeds the limit, in units of its width."""
    if not outcome.interval or not outcome.allowed:
        return 0.0
    (low, high), (least, most) = outcome.interval, outcome.allowed
    gaps = [
        *([least - high] if least is not None else []),
        *([low - most] if most is not None else []),
    ]
    return max(gaps, default=0.0) / ((high - low) or 1.0)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _written(out: Path) -> int | None:
    return (out / REPORT).stat().st_mtime_ns if (out / REPORT).exists() else None
