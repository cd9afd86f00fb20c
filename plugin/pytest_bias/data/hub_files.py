"""Files of datasets on the Hugging Face Hub, through the Hub's client and its cache."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_bias.data.downloads import GONE, OWN_COPY
from pytest_bias.errors import BiasError, DataMissing, NoAnswer, OutputError
from pytest_bias.http.failures import Failed, Kind
from pytest_bias.http.hub import failure, hushed
from pytest_bias.records.report import git_blob_id, sha256

HUB: Final = "https://huggingface.co"
_PATIENCE_S: Final = 30.0
_COMMIT: Final = re.compile("[0-9a-f]{40}")
_NOT_OPENED: Final = (
    f"Your token does not open it: hf auth login, or unset HF_TOKEN. Else {OWN_COPY}."
)
_HINTS: Final[Mapping[Kind, str]] = {
    "connection": f"Where there is a network: {{command}}. Else {OWN_COPY}.",
    "repository": f"If you may read it: hf auth login. Else {OWN_COPY}.",
    "revision": GONE,
    401: _NOT_OPENED,
    403: _NOT_OPENED,
    404: GONE,
    **dict.fromkeys((4, 5, 429), f"Later: {{command}}. Else {OWN_COPY}."),
}
_DIGEST: Final = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file of a dataset repository of the Hugging Face Hub, at one commit.

    Loading scripts are never run. If a repository's main branch has only a script, its branch
    ``refs/convert/parquet`` has the files that the Hub generated from it, and `revision` is a
    commit of that branch.

    Parameters
    ----------
    repository : str
        ``org/name`` of the dataset.
    revision : str
        Full hash of the commit, 40 hexadecimal digits.
    path : str
        Path in the repository.
    kept : bool
        Whether it is stored in the client's cache; otherwise every run reads it into memory.
    """

    repository: str
    revision: str
    path: str
    kept: bool = True

    def __post_init__(self) -> None:
        if not _COMMIT.fullmatch(self.revision):
            raise ValueError(
                f"{self.repository}: revision {self.revision!r} is no whole hash of a commit."
            )

    @property
    def command(self) -> str:
        """The command that downloads it into the cache of the Hub's client."""
        if not self.kept:
            return "run it again"
        return (
            f"hf download {self.repository} {self.path} --repo-type dataset "
            f"--revision {self.revision}"
        )

    @property
    def address(self) -> str:
        """Address of its page."""
        return f"{HUB}/datasets/{self.repository}/blob/{self.revision}/{self.path}"


def cached(file: HubFile) -> Path | None:
    """Return the file in the client's cache, or None; no network is used."""
    if not file.kept:
        return None
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(
        file.repository, file.path, revision=file.revision, repo_type="dataset"
    )
    return Path(found) if isinstance(found, str) else None


def is_whole(kept: Path, content: bytes) -> bool:
    """Whether a cached file's bytes match the digest by which the Hub's cache names it.

    That is the SHA-256 of a large file and git's digest of a small one. True if the cache has no
    such names, as on systems without symbolic links.
    """
    name = kept.resolve().name
    if _DIGEST.fullmatch(name):
        return sha256(content) == name
    if len(name) == 40:
        return git_blob_id(content) == name
    return True


def fetch(file: HubFile, what: str, *, again: bool = False) -> Path:
    """Return the file in the client's cache, downloading it if it is missing.

    The client reads ``HF_ENDPOINT``, ``HF_TOKEN`` and ``HF_HOME``, resumes interrupted downloads,
    and prevents two processes from writing the same file.

    Parameters
    ----------
    file : HubFile
        The file.
    what : str
        Subject of messages: the file and the suite that needs it.
    again : bool
        Whether to replace a copy in the cache, because it is damaged.

    Raises
    ------
    DataMissing
        If it cannot be downloaded, with the reason and what helps.
    OutputError
        If the client's cache cannot be written.
    """
    from huggingface_hub import hf_hub_download

    with in_plain_words(file, what), hushed():
        found = hf_hub_download(
            file.repository,
            file.path,
            repo_type="dataset",
            revision=file.revision,
            force_download=again,
        )
    return Path(found)


def read(file: HubFile, what: str) -> bytes:
    """Return the bytes of a file without storing them.

    Parameters
    ----------
    file : HubFile
        The file.
    what : str
        Subject of messages.

    Raises
    ------
    DataMissing
        If it cannot be downloaded, as in `fetch`.
    """
    from huggingface_hub import hf_hub_url
    from huggingface_hub.utils import build_hf_headers, hf_raise_for_status, http_backoff

    address = hf_hub_url(file.repository, file.path, repo_type="dataset", revision=file.revision)
    with in_plain_words(file, what):
        answer = http_backoff("GET", address, headers=build_hf_headers(), timeout=_PATIENCE_S)
        hf_raise_for_status(answer)
        return bytes(answer.content)


@contextmanager
def in_plain_words(file: HubFile, what: str) -> Iterator[None]:
    """Turn the client's errors into ours, with plain messages."""
    try:
        yield
    except Exception as error:
        if (refusal := refusal_of(file, what, error)) is None:
            raise
        raise refusal from None


def refusal_of(file: HubFile, what: str, error: Exception) -> BiasError | None:
    """Return our error for one of the client's; None for any other error."""
    failed = failure(error)
    return None if failed is None else _refusal(file, what, failed)


def _refusal(file: HubFile, what: str, failed: Failed) -> BiasError:
    if failed.kind == "cache":
        return OutputError(
            f"the cache of the Hub's client cannot be written: {failed.cause}.",
            "Set HF_HOME to a folder that can.",
        )
    names = {"what": "dataset", "at": f" {file.revision}", "command": file.command}
    names["address"] = f"{HUB}/datasets/{file.repository}"
    why = failed.answer("the Hub", **names).rstrip(".")
    if failed.status == 404:
        why = f"it has no {file.path} at {file.revision}"
    kind = NoAnswer if failed.kind == "connection" else DataMissing
    return kind(
        f"{what} could not be fetched from the Hub's dataset {file.repository}: {why}.",
        failed.hint(_HINTS, **names),
    )
