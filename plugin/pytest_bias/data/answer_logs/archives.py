"""Members of a zip archive that somebody else wrote: limits, damage, and Zstandard."""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

from pytest_bias.data.answer_logs.files import LogFile, json_value
from pytest_bias.errors import DataError
from pytest_bias.untrusted import clean

MOST_OF_ONE: Final = 1 << 28
"""Largest member that is unpacked, in bytes: 256 MiB."""

MOST_OF_ALL: Final = 1 << 34
"""Most bytes that are unpacked of one archive: 16 GiB."""

ZSTANDARD: Final = 93
"""Number of the method in APPNOTE 6.3.8, 4.4.5; Python's zipfile reads it from version 3.14 on."""

_ENCRYPTED: Final = 0x1
_LOCAL_HEADER: Final = 30
"""Bytes before the name in the header of a member (APPNOTE, 4.3.7)."""


@dataclass
class Archive:
    """An open archive; of several members with one name it is the last."""

    file: LogFile
    zipped: zipfile.ZipFile
    raw: BinaryIO
    unpacked: int = field(default=0, init=False)

    @property
    def names(self) -> list[str]:
        """Names of the members, in the order of the archive."""
        return [*dict.fromkeys(self.zipped.namelist())]

    def json(self, name: str) -> Any:
        """Return the JSON value of a member.

        Raises
        ------
        DataError
            If it is damaged, encrypted, too large, compressed in a way that is not known, or no
            JSON.
        """
        at = f"{self.file.name}, {clean(name)}"
        return json_value(self._content(self.zipped.getinfo(name), at), at, strict=False)

    def _content(self, info: zipfile.ZipInfo, at: str) -> bytes:
        if info.flag_bits & _ENCRYPTED:
            raise DataError(f"{at} is encrypted; decrypt the log first.")
        self.unpacked += info.file_size
        if info.file_size > MOST_OF_ONE:
            raise DataError(f"{at} is larger than {MOST_OF_ONE >> 20} MiB; it is not read.")
        if self.unpacked > MOST_OF_ALL:
            raise DataError(f"{self.file.name} holds more than {MOST_OF_ALL >> 30} GiB.")
        try:
            if info.compress_type == ZSTANDARD:
                return self._zstandard(info)
            with self.zipped.open(info) as member:
                # One byte more than stated: zipfile itself stops there.
                return member.read(info.file_size + 1)
        except NotImplementedError:
            raise DataError(
                f"{at} is compressed by method {info.compress_type}, which is not known."
            ) from None
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError) as error:
            raise DataError(f"{at} is damaged: {error}.") from None

    def _zstandard(self, info: zipfile.ZipInfo) -> bytes:
        import pyarrow as pa

        self.raw.seek(info.header_offset)
        header = self.raw.read(_LOCAL_HEADER)
        if len(header) < _LOCAL_HEADER or header[:4] != b"PK\x03\x04":
            raise ValueError("its header is not where the archive says")
        skipped = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        self.raw.seek(skipped, 1)
        packed = self.raw.read(info.compress_size)
        if not info.file_size:
            return b""
        with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
            content = bytes(stream.read(info.file_size + 1))
        if len(content) != info.file_size or zlib.crc32(content) != info.CRC:
            raise ValueError("its content does not match its checksum")
        return content


@contextmanager
def opened(file: LogFile) -> Iterator[Archive]:
    """Open an archive.

    Raises
    ------
    DataError
        If it is none, or is cut off.
    """
    with file.path.open("rb") as raw:
        try:
            zipped = zipfile.ZipFile(raw)
        except (zipfile.BadZipFile, OSError, ValueError) as error:
            raise DataError(
                f"{file.name} begins like a zip archive, but cannot be read ({error}). It may be "
                "cut off, or still being written."
            ) from None
        with zipped:
            yield Archive(file, zipped, raw)
