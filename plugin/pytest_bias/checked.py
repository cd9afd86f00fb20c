"""Values that were read from a file, checked against the types that their class states."""

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from types import UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Checked = TypeVar("Checked")

# Records come in thousands.
_hints: Final[Callable[[Any], dict[str, Any]]] = cache(get_type_hints)


def checked(value: Checked) -> Checked:
    """Return a value whose fields all have the types that its class states, or raise TypeError."""
    hints = _hints(type(value))
    for about in fields(value):  # type: ignore[arg-type]
        found = getattr(value, about.name)
        if not fits(found, hints[about.name]):
            raise TypeError(f"{about.name} is {found!r:.80}")
    return value


def fits(value: Any, hint: Any) -> bool:
    """Whether a value that was read from a file has a type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(fits(value, a) for a in arguments)
    if origin is Literal:
        return value in arguments
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if arguments[-1] is Ellipsis:
            return all(fits(v, arguments[0]) for v in value)
        return len(value) == len(arguments) and all(map(fits, value, arguments))
    if origin is Sequence:
        return isinstance(value, list | tuple) and all(fits(v, arguments[0]) for v in value)
    if origin is not None and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            fits(k, arguments[0]) and fits(v, arguments[1]) for k, v in value.items()
        )
    if hint is float:
        return isinstance(value, int | float) and _counts(value)
    if hint is int:
        return isinstance(value, int) and _counts(value)
    return isinstance(value, hint)


def _counts(value: float) -> bool:
    """Whether a value is a number that can be calculated with: finite, no integer beyond floats."""
    return not isinstance(value, bool) and abs(value) <= sys.float_info.max


def finite_json(text: str) -> Any:
    """Return what a JSON text says, which has to be one thing to all who read it.

    Raises
    ------
    ValueError
        If it is no JSON, a number is none or infinite, or a key stands twice in one object: then
        some readers take the first, others the last.
    """
    return json.loads(
        text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_once
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"{twice!r:.80} stands there twice")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text:.40} is too large for a number")
    return number
