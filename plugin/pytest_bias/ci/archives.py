"""Unpack a report from the ZIP file in which a CI service delivers an artifact."""

import stat
import zipfile
import zlib
from pathlib import Path
from typing import Final

from pytest_bias.ci.contents import (
    MOST_FILES,
    is_report_file,
    is_safe,
    top_folder,
    within_limits,
)
from pytest_bias.errors import ProviderError
from pytest_bias.untrusted import clean

_CHUNK: Final = 1 << 16
_DAMAGED: Final = (
    *(zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError),
)


def unpacked(archive: Path, into: Path, source: str) -> Path:
    """Unpack the one report of a ZIP file; returns its folder.

    Raises
    ------
    ProviderError
        If the file is no ZIP file, has a link or a path outside of the folder, unpacks to more than
        a report can have, or holds no report or several.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            entries = [e for e in opened.infolist() if not e.is_dir()]
            _check_paths(entries, source)
            sizes = {e.filename: e.file_size for e in entries}
            top = top_folder(sizes, source)
            kept = [
                e
                for e in entries
                if e.filename.startswith(top) and is_report_file(e.filename.removeprefix(top))
            ]
            within_limits(source, {e.filename: e.file_size for e in kept})
            for entry in kept:
                _write(opened, entry, into / entry.filename.removeprefix(top))
    except _DAMAGED as error:
        raise ProviderError(f"{source} cannot be unpacked: {error}"[:300]) from None
    return into


def _check_paths(entries: list[zipfile.ZipInfo], source: str) -> None:
    if len(entries) > 10 * MOST_FILES:
        raise ProviderError(f"{source} has {len(entries)} files: that is no report.")
    names = [e.filename for e in entries]
    if len({n.casefold() for n in names}) < len(names):
        raise ProviderError(f"{source} has two files of one name.")
    for entry in entries:
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if not is_safe(entry.filename) or kind not in (0, stat.S_IFREG):
            raise ProviderError(
                f"{source} is not unpacked: {clean(entry.filename)!r} is a link, or leads out of "
                "the folder."
            )


def _write(opened: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    left = entry.file_size
    with opened.open(entry) as content, target.open("wb") as file:
        # The size that a header states need not be the real one.
        while chunk := content.read(min(_CHUNK, left + 1)):
            left -= len(chunk)
            if left < 0:
                raise ProviderError(f"{clean(entry.filename)} is larger than it says.")
            file.write(chunk)
