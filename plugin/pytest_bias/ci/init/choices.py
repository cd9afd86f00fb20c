"""The validated choices for a project: names that a workflow can hold and a runner can find."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from pytest_bias.ci.init.triggers import RUNNER, Trigger
from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.models import ModelRef
from pytest_bias.models.reference import BUNDLED, REPOSITORY
from pytest_bias.reports.limits import read_limits
from pytest_bias.suites.catalogue import INSTALLED

RULES: Final = ("max-distance", "max-regression")
LIMIT_FORM: Final = "max-distance:crows_pairs=10, or max-regression:crows_pairs=2"
_LIMIT: Final = re.compile(r"(?:(?P<rule>[^:=]+):)?(?P<name>[^=]+)=(?P<number>[^=]+)")
_BRANCH: Final = re.compile(r"[\w./+-]+")


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices from which the settings file and the workflow are written."""

    trigger: Trigger
    model: str | None = None
    publish: str | None = None
    badges_branch: str | None = None
    branch: str = "main"
    runner: str = RUNNER
    shards: int = 2
    limits: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: MappingProxyType({}))
    languages: tuple[str, ...] = ()


def is_path(text: str, folder: Path) -> bool:
    """Whether a model's name is a path: one that exists, or is written as a path."""
    try:
        there = (folder / text).exists() and text not in BUNDLED
    except (OSError, ValueError):
        there = False
    return there or text.startswith((".", "/", "~")) or text.endswith(".gguf")


def check_text(what: str, text: str) -> str:
    """Return a text if a workflow can hold it.

    Raises
    ------
    UsageError
        If GitHub would find an expression in it, or the action would read a different text.
    """
    if "${{" in text:
        raise UsageError(
            f"{what} {text!r} holds ${{{{, where GitHub begins an expression.",
            "Rename it: no workflow can hold that as a plain text.",
        )
    if text != text.strip() or not text:
        raise UsageError(f"{what} {text!r} is empty, or begins or ends with white space.")
    if "\0" in text:
        raise UsageError(f"{what} {text!r} holds a null character.")
    return text


def check_model(text: str, trigger: Trigger, folder: Path) -> str:
    """Return a model's name as the settings file and the workflow hold it.

    A path is relative to the root of the checkout and begins with a dot, so that it is not taken
    for a name of the Hub. It need not exist yet, since a step of the workflow may create it.

    Raises
    ------
    UsageError
        If it is no model, does not fit the trigger, or is outside of the checkout.
    """
    check_text("--model", text)
    if not is_path(text, folder):
        ref = ModelRef.parse(text)
        if trigger.takes == "folder":
            raise UsageError(
                f"--model {text}: --trigger {trigger.name} measures weights of this repository.",
                "Name their folder, for instance --model ./model; --publish names the Hub's.",
            )
        if trigger.takes == "asked" and ref.source != "hub":
            raise UsageError(
                f"--model {text}: --trigger {trigger.name} is about models of the Hub."
            )
        if trigger.takes == "hub" and ref.source != "hub":
            raise UsageError(
                f"--model {text}: --trigger {trigger.name} follows a model of the Hub."
            )
        return text
    if trigger.takes in ("hub", "asked"):
        raise UsageError(
            f"--model {text} is a path; --trigger {trigger.name} is about models of the Hub.",
            "--trigger push measures what lies in this repository.",
        )
    root, path = folder.resolve(), (folder / _expanded(text)).resolve()
    if not path.is_relative_to(root):
        raise UsageError(
            f"--model {text} lies outside {root}: a runner has the checkout only.",
            "Name a folder below it, or a model of the Hub.",
        )
    if path.exists():
        ModelRef.parse(str(path))
    inside = path.relative_to(root).as_posix()
    return "." if inside == "." else f"./{inside}"


def _expanded(text: str) -> Path:
    # Path("./~x") forgets its dot, and would be somebody's home.
    try:
        return Path(text).expanduser() if text.startswith("~") else Path(text)
    except RuntimeError as error:
        raise UsageError(f"--model {text}: {error}") from None


def check_publish(text: str) -> str:
    """Return the repository of the Hub to publish to.

    Raises
    ------
    UsageError
        If it is no org/name.
    """
    check_text("--publish", text)
    if not REPOSITORY.fullmatch(text):
        raise UsageError(f"--publish {text!r} is no repository of the Hub.", "As in: org/name")
    return text


def check_branch(what: str, text: str) -> str:
    """Return the name of a branch without characters that are special in GitHub's patterns.

    Raises
    ------
    UsageError
        If it has other characters, or git does not accept it.
    """
    check_text(what, text)
    if not _BRANCH.fullmatch(text) or text.startswith(("-", "/")) or ".." in text:
        raise UsageError(
            f"{what} {text!r} is no plain name of a branch.",
            "Letters, digits and ./_+- are allowed.",
        )
    return text


def read_limit_words(words: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Convert limits as typed on the command line into those of the settings file.

    ``none`` sets no limit; ``max-distance:crows_pairs=10`` limits the headline of a suite, and
    ``max-regression:crows_pairs.aul_preference=2`` another metric. The default
    rule is ``max-distance``.

    Raises
    ------
    UsageError
        If one is malformed, or names a suite or metric that is not installed.
    """
    found: dict[str, dict[str, Any]] = {}
    given = [w.strip() for word in words for w in word.replace(",", " ").split()]
    if "none" in given and len(given) > 1:
        raise UsageError(
            "--limits none cannot be combined with limits.", "Give either none or the limits."
        )
    for word in given:
        if word == "none":
            continue
        match = _LIMIT.fullmatch(word)
        if match is None:
            raise UsageError(f"--limits {word!r} is no limit.", f"none, or {LIMIT_FORM}")
        rule = match["rule"] or RULES[0]
        if rule not in RULES:
            raise UnknownName.among("--limits: rule", rule, RULES, f"As in {LIMIT_FORM}")
        try:
            number = float(match["number"])
        except ValueError:
            raise UsageError(f"--limits {word!r}: {match['number']!r} is no number.") from None
        amount = int(number) if number.is_integer() else number
        key = "max_distance" if rule == RULES[0] else "max_regression"
        found.setdefault(_metric(match["name"]), {})[key] = (
            amount if rule == RULES[0] else {"points": amount}
        )
    read_limits(found)
    return found


def _metric(name: str) -> str:
    """Return suite and metric of a limit; by default the metric is the suite's headline."""
    if "." in name:
        return name
    suite = INSTALLED.find(name.partition("[")[0])
    headlines = {m.name for measure in suite.measures for m in measure.metrics if m.headline}
    if len(headlines) > 1:
        named = [f"{name}.{metric}" for metric in sorted(headlines)]
        raise UsageError(
            f"--limits {name}: its headline depends on the model.", f"One of {', '.join(named)}"
        )
    return f"{name}.{headlines.pop()}"
