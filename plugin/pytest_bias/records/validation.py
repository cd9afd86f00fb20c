"""Validation of values read from a file against the types that their class declares.

A report may come from an untrusted source, so all of its values are checked when it is read.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Checked = TypeVar("Checked")

Fits = Callable[[Any], bool]
Read = Callable[[Any], Any]

TYPES: Final[Mapping[tuple[str, str], Any]] = {
    ("tool", "version"): str,
    ("tool", "statistics_version"): int,
    ("settings", "requested"): Sequence[str],
    ("settings", "profile"): str,
    ("settings", "chat"): str,
    ("settings", "system"): str,
    ("settings", "answers"): str,
    ("settings", "answer_tokens"): int,
    ("settings", "answer_samples"): int,
    ("coverage", "languages"): Sequence[str],
    ("coverage", "social_suites"): Sequence[str],
    ("coverage", "capabilities"): Sequence[str],
    ("run", "created"): str,
    ("run", "interrupted"): bool,
    ("run", "notices"): Sequence[str],
    ("run", "shard"): Mapping[str, Any] | None,
    ("run", "environment"): Mapping[str, Any] | None,
    ("run", "cost"): Mapping[str, Any] | None,
}
"""Table and key to the type of the value, if present."""


def checked(value: Checked) -> Checked:
    """Return the value if all fields have their declared types; otherwise raise TypeError."""
    for name, fits in _fields_of(type(value)):
        found = getattr(value, name)
        if not fits(found):
            raise TypeError(f"{name} is {found!r:.80}")
    return value


def _with_types(cls: Any) -> list[tuple[str, Fits]]:
    """Return for each field of a class the function that checks its type."""
    hints = get_type_hints(cls)
    return [(f.name, fits_of(hints[f.name])) for f in fields(cls)]


# There are thousands of records, so each type is analysed once.
_fields_of: Final[Callable[[Any], list[tuple[str, Fits]]]] = cache(_with_types)


def fits_of(hint: Any) -> Fits:
    """Return a function that checks whether a value read from a file has a type."""
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
    """Whether a value is a finite number within the range of floats."""
    return not isinstance(value, bool) and abs(value) <= sys.float_info.max


def built(cls: type[Checked], plain: Mapping[str, Any], *, strict: bool = False) -> Checked:
    """Return a checked instance of a dataclass from plain data of a file.

    Lists become tuples and tables instances, wherever the class declares these. Unknown keys, which
    come from later versions, are dropped, or are an error if `strict`.

    Raises
    ------
    TypeError, ValueError, AttributeError
        If it is not a table, or a value is missing or not of the declared type.
    """
    reads = _reads_of(cls, strict)
    known = {key: v for key, v in plain.items() if strict or key in reads}
    return checked(cls(**{key: reads[key](v) if key in reads else v for key, v in known.items()}))


def _with_reads(cls: Any, strict: bool) -> dict[str, Read]:
    """Return for each field of a class the function that converts its value from JSON."""
    hints = get_type_hints(cls)
    return {f.name: _read_of(hints[f.name], strict) for f in fields(cls)}


_reads_of: Final[Callable[[Any, bool], dict[str, Read]]] = cache(_with_reads)


def _read_of(hint: Any, strict: bool) -> Read:
    cls: Any = hint
    origin, arguments = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        return lambda v: built(cls, v, strict=strict) if isinstance(v, Mapping) else v
    if origin in (Union, UnionType):
        (one, *more) = (a for a in arguments if a is not NoneType)
        return _as_it_is if more else _read_of(one, strict)
    if origin is tuple:
        # If the elements of a tuple have different types, these are plain.
        one = _read_of(arguments[0], strict) if arguments[-1] is Ellipsis else _as_it_is
        return lambda v: tuple(map(one, v)) if isinstance(v, list) else v
    if origin is not None and origin is not Literal and issubclass(origin, Mapping):
        one = _read_of(arguments[1], strict)
        return lambda v: {k: one(i) for k, i in v.items()} if isinstance(v, Mapping) else v
    return _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


def check_tables(plain: Mapping[str, Any], *, of_parts: bool) -> None:
    """Raise TypeError or ValueError if a table of report.json is malformed."""
    if not plain["tool"].get("version"):
        raise ValueError("it does not say which version of pytest-bias made it")
    for (table, key), hint in TYPES.items():
        found = plain.get(table, {})
        if key in found and not fits_of(hint)(found[key]):
            raise TypeError(f"{key} is {found[key]!r:.80}")
    entries = [f"{s['name']}[{s['config']}]" for s in plain["suites"]]
    if not of_parts and (twice := {e for e in entries if entries.count(e) > 1}):
        raise ValueError(f"it holds {min(twice)} more than once")
    # No digest covers these: what is not text cannot be shown or written.
    for part in ("run", "digest"):
        json.dumps(plain.get(part), ensure_ascii=False).encode()
