"""Values of settings: of which type each is, and how a text of it is read."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.models.labels import ROLES

ENERGY: Final = {"pue": 1, "grid_g_per_kwh": 0}
"""What may be said of where a run takes place, and the least that it can be."""

FLEET: Final = {"part": "duration", "cpus": "number"}
"""What may be said of a run of many models, and in which form."""

CONTEXT: Final = {
    "languages": "texts",
    "region": "text",
    "intended_use": "text",
    "groups": "texts",
}
"""What may be said of what a model is for, and in which form."""


_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "text": (str,),
    "path": (str, Path),
    "path-or-name": (str, Path),
    "path-or-address": (str, Path),
    "flag": (bool,),
    "number": (int,),
    "duration": (int, float, str),
    "table": (dict,),
    "pairs": (dict, list, tuple),
    "texts": (str, list, tuple),
}


_TYPE_WORDS: Final[Mapping[str, str]] = {
    "text": "a text",
    "path": "a path",
    "path-or-name": "a path or a name",
    "path-or-address": "a path or an address",
    "flag": "true or false",
    "number": "a whole number",
    "duration": "a time such as 10m",
    "table": "a table",
    "pairs": "a table of names and values",
    "texts": "a list of texts",
}


def of_type(value: Any, wanted: str, where: str) -> Any:
    """Return a value of a settings file, read as the type that is wanted."""
    fits = isinstance(value, _TYPES[wanted]) and (wanted == "flag" or not isinstance(value, bool))
    if not fits:
        raise UsageError(f"{where} is {value!r}; it must be {_TYPE_WORDS[wanted]}.")
    if wanted == "texts":
        values = [value] if isinstance(value, str) else list(value)
        if not all(isinstance(v, str) for v in values):
            raise UsageError(f"{where} is {value!r}; it must be a list of texts.")
        return tuple(values)
    return READ[wanted](value, where) if wanted in READ else value


def _pairs(value: Any, where: str) -> dict[str, str]:
    """Read NAME=VALUE words, or the table of a file; names are roles of classifiers."""
    if isinstance(value, dict):
        found = value
    else:
        parts = [(word, *str(word).partition("=")) for word in value]
        for word, _, _, of in parts:
            if not of:
                example = "For instance toxicity=org/name."
                raise UsageError(f"{where} {word!r} is no NAME=VALUE.", example)
        found = {name: of for _, name, _, of in parts}
    for name, of in found.items():
        if name not in ROLES:
            raise UnknownName.among(where, str(name), ROLES)
        if not isinstance(of, str):
            raise UsageError(f"{where}: {name} is {of!r}, no name of a model.")
    return dict(found)


def seconds(value: str | float, where: str) -> float:
    """Read a time: a number of seconds, or numbers with ``h``, ``m`` and ``s``, such as ``1h30m``.

    Raises
    ------
    UsageError
        If it is none, or not above zero; `where` says where it was set.
    """
    text = str(value).replace(" ", "").lower()
    number = r"(\d+(?:\.\d+)?)"
    plain = re.fullmatch(number, text)
    parts = re.fullmatch(rf"(?:{number}h)?(?:{number}m)?(?:{number}s)?", text)
    found = 0.0
    if plain:
        found = float(text)
    elif parts:
        found = sum(
            float(n or 0) * size for n, size in zip(parts.groups(), (3600, 60, 1), strict=True)
        )
    if found <= 0:
        raise UsageError(
            f"{where} {value!r} is no time above zero.",
            "For instance 10m; also 90s, 1h30m, or 600 for as many seconds.",
        )
    return found


READ: Final[Mapping[str, Callable[[Any, str], Any]]] = {"duration": seconds, "pairs": _pairs}
"""Types of options whose values are read, with where they were set, for messages."""


def context_of(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Read what the model is for, which its card says in the words of its owner."""
    found = {}
    for key, value in given.items():
        if key not in CONTEXT:
            raise UnknownName.among(f"{where}: context", str(key), CONTEXT)
        if value is None:
            continue
        read = of_type(value, CONTEXT[key], f"{where}: context.{key}")
        found[key] = list(read) if CONTEXT[key] == "texts" else read
    return found


def fleet_of(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Read how a run of many models is cut."""
    found: dict[str, Any] = {}
    for key, value in given.items():
        if key not in FLEET:
            raise UnknownName.among(f"{where}: fleet", str(key), FLEET)
        found[key] = of_type(value, FLEET[key], f"{where}: fleet.{key}")
        if found[key] <= 0:
            raise UsageError(f"{where}: fleet.{key} is {value!r}; it must be above zero.")
    return found


def check_energy(given: Mapping[str, Any], where: str) -> None:
    """Check what is said of the energy of a run."""
    for key, value in given.items():
        if key not in ENERGY:
            raise UnknownName.among(f"{where}: energy", str(key), ENERGY)
        if not isinstance(value, int | float) or not value >= ENERGY[key]:
            raise UsageError(
                f"{where}: energy.{key} is {value!r}, no number from {ENERGY[key]} up."
            )


def is_address(wanted: str, value: Any) -> bool:
    """Whether a value is an address, where it may be one."""
    return wanted == "path-or-address" and "://" in str(value)
