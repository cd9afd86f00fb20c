"""Files of datasets on the Hugging Face Hub, through the Hub's own client and its cache."""

import contextlib
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final, cast

from pytest_bias.data.downloads import GONE, OWN_COPY, in_words
from pytest_bias.errors import BiasError, DataMissing, NoAnswer, OutputError
from pytest_bias.records.report import sha256

HUB: Final = "https://huggingface.co"
_PATIENCE_S: Final = 30.0
_COMMIT: Final = re.compile("[0-9a-f]{40}")
_DIGEST: Final = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file of a dataset repository of the Hugging Face Hub, at one commit.

    Only what is there as a file: no loading script is ever run. Where a repository's main branch
    holds nothing but a script, its branch ``refs/convert/parquet`` has the files that the Hub made
    of it, and `revision` is a commit of that branch.

    Parameters
    ----------
    repository : str
        ``org/name`` of the dataset.
    revision : str
        The whole hash of the commit, 40 hexadecimal digits.
    path : str
        Path in the repository.
    kept : bool
        Whether it is kept in the client's cache; else it is read into memory by every run.
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
        """The command that fetches it into the cache of the Hub's client, where it is kept."""
        if not self.kept:
            return "run it again"
        return (
            f"hf download {self.repository} {self.path} --repo-type dataset "
            f"--revision {self.revision}"
        )

    @property
    def address(self) -> str:
        """Where it can be looked at."""
        return f"{HUB}/datasets/{self.repository}/blob/{self.revision}/{self.path}"


def cached(file: HubFile) -> Path | None:
    """Return the file in the client's cache, or null; no network is used."""
    if not file.kept:
        return None
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(
        file.repository, file.path, revision=file.revision, repo_type="dataset"
    )
    return Path(found) if isinstance(found, str) else None


def is_whole(kept: Path, content: bytes) -> bool:
    """Whether a cached file's bytes are what the Hub said: its cache names files by their digest.

    That is the SHA-256 of a large file and git's own of a small one; true where the cache has no
    such names, as on systems without symbolic links.
    """
    name = kept.resolve().name
    if _DIGEST.fullmatch(name):
        return sha256(content) == name
    if _COMMIT.fullmatch(name):
        head = b"blob %d\0" % len(content)
        return hashlib.sha1(head + content, usedforsecurity=False).hexdigest() == name
    return True


def fetch(file: HubFile, what: str, *, again: bool = False) -> Path:
    """Return the file in the client's cache, downloaded first unless it is there.

    The client reads ``HF_ENDPOINT``, ``HF_TOKEN`` and ``HF_HOME``, takes up a download that broke
    off, and keeps two processes from writing one file.

    Parameters
    ----------
    file : HubFile
        The file.
    what : str
        Subject of messages: what it is and who needs it.
    again : bool
        Whether a copy in the cache is replaced, because it is damaged.

    Raises
    ------
    DataMissing
        If it cannot be had, with the reason in plain words and what helps.
    OutputError
        If the client's cache cannot be written.
    """
    from huggingface_hub import hf_hub_download

    with in_plain_words(file, what), without_bars():
        found = hf_hub_download(
            file.repository,
            file.path,
            repo_type="dataset",
            revision=file.revision,
            force_download=again,
        )
    return Path(found)


def read(file: HubFile, what: str) -> bytes:
    """Return the bytes of a file, which are written nowhere.

    Parameters
    ----------
    file : HubFile
        The file.
    what : str
        Subject of messages.

    Raises
    ------
    DataMissing
        If it cannot be had, as `fetch` does.
    """
    from huggingface_hub import hf_hub_url
    from huggingface_hub.utils import build_hf_headers, hf_raise_for_status, http_backoff

    address = hf_hub_url(file.repository, file.path, repo_type="dataset", revision=file.revision)
    with in_plain_words(file, what):
        answer = http_backoff("GET", address, headers=build_hf_headers(), timeout=_PATIENCE_S)
        hf_raise_for_status(answer)
    return bytes(answer.content)


@contextlib.contextmanager
def in_plain_words(file: HubFile, what: str) -> Iterator[None]:
    """Say of an error of the client in the block why a file was not brought, and what helps."""
    try:
        yield
    except Exception as error:
        refusal = refusal_of(file, what, error)
        if refusal is None:
            raise
        raise refusal from None


def refusal_of(file: HubFile, what: str, error: BaseException) -> BiasError | None:
    """Say in plain words why the client did not bring a file; None for an error of another kind."""
    from huggingface_hub import errors

    head = f"{what} could not be fetched from the Hub's dataset {file.repository}"
    known: tuple[tuple[type[Exception], str, str], ...] = (
        (
            errors.GatedRepoError,
            "it is gated, and access was not granted",
            f"Ask for it at {HUB}/datasets/{file.repository}, then: hf auth login",
        ),
        (errors.RevisionNotFoundError, f"it has no commit {file.revision}", GONE),
        (
            errors.RepositoryNotFoundError,
            "there is none of this name, or it is private",
            f"If you may read it: hf auth login. Else {OWN_COPY}.",
        ),
        (errors.RemoteEntryNotFoundError, f"it has no {file.path} at {file.revision}", GONE),
    )
    for kind, reason, hint in known:
        if isinstance(error, kind):
            return DataMissing(f"{head}: {reason}.", hint)
    if isinstance(error, OSError) and error.errno is not None:
        return OutputError(
            f"the cache of the Hub's client cannot be written: {error}.",
            "Set HF_HOME to a folder that can.",
        )
    while error.__cause__ is not None:
        error = cast("Exception", error.__cause__)
    answer = getattr(error, "response", None)
    if answer is not None:
        return _answered(file, head, answer.status_code, answer.headers.get("Retry-After"))
    # The client's own library for HTTP raises errors of its own.
    if isinstance(error, OSError | ValueError) or type(error).__module__.startswith("http"):
        reason = f"no connection ({type(error).__name__}: {error})".splitlines()[0][:250]
        hint = f"Where there is a network: {file.command}. Else {OWN_COPY}."
        return NoAnswer(f"{head}: {reason}.", hint)
    return None


def _answered(file: HubFile, head: str, status: int, retry_after: str | None) -> DataMissing:
    reason = f"the Hub answers {in_words(status)}"
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        hint = f"Your token does not open it: hf auth login, or unset HF_TOKEN. Else {OWN_COPY}."
        return DataMissing(f"{head}: {reason}.", hint)
    if retry_after:
        reason += f" and asks to wait {retry_after} s"
    return DataMissing(f"{head}: {reason}.", f"Later: {file.command}. Else {OWN_COPY}.")


@contextlib.contextmanager
def without_bars() -> Iterator[None]:
    """Hide the client's bars beside ours; that it waits for a busy Hub, it may say."""
    from huggingface_hub.utils import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    hidden = are_progress_bars_disabled()
    disable_progress_bars()
    try:
        yield
    finally:
        if not hidden:
            enable_progress_bars()
