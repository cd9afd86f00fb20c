"""The baseline of a run: an existing report, or another model, which is measured first.

``--baseline`` is read in this order; the first match is used:

1. An existing path: a file, or a folder with ``report.json``, is a report; a folder with
   ``config.json`` or ``adapter_config.json``, or a ``.gguf`` file, is a model.
2. ``base`` is the model that the model under test was made from: an adapter's base, else the
   ``base_model`` of its card. ``published`` is the report that ``bias/current.json`` names in the
   repository of the model under test: on the Hub at the head of its default branch, or in its
   folder.
3. The name of a model: ``org/name``, ``org/name@revision``, ``demo``, ``MODEL+ADAPTER``.
"""

import difflib
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_bias.engine.events import Listener, Notice
from pytest_bias.errors import BiasError, ModelError, ReportError, UsageError
from pytest_bias.models import ModelRef
from pytest_bias.records.report import Report
from pytest_bias.reports.folder import REPORT, read_report
from pytest_bias.reports.publication_layout import CURRENT
from pytest_bias.reports.publication_pointer import published
from pytest_bias.settings.options import BASELINES, OPTIONS
from pytest_bias.settings.settings import Settings

if TYPE_CHECKING:
    from pytest_bias.engine.planning import Plan
    from pytest_bias.models import Described

FORMS: Final = (
    "a folder with a report.json, a report.json, base, published, or a model (org/name, "
    "org/name@revision, a folder, demo)"
)
MODEL_FILES: Final = ("config.json", "adapter_config.json")

NOT_OF_A_BASELINE: Final = (
    *("baseline", "first_run", "fresh", "out", "junit", "show_items", "with_texts"),
    "withhold_scores",
)
"""Options of a run that are not used for its baseline."""


def find(
    text: str, model: "Described", settings: Settings, listener: Listener
) -> Report | ModelRef | None:
    """Find what ``--baseline`` names: a report, or a model that has to be measured.

    None if nothing is published yet and the settings say that this is a first run.

    Raises
    ------
    BiasError
        If it does not exist or cannot be read.
    """
    path = _path(text)
    if _is_report(path):
        return read(path)
    if _is_model(path):
        return ModelRef.parse(str(path.resolve()))
    if text == "base":
        return base_of(model)
    if text == "published":
        return _published(model, settings, listener)
    if path.is_dir():
        raise UsageError(
            f"--baseline {text}: the folder holds neither a report (report.json) nor a model "
            "(config.json).",
            f"A baseline is {FORMS}.",
        )
    try:
        return ModelRef.parse(text)
    except ModelError:
        raise ReportError(
            f"--baseline {text}: there is no such folder or file.{_nearest(text)}",
            f"A baseline is {FORMS}.",
        ) from None
    except UsageError as error:
        raise about(text, error) from None


def saved(text: str) -> Report:
    """Read a baseline that has to be a report.

    Raises
    ------
    UsageError
        If it is not a report.
    """
    path = _path(text)
    if _is_report(path):
        return read(path)
    near = _nearest(text)
    raise UsageError(
        f"--baseline {text}: there is no report.{near} Here a baseline is a folder with a "
        "report.json, or a report.json.",
        "pytest-bias run MODEL writes one.",
    )


def read(path: Path) -> Report:
    """Read a report that is to serve as a baseline, with its records.

    Raises
    ------
    ReportError
        If it cannot be read, has no records, or its records are not those that it was made from.
    """
    try:
        report = read_report(path)
    except ReportError as error:
        raise ReportError(f"the baseline {path}: {error.message}", error.hint) from None
    if report.withheld:
        raise ReportError(
            f"the scores of the baseline {path} are withheld: there is nothing to compare with.",
            "Give the full report.",
        )
    kept = [s for s in report.suites if s.records_sha256]
    if kept and not any(s.records for s in kept):
        raise ReportError(
            f"the baseline {path} has no records, and versions are compared item by item.",
            f"Put the folder records, which the run wrote as well, beside its {REPORT}.",
        )
    return report


def base_of(model: "Described") -> ModelRef:
    """Return the base model of a model, as an adapter's files or a card name it.

    Raises
    ------
    UsageError
        If none is named, or several are.
    """
    ref = model.ref
    if ref.adapter:
        return replace(ref, adapter=None)
    names = _texts(model.card.get("base_model"))
    if not names:
        raise UsageError(
            f"--baseline base: the card of {ref} names no base model.",
            "Write it at the head of its README.md (base_model: org/name), or name the model: "
            "--baseline org/name",
        )
    if len(names) > 1:
        raise UsageError(
            f"--baseline base: the card of {ref} names {len(names)} base models: "
            f"{', '.join(names)}.",
            f"Choose one: --baseline {shlex.quote(names[0])}",
        )
    try:
        return ModelRef.parse(names[0])
    except BiasError as error:
        raise about(f"base ({names[0]})", error) from None


def settings_for(plan: "Plan", baseline: ModelRef) -> Settings:
    """Return the settings that measure a baseline as the model under test is measured.

    Raises
    ------
    UsageError
        If two models could not be measured alike with these settings.
    """
    settings = plan.settings
    if settings.budget is not None:
        raise UsageError(
            f"--budget with --baseline {settings.baseline}: each of the two models would stop at a "
            "different item, and only the same items can be compared.",
            "--profile quick takes the same sample of both; or give a report.",
        )
    plain = Settings()
    return replace(
        settings,
        **{name: getattr(plain, name) for name in NOT_OF_A_BASELINE},
        model=baseline.argument,
        # The languages of the model under test, whatever the other card says.
        languages=tuple(plan.coverage["languages"]),
        limits=plain.limits,
        waive=plain.waive,
    )


def check_kinds(model: "Described", baseline: "Described") -> None:
    """Raise `UsageError` if two models are of kinds for which no suite can be compared."""
    if model.kind != baseline.kind:
        raise UsageError(
            f"the baseline {baseline.ref} ({baseline.kind}) and {model.ref} "
            f"({model.kind}) are models of different kinds: they are measured differently, and "
            "nothing could be compared.",
        )


def kept(plan: "Plan", folder: Path, key: str) -> Report | None:
    """Return the report of an earlier run of the same baseline, if it is complete.

    Raises
    ------
    ReportError
        If the report there cannot be read.
    """
    if not (folder / REPORT).exists():
        return None
    try:
        report = read(folder)
    except ReportError as error:
        raise ReportError(
            error.message, f"Remove {folder}, and the baseline is measured again."
        ) from None
    there = {s.entry for s in report.suites}
    whole = (
        report.run.get("key") == key
        and not report.run.get("interrupted")
        and all(p.entry.id in there for p in plan.entries)
        and all(s.status not in ("error", "unavailable") for s in report.suites)
        and all(s.records for s in report.suites if s.records_sha256)
        # Hidden results can be compared only while they are in memory.
        and not any(s.is_hidden for s in report.suites)
        and report.model.dtype == _precision(plan)
    )
    return report if whole else None


def command(settings: Settings, *, stated: bool) -> str:
    """Return the command that measures a baseline with these settings.

    `stated` says that the settings file or the environment names a baseline, which this command
    must not use.
    """
    plain = Settings()
    words = ["pytest-bias", "run", settings.model or ""]
    for option in OPTIONS:
        value = getattr(settings, option.name)
        if value == getattr(plain, option.name):
            continue
        if option.name == "config" and value.parent == Path.cwd():
            continue
        for one in value if isinstance(value, tuple) else [value]:
            words += [f"--{option.flag}", *([] if option.type == "flag" else [str(one)])]
    if stated:
        words += ["--baseline", ""]
    return shlex.join(words)


def about(text: str, error: BiasError) -> BiasError:
    """Return an error that names the baseline as its subject, with the nearest known name."""
    near = "" if "Did you mean" in error.message else _nearest(text)
    return type(error)(f"--baseline {text}: {error.message}{near}", error.hint)


def _published(model: "Described", settings: Settings, listener: Listener) -> Report | None:
    ref = model.ref
    if ref.asked:
        raise UsageError(
            f"--baseline published: nothing is published of {ref}, which is {ref.asked}.",
            "Name the model that is behind it, or a report: --baseline org/name or --baseline DIR",
        )
    own = ref.adapter or ref
    there = published(replace(own, revision=None), offline=settings.offline)
    if there:
        if there.notice:
            listener(Notice(there.notice))
        report = read(there.folder)
        there.check(report)
        return report
    missing = f"{own.name} has no published report (no {CURRENT} in its repository)"
    if settings.first_run:
        listener(Notice(f"{missing}: there is nothing to compare with yet."))
        return None
    raise ReportError(
        f"--baseline published: {missing}.",
        "--first-run continues without one; later runs compare.",
    )


def _precision(plan: "Plan") -> str:
    """Return the precision at which a model would be measured now."""
    from pytest_bias.models.placing import shared

    s = plan.settings
    device = shared(s.devices)[0] if s.devices else s.device
    return plan.model.precision(device, s.dtype, s.device_map)


def _path(text: str) -> Path:
    try:
        path = Path(text).expanduser()
        path.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(
            f"--baseline {text!r:.80} is no baseline: {error}", f"A baseline is {FORMS}."
        ) from None
    return path


def _is_report(path: Path) -> bool:
    return (path.is_file() and path.suffix != ".gguf") or (path / REPORT).is_file()


def _is_model(path: Path) -> bool:
    return path.is_file() or any((path / name).is_file() for name in MODEL_FILES)


def _nearest(text: str) -> str:
    """Return a suggestion: the nearest keyword, or the nearest file beside the given path."""
    near: Sequence[str] = difflib.get_close_matches(text, BASELINES, n=1)
    path = Path(text)
    with suppress(OSError):
        if not near and path.parent.is_dir():
            beside = [p.name for p in path.parent.iterdir() if _is_report(p) or _is_model(p)]
            found = difflib.get_close_matches(path.name, beside, n=1)
            near = [str(path.with_name(found[0]))] if found else []
    return f" Did you mean {near[0]!r}?" if near else ""


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [v.strip() for v in values if isinstance(v, str) and v.strip()]
