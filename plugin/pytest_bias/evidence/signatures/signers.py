"""Signers, and which signatures count for Results Validated.

A signature proves who signed, not that what is signed is right, and anybody can sign any file.
"""

import re
from dataclasses import dataclass
from typing import Final

GITHUB: Final = "https://token.actions.githubusercontent.com"
"""Issuer of identities for runs of GitHub workflows."""

SIGNER_WORKFLOWS: Final = ("https://github.com/pytest-bias/pytest-bias/.github/workflows/",)
"""Folders of the workflows that may sign for Results Validated."""
SIGNER_REFS: Final = re.compile(r"refs/heads/main|refs/tags/v[0-9][0-9A-Za-z.-]*")
"""Refs that such a workflow must have been taken from.

A workflow can be called by commit or pull request too, and then it need not be ours: commits of
every fork can be named as if they were in our repository. Only we can set tags and main.
"""

OWNER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""Valid names of owners on GitHub and on the Hub."""


@dataclass(frozen=True, slots=True)
class Signer:
    """A signer, as the certificate states it. What it does not state is an empty string.

    Parameters
    ----------
    issuer : str
        Issuer of the identity: `GITHUB` for runs of GitHub workflows.
    identity : str
        Address of the workflow, or the e-mail address of a person.
    owner, owner_id : str
        Login of the owner of the repository that ran, and its number, which a new login keeps.
        Empty for a person who signed with an e-mail address.
    repository : str
        ``owner/name`` of the repository that ran.
    commit, ref : str
        Commit and ref of that repository that ran.
    workflow, workflow_ref : str
        The workflow file whose job signed, as an address, and the ref that it was taken from. A
        reusable workflow is named here, not the one that calls it.
    trigger : str
        The event that began the run, such as ``workflow_dispatch``.
    runner : str
        ``github-hosted`` or ``self-hosted``. The host of a runner can change what it computes.
    run : str
        Address of the run.
    signed_at : str
        Time in UTC, as the log or a timestamp authority states it; ISO 8601.
    """

    issuer: str
    identity: str
    owner: str
    owner_id: str
    repository: str
    commit: str
    ref: str
    workflow: str
    workflow_ref: str
    trigger: str
    runner: str
    run: str
    signed_at: str

    def __str__(self) -> str:
        if not self.owner:
            return f"{self.identity} ({self.issuer})"
        host = " on a self-hosted runner" if self.runner == "self-hosted" else ""
        return f"{self.owner}, in a run of {self.repository}{host} by {self.identity}"


def by_our_workflow(signer: Signer) -> bool:
    """Whether a workflow of this project signed, which attests what was run.

    Runs by others that call our workflow count; their owner is the signer's `owner`.
    """
    folder, slash, name = signer.workflow.rpartition("/")
    return (
        signer.issuer == GITHUB
        and folder + slash in SIGNER_WORKFLOWS
        and re.fullmatch(r"[A-Za-z0-9_.-]+\.ya?ml", name) is not None
        and SIGNER_REFS.fullmatch(signer.workflow_ref) is not None
    )


def owners_differ(owner: str | Signer, *others: str | Signer) -> bool:
    """Whether an owner is none of the others.

    Case is ignored. A name that is missing, or has characters that no owner's name has, differs
    from none: it may be a look-alike. Owners who signed are also distinguished by their number,
    because a login can be changed.
    """
    name = _name(owner)
    if not OWNER.fullmatch(name):
        return False
    for other in others:
        if not OWNER.fullmatch(_name(other)) or _name(other) == name:
            return False
        if isinstance(owner, Signer) and isinstance(other, Signer):
            same_issuer = owner.issuer == other.issuer
            if same_issuer and owner.owner_id and owner.owner_id == other.owner_id:
                return False
    return True


def _name(owner: str | Signer) -> str:
    name = owner.owner if isinstance(owner, Signer) else owner
    # Only where it is ASCII: elsewhere "K" (Kelvin) would become a letter that it is not.
    return name.lower() if name.isascii() else name
