"""Validation of tables with known keys in a user's file, with line numbers in errors."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.forms.yaml_with_lines import Marked, Place, Plain

Read: TypeAlias = Callable[[Marked, Place, Plain], Any]
"""Converts the content at a place in a file to a value, or raises an error with its line."""

_YES: Final = ("true", "yes", "on", "1")
_NO: Final = ("false", "no", "off", "0")
_MOST: Final = sys.float_info.max


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a table in the file.

    Parameters
    ----------
    read : callable
        Parses and checks the value.
    about : str
        Meaning of the key, for messages and the documentation.
    needed : bool
        Whether it is required.
    """

    read: Read
    about: str
    needed: bool = False


def text(marked: Marked, place: Place, given: Plain) -> str:
    """Read a text."""
    if not isinstance(given, str):
        raise marked.error(place, f"must be a text, not {shown(given)}.")
    return given


def word(marked: Marked, place: Place, given: Plain) -> str:
    """Read a text that is not empty."""
    if not isinstance(given, str) or not given.strip():
        raise marked.error(place, f"must be a text, not {shown(given)}.")
    return given


def flag(marked: Marked, place: Place, given: Plain) -> bool:
    """Read true or false, also as yes, on and 1, or no, off and 0."""
    if not isinstance(given, str) or given.lower() not in (*_YES, *_NO):
        raise marked.error(place, f"must be true or false, not {shown(given)}.")
    return given.lower() in _YES


def number(least: float = -_MOST, most: float = _MOST, *, whole: bool = False) -> Read:
    """Return a reader of numbers within bounds."""
    up = f" to {most:,}" if most < _MOST else " up"
    kind = ("whole " if whole else "") + "number" + (f" from {least}{up}" if least > -_MOST else "")

    def read(marked: Marked, place: Place, given: Plain) -> float:
        found = _number(given, whole=whole)
        if found is None or not least <= found <= most:
            raise marked.error(place, f"must be a {kind}, not {shown(given)}.")
        return found

    return read


def _number(given: Plain, *, whole: bool) -> float | None:
    # A leading zero means octal in YAML 1.1, but not in YAML 1.2.
    if isinstance(given, str) and not re.match(r"[+-]?0\d", given):
        with suppress(ValueError):
            return int(given, 0)
        with suppress(ValueError):
            return None if whole else float(given)
    return None


count: Final = number(1, 999_999_999, whole=True)
"""Reads a whole number from 1 up."""


def one_of(*allowed: str) -> Read:
    """Return a reader of one of a few words."""

    def read(marked: Marked, place: Place, given: Plain) -> str:
        if not isinstance(given, str):
            raise marked.error(place, f"must be one of {', '.join(allowed)}, not {shown(given)}.")
        if "on" in allowed and given.lower() in (*_YES, *_NO):
            given = "on" if given.lower() in _YES else "off"
        if given not in allowed:
            raise marked.error(place, UnknownName.among("", given, allowed).message.strip())
        return given

    return read


def several(inner: Read, what: str, *, least: int = 1, alone: bool = False) -> Read:
    """Return a reader of lists; with `alone` a single text is a list of one."""

    def read(marked: Marked, place: Place, given: Plain) -> tuple[Any, ...]:
        if alone and isinstance(given, str):
            return (inner(marked, place, given),)
        if not isinstance(given, list) or len(given) < least:
            raise marked.error(place, f"must be a list of {what}, not {shown(given)}.")
        return tuple(inner(marked, (*place, n), one) for n, one in enumerate(given))

    return read


words: Final = several(word, "texts", alone=True)
"""Reads a list of texts, or one."""


def texts(marked: Marked, place: Place, given: Plain) -> list[str]:
    """Read a list of texts, which may be empty, or one text."""
    return list(several(text, "texts", least=0, alone=True)(marked, place, given))


def table(inner: Read, *, least: int = 1, hint: str | None = None) -> Read:
    """Return a reader of tables with arbitrary keys and values of one kind."""

    def read(marked: Marked, place: Place, given: Plain) -> dict[str, Any]:
        if not isinstance(given, dict) or len(given) < least:
            raise marked.error(place, f"must be a table, not {shown(given)}.", hint)
        return {key: inner(marked, (*place, key), value) for key, value in given.items()}

    return read


def optional(inner: Read) -> Read:
    """Return a reader of a value or null, which `keyed` treats as a missing key."""

    def read(marked: Marked, place: Place, given: Plain) -> Any:
        return None if given is None else inner(marked, place, given)

    return read


def anything(marked: Marked, place: Place, given: Plain) -> Plain:
    """Read any value."""
    return given


def keyed(keys: Mapping[str, Key], what: str = "") -> Read:
    """Return a reader of tables with known keys.

    Its error names an unknown key, or all required keys that are missing, each with its meaning.
    """

    def read(marked: Marked, place: Place, given: Plain) -> dict[str, Any]:
        if not isinstance(given, dict):
            said = f"{what} must be a table, not {shown(given)}."
            raise marked.error(place, said.strip(), f"Its keys: {', '.join(keys)}.")
        for key in given:
            if key not in keys:
                raise marked.error((*place, key), UnknownName.among("key", key, keys).message)
        if missing := [k for k, one in keys.items() if one.needed and given.get(k) is None]:
            raise lacking(marked, place, missing, keys, what)
        found = {key: keys[key].read(marked, (*place, key), of) for key, of in given.items()}
        return {key: value for key, value in found.items() if value is not None}

    return read


def lacking(
    marked: Marked, place: Place, missing: Sequence[str], keys: Mapping[str, Key], what: str = ""
) -> UsageError:
    """Return the error for missing keys, each with its meaning."""
    hint = "\n  ".join(f"{key}: {keys[key].about}" for key in missing)
    return marked.error(place, f"{what} lacks {', '.join(missing)}.".strip(), hint)


def shown(given: Plain) -> str:
    """Return a short form of a value, for a message."""
    if isinstance(given, str):
        return repr(given if len(given) <= 40 else f"{given[:37]}...")
    return "a list" if isinstance(given, list) else "nothing" if given is None else "a table"
