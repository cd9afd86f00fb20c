"""JSON files with a schema: written atomically, checked when read."""

import json
import math
import os
import uuid
from pathlib import Path
from typing import Any, TypeVar

from pytest_bias.errors import ReportError
from pytest_bias.records.validation import built

Document = TypeVar("Document")


def write_whole(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write a file atomically: readers find all of the content or none, also after a crash.

    Parameters
    ----------
    path : Path
        The file, in an existing folder.
    content : str or bytes
        Bytes, or a text, which is written as UTF-8 with its line endings unchanged.
    private : bool
        Whether only its owner may read it, from its creation on.

    Raises
    ------
    OSError
        If it cannot be written; then the old content is unchanged.
    """
    plain = content.encode() if isinstance(content, str) else content
    # A unique temporary name, since several processes may write the same file.
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")
    number = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(plain)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def to_document(plain: Any) -> str:
    """Return the text of a JSON file: one value per line, no NaN, UTF-8."""
    return json.dumps(plain, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def read_document(text: str, schema: str, cls: type[Document]) -> Document:
    """Parse a JSON text with a schema into an instance of a dataclass.

    Raises
    ------
    ReportError
        If it is not JSON, has another schema, or lacks fields of the class.
    """
    name = cls.__name__.lower()
    plain = with_schema(text, schema, name)
    try:
        return built(cls, plain)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ReportError(f"not a whole {name}: {error!r:.200}") from None


def with_schema(text: str, schema: str, what: str) -> dict[str, Any]:
    """Parse a JSON text and check its schema.

    Raises
    ------
    ReportError
        If it is not JSON, or has another schema.
    """
    try:
        plain = finite_json(text)
    except (ValueError, RecursionError) as error:
        raise ReportError(f"not a {what}: {error}") from None
    return of_schema(plain, schema)


def of_schema(plain: Any, schema: str) -> dict[str, Any]:
    """Return the table if it has the schema; otherwise raise `ReportError`."""
    stated = plain.get("schema") if isinstance(plain, dict) else None
    if stated != schema:
        raise ReportError(
            f"it has the schema {stated!r:.80}: this version of pytest-bias reads {schema!r}."
        )
    return dict(plain)


def finite_json(text: str) -> Any:
    """Parse a JSON text, refusing what parsers read differently.

    Raises
    ------
    ValueError
        If it is not JSON, a number is NaN or infinite, or an object has a key twice: then some
        parsers use the first value, others the last.
    """
    return json.loads(
        text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_once
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"{twice!r:.80} appears twice")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text:.40} is too large for a number")
    return number
