"""Where a fleet keeps what it measures: a folder, or an address that fsspec can write to."""

from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pytest_bias.errors import OutputError
from pytest_bias.records.documents import write_whole

BACK_ENDS: Final = "a folder, s3://bucket/folder (pip install s3fs), gs:// (gcsfs), hf://datasets/…"


class Store:
    """Files below one address, each written whole or not at all.

    Parameters
    ----------
    url : str
        A folder, or an address of a file system that fsspec knows.

    Raises
    ------
    OutputError
        If there is no such file system, or what it needs is not installed.
    """

    def __init__(self, url: str) -> None:
        import fsspec

        self.url = url
        try:
            self.fs, self.root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError, OSError) as error:
            raise OutputError(
                f"--out {url}: {str(error) or type(error).__name__}", f"An address is {BACK_ENDS}."
            ) from None
        self.root = self.root.rstrip("/")

    @property
    def local(self) -> Path | None:
        """The folder itself, where it is one."""
        protocol = self.fs.protocol
        is_folder = "file" in ((protocol,) if isinstance(protocol, str) else protocol)
        return Path(self.root) if is_folder else None

    def path(self, name: str) -> str:
        """Return the address of a file below the store, for people."""
        return str(self.local / name) if self.local else f"{self.url.rstrip('/')}/{name}"

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, null if it is not there."""
        try:
            with suppress(FileNotFoundError, NotADirectoryError):
                # Listings are kept by some file systems, and others write here too.
                self.fs.invalidate_cache()
                found: bytes = self.fs.cat_file(f"{self.root}/{name}")
                return found
        except Exception as error:
            raise self._failed(name, "read", error) from None
        return None

    def write(self, name: str, content: bytes) -> None:
        """Write a file; who reads it finds all of it or nothing.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        path = f"{self.root}/{name}"
        try:
            if not self.local:
                self.fs.pipe_file(path, content)
                return
            target = Path(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, content)
        except Exception as error:
            raise self._failed(name, "written", error) from None

    def put(self, folder: Path, name: str, last: str) -> None:
        """Write every file of a folder below `name`, the file `last` at the end."""
        files = [p for p in sorted(folder.rglob("*")) if p.is_file()]
        for path in sorted(files, key=lambda p: p == folder / last):
            self.write(f"{name}/{path.relative_to(folder).as_posix()}", path.read_bytes())

    def get(self, name: str, folder: Path) -> None:
        """Copy every file below `name` into a folder."""
        try:
            self.fs.invalidate_cache()
            found = self.fs.find(f"{self.root}/{name}")
            for path in found:
                target = folder / path[len(f"{self.root}/{name}/") :]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(self.fs.cat_file(path))
        except Exception as error:
            raise self._failed(name, "read", error) from None

    def remove(self, name: str) -> None:
        """Remove what stands below a name, if there is something."""
        with suppress(FileNotFoundError):
            self.fs.rm(f"{self.root}/{name}", recursive=True)

    def _failed(self, name: str, what: str, error: Exception) -> OutputError:
        first: Any = (str(error) or type(error).__name__).splitlines()[0]
        return OutputError(f"{self.path(name)} cannot be {what}: {first:.300}")
