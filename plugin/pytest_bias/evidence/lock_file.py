"""``pytest-bias.lock``: locked models by name, as human-readable YAML."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import yaml

from pytest_bias.errors import OutputError, ReportError, UnknownName, UsageError
from pytest_bias.evidence.lock import Locked
from pytest_bias.records.documents import of_schema, write_whole
from pytest_bias.records.validation import built
from pytest_bias.settings.settings import asked_as

SCHEMA: Final = "pytest-bias/lock/1"

ABOUT: Final = """\
# Models of others as they were when they were locked. Written by: pytest-bias lock MODEL
# What changed since: pytest-bias lock --check
"""

_REPAIR: Final = "It is written by pytest-bias lock MODEL: restore it from version control."
_NOT_LOCKED: Final = ("private", "gated", "code_elsewhere")
"""Fields of a model's state that are not stored but requested every time."""
_OF_AN_ADAPTER: Final = ("adapter", "adapter_files", "base")


def read_lock(path: Path) -> dict[str, Locked]:
    """Read a lock file.

    Raises
    ------
    UsageError
        If there is none, or it is malformed; the message says where.
    """
    try:
        plain: Any = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise UsageError(
            f"there is no {path}.", "pytest-bias lock org/name writes it; --lock-file names it."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not well-formed: {error}"[:400], _REPAIR) from None
    try:
        models = of_schema(plain, SCHEMA).get("models")
    except ReportError as error:
        raise UsageError(f"{path}: {error}", _REPAIR) from None
    if not isinstance(models, dict):
        raise UsageError(f"{path}: models must be a table of names.", _REPAIR)
    return {str(name): _locked(str(name), entry, path) for name, entry in models.items()}


def write_lock(path: Path, models: Mapping[str, Locked]) -> None:
    """Write a lock file atomically."""
    plain = {"schema": SCHEMA, "models": {name: _plain(m) for name, m in models.items()}}
    text = ABOUT + yaml.safe_dump(plain, sort_keys=True, allow_unicode=True, width=100)
    try:
        write_whole(path, text)
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written: {error.strerror or error}.", "--lock-file names another."
        ) from None


def named(models: Mapping[str, Locked], name: str | None, path: Path) -> list[Locked]:
    """Return the locked model of a name, or all models without one.

    Raises
    ------
    UnknownName
        If no model of this name is locked.
    """
    if name is None:
        return [models[n] for n in sorted(models)]
    if name in models:
        return [models[name]]
    raise UnknownName.among(f"{path}: model", name, models, f"pytest-bias lock {name} locks it.")


def _plain(locked: Locked) -> dict[str, Any]:
    plain = {
        k: v
        for k, v in asdict(locked.head).items()
        if k not in _NOT_LOCKED and not (v is None and k in _OF_AN_ADAPTER)
    }
    report = asdict(locked.report) if locked.report else None
    if report:
        usual = asked_as({})
        report = {k: v for k, v in report.items() if k not in usual or v != usual[k]}
        report["suites"], report["languages"] = list(report["suites"]), list(report["languages"])
        for score in report["scores"].values():
            score["interval"] = list(score["interval"]) if score["interval"] else None
    return {**plain, "locked": locked.locked, "report": report}


def _locked(name: str, plain: Any, path: Path) -> Locked:
    try:
        model = {k: v for k, v in plain.items() if k not in ("locked", "report")}
        found = {"locked": plain["locked"], "head": model, "report": plain["report"]}
        return built(Locked, {"name": name, **found}, strict=True)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UsageError(f"{path}: {name} is malformed: {error!r:.200}", _REPAIR) from None
