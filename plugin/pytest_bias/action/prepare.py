"""From inputs to a command: the baseline is fetched, and it is known what a cache can hold."""

import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from pytest_bias.action.inputs import Inputs
from pytest_bias.action.runner import annotation, temp, write_outputs
from pytest_bias.config import Settings, read_settings
from pytest_bias.datasources import cache_folder
from pytest_bias.decisions import read_decision
from pytest_bias.emit.wording import clean
from pytest_bias.errors import BiasError, UsageError
from pytest_bias.folder import DECISION, REPORT, read_report
from pytest_bias.github.api import Client
from pytest_bias.github.artifacts import Expired, last_report
from pytest_bias.github.branches import Place, read_report_of
from pytest_bias.identity import tool_version
from pytest_bias.limits import is_decided_alike, limits_of
from pytest_bias.models.heads import Head, differences, head
from pytest_bias.models.reference import ModelRef
from pytest_bias.models.repository import kept_at
from pytest_bias.records import Report, canonical_json, sha256
from pytest_bias.suite_files import with_files

LAST_RUN: Final = "last-run"
BRANCH: Final = "branch:"

Look: TypeAlias = Callable[[ModelRef], Head]
"""Says what a model is now, and asks the Hub for it once."""


def main(environment: Mapping[str, str]) -> int:
    """Write what the next steps need; returns 0, since a step that follows says what is wrong."""
    inputs = Inputs.of(environment)
    baseline, remark = inputs["baseline"] or None, ""
    if is_last_run(inputs["baseline"]) or inputs["baseline"].startswith(BRANCH):
        found, remark = found_baseline(inputs["baseline"], inputs, environment)
        baseline = str(found) if found else None
    settings = settings_of(inputs)
    # Reports that are joined are measured already: what may be missing is only their baseline.
    skips = inputs.flag("skip-unchanged") and inputs.command != "merge"

    @cache
    def look(ref: ModelRef) -> Head:
        return head(ref, offline=inputs.is_offline)

    stands = [last_exceeded(inputs, environment), baseline] if skips else []
    earlier = next((f for b in stands if (f := unchanged(inputs, settings, b, look))), None)
    # Parts are compared when they are joined; to them a baseline says only whether to measure.
    compared = not (skips and inputs["shard"])
    words = inputs.words(baseline if compared else None, first_run=bool(remark) and compared)
    taken = inputs["reports"] if not words else str(earlier or "")
    key, paths = "", list[str]()
    if inputs.flag("cache") and inputs.command != "merge" and not taken:
        key, paths = cached(inputs, settings, environment, look)
    values = {
        "command": json.dumps([] if taken else words),
        "taken": taken,
        "skipped": "true" if earlier else "false",
        "out": taken or str(inputs.out),
        "remark": remark,
        "cache-key": key,
        "cache-paths": "\n".join(paths),
    }
    if remark:
        sys.stdout.write(annotation("notice", remark) + "\n")
    write_outputs(values, environment)
    return 0


def settings_of(inputs: Inputs) -> Settings:
    """Return the settings of the run, as far as inputs and the settings file say them."""
    config = Path(inputs["config"]) if inputs["config"] else None
    given = {"config": config, "model": inputs.model or None, "suites": inputs.suites}
    return read_settings({**given, "profile": inputs["profile"] or None})


# The baseline


def found_baseline(
    text: str, inputs: Inputs, environment: Mapping[str, str]
) -> tuple[Path | None, str]:
    """Return the folder of a baseline of GitHub's; where there is none, what is said of that.

    Raises
    ------
    BiasError
        If GitHub cannot be asked, or what there was is gone. With `skip-unchanged` the latter is no
        error: a report outlives no model that rests for long, and the model is measured again.
    """
    try:
        found = fetched_baseline(text, inputs, environment)
    except Expired as error:
        if not inputs.flag("skip-unchanged"):
            raise
        return None, f"{error.message} The model is measured again, and compared with nothing."
    return found, "" if found else first_run_remark(inputs)


def is_last_run(baseline: str) -> bool:
    """Whether a baseline is the artifact of an earlier run."""
    return baseline == LAST_RUN or baseline.startswith(f"{LAST_RUN}:")


def last_exceeded(inputs: Inputs, environment: Mapping[str, str]) -> str | None:
    """Return the folder of the report of the last run, if a limit was exceeded in it.

    It is no baseline. But a model that exceeds a limit is measured once, and not on every schedule;
    what failed for another reason is measured, and published, once more.
    """
    if not is_last_run(inputs["baseline"]):
        return None
    try:
        found = fetched_baseline(inputs["baseline"], inputs, environment, failed=True)
    except Expired:
        return None
    is_exceeded = found and read_decision(found / DECISION).status == "exceeded"
    return str(found) if is_exceeded else None


def fetched_baseline(
    text: str, inputs: Inputs, environment: Mapping[str, str], *, failed: bool = False
) -> Path | None:
    """Fetch the report that a baseline of GitHub's means; null if there never was one.

    With `failed` the run may have failed.

    Raises
    ------
    BiasError
        If GitHub cannot be asked, or what there was is gone.
    """
    client = Client.of(environment.get("GITHUB_TOKEN", ""), environment)
    into = Path(tempfile.mkdtemp(prefix="pytest-bias-baseline-", dir=temp(environment)))
    if text.startswith(BRANCH):
        kept = read_report_of(client, Place.parse(text.removeprefix(BRANCH)), into)
        return kept.folder if kept else None
    name = text.removeprefix(LAST_RUN).removeprefix(":").strip() or inputs["artifact"]
    if not name:
        raise UsageError(
            f"the input `baseline` is {LAST_RUN}, and the input `artifact` is empty: no run leaves "
            "a report to compare with."
        )
    found = last_report(
        client,
        name=name,
        workflow_ref=environment.get("GITHUB_WORKFLOW_REF", ""),
        run_id=int(environment.get("GITHUB_RUN_ID") or 0),
        into=into,
        failed=failed,
    )
    return found.folder if found else None


def first_run_remark(inputs: Inputs) -> str:
    """Say that a run is the first: nothing to compare with, and no limit on regression yet."""
    where = "No run of this workflow on the default branch has left a report yet"
    if inputs["baseline"].startswith(BRANCH):
        where = f"{clean(inputs['baseline'])} holds no report yet"
    return f"{where}: this is the first, there is no baseline."


def unchanged(inputs: Inputs, settings: Settings, baseline: str | None, look: Look) -> Path | None:
    """Return the folder of an earlier report of this very model, measured in the same way.

    Raises
    ------
    UsageError
        If there is no baseline that could be one.
    BiasError
        If the model cannot be looked at.
    """
    if inputs.command != "run" or not inputs["baseline"]:
        raise UsageError(
            "the input `skip-unchanged` needs the input `baseline`: the report that the model is "
            "compared with.",
            f"baseline: {LAST_RUN}",
        )
    if not baseline or not (Path(baseline) / REPORT).is_file() or not settings.model:
        return None
    report = read_report(Path(baseline))
    if not measured_alike(report, settings) or not decided_alike(Path(baseline), settings):
        return None
    there = look(ModelRef.parse(settings.model))
    return None if differences(report.model, there) else Path(baseline)


def measured_alike(report: Report, settings: Settings) -> bool:
    """Whether a report is of these settings and of this version of pytest-bias."""
    asked = {"requested": list(settings.suites), "profile": settings.profile, "seed": settings.seed}
    said = {name: report.settings.get(name) for name in asked}
    return report.tool["version"] == tool_version() and said == asked


def decided_alike(folder: Path, settings: Settings) -> bool:
    """Whether the waivers of today make of what was decided what those of then did.

    One that has come, gone or expired does not: the model is measured, and decided on, again.
    """
    if not (folder / DECISION).is_file():
        return True
    decision = read_decision(folder / DECISION)
    if not settings.waive and all(o.waiver is None for o in decision.outcomes):
        return True
    with_files(settings.suites)
    return is_decided_alike(decision, limits_of(settings))


# The cache


def cached(
    inputs: Inputs, settings: Settings, environment: Mapping[str, str], look: Look
) -> tuple[str, list[str]]:
    """Return the key and the folders of what a later run need not fetch again.

    The key changes with the weights and with what decides which data are read. A push that only
    touches the card leaves it as it is.
    """
    weights, paths = "none", [str(cache_folder())]
    ref = ModelRef.parse(settings.model) if settings.model else None
    if ref and ref.source == "hub":
        try:
            there = look(ref)
        except BiasError:
            # The run will say what is wrong with the model.
            return "", []
        weights = sha256(f"{there.weights_sha256} {there.tokenizer_sha256} {there.adapter}")[:16]
        names = (there.base or ref.name, *([ref.adapter.name] if ref.adapter else []))
        paths += [str(kept_at(name)) for name in names]
    config = settings.config.read_text(encoding="utf-8") if settings.config else ""
    of_data = canonical_json(
        [tool_version(), inputs.suites, inputs["profile"], inputs.extra, config]
    )
    system = f"{environment.get('RUNNER_OS', '')}-{environment.get('RUNNER_ARCH', '')}"
    return f"pytest-bias-{system}-{weights}-{sha256(of_data)[:16]}", paths
