"""A file of answers, read line by line: its digest, its encoding, the place of a mistake."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from pytest_bias.errors import DataError, DataMissing
from pytest_bias.untrusted import clean

HEAD: Final = 1 << 16
"""Number of bytes by which a format is recognised."""

MOST_IN_ONE_LINE: Final = 1 << 26
"""Longest line that is read, in bytes: 64 MiB. A file without line ends is read no further."""

_OTHER_ENCODINGS: Final = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_BOM: Final = b"\xef\xbb\xbf"


@dataclass
class LogFile:
    """A file that a user names.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        Its name for messages and for the report; untrusted text, made safe to show.
    """

    path: Path
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = clean(self.path.name)

    @cached_property
    def head(self) -> bytes:
        """The first bytes, without a byte order mark.

        Raises
        ------
        DataMissing
            If there is no such file.
        DataError
            If it cannot be read, is empty, or has another encoding.
        """
        try:
            with self.path.open("rb") as file:
                head = file.read(HEAD)
        except FileNotFoundError:
            raise DataMissing(f"There is no file {clean(str(self.path))}.") from None
        except IsADirectoryError:
            raise DataError(
                f"{clean(str(self.path))} is a folder; name the files of answers in it."
            ) from None
        except OSError as error:
            raise DataError(f"{self.name} cannot be read: {error.strerror or error}.") from None
        if not head.removeprefix(_BOM).strip():
            raise DataError(f"{self.name} is empty.")
        if other := _OTHER_ENCODINGS.get(head[:2]):
            raise DataError(f"{self.name} is {other}; save it as UTF-8.")
        return head.removeprefix(_BOM)

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the content, in hexadecimal."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def lines(self) -> Iterator[str]:
        """Yield every line with its end, as text.

        Raises
        ------
        DataError
            If a line is not UTF-8, or too long.
        """
        with self.path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(MOST_IN_ONE_LINE), b""), 1):
                if len(line) == MOST_IN_ONE_LINE:
                    raise DataError(f"{self.at(number)} is longer than 64 MiB.")
                try:
                    yield (line.removeprefix(_BOM) if number == 1 else line).decode()
                except UnicodeDecodeError as error:
                    raise DataError(
                        f"{self.at(number)} is not UTF-8 (byte 0x{line[error.start]:02x}); "
                        "save the file as UTF-8."
                    ) from None

    def objects(self, *, strict: bool = True) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the JSON object of every line that is not blank, with its place.

        Raises
        ------
        DataError
            If a line is no JSON object (`json_value`).
        """
        for number, line in enumerate(self.lines(), 1):
            if line.strip():
                at = self.at(number)
                value = json_value(line, at, strict=strict)
                if not isinstance(value, dict):
                    raise DataError(f"{at} is no JSON object, but {kind_of(value)}.")
                yield at, value

    def at(self, line: int) -> str:
        """Return the place of a line, for messages."""
        return f"{self.name}, line {line}"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"it names {clean(twice, 40)!r} more than once")
    return found


def json_value(text: str | bytes, at: str, *, strict: bool = True) -> Any:
    """Return a JSON value; half of a surrogate pair in a text becomes U+FFFD.

    Programs never name a key twice, so that their logs need not be read `strict`, which takes
    twice as long.

    Raises
    ------
    DataError
        If the text is no JSON, or, if `strict`, an object names a key twice.
    """
    try:
        value = json.loads(text, object_pairs_hook=_object if strict else None)
    except UnicodeDecodeError:
        raise DataError(f"{at} is not UTF-8.") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{at} is not JSON: {error}.") from None
    escaped = rb"\\u[dD]" if isinstance(text, bytes) else r"\\u[dD]"
    return _whole(value) if re.search(escaped, text) else value  # type: ignore[arg-type]


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [_whole(v) for v in value]
    if isinstance(value, dict):
        return {_whole(k): _whole(v) for k, v in value.items()}
    return value


_KINDS: Final = {
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


def kind_of(value: Any) -> str:
    """Return what kind of JSON value this is, for messages."""
    return _KINDS.get(type(value), type(value).__name__)
