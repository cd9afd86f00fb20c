"""Robust printing: characters that a stream cannot encode are replaced, closed pipes are ignored.

A terminal or a file may not support all characters: Windows uses its own encoding wherever output
is redirected. And a reader may stop early, as ``head`` does. Neither is a reason to lose what was
measured.
"""

import codecs
import errno
import io
import sys
from collections.abc import Mapping
from typing import Any, Final

FALLBACK: Final = "pytest-bias"
"""Name of the error handler that replaces characters."""

_PLAIN: Final[Mapping[str, str]] = {
    **dict.fromkeys("–—−‑", "-"),
    **dict.fromkeys("‘’", "'"),
    **dict.fromkeys("“”„", '"'),
    **dict.fromkeys("█▉▊▋▌", "#"),
    **dict.fromkeys("▍▎▏", "|"),
    **dict.fromkeys("━─╸╺", "-"),
    **{"…": "...", "·": "|", "°": "*", "×": "x", "→": "->", "≈": "~", "≥": ">=", "≤": "<="},
    **{"\N{NO-BREAK SPACE}": " ", "✓": "+", "✗": "x", "±": "+-", "•": "*", "§": "section "},
}
"""Replacements of signs that a stream cannot encode; a letter is written as its code."""

_SPINNER: Final = range(0x2800, 0x2900)
_GONE: Final = (errno.EPIPE, *([errno.EINVAL] if sys.platform == "win32" else []))
"""Error codes of writing to a closed pipe."""


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join(map(_sign, lost)), error.end


def _sign(char: str) -> str:
    if char in _PLAIN:
        return _PLAIN[char]
    return "*" if ord(char) in _SPINNER else char.encode("ascii", "backslashreplace").decode()


codecs.register_error(FALLBACK, _replaced)


def fitted(text: str, encoding: str | None) -> str:
    """Return a text with the characters that an encoding lacks replaced."""
    encoding = encoding or "utf-8"
    return text.encode(encoding, FALLBACK).decode(encoding)


class _Lasting(io.FileIO):
    """A stream that drops output after its reader has gone."""

    def write(self, content: Any, /) -> int:
        try:
            return super().write(content) or 0
        except OSError as error:
            if error.errno not in _GONE:
                raise
            return memoryview(content).nbytes


def prepare() -> None:
    """Make standard output and error accept every text, even after their reader has gone."""
    for number, name in enumerate(("stdout", "stderr"), 1):
        stream = getattr(sys, name)
        if not isinstance(stream, io.TextIOWrapper):
            continue
        raw = getattr(stream.buffer, "raw", stream.buffer)
        if type(raw) is not io.FileIO or raw.fileno() != number:
            # A stream that captures output is read to the end.
            stream.reconfigure(errors=FALLBACK)
            continue
        stream.flush()
        lasting = io.TextIOWrapper(
            io.BufferedWriter(_Lasting(raw.fileno(), "wb", closefd=False)),
            encoding=stream.encoding,
            errors=FALLBACK,
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )
        setattr(sys, name, lasting)
