"""Sources of data: the user's folder, the cache, or the pinned public file.

A public file is pinned by its address at one commit and by the SHA-256 of its bytes; a download
that does not match is refused. Files that the user provides are used as found: their SHA-256 is
recorded and they are marked local.
"""

import gzip
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from pytest_bias.data import downloads, hub_files, hub_splits
from pytest_bias.data.hub_files import HubFile
from pytest_bias.data.hub_splits import HubSplit
from pytest_bias.environment import is_offline
from pytest_bias.errors import (
    DataError,
    DataMissing,
    LicenceNotAccepted,
    NoAnswer,
    OwnCopyNeeded,
)
from pytest_bias.records.report import DataInfo, sha256


@dataclass(frozen=True, slots=True)
class DataFile:
    """One public file, pinned.

    A file has a `url`, or a `hub`, or neither: then there is no permission to redistribute it, and
    only the user's own copy is read.

    Parameters
    ----------
    path : str
        Path below a data folder, in the layout that ``--data-dir`` reads.
    url : str or None
        Address of the file at one commit.
    sha256 : str or None
        SHA-256 of its bytes, in hexadecimal; None if unknown: then the commit of `hub` pins them,
        and the report records the SHA-256 that was found.
    hub : HubFile or HubSplit, optional
        The file of a dataset on the Hub, or the split that it holds.
    """

    path: str
    url: str | None
    sha256: str | None
    hub: HubFile | HubSplit | None = None

    def __post_init__(self) -> None:
        if self.url and self.hub:
            raise ValueError(f"{self.path}: a file has an address or a place on the Hub, not both.")
        if self.url and not self.sha256:
            raise ValueError(f"{self.path}: what an address gives is pinned by its SHA-256 alone.")

    @property
    def address(self) -> str | None:
        """Public address; None if it is not public."""
        return self.hub.address if self.hub else self.url


@dataclass(frozen=True, slots=True)
class Source:
    """A public dataset: its origin, commit and licence.

    `consent` marks a licence (non-commercial or unclear) that the user must accept by name in
    the settings before the data are read.
    """

    name: str
    revision: str
    licence: str
    consent: bool = False

    @property
    def raw(self) -> str:
        """Address of the files at the commit, for a repository on GitHub."""
        return f"https://raw.githubusercontent.com/{self.name}/{self.revision}"

    def files(self, base: str, sums: Mapping[str, str]) -> tuple[DataFile, ...]:
        """Return the files of a dataset; `sums` maps paths in a data folder to SHA-256."""
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


State: TypeAlias = Literal[
    "own", "own changed", "own unreadable", "cached", "damaged", "missing", "own copy only"
]
"""Location of a file: the user's copy, as pinned or with other bytes; the cache; or none."""

Tell: TypeAlias = Callable[[str, int, int | None], None]
"""Progress callback of a download: path, bytes received, size if known."""


def tell_nobody(path: str, done: int, total: int | None) -> None:
    """Tell nobody."""


def cache_folder() -> Path:
    """Return the folder for downloads: ``$PYTEST_BIAS_CACHE``, else one in the user's cache."""
    given = os.environ.get("PYTEST_BIAS_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(given) if given else Path(base) / "pytest-bias"


@dataclass(frozen=True)
class DataFolder:
    """Finds data files for suites.

    Files with a web address and the rows of splits are stored in `cache_folder`, files of the Hub
    in the cache of the Hub's client, as by ``hf download``.

    Parameters
    ----------
    folder : Path, optional
        The user's own copies (``--data-dir``), which take precedence.
    offline : bool
        Whether downloads are forbidden.
    accepted : mapping of str to str
        Suite to the licence that the user accepted for it.
    texts : mapping
        Suite to the user's own texts that it reads, by name, as checked by `own_texts`.
    suite : str
        Suite that needs the data, for messages.
    tell : callable
        Progress callback of downloads.
    silent : dict of str to str
        Hosts that did not answer, with the failure; they are not tried again.
    """

    folder: Path | None = None
    offline: bool = False
    accepted: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    suite: str = ""
    tell: Tell = field(default=tell_nobody, compare=False)
    silent: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

    def of(self, suite: str) -> "DataFolder":
        """Return a copy of this object for the data of a suite."""
        return replace(self, suite=suite)

    def consent(self, suite: str, source: Source) -> None:
        """Raise `LicenceNotAccepted` if the data's licence needs consent that was not given.

        Several licences of one suite are accepted as a list separated by commas.
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
        """Return the file's content from the user's folder, the cache, or its public address.

        Parameters
        ----------
        file : DataFile
            The file to find.
        *alternatives : str
            Other paths in the user's folder with the same data in another format.

        Raises
        ------
        DataMissing
            If it is in none of these locations; the message lists them.
        DataError
            If it cannot be read, or a download is not the pinned file.
        """
        own = self._own(file, *alternatives)
        if own is not None:
            return own
        content = _cached(file)
        if content is None:
            content = self._fetched(file)
        return FoundFile(file.path, content, sha256(content), local=False)

    def state(self, file: DataFile) -> State:
        """Return the location of a file, without using the network."""
        try:
            own = self._own(file)
        except DataError:
            return "own unreadable"
        if own is not None:
            return "own" if file.sha256 in (None, own.sha256) else "own changed"
        if file.address is None:
            return "own copy only"
        if _cached(file) is not None:
            return "cached"
        return "damaged" if _is_kept(file) else "missing"

    def _own(self, file: DataFile, *alternatives: str) -> FoundFile | None:
        for path in (file.path, *alternatives):
            if self.folder and (content := content_of(self.folder / path)) is not None:
                return FoundFile(path, content, sha256(content), local=True)
        return None

    def _fetched(self, file: DataFile) -> bytes:
        what = f"{file.path}, which {self.suite} needs," if self.suite else file.path
        command = "pytest-bias data fetch" + (f" --suite {self.suite}" if self.suite else "")
        if isinstance(file.hub, HubFile) and not file.hub.kept:
            command = file.hub.command
        if file.address is None:
            raise OwnCopyNeeded(
                f"{what} is not in {self.folder or 'a folder of your own'}, and it is never "
                "fetched: nobody has said that it may be passed on.",
                "Put your own copy below a folder and give --data-dir.",
            )
        if is_offline(self.offline):
            raise self._offline(file, what, command)
        host = "the Hub" if file.hub else str(urlsplit(file.url).hostname)
        if host in self.silent:
            raise DataMissing(
                f"{what} could not be fetched from {file.address}: {host} was silent before "
                f"({self.silent[host]}).",
                f"Try again: {command}",
            )
        try:
            return self._asked(file, what, command)
        except NoAnswer as error:
            self.silent[host] = error.message.partition(": ")[2].rstrip(".")
            raise

    def _offline(self, file: DataFile, what: str, command: str) -> DataMissing:
        looked = f"{self.folder / file.path} or " if self.folder else ""
        of_client = isinstance(file.hub, HubFile)
        cache = "the cache of the Hub's client" if of_client else f"the cache {cache_folder()}"
        damaged = ", where a damaged copy stands" if _is_kept(file) else ""
        why = "this run is offline" if self.offline else "HF_HUB_OFFLINE is set: offline"
        return DataMissing(
            f"{what} is not in {looked}{cache}{damaged}, and {why}.",
            f"Where there is a network: {command}. Or give --data-dir DIR with a copy of "
            f"{file.address} at DIR/{file.path}",
        )

    def _asked(self, file: DataFile, what: str, command: str) -> bytes:
        match file:
            case DataFile(hub=HubFile(kept=False) as hub):
                self.tell(file.path, 0, None)
                content = hub_files.read(hub, what)
                self.tell(file.path, len(content), len(content))
                if file.sha256 not in (None, sha256(content)):
                    raise DataError(f"{what} was refused: it is not the file that was pinned.")
                return content
            case DataFile(hub=HubFile() as hub):
                self.tell(file.path, 0, None)
                content = hub_files.fetch(hub, what).read_bytes()
                if (pinned := _cached(file)) is None:
                    # Damaged: the client does not verify the contents of its cache.
                    content = hub_files.fetch(hub, what, again=True).read_bytes()
                    pinned = _cached(file)
                self.tell(file.path, len(content), len(content))
                if pinned is None:
                    raise DataError(
                        f"{what} was refused: {file.address} is not the file that was pinned; its "
                        f"SHA-256 is {sha256(content)}, not {file.sha256}."
                    )
                return pinned
            case DataFile(hub=HubSplit() as split):
                self.tell(file.path, 0, None)
                content = hub_splits.fetch(split, what, cache_folder())
                self.tell(file.path, len(content), len(content))
                return content
            case DataFile(url=str() as url, sha256=str() as digest):
                wanted = downloads.Wanted(what, url, digest, _place(digest, file.path), command)
                return downloads.fetch(wanted, partial(self.tell, file.path))
        raise AssertionError(file)


def describe_files(source: Source, found: Sequence[FoundFile], n_items: int) -> DataInfo:
    """Describe the data of one configuration for the report.

    The digest of several files is the SHA-256 of the sorted lines ``sha256  path``.
    """
    local = any(f.local for f in found)
    return DataInfo(
        source=source.name,
        licence=source.licence,
        revision=None if local else source.revision,
        sha256=_digest_of([(f.path, f.sha256) for f in found]),
        n_items=n_items,
        local=local,
    )


def pinned(files: Sequence[DataFile], source: str) -> str | None:
    """Return the digest that `describe_files` or `together` gives for the pinned files.

    Parameters
    ----------
    files : sequence of DataFile
        In the order of their sources; those of one source are in one folder.
    source : str
        The sources, named as by `together`.

    Returns
    -------
    str or None
        None if a file has no pinned digest, or the numbers of sources and folders differ.
    """
    if any(f.sha256 is None for f in files):
        return None
    folders: dict[str, list[tuple[str, str]]] = {}
    for file in files:
        folders.setdefault(file.path.partition("/")[0], []).append((file.path, str(file.sha256)))
    digests = [_digest_of(found) for found in folders.values()]
    names = source.split(" + ")
    if len(names) != len(digests):
        return None
    return digests[0] if len(digests) == 1 else _digest_of(list(zip(names, digests, strict=True)))


def _digest_of(files: Sequence[tuple[str, str]]) -> str:
    """Return one digest for files or sources with digests; for a single one, its own."""
    if len(files) == 1:
        return files[0][1]
    return sha256("".join(sorted(f"{digest}  {name}\n" for name, digest in files)))


def together(infos: Sequence[DataInfo], n_items: int) -> DataInfo:
    """Combine the descriptions of several sources of one configuration."""
    revisions = [i.revision for i in infos]
    return DataInfo(
        source=" + ".join(i.source for i in infos),
        licence=" + ".join(dict.fromkeys(i.licence for i in infos)),
        revision=None if None in revisions else " + ".join(map(str, revisions)),
        sha256=sha256("".join(sorted(f"{i.sha256}  {i.source}\n" for i in infos))),
        n_items=n_items,
        local=any(i.local for i in infos),
    )


def _place(digest: str, path: str) -> Path:
    """Return the cache path of a file with a web address."""
    return cache_folder() / digest[:16] / Path(path).name


def _kept(file: DataFile) -> Path | None:
    """Return the path at which a cache has a file, or would have it."""
    match file:
        case DataFile(hub=HubFile() as hub):
            return hub_files.cached(hub)
        case DataFile(hub=HubSplit() as split):
            return hub_splits.cached(split, cache_folder())
        case DataFile(url=str(), sha256=str() as digest):
            return _place(digest, file.path)
    return None


def _is_kept(file: DataFile) -> bool:
    kept = _kept(file)
    return kept is not None and kept.exists()


def _cached(file: DataFile) -> bytes | None:
    """Return the cached bytes of a file if they match the pinned SHA-256."""
    kept = _kept(file)
    content = None if kept is None else content_of(kept)
    if kept is None or content is None:
        return None
    if file.sha256 is None:
        return content if hub_files.is_whole(kept, content) else None
    return content if sha256(content) == file.sha256 else None


def content_of(path: Path) -> bytes | None:
    """Return the bytes of a file or of its gzip copy, or None if there is neither.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    for candidate, read in ((path, Path.read_bytes), (path.with_name(f"{path.name}.gz"), _gunzip)):
        try:
            if candidate.is_file():
                return read(candidate)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{candidate} cannot be read: {error}") from None
    return None


def _gunzip(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())
