"""Access to a model's repository on the Hub: listing, and download into the client's cache."""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_bias.errors import HubNotReached, ModelError
from pytest_bias.http.failures import Kind
from pytest_bias.http.hub import failure, hushed
from pytest_bias.models.reference import BUNDLED, ModelRef

if TYPE_CHECKING:
    from huggingface_hub import ModelInfo

OFFLINE: Final = "this run is offline"
NOT_REACHED: Final = "the Hub is not reachable from here"
_HINTS: Final[Mapping[Kind, str]] = {"repository": "For a private model: hf auth login"}


def endpoint() -> str:
    """Return the address of the Hub: ``$HF_ENDPOINT``, else the public one."""
    from huggingface_hub import constants

    return str(constants.ENDPOINT).rstrip("/")


def kept_at(name: str) -> Path:
    """Return the folder of a model's files in the client's cache."""
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    folder: str = repo_folder_name(repo_id=name, repo_type="model")
    return Path(constants.HF_HUB_CACHE) / folder


def ask(ref: ModelRef, *, digests: bool = False) -> "ModelInfo":
    """Return the Hub's information on a model: its commit and files, optionally with `digests`.

    Raises
    ------
    HubNotReached
        If the Hub does not answer.
    ModelError
        If the model or revision does not exist, or is not accessible.
    """
    from huggingface_hub import HfApi

    try:
        return HfApi().model_info(
            ref.name, revision=ref.revision, timeout=30, files_metadata=digests
        )
    except Exception as error:
        if (failed := failure(error)) is None:
            raise
    if failed.kind == "gated":
        raise _gated(ref)
    if failed.kind == "revision":
        raise ModelError(
            f"{ref.name} has no revision {ref.revision!r}.",
            f"Branches and tags: https://huggingface.co/{ref.name}/tree/main",
        )
    if failed.kind == "repository":
        raise ModelError(
            f"there is no model {ref.name!r} on the Hub, or it is private.{_nearest(ref.name)}",
            "Check the name; for a private model: hf auth login. For a folder give its path.",
        )
    why = failed.answer("it").rstrip(".")
    raise HubNotReached(f"the Hub could not be asked about {ref.name}: {why}.")


def listed(ref: ModelRef) -> tuple[tuple[str, ...], str | None]:
    """Return the names of a model's files, and a notice if the Hub does not answer."""
    try:
        return tuple(s.rfilename for s in ask(ref).siblings or ()), None
    except HubNotReached as error:
        told = error.message[0].upper() + error.message[1:].rstrip(".")
        return (), f"{told}; looking in the cache."


def fetch(
    ref: ModelRef,
    revision: str | None,
    patterns: Sequence[str],
    *,
    without: Sequence[str] = (),
    cached: bool = False,
    why: str = "",
    quiet: bool = True,
) -> Path:
    """Return the cached folder of a revision, downloading the files that match the patterns.

    Parameters
    ----------
    patterns, without : sequence of str
        Patterns of files to download, and of exceptions, as for `fnmatch`: a star also matches
        slashes.
    cached : bool
        Whether to use the cache only, for a reason `why` that is shown in messages.
    quiet : bool
        Whether to hide the client's progress.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError, RevisionNotFoundError

    try:
        with hushed(bars=not quiet, advice=False):
            folder = snapshot_download(
                ref.name,
                revision=revision,
                allow_patterns=list(patterns),
                ignore_patterns=list(without),
                local_files_only=cached,
            )
    except Exception as error:
        if (failed := failure(error)) is None:
            raise
        if failed.kind == "gated":
            # Information on a gated model may be public even if its files are not.
            raise _gated(ref) from None
        said = failed.answer("the Hub", what="model").rstrip(".")
        if isinstance(error, LocalEntryNotFoundError | RevisionNotFoundError):
            at = f" --revision {ref.revision}" if ref.revision else ""
            why = why or (said if failed.status else "the Hub did not answer")
            raise ModelError(
                f"{ref} is not in the cache, and {why}.{_nearest(ref.name)}",
                "Give a folder that holds the model, or fetch it where there is a network: "
                f"hf download {ref.name}{at}",
            ) from None
        raise ModelError(f"{ref} could not be fetched: {said}.", failed.hint(_HINTS)) from None
    return Path(folder)


def _gated(ref: ModelRef) -> ModelError:
    return ModelError(
        f"{ref.name} is gated.",
        f"Ask for access at https://huggingface.co/{ref.name}, then: hf auth login",
    )


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name, BUNDLED, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
