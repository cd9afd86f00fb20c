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

Fits = Callable[[Any], bool]


def checked(value: Checked) -> Checked:
    """Return a value whose fields all have the types that its class states, or raise TypeError."""
    for name, fits in _fields_of(type(value)):
        found = getattr(value, name)
        if not fits(found):
            raise TypeError(f"{name} is {found!r:.80}")
    return value


def _with_types(cls: Any) -> list[tuple[str, Fits]]:
    """Return for each field of a class what tells whether a value has its type."""
    hints = get_type_hints(cls)
    return [(f.name, fits_of(hints[f.name])) for f in fields(cls)]


# Records come in thousands, so a type is taken apart once.
_fields_of: Final[Callable[[Any], list[tuple[str, Fits]]]] = cache(_with_types)


def fits_of(hint: Any) -> Fits:
    """Return what tells whether a value that was read from a file has a type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _any_of(tuple(map(fits_of, arguments)))
    if origin is Literal:
        return lambda value: value in arguments
    if origin is tuple and arguments[-1] is not Ellipsis:
        return _one_each(tuple(map(fits_of, arguments)))
    if origin in (tuple, Sequence):
        return _all_of((tuple,) if origin is tuple else (list, tuple), fits_of(arguments[0]))
    if origin is not None and issubclass(origin, Mapping):
        key, content = arguments
        return _mapping_of(fits_of(key), fits_of(content))
    if hint is float:
        return lambda value: isinstance(value, int | float) and _counts(value)
    if hint is int:
        return lambda value: isinstance(value, int) and _counts(value)
    if hint is Any:
        return lambda value: True
    return lambda value: isinstance(value, hint)


def _any_of(each: tuple[Fits, ...]) -> Fits:
    return lambda value: any(fits(value) for fits in each)


def _one_each(each: tuple[Fits, ...]) -> Fits:
    def fits(value: Any) -> bool:
        if not isinstance(value, tuple) or len(value) != len(each):
            return False
        return all(one(v) for one, v in zip(each, value, strict=True))

    return fits


def _all_of(sequences: Any, one: Fits) -> Fits:
    return lambda value: isinstance(value, sequences) and all(map(one, value))


def _mapping_of(key: Fits, content: Fits) -> Fits:
    def fits(value: Any) -> bool:
        if not isinstance(value, Mapping):
            return False
        return all(key(k) and content(v) for k, v in value.items())

    return fits


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
