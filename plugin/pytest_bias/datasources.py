"""Where data come from: a folder of the user's, the cache, or the pinned public file.

A public file is pinned by its address at one commit and by the SHA-256 of its bytes; a download
that does not match is refused. Files that the user provides are used as found: their SHA-256 is
recorded and they are marked local.
"""

import gzip
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pytest_bias.errors import DataError, DataMissing, LicenceNotAccepted, OutputError
from pytest_bias.options import is_offline
from pytest_bias.records import DataInfo, sha256

TIMEOUT_S: Final = 30
ATTEMPTS: Final = 3


@dataclass(frozen=True, slots=True)
class DataFile:
    """One public file, pinned.

    Parameters
    ----------
    path : str
        Path below a data folder, in the layout that ``--data-dir`` reads.
    url : str or None
        Address of the file at one commit; null where nobody has said that it may be passed on:
        then only the user's own copy is read.
    sha256 : str
        SHA-256 of its bytes, in hexadecimal.
    """

    path: str
    url: str | None
    sha256: str


@dataclass(frozen=True, slots=True)
class Source:
    """A public dataset: who made it, at which commit, under which licence.

    `consent` marks a licence (non-commercial, or unclear) that the user has to accept by name in
    the settings before the data are read.
    """

    name: str
    revision: str
    licence: str
    consent: bool = False

    def files(self, base: str, sums: Mapping[str, str]) -> tuple[DataFile, ...]:
        """Return the files of a dataset: path below a data folder to SHA-256."""
        return tuple(
            DataFile(path, f"{base}/{path.partition('/')[2]}", digest)
            for path, digest in sums.items()
        )


@dataclass(frozen=True, slots=True)
class FoundFile:
    """The bytes of a data file, decompressed, with their SHA-256."""

    path: str
    content: bytes
    sha256: str
    local: bool


def cache_folder() -> Path:
    """Return the folder for downloads: ``$PYTEST_BIAS_CACHE``, else below the user's cache."""
    given = os.environ.get("PYTEST_BIAS_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(given) if given else Path(base) / "pytest-bias"


@dataclass(frozen=True)
class DataFolder:
    """Finds data files for suites.

    Parameters
    ----------
    folder : Path, optional
        The user's own copies (``--data-dir``); looked at first.
    offline : bool
        Whether downloads are forbidden.
    accepted : mapping of str to str
        Suite to the licence that the user accepted for it.
    """

    folder: Path | None = None
    offline: bool = False
    accepted: Mapping[str, str] = field(default_factory=dict)

    def consent(self, suite: str, source: Source) -> None:
        """Raise `LicenceNotAccepted` unless the data's licence needs no consent or has it.

        A suite with data under several licences has them accepted with commas between.
        """
        accepted = [name.strip() for name in self.accepted.get(suite, "").split(",") if name]
        if not source.consent or source.licence in accepted:
            return
        wanted = f'"{", ".join([*accepted, source.licence])}"' if accepted else source.licence
        raise LicenceNotAccepted(
            f"{source.name} is under {source.licence}, which you have not accepted.",
            f"In pytest-bias.yaml: accept_licences: {{{suite}: {wanted}}}",
        )

    def find(self, file: DataFile, *alternatives: str) -> FoundFile:
        """Return the file's content from the user's folder, the cache, or its address.

        Parameters
        ----------
        file : DataFile
            What is looked for.
        *alternatives : str
            Other paths below the user's folder that hold the same data in another shape.

        Raises
        ------
        DataMissing
            If it is in none of these places; the message names them.
        DataError
            If it cannot be read, or a download is not the pinned file.
        """
        for path in (file.path, *alternatives):
            if self.folder and (found := _read(self.folder / path)) is not None:
                return FoundFile(path, found, sha256(found), local=True)
        if file.url is None:
            raise DataMissing(
                f"{file.path} is not in {self.folder or 'a folder of your own'}, and it is never "
                "fetched: nobody has said that it may be passed on.",
                "Put your own copy below a folder and give --data-dir.",
            )
        kept = cache_folder() / file.sha256[:16] / Path(file.path).name
        content = _read(kept)
        if content is None or sha256(content) != file.sha256:
            content = self._download(file, file.url, kept)
        return FoundFile(file.path, content, file.sha256, local=False)

    def _download(self, file: DataFile, url: str, kept: Path) -> bytes:
        looked = f"{self.folder / file.path} or " if self.folder else ""
        if is_offline(self.offline):
            raise DataMissing(
                f"{file.path} is not in {looked}the cache {kept.parent}, and this run is offline.",
                f"Put it below a folder and give --data-dir, or fetch it from {url}",
            )
        content = _get(file.path, url)
        if sha256(content) != file.sha256:
            raise DataError(
                f"{url} is not the file that was pinned: its SHA-256 is {sha256(content)}, "
                f"not {file.sha256}. It was refused.",
            )
        try:
            kept.parent.mkdir(parents=True, exist_ok=True)
            partial = kept.with_suffix(f"{kept.suffix}.{os.getpid()}")
            partial.write_bytes(content)
            partial.replace(kept)
        except OSError as error:
            raise OutputError(
                f"the cache {kept.parent} cannot be written: {error.strerror}.",
                "Set PYTEST_BIAS_CACHE to a folder that can.",
            ) from None
        return content


def describe_files(source: Source, found: Sequence[FoundFile], n_items: int) -> DataInfo:
    """Describe the data of one configuration for the report.

    The digest of several files is that of the sorted lines ``sha256  path``.
    """
    local = any(f.local for f in found)
    if len(found) == 1:
        digest = found[0].sha256
    else:
        digest = sha256("".join(sorted(f"{f.sha256}  {f.path}\n" for f in found)))
    return DataInfo(
        source=source.name,
        licence=source.licence,
        revision=None if local else source.revision,
        sha256=digest,
        n_items=n_items,
        local=local,
    )


def together(infos: Sequence[DataInfo], n_items: int) -> DataInfo:
    """Describe the data of a configuration that come from several sources, each described."""
    revisions = [i.revision for i in infos]
    return DataInfo(
        source=" + ".join(i.source for i in infos),
        licence=" + ".join(dict.fromkeys(i.licence for i in infos)),
        revision=None if None in revisions else " + ".join(map(str, revisions)),
        sha256=sha256("".join(sorted(f"{i.sha256}  {i.source}\n" for i in infos))),
        n_items=n_items,
        local=any(i.local for i in infos),
    )


def _read(path: Path) -> bytes | None:
    """Return the bytes of a file or of its gzip copy, or null if there is neither."""
    for candidate, read in ((path, Path.read_bytes), (path.with_name(f"{path.name}.gz"), _gunzip)):
        try:
            if candidate.is_file():
                return read(candidate)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{candidate} cannot be read: {error}") from None
    return None


def _gunzip(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def _get(path: str, url: str) -> bytes:
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3.util.retry import Retry

    retry = Retry(ATTEMPTS, backoff_factor=1, status_forcelist=(429, 500, 502, 503, 504))
    try:
        with requests.Session() as session:
            session.mount("https://", HTTPAdapter(max_retries=retry))
            session.mount("http://", HTTPAdapter(max_retries=retry))
            answer = session.get(url, timeout=TIMEOUT_S)
            answer.raise_for_status()
            return answer.content
    except requests.RequestException as error:
        raise DataMissing(
            f"{path} could not be fetched from {url}: {error}",
            "Behind a proxy set HTTPS_PROXY; without a network give --data-dir.",
        ) from None
