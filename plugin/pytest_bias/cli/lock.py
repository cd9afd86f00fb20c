"""The command ``lock``: query the Hub, measure if asked to, write the lock file and print."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from pytest_bias.cli.screens import locks
from pytest_bias.environment import is_offline
from pytest_bias.errors import BiasError, ModelError, UsageError
from pytest_bias.evidence.lock import Checked, Locked, LockedReport, check, earlier, lock, pinned
from pytest_bias.evidence.lock_file import named, read_lock, write_lock
from pytest_bias.exit_codes import EXIT_INTERRUPTED
from pytest_bias.models import ModelRef
from pytest_bias.models.fingerprint import differences
from pytest_bias.runs.finishing import run_job
from pytest_bias.settings.options import OPTIONS
from pytest_bias.settings.settings import ASKING, Settings
from pytest_bias.untrusted import clean

OPTIONS_OF_A_RUN: Final = (
    *("suites", "languages", "profile", "seed", "chat", *ASKING),
    *("device", "devices", "device_map", "dtype", "data_dir", "scorers"),
    *("fresh", "trust_remote_code", "allow_pickle"),
)
"""Options that ``--run`` accepts."""

GRAVITY: Final = (0, 1, 3, 2, EXIT_INTERRUPTED)
"""Exit codes, most severe last: of several, that one counts."""


def lock_command(
    model: str, settings: Settings, console: Console, *, file: Path, runs: bool
) -> int:
    """Lock a model as it is now; returns the exit code.

    If no report of this model is published and `runs` is set, the model is measured and the scores
    are locked; the exit code is then that of the run. An interrupted run locks nothing. Scores that
    were locked before are kept if the model is still the same.
    """
    _ask_nobody_offline(settings)
    models = read_lock(file) if file.exists() else {}
    found, notes = lock(ModelRef.parse(model), _today())
    before, code = models.get(found.name), 0
    if runs and (found.report is None or found.report.withheld):
        asked = _plain(settings, pinned(found.name, found.head))
        done = run_job(asked, console)
        console.print()
        code = done.exit_code
        if code == EXIT_INTERRUPTED:
            return code
        if other := differences(done.report.model, found.head):
            raise ModelError(
                f"what was measured is not what the Hub lists of {found.name}: other "
                f"{', '.join(other)}.",
                "It may have moved meanwhile: lock it again.",
            )
        found = replace(found, report=LockedReport.of(done.report, "measured"))
    elif found.report is None and before and not differences(before.head, found.head):
        found = replace(found, report=before.report)
    if found.report is None:
        notes = (*notes, "No scores are locked; --run measures it.")
    write_lock(file, {**models, found.name: found})
    console.print(locks.locked(found, before, file, notes))
    return code


def check_command(
    model: str | None,
    settings: Settings,
    console: Console,
    *,
    file: Path,
    runs: bool,
    given: Sequence[str] = (),
) -> int:
    """Report whether the locked models, or one of them, have changed; returns the exit code.

    It is 0 if none has changed, 1 if one has, 3 if that is unknown for one. With `runs` every
    changed model is measured and compared with the locked one, whose scores come from the published
    report, or else are measured as well; unchanged models are not measured. The most severe code
    counts: an exceeded limit (1) adds nothing to a change, a run that could not measure (3) or that
    is refused (2) does.

    Parameters
    ----------
    given : sequence of str
        Names of the options on the command line, none of which may contradict the locked report.
    """
    _ask_nobody_offline(settings)
    codes = [0]
    for one in named(read_lock(file), model, file):
        found = check(one)
        console.print(locks.checked(found))
        codes.append(found.exit_code)
        if runs and found.verdict == "changed":
            codes.append(_measured(found, settings, console, given))
        elif runs and found.now:
            console.print(Text("  nothing to measure: it is the same model"))
    if EXIT_INTERRUPTED in codes:
        return EXIT_INTERRUPTED
    return max(codes, key=GRAVITY.index)


def check_options(given: Sequence[str], *, runs: bool) -> None:
    """Raise `UsageError` if options of a run were given without ``--run``."""
    typed = [n for n in given if n in OPTIONS_OF_A_RUN]
    if typed and not runs:
        raise UsageError(
            f"{_flags()[typed[0]]} says how to measure, and nothing is measured.",
            "Add --run, or leave it out.",
        )


def _measured(found: Checked, settings: Settings, console: Console, given: Sequence[str]) -> int:
    """Measure the current model against the locked one; returns the exit code of that run."""
    now = found.now
    assert now is not None, "only what is known can be measured"
    before = found.locked
    try:
        base = earlier(before)
        baseline = str(base) if base else pinned(before.name, before.head)
        asked = _plain(_as_locked(settings, before, given), pinned(before.name, now))
        console.print()
        done = run_job(replace(asked, baseline=baseline), console)
    except BiasError as error:
        _show(error, console)
        return error.exit_code
    console.print()
    return done.exit_code


def _as_locked(settings: Settings, before: Locked, given: Sequence[str]) -> Settings:
    """Return settings that measure what the locked report did."""
    report = before.report
    if report is None:
        return settings
    as_locked: Mapping[str, Any] = {
        "suites": report.suites,
        "languages": report.languages,
        "profile": report.profile,
        "seed": report.seed,
        # The model may have gained or lost its chat template since.
        "chat": "off" if report.chat == "off" else "auto",
        **{name: getattr(report, name) for name in ASKING},
    }
    for name, value in as_locked.items():
        asked = settings.requested if name == "suites" else getattr(settings, name)
        if name in given and asked != value:
            raise UsageError(
                f"{_flags()[name]}: the locked scores of {before.name} were measured otherwise.",
                f"Leave it out, or lock it anew: pytest-bias lock {before.name} --run",
            )
    return replace(settings, **{**as_locked, "suites": settings.as_given(report.suites)})


def _plain(settings: Settings, model: str) -> Settings:
    """Return settings that measure one model into its default folder, with scores."""
    return replace(
        settings,
        model=model,
        out=None,
        baseline=None,
        shard=None,
        withhold_scores=False,
    )


def _ask_nobody_offline(settings: Settings) -> None:
    if is_offline(settings.offline):
        raise ModelError(
            "only the Hub knows the present state of a model, and this run is offline.",
            "Turn offline off (HF_HUB_OFFLINE, PYTEST_BIAS_OFFLINE, the settings file).",
        )


def _show(error: BiasError, console: Console) -> None:
    console.print(Text(f"  not measured: {clean(error.message, 2000)}"), soft_wrap=True)
    if error.hint:
        console.print(Text(f"  {clean(error.hint, 2000)}", style="dim"), soft_wrap=True)


def _flags() -> dict[str, str]:
    return {o.name: f"--{o.flag}" for o in OPTIONS}


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
