"""Files of datasets on the Hugging Face Hub, through the Hub's own client and its cache."""

from pathlib import Path
from typing import Final

from pytest_bias.errors import DataError, DataMissing

COPY: Final = "or put a copy below a folder and give --data-dir"


def command(repository: str, revision: str, path: str) -> str:
    """Return the command that fetches a file into the cache of the Hub's client."""
    return f"hf download {repository} {path} --repo-type dataset --revision {revision}"


def fetch(repository: str, revision: str, path: str, *, offline: bool, again: bool = False) -> Path:
    """Return the file in the client's cache, downloaded first if it is not there.

    The client reads ``HF_ENDPOINT``, ``HF_TOKEN`` and ``HF_HOME``, takes up a download that broke
    off, and keeps two processes from writing one file.

    Parameters
    ----------
    repository, revision, path : str
        ``org/name`` of the dataset, the whole hash of a commit, the path in it.
    offline : bool
        Whether only the cache is looked at.
    again : bool
        Whether the copy in the cache is replaced, because it is damaged.

    Raises
    ------
    DataMissing
        If it cannot be had, with the reason in plain words and what helps.
    DataError
        If there is no such file at that commit, which no second attempt changes.
    """
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    said = f"{path} of the dataset {repository} at {revision[:7]}"
    by_hand = f"Where there is a network: {command(repository, revision, path)}; {COPY}."
    try:
        found = hf_hub_download(
            repository,
            path,
            repo_type="dataset",
            revision=revision,
            local_files_only=offline,
            force_download=again,
        )
    except GatedRepoError:
        raise DataMissing(
            f"{repository} is gated, and access has not been granted.",
            f"Ask for it at https://huggingface.co/datasets/{repository}, then: hf auth login",
        ) from None
    except RevisionNotFoundError:
        raise DataError(f"the dataset {repository} has no commit {revision}.", COPY) from None
    except RepositoryNotFoundError:
        raise DataMissing(
            f"there is no dataset {repository!r} on the Hub, or it is private.",
            f"If you may read it: hf auth login; {COPY}.",
        ) from None
    except LocalEntryNotFoundError as error:
        cause = error.__cause__
        why = "this run is offline" if offline else f"the Hub did not give it ({_short(cause)})"
        raise DataMissing(f"{said} is not in the cache, and {why}.", by_hand) from None
    except EntryNotFoundError:
        raise DataError(f"there is no {said}.", COPY) from None
    except (OSError, ValueError) as error:
        raise DataMissing(f"{said} could not be fetched ({_short(error)}).", by_hand) from None
    except Exception as error:
        # The client's own library for HTTP raises errors of its own.
        if not type(error).__module__.startswith("http"):
            raise
        raise DataMissing(f"{said} could not be fetched ({_short(error)}).", by_hand) from None
    return Path(found)


def _short(error: BaseException | None) -> str:
    if error is None:
        return "no reason given"
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]
