"""What is printed arrives: a letter that a stream lacks is replaced, a reader may have gone.

A terminal or a file need not hold all letters: Windows has an encoding of its own wherever output
is redirected. And whoever reads need not read to the end, as ``head`` does; neither is a reason to
lose what was measured.
"""

import codecs
import errno
import io
import sys
from collections.abc import Mapping
from typing import Any, Final

FALLBACK: Final = "pytest-bias"
"""Name of the error handler that replaces letters."""

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
"""What stands for a sign that a stream lacks; a letter is written as its number."""

_SPINNER: Final = range(0x2800, 0x2900)
_GONE: Final = (errno.EPIPE, *([errno.EINVAL] if sys.platform == "win32" else []))
"""What writing to a pipe says that nobody reads."""


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
    """Return a text as a stream of this encoding can hold it."""
    encoding = encoding or "utf-8"
    return text.encode(encoding, FALLBACK).decode(encoding)


class _Lasting(io.FileIO):
    """A stream that takes what nobody reads any longer, and drops it."""

    def write(self, content: Any, /) -> int:
        try:
            return super().write(content) or 0
        except OSError as error:
            if error.errno not in _GONE:
                raise
            return memoryview(content).nbytes


def prepare() -> None:
    """Let standard output and error take every text, to its end, whoever reads it."""
    for number, name in enumerate(("stdout", "stderr"), 1):
        stream = getattr(sys, name)
        if not isinstance(stream, io.TextIOWrapper):
            continue
        raw = getattr(stream.buffer, "raw", stream.buffer)
        if type(raw) is not io.FileIO or raw.fileno() != number:
            # Who captures what is printed reads all of it.
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
