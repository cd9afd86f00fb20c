"""Values of settings: the keys of a settings file, and how each type of value is read."""

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
from pytest_bias.forms.yaml_with_lines import Marked, Place, Plain, text_of
from pytest_bias.models.applications.mapping import read_mapping
from pytest_bias.models.labels import LABELS, ROLES
from pytest_bias.models.served.settings import ASKING
from pytest_bias.models.spending import read_cost
from pytest_bias.settings.budget import Budget, budget, seconds
from pytest_bias.settings.context import CONTEXT
from pytest_bias.settings.limit_rules import LIMITS
from pytest_bias.settings.options import BASELINES, OPTIONS, Option
from pytest_bias.settings.waivers import WAIVERS
from pytest_bias.suites.user_texts import TEXTS


def pairs(given: Mapping[str, str] | Sequence[str], where: str) -> dict[str, str]:
    """Read NAME=VALUE texts, or a table; names are roles of classifiers."""
    if isinstance(given, Mapping):
        found = dict(given)
    else:
        for said in given:
            if not said.partition("=")[2]:
                example = "For instance toxicity=org/name."
                raise UsageError(f"{where} {said!r} is not of the form NAME=VALUE.", example)
        found = dict(said.split("=", 1) for said in given)
    for name in found:
        if name not in ROLES:
            raise UnknownName.among(where, name, ROLES)
    return found


def text_or_file(value: str, where: str, folder: Path = Path()) -> str:
    """Return a text, or the content of the file that it names.

    Raises
    ------
    UsageError
        If it is empty, or the name of a file that does not exist or cannot be read.
    """
    given = value.strip()
    path = folder / Path(given).expanduser() if given and "\n" not in given else None
    if path and _is_there(path):
        given = text_of(path).strip()
    elif re.fullmatch(r"\S+\.(txt|md)|\S*/\S+", given):
        raise UsageError(f"{where} {given!r:.80}: there is no such file.")
    if not given:
        raise UsageError(f"{where}: the text is empty.")
    return given


READ: Final[Mapping[str, Callable[[Any, str], Any]]] = {
    "budget": budget,
    "pairs": pairs,
    "text-or-path": text_or_file,
}
"""Option types whose values are parsed; the second argument states where a value was set."""


def is_address(wanted: str, value: Any) -> bool:
    """Whether a value is an address, for an option that accepts one."""
    return wanted == "path-or-address" and "://" in str(value)


# Values of a settings file


def _duration(marked: Marked, place: Place, given: Plain) -> float:
    return seconds(text(marked, place, given), marked.named(place))


def _budget(marked: Marked, place: Place, given: Plain) -> Budget:
    return budget(text(marked, place, given), marked.named(place))


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


def _text_or_file(marked: Marked, place: Place, given: Plain) -> str:
    folder = Path(marked.name).parent
    return text_or_file(text(marked, place, given), marked.named(place), folder)


def _is_there(path: Path) -> bool:
    # A text that cannot be a path does not exist.
    with suppress(OSError, ValueError):
        return path.exists()
    return False


TYPES: Final[Mapping[str, Read]] = {
    "text": text,
    "texts": texts,
    "pairs": _scorers,
    "flag": flag,
    "number": number(whole=True),
    "budget": _budget,
    "text-or-path": _text_or_file,
    **{wanted: _path(wanted) for wanted in ("path", "path-or-name", "path-or-address")},
}

_FLEET: Final = {"part": Key(_duration, "time of one part"), "cpus": Key(count, "cores")}
_ENERGY: Final = {
    "pue": Key(number(1), "power usage effectiveness of the data centre"),
    "grid_g_per_kwh": Key(number(0), "grams of CO2e per kWh of its grid"),
}


def _read(option: Option) -> Read:
    if option.name == "suites":
        return _suites
    return one_of(*option.choices) if option.choices else TYPES[option.type]


_KEYS: Final = {
    "model": Key(text, "the model to measure"),
    **{o.name: Key(_read(o), o.help) for o in OPTIONS if o.name != "config"},
    "labels": Key(LABELS, "labels of classifiers"),
    "accept_licences": Key(table(text, least=0), "suite to the accepted licence"),
    "texts": Key(TEXTS, "the user's own texts"),
    "limits": Key(LIMITS, "the project's own policy"),
    "waive": Key(WAIVERS, "waivers of known excesses of limits"),
    "context": Key(keyed(CONTEXT), "intended use of the model"),
    "energy": Key(keyed(_ENERGY), "energy data of the place of the run"),
    "fleet": Key(keyed(_FLEET), "settings of a run of many models"),
    "served": Key(ASKING, "settings of requests to a model server, and of calls of an application"),
    "application": Key(read_mapping, "how an application behind HTTP is asked"),
    "cost": Key(read_cost, "what a server or an application costs"),
}
SETTINGS: Final = keyed(
    {name: Key(optional(key.read), key.about) for name, key in _KEYS.items()}, "the settings"
)
"""Reads a settings file; a key whose value is null is not set."""
