"""A model's repository on the Hugging Face Hub: look at it, read it, and commit to it.

No other module writes to a repository; `pytest_bias.hub.webhooks` registers what the Hub is to run.
Files are written in one commit, completely or not at all: large files are uploaded first and are
invisible until a commit names them, and the commit names the head that was read, so that the Hub
refuses it if the repository has moved meanwhile.

The Hub's client tries the requests before the commit (how to upload files, and the large files) up
to six times if the Hub is busy or does not answer. It sends the commit itself once, so that none is
made twice; if the answer is lost, we check whether the commit arrived.
"""

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_bias.data.hub_files import is_whole
from pytest_bias.environment import is_offline
from pytest_bias.errors import ModelError, PublishError
from pytest_bias.http.hub import hushed
from pytest_bias.hub.refusals import Subject, may_have_arrived, reason, token
from pytest_bias.records.report import git_blob_id, sha256

if TYPE_CHECKING:
    from huggingface_hub import HfApi

TIMEOUT_S: Final = 120.0
"""Timeout while the Hub is silent; its client would wait without end."""
LOOKS_AFTER_S: Final = (1.0, 3.0, 6.0)
"""Delays between checks for a commit whose answer was lost: the Hub may still be at work."""
NOTHING_IGNORED: Final = "# What is published was asked for by name.\n"
"""Replaces the repository's .gitignore, which makes the Hub leave files out of a commit."""
_NOT_A_DATASET: Final = "It seems that you are about to commit a data file"
"""The client's warning about Parquet files in a model's repository; our records belong there."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A model's repository at one commit.

    Parameters
    ----------
    name : str
        ``org/name``, as the Hub calls it now.
    head : str
        The full hash of the commit.
    private, gated : bool
        Whether only members, or only users who were granted access, may read its files.
    files : mapping of str to str
        Path to the id of the content: SHA-256 of a large file, git's SHA-1 of a small one.
    address : str
        URL of its page.
    """

    name: str
    head: str
    private: bool
    gated: bool
    files: Mapping[str, str]
    address: str

    def holds(self, path: str, content: bytes) -> bool:
        """Whether the repository has a file with exactly these bytes."""
        found = self.files.get(path, "")
        return found == (sha256(content) if len(found) == 64 else git_blob_id(content))

    @property
    def about_access(self) -> str:
        """State who can see what is published here, if that is not everybody."""
        if not (self.private or self.gated):
            return ""
        what = "private" if self.private else "gated"
        return f"{self.name} is {what}: only those who may read it see badges and evidence."

    @property
    def page(self) -> str:
        """URL of the commit."""
        return f"{self.address}/commit/{self.head}"


@dataclass(frozen=True, slots=True)
class Committed:
    """The result of a commit.

    Parameters
    ----------
    url, sha : str
        Page and full hash of the commit; those of the head if there was nothing to change.
    pull_request : str, optional
        Page of the pull request.
    new : bool
        Whether something was written; false if all files were there already.
    notices : tuple of str
        Further messages for the user.
    """

    url: str
    sha: str
    pull_request: str | None = None
    new: bool = True
    notices: tuple[str, ...] = ()


def look(name: str, *, offline: bool = False) -> Repository:
    """Look up a model's repository at the head of its main branch.

    Raises
    ------
    ModelError
        If the run is offline, or the Hub cannot be reached or refuses; with what helps.
    """
    subject = Subject(f"{name} cannot be read from the Hub", name, ModelError)
    with asked(subject, offline=offline) as api:
        return _seen(api, name)


def read(repository: Repository, path: str, *, offline: bool = False) -> bytes | None:
    """Return a file at the commit that `look` found; None if there is no such file.

    Raises
    ------
    ModelError
        As `look` does.
    """
    from huggingface_hub.errors import RemoteEntryNotFoundError

    name, head = repository.name, repository.head
    subject = Subject(f"{path} of {name} cannot be read from the Hub", name, ModelError, head)
    with asked(subject, offline=offline) as api:
        try:
            kept = Path(api.hf_hub_download(name, path, revision=head))
            content = kept.read_bytes()
            if not is_whole(kept, content):
                kept = Path(api.hf_hub_download(name, path, revision=head, force_download=True))
                content = kept.read_bytes()
        except RemoteEntryNotFoundError:
            return None
    return content


def commit(
    repository: Repository,
    files: Mapping[str, bytes],
    *,
    message: str,
    description: str = "",
    removed: Sequence[str] = (),
    create_pr: bool = False,
    offline: bool = False,
) -> Committed:
    """Write files to a repository, by one commit to its main branch or by a pull request.

    Files that are unchanged are left out; if all are, nothing is written. A commit is refused if
    the repository has moved since `look`; a pull request starts from the commit that `look` found.
    The token is the one that the Hub's client finds: by
    ``HF_OIDC_RESOURCE`` (trusted publishing), ``HF_TOKEN`` or ``hf auth login``.

    Parameters
    ----------
    repository : Repository
        Result of `look`.
    files : mapping of str to bytes
        Path to content.
    removed : sequence of str
        Paths of files to delete; paths that do not exist are ignored.
    message, description : str
        Title and text of the commit, and of the pull request.
    create_pr : bool
        Whether to open a pull request instead, which needs no token with write access.

    Raises
    ------
    PublishError
        If nothing was published, or it is unknown whether it was; with the cause and what helps.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    name, head = repository.name, repository.head
    changed = {p: c for p, c in files.items() if not repository.holds(p, c)}
    gone = [p for p in removed if p in repository.files]
    if not changed and not gone:
        return Committed(repository.page, head, new=False)
    subject = Subject(f"nothing was published to {name}", name, PublishError, head)
    with (
        asked(subject, offline=offline, to_write=True) as api,
        warnings.catch_warnings(record=True) as said,
    ):
        warnings.simplefilter("always")
        sent = _Sent(api, repository, changed, message, proposed=create_pr)
        additions = [CommitOperationAdd(p, c) for p, c in changed.items()]
        try:
            api.preupload_lfs_files(
                name,
                additions,
                create_pr=create_pr,
                free_memory=False,
                gitignore_content=NOTHING_IGNORED,
            )
            made = api.create_commit(
                name,
                [*additions, *(CommitOperationDelete(p, is_folder=False) for p in gone)],
                commit_message=message,
                commit_description=description,
                create_pr=create_pr,
                parent_commit=head,
            )
        except Exception as error:
            if not may_have_arrived(error, f"/api/models/{name}/commit/"):
                raise
            return sent.found_after(error)
        notices = sent.missing(made.oid)
    texts = (" ".join(str(w.message).split()) for w in said if w.category is UserWarning)
    notices += [text for text in texts if not text.startswith(_NOT_A_DATASET)]
    return Committed(str(made.commit_url), made.oid, made.pr_url, notices=tuple(notices))


@dataclass(frozen=True, slots=True)
class Proposal:
    """An open pull request: its title, branch and page."""

    title: str
    reference: str
    page: str


def own_proposals(repository: Repository, *, offline: bool = False) -> tuple[Proposal, ...]:
    """Return the open pull requests of the token's owner.

    Anybody can open one under any title, so those of others prove nothing.

    Raises
    ------
    ModelError
        As `look` does.
    """
    name = repository.name
    subject = Subject(f"the pull requests of {name} cannot be listed", name, ModelError)
    with asked(subject, offline=offline, to_write=True) as api:
        owner = api.whoami()["name"]
        pulls = api.get_repo_discussions(
            name, author=owner, discussion_type="pull_request", discussion_status="open"
        )
        return tuple(
            Proposal(p.title, str(p.git_reference), f"{repository.address}/discussions/{p.num}")
            for p in pulls
            if p.author == owner
        )


@dataclass(frozen=True, slots=True)
class _Sent:
    """A commit that was sent."""

    api: "HfApi"
    repository: Repository
    files: Mapping[str, bytes]
    message: str
    proposed: bool

    def missing(self, sha: str) -> list[str]:
        """Check that a commit has every file; returns notices if it could not be checked.

        Raises
        ------
        PublishError
            If the commit lacks some of the files.
        """
        try:
            there = _seen(self.api, self.repository.name, sha)
        except Exception as error:
            return [f"Whether the commit has every file was not checked: {reason(error) or error}."]
        lost = [p for p, c in self.files.items() if not there.holds(p, c)]
        if lost:
            raise PublishError(
                f"the Hub left {len(lost)} of {len(self.files)} files out of the commit "
                f"{there.page}: {', '.join(lost[:5])}.",
                "Take back that commit, and see what .gitignore and .gitattributes of the "
                "repository say of these files.",
            )
        return []

    def found_after(self, error: Exception) -> Committed:
        """Return the commit if it arrived in spite of an error.

        Raises
        ------
        PublishError
            If it did not arrive, or that is unknown.
        """
        name, why = self.repository.name, reason(error) or str(error)
        seen: list[tuple[str | None, Repository]] | None = None
        for wait in LOOKS_AFTER_S:
            time.sleep(wait)
            try:
                seen = list(self._places())
            except Exception as other:
                if reason(other) is None:
                    raise
                seen = None
                continue
            for pull_request, there in seen:
                if self._held(there) == len(self.files):
                    notice = f"The answer to the commit was lost: {why}. It is there, and whole."
                    return Committed(there.page, there.head, pull_request, notices=(notice,))
        pages = f"{self.repository.address}/{'discussions' if self.proposed else 'commits/main'}"
        unknown = f"it is not known whether anything was published to {name}: {why}"
        if seen is None:
            raise PublishError(f"{unknown}; and the Hub does not say.", f"Look at {pages}")
        most = max((self._held(there) for _, there in seen), default=0)
        if most:
            there_now = f"{most} of {len(self.files)} files are there, in a later commit perhaps"
            raise PublishError(f"{unknown}; {there_now}.", f"Look at {pages}")
        raise PublishError(
            f"nothing was published to {name}: {why}. It was looked for and is not there.",
            f"Run the command again. If it arrives after all: {pages}",
        )

    def _places(self) -> Iterator[tuple[str | None, Repository]]:
        """Yield where the commit would appear: the main branch, or pull requests of its title."""
        name = self.repository.name
        if not self.proposed:
            yield None, _seen(self.api, name)
            return
        for pull in self.api.get_repo_discussions(
            name, discussion_type="pull_request", discussion_status="open"
        ):
            if pull.title == self.message:
                page = f"{self.repository.address}/discussions/{pull.num}"
                yield page, _seen(self.api, name, pull.git_reference)

    def _held(self, there: Repository) -> int:
        return sum(there.holds(p, c) for p, c in self.files.items())


@contextmanager
def asked(subject: Subject, *, offline: bool, to_write: bool = False) -> Iterator["HfApi"]:
    """Provide a client with a token and a timeout, and translate its errors into messages."""
    from huggingface_hub import HfApi
    from huggingface_hub.utils import get_session

    if is_offline(offline):
        raise subject.offline()
    session = get_session()
    before, session.timeout = session.timeout, TIMEOUT_S
    try:
        with hushed():
            yield HfApi(token=token(subject, to_write=to_write) or False)
    except Exception as error:
        refusal = subject.refusal(error)
        if refusal is None:
            raise
        raise refusal from None
    finally:
        session.timeout = before


def _seen(api: "HfApi", name: str, revision: str | None = None) -> Repository:
    about = api.model_info(name, revision=revision, files_metadata=True, timeout=30)
    files = {s.rfilename: s.lfs.sha256 if s.lfs else s.blob_id for s in about.siblings or ()}
    address = f"{api.endpoint}/{about.id}"
    return Repository(about.id, about.sha, bool(about.private), bool(about.gated), files, address)
