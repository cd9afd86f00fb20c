"""From inputs to a command: the baseline is fetched, and it is known what a cache can hold."""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from pytest_bias.ci.action.inputs import PLAIN, Inputs
from pytest_bias.ci.action.runner import (
    annotation,
    for_a_model,
    problem_of,
    temp,
    without_secrets,
    write_outputs,
)
from pytest_bias.ci.github.api import Client
from pytest_bias.ci.github.artifacts import Expired, last_report
from pytest_bias.ci.github.branches import FOLDER, Place, read_report_of
from pytest_bias.data.sources import cache_folder
from pytest_bias.errors import BiasError, MeasurementError, UsageError
from pytest_bias.models.fingerprint import head
from pytest_bias.models.reference import ModelRef
from pytest_bias.models.repository import kept_at
from pytest_bias.records.identity import tool_version
from pytest_bias.records.report import canonical_json, sha256
from pytest_bias.reports.decision import read_decision
from pytest_bias.reports.folder import DECISION, REPORT, read_plain_report
from pytest_bias.settings.parameters import settings_of_run
from pytest_bias.settings.settings import Settings, read_settings
from pytest_bias.untrusted import clean

LAST_RUN: Final = "last-run"
BRANCH: Final = "branch:"
_OWN_NAME: Final = re.compile(rf"{PLAIN}-.*[0-9a-f]{{8}}")

COMPARED: Final = "pytest_bias.ci.action.unchanged"
"""What is run to know whether a report is that of the command."""


def main(environment: Mapping[str, str]) -> int:
    """Write what the next steps need; returns 0, since a step that follows says what is wrong."""
    inputs = Inputs.of(environment)
    write_outputs({"identity": inputs.identity}, environment)
    settings = settings_of(inputs, inputs.words())
    model = without_secrets(settings.model or "", environment)
    artifact, folder = inputs.artifact(model), f"{FOLDER}-{inputs.named(model)}"
    write_outputs({"artifact": artifact, "folder": folder}, environment)
    baseline, remark = inputs["baseline"] or None, ""
    if is_last_run(inputs["baseline"]) or inputs["baseline"].startswith(BRANCH):
        found, remark = found_baseline(inputs, settings, environment)
        baseline = str(found) if found else None
    # Reports that are joined are measured already: what may be missing is only their baseline.
    skips = inputs.flag("skip-unchanged") and inputs.command != "merge"
    # Parts are compared when they are joined; to them a baseline says only whether to measure.
    compared = not (skips and inputs["shard"])
    words = inputs.words(baseline if compared else None, first_run=bool(remark) and compared)
    stands = [last_exceeded(inputs, settings, environment), baseline] if skips else []
    earlier = next((f for b in stands if (f := unchanged(inputs, words, b, environment))), None)
    if earlier:
        words = inputs.again(earlier, settings, baseline, first_run=bool(remark))
    taken = inputs["reports"] if not words else ""
    if earlier and not words:
        taken = str(earlier)
    key, paths = "", list[str]()
    if inputs.flag("cache") and inputs.command != "merge" and not (taken or earlier):
        key, paths = cached(inputs, settings, environment)
    values = {
        "command": json.dumps(words),
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


def settings_of(inputs: Inputs, words: Sequence[str]) -> Settings:
    """Return the settings of the command, which are those of its own words."""
    if inputs.command == "run":
        return settings_of_run(words[1:])
    config = Path(inputs["config"]) if inputs["config"] else None
    return read_settings({"config": config, "model": inputs.model or None})


# The baseline


def found_baseline(
    inputs: Inputs, settings: Settings, environment: Mapping[str, str]
) -> tuple[Path | None, str]:
    """Return the folder of a baseline of GitHub's; where there is none, what is said of that.

    Raises
    ------
    BiasError
        If GitHub cannot be asked, or what there was is gone. With `skip-unchanged` the latter is no
        error: a report outlives no model that rests for long, and the model is measured again.
    """
    try:
        found = fetched_baseline(inputs, settings, environment)
    except Expired as error:
        if not inputs.flag("skip-unchanged"):
            raise
        return None, f"{error.message} The model is measured again, and compared with nothing."
    return found, "" if found else first_run_remark(
        inputs, without_secrets(settings.model or "", environment)
    )


def is_last_run(baseline: str) -> bool:
    """Whether a baseline is the artifact of an earlier run."""
    return baseline == LAST_RUN or baseline.startswith(f"{LAST_RUN}:")


def last_exceeded(inputs: Inputs, settings: Settings, environment: Mapping[str, str]) -> str | None:
    """Return the folder of the report of the last run, if a limit was exceeded in it.

    It is no baseline. But a model that exceeds a limit is measured once, and not on every schedule;
    what failed for another reason is measured, and published, once more.
    """
    if not is_last_run(inputs["baseline"]):
        return None
    try:
        found = fetched_baseline(inputs, settings, environment, failed=True)
    except Expired:
        return None
    is_exceeded = found and read_decision(found / DECISION).status == "exceeded"
    return str(found) if is_exceeded else None


def fetched_baseline(
    inputs: Inputs, settings: Settings, environment: Mapping[str, str], *, failed: bool = False
) -> Path | None:
    """Fetch the report that a baseline of GitHub's means; null if there never was one.

    With `failed` the run may have failed. Where there is none under a name of this job's own, that
    of the plain name counts if it is of the same model: so it was called before.

    Raises
    ------
    BiasError
        If GitHub cannot be asked, or what there was is gone.
    """
    text, client = inputs["baseline"], Client.of(environment.get("GITHUB_TOKEN", ""), environment)
    if text.startswith(BRANCH):
        place = Place.parse(text.removeprefix(BRANCH))
        own = replace(
            place,
            folder=f"{FOLDER}-{inputs.named(without_secrets(settings.model or '', environment))}",
        )
        places = [own, place] if place.folder == FOLDER else [place]
        for where in places:
            kept = read_report_of(client, where, _new_folder(environment))
            if kept and (where == places[0] or _is_of(kept.folder, settings)):
                return kept.folder
        return None
    name = text.removeprefix(LAST_RUN).removeprefix(":").strip()
    name = name or inputs.artifact(without_secrets(settings.model or "", environment))
    if not name:
        raise UsageError(
            f"the input `baseline` is {LAST_RUN}, and the input `artifact` is empty: no run leaves "
            "a report to compare with."
        )
    for one in (name, *([PLAIN] if _OWN_NAME.fullmatch(name) else [])):
        found = last_report(
            client,
            name=one,
            workflow_ref=environment.get("GITHUB_WORKFLOW_REF", ""),
            run_id=int(environment.get("GITHUB_RUN_ID") or 0),
            into=_new_folder(environment),
            failed=failed,
        )
        if found and (one == name or _is_of(found.folder, settings)):
            return found.folder
    return None


def _new_folder(environment: Mapping[str, str]) -> Path:
    return Path(tempfile.mkdtemp(prefix="pytest-bias-baseline-", dir=temp(environment)))


def _is_of(folder: Path, settings: Settings) -> bool:
    """Whether a report is of the model of this job, by its name."""
    try:
        name = ModelRef.parse(settings.model or "").name
        return Path(read_plain_report(folder / REPORT).model.reference).name == Path(name).name
    except BiasError:
        return False


def first_run_remark(inputs: Inputs, model: str) -> str:
    """Say that a run is the first: nothing to compare with, and no limit on regression yet."""
    name = inputs["baseline"].removeprefix(LAST_RUN).removeprefix(":").strip()
    named = clean(name or inputs.artifact(model), 120)
    where = f"No run of this workflow on the default branch has left the artifact {named} yet"
    if inputs["baseline"].startswith(BRANCH):
        where = f"{clean(inputs['baseline'])} holds no report yet"
    return f"{where}: this is the first, there is no baseline."


def unchanged(
    inputs: Inputs, words: Sequence[str], baseline: str | None, environment: Mapping[str, str]
) -> Path | None:
    """Return the folder of the earlier report that the command would leave again.

    Raises
    ------
    UsageError
        If there is no baseline that could be one.
    MeasurementError
        If the model cannot be looked at.
    """
    if inputs.command != "run" or not inputs["baseline"]:
        raise UsageError(
            "the input `skip-unchanged` needs the input `baseline`: the report that the model is "
            "compared with.",
            f"baseline: {LAST_RUN}",
        )
    if not baseline or not (Path(baseline) / REPORT).is_file():
        return None
    answer = Path(tempfile.mkdtemp(dir=temp(environment))) / "answer.json"
    asked = subprocess.run(
        [sys.executable, "-m", COMPARED, json.dumps(list(words)), baseline, str(answer)],
        env=for_a_model(environment),
        check=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    )
    if not answer.is_file() and asked.returncode == UsageError.exit_code:
        # The command says so itself.
        return None
    if not answer.is_file():
        said = problem_of(asked.stderr.splitlines(keepends=True)) or "the process that asks ended"
        raise MeasurementError(f"whether the model is unchanged is not known: {said}")
    why = json.loads(answer.read_text(encoding="utf-8"))["why"]
    if why:
        sys.stdout.write(f"Measured, since there is no report of the same: {clean(why)}.\n")
    return None if why else Path(baseline)


# The cache


def cached(
    inputs: Inputs, settings: Settings, environment: Mapping[str, str]
) -> tuple[str, list[str]]:
    """Return the key and the folders of what a later run need not fetch again.

    The key changes with the weights and with what decides which data are read. A push that only
    touches the card leaves it as it is.
    """
    weights, paths = "none", [str(cache_folder())]
    ref = ModelRef.parse(settings.model) if settings.model else None
    if ref and ref.source == "hub":
        try:
            there = head(ref, offline=inputs.is_offline)
        except BiasError:
            # The run will say what is wrong with the model.
            return "", []
        weights = sha256(f"{there.weights_sha256} {there.tokenizer_sha256} {there.adapter}")[:16]
        names = (there.base or ref.name, *([ref.adapter.name] if ref.adapter else []))
        paths += [str(kept_at(name)) for name in names]
    config = settings.config.read_text(encoding="utf-8") if settings.config else ""
    of_data = canonical_json([tool_version(), inputs.identity, settings.model, config])
    system = f"{environment.get('RUNNER_OS', '')}-{environment.get('RUNNER_ARCH', '')}"
    return f"pytest-bias-{system}-{weights}-{sha256(of_data)[:16]}", paths
