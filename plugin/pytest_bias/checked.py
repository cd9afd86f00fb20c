"""Values that were read from a file, checked against the types that their class states."""

import json
import math
import sys
from collections.abc import Callable, Mapping
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
        if not _fits(found, hints[about.name]):
            raise TypeError(f"{about.name} is {found!r:.80}")
    return value


def _fits(value: Any, hint: Any) -> bool:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(_fits(value, a) for a in arguments)
    if origin is Literal:
        return value in arguments
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if arguments[-1] is Ellipsis:
            return all(_fits(v, arguments[0]) for v in value)
        return len(value) == len(arguments) and all(map(_fits, value, arguments))
    if origin is not None and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            _fits(k, arguments[0]) and _fits(v, arguments[1]) for k, v in value.items()
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
    """Return what a JSON text says; raises ValueError also where a number is none, or infinite."""
    return json.loads(text, parse_constant=_no_constant, parse_float=_finite)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text:.40} is too large for a number")
    return number
