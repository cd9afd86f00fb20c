"""Values of settings: which keys a settings file has, and how a text of each type is read."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pytest_bias.environment import SUITE_FILE
from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.forms.keys import (
    Key,
    Read,
    count,
    flag,
    keyed,
    number,
    one_of,
    optional,
    table,
    text,
    texts,
    word,
)
from pytest_bias.forms.yaml_with_lines import Marked, Place, Plain
from pytest_bias.models.labels import LABELS, ROLES
from pytest_bias.models.served.settings import ASKING
from pytest_bias.settings.limit_rules import LIMITS
from pytest_bias.settings.options import BASELINES, OPTIONS, Option
from pytest_bias.settings.waivers import WAIVERS
from pytest_bias.suites.user_texts import TEXTS


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


def pairs(given: Mapping[str, str] | Sequence[str], where: str) -> dict[str, str]:
    """Read NAME=VALUE words, or a table of them; names are roles of classifiers."""
    if isinstance(given, Mapping):
        found = dict(given)
    else:
        for said in given:
            if not said.partition("=")[2]:
                example = "For instance toxicity=org/name."
                raise UsageError(f"{where} {said!r} is no NAME=VALUE.", example)
        found = dict(said.split("=", 1) for said in given)
    for name in found:
        if name not in ROLES:
            raise UnknownName.among(where, name, ROLES)
    return found


READ: Final[Mapping[str, Callable[[Any, str], Any]]] = {"duration": seconds, "pairs": pairs}
"""Types of options whose values are read, with where they were set, for messages."""


def is_address(wanted: str, value: Any) -> bool:
    """Whether a value is an address, where it may be one."""
    return wanted == "path-or-address" and "://" in str(value)


# Values of a settings file


def _duration(marked: Marked, place: Place, given: Plain) -> float:
    return seconds(text(marked, place, given), marked.named(place))


_CLASSIFIERS: Final = keyed({name: Key(word, role.title) for name, role in ROLES.items()})


def _scorers(marked: Marked, place: Place, given: Plain) -> dict[str, str]:
    if isinstance(given, list):
        return pairs(texts(marked, place, given), marked.named(place))
    found: dict[str, str] = _CLASSIFIERS(marked, place, given)
    return found


def _suites(marked: Marked, place: Place, given: Plain) -> list[str]:
    folder = Path(marked.name).parent
    read = texts(marked, place, given)
    return [str(folder / said) if said.endswith(SUITE_FILE) else said for said in read]


def _path(wanted: str) -> Read:
    def read(marked: Marked, place: Place, given: Plain) -> Path | str:
        if is_address(wanted, said := text(marked, place, given)):
            return said
        there = Path(marked.name).parent / Path(said).expanduser()
        if wanted != "path-or-name":
            return there
        return str(there) if said not in BASELINES and _is_there(there) else said

    return read


def _is_there(path: Path) -> bool:
    # What cannot be a path is none that exists.
    with suppress(OSError, ValueError):
        return path.exists()
    return False


TYPES: Final[Mapping[str, Read]] = {
    "text": text,
    "texts": texts,
    "pairs": _scorers,
    "flag": flag,
    "number": number(whole=True),
    "duration": _duration,
    **{wanted: _path(wanted) for wanted in ("path", "path-or-name", "path-or-address")},
}

CONTEXT: Final = {
    "languages": Key(optional(texts), "languages that the model is for"),
    "region": Key(optional(text), "where it is used"),
    "intended_use": Key(optional(text), "what it is for"),
    "groups": Key(optional(texts), "groups of people whom its use concerns"),
}
"""What may be said of what a model is for, which its card says in the words of its owner."""

_FLEET: Final = {"part": Key(_duration, "time that a part takes"), "cpus": Key(count, "cores")}
_ENERGY: Final = {
    "pue": Key(number(1), "power usage effectiveness of the place"),
    "grid_g_per_kwh": Key(number(0), "grams of CO2e a kWh of its grid"),
}


def _read(option: Option) -> Read:
    if option.name == "suites":
        return _suites
    return one_of(*option.choices) if option.choices else TYPES[option.type]


_KEYS: Final = {
    "model": Key(text, "the model to measure"),
    **{o.name: Key(_read(o), o.help) for o in OPTIONS if o.name != "config"},
    "labels": Key(LABELS, "labels of classifiers"),
    "accept_licences": Key(table(text, least=0), "suite to the licence that is accepted"),
    "texts": Key(TEXTS, "texts of the user's own"),
    "limits": Key(LIMITS, "the project's own policy"),
    "waive": Key(WAIVERS, "known excesses of limits"),
    "context": Key(keyed(CONTEXT), "what the model is for"),
    "energy": Key(keyed(_ENERGY), "of the place where a run takes place"),
    "fleet": Key(keyed(_FLEET), "of a run of many models"),
    "served": Key(ASKING, "how a server of models is asked"),
}
SETTINGS: Final = keyed(
    {name: Key(optional(key.read), key.about) for name, key in _KEYS.items()}, "the settings"
)
"""Reads a settings file; what is null there is not set."""
