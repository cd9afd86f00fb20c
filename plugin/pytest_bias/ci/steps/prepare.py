"""Build the command from the inputs: fetch the baseline, and determine what to cache."""

import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pytest_bias.ci.contents import FOLDER
from pytest_bias.ci.provider import Annotation, Provider, ReportExpired
from pytest_bias.ci.steps.inputs import Inputs
from pytest_bias.data.sources import cache_folder
from pytest_bias.errors import BiasError, MeasurementError, UsageError
from pytest_bias.models.fingerprint import fingerprint
from pytest_bias.models.reference import ModelRef
from pytest_bias.models.repository import kept_at
from pytest_bias.records.identity import tool_version
from pytest_bias.records.report import canonical_json, sha256
from pytest_bias.reports.decision import read_decision
from pytest_bias.reports.folder import DECISION, REPORT
from pytest_bias.settings.parameters import settings_of_run
from pytest_bias.settings.settings import Settings, read_settings
from pytest_bias.untrusted import clean, without_secrets

LAST_RUN: Final = "last-run"
BRANCH: Final = "branch:"
COMPARED: Final = "pytest_bias.ci.steps.unchanged"
"""Module that checks whether a report is the one that a run would produce."""


def main(provider: Provider) -> int:
    """Save what the next steps need; returns 0, since a later step reports errors."""
    inputs = Inputs.of(provider.given)
    provider.check(inputs)
    provider.write_outputs("prepare", {"identity": inputs.identity})
    settings = settings_of(inputs, inputs.words())
    model = without_secrets(settings.model or "", provider.environment)
    named = {"artifact": inputs.artifact(model), "folder": f"{FOLDER}-{inputs.named(model)}"}
    provider.write_outputs("prepare", named)
    baseline, remark = inputs["baseline"] or None, ""
    if is_last_run(inputs["baseline"]) or inputs["baseline"].startswith(BRANCH):
        found, remark = found_baseline(inputs, model, provider)
        baseline = str(found) if found else None
    # Reports to merge are measured already: only their baseline may be missing.
    skips = inputs.flag("skip-unchanged") and inputs.command != "merge"
    # Shards are compared when they are merged; for them a baseline only decides whether to measure.
    compared = not (skips and inputs["shard"])
    words = inputs.words(baseline if compared else None, first_run=bool(remark) and compared)
    stands = [last_exceeded(inputs, model, provider), baseline] if skips else []
    earlier = next((f for b in stands if (f := unchanged(inputs, words, b, provider))), None)
    if earlier:
        words = inputs.again(earlier, settings, baseline, first_run=bool(remark))
    taken = inputs["reports"] if not words else ""
    if earlier and not words:
        taken = str(earlier)
    key, paths = "", list[str]()
    if inputs.flag("cache") and inputs.command != "merge" and not (taken or earlier):
        key, paths = cached(inputs, settings)
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
        provider.annotate([Annotation("notice", remark)])
    provider.write_outputs("prepare", values)
    return 0


def settings_of(inputs: Inputs, words: Sequence[str]) -> Settings:
    """Return the settings that the command will read from its arguments."""
    if inputs.command == "run":
        return settings_of_run(words[1:])
    config = Path(inputs["config"]) if inputs["config"] else None
    return read_settings({"config": config, "model": inputs.model or None})


# The baseline


def found_baseline(inputs: Inputs, model: str, provider: Provider) -> tuple[Path | None, str]:
    """Return the folder of a baseline that the service keeps; if it has none, a notice.

    Raises
    ------
    BiasError
        If the service cannot be asked, or the report has expired. With `skip-unchanged` the latter
        is no error: a model may stay unchanged for longer than reports are kept, and is then
        measured again.
    """
    try:
        found = provider.last_report(inputs, model)
    except ReportExpired as error:
        if not inputs.flag("skip-unchanged"):
            raise
        return None, f"{error.message} The model is measured again, and compared with nothing."
    if found:
        return found, ""
    return None, f"{provider.first_run(inputs, model)}: this is the first, there is no baseline."


def is_last_run(baseline: str) -> bool:
    """Whether a baseline is the artifact of an earlier run."""
    return baseline == LAST_RUN or baseline.startswith(f"{LAST_RUN}:")


def last_exceeded(inputs: Inputs, model: str, provider: Provider) -> str | None:
    """Return the folder of the report of the last run, if a limit was exceeded in it.

    It is no baseline, but it keeps a model that exceeds a limit from being measured again on every
    schedule. A run that failed for another reason is measured, and published, once more.
    """
    if not is_last_run(inputs["baseline"]):
        return None
    try:
        found = provider.last_report(inputs, model, failed=True)
    except ReportExpired:
        return None
    is_exceeded = found and read_decision(found / DECISION).status == "exceeded"
    return str(found) if is_exceeded else None


def unchanged(
    inputs: Inputs, words: Sequence[str], baseline: str | None, provider: Provider
) -> Path | None:
    """Return the folder of an earlier report that the command would produce again.

    Raises
    ------
    UsageError
        If there is no baseline to compare with.
    MeasurementError
        If the model cannot be inspected.
    """
    if inputs.command != "run" or not inputs["baseline"]:
        raise UsageError(
            "the input `skip-unchanged` needs the input `baseline`: the report that the model is "
            "compared with.",
            f"baseline: {LAST_RUN}",
        )
    if not baseline or not (Path(baseline) / REPORT).is_file():
        return None
    with tempfile.TemporaryDirectory(dir=provider.temp) as folder:
        file = Path(folder) / "answer.json"
        asked = [sys.executable, "-m", COMPARED, json.dumps(list(words)), baseline, str(file)]
        with provider.quiet():
            subprocess.run(asked, env=provider.for_a_model, check=False, stdout=subprocess.DEVNULL)
        answer = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    if answer.get("exit_code") == UsageError.exit_code:
        # The command reports this itself.
        return None
    if "why" not in answer:
        said = answer.get("error", "the process that asks ended")
        raise MeasurementError(f"whether the model is unchanged is not known: {said}")
    if answer["why"]:
        sys.stdout.write(
            f"Measured, since there is no report of the same: {clean(answer['why'])}.\n"
        )
    return None if answer["why"] else Path(baseline)


# The cache


def cached(inputs: Inputs, settings: Settings) -> tuple[str, list[str]]:
    """Return the key and the folders of the cache for later runs.

    The key changes with the weights and with the settings that decide which data are read. A push
    that only changes the card leaves it as it is.
    """
    weights, paths = "none", [str(cache_folder())]
    ref = ModelRef.parse(settings.model) if settings.model else None
    if ref and ref.source == "hub":
        try:
            there = fingerprint(ref, offline=inputs.is_offline)
        except BiasError:
            # The run will report what is wrong with the model.
            return "", []
        weights = sha256(f"{there.weights_sha256} {there.tokenizer_sha256} {there.adapter}")[:16]
        names = (there.base or ref.name, *([ref.adapter.name] if ref.adapter else []))
        paths += [str(kept_at(name)) for name in names]
    config = settings.config.read_text(encoding="utf-8") if settings.config else ""
    of_data = canonical_json([tool_version(), inputs.identity, settings.model, config])
    system = f"{platform.system()}-{platform.machine()}"
    return f"pytest-bias-{system}-{weights}-{sha256(of_data)[:16]}", paths
