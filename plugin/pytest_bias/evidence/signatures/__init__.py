"""Signatures of files: Sigstore bundles, checked by the package ``sigstore``.

A bundle holds a signature, the short-lived certificate of the key that made it, and the entry of a
public log. It comes in two forms, and both are read: a signature over the file, as ``sigstore
sign`` makes it, and a signed statement about the file's digest (in-toto, in a DSSE envelope), as
actions/attest makes it. Facts about a signer are read from the certificate after all of this was
verified, never from the rest of the bundle.

The trust root says which certificates and logs are trusted. It is one of

- a file (``trusted_root.json`` of a Sigstore, or the configuration of one of its clients);
- that of the public Sigstore, refreshed over the network;
- offline, that of the public Sigstore as last refreshed on this machine, else the one in the
  installed package. `sigstore` 4 contains one and copies it to the user's cache
  (``sigstore-python``), so that checking needs no network.

A signature proves who signed, not that what is signed is right, and anybody can sign any file:
`by_our_workflow` and `owners_differ` say which signers count for Results Validated.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from pytest_bias.environment import is_offline
from pytest_bias.evidence.signatures.bundles import (
    Fails,
    Unknown,
    bundles,
    check,
    one_line,
    opened,
    verifier,
)
from pytest_bias.evidence.signatures.signers import (
    GITHUB,
    OWNER,
    SIGNER_WORKFLOWS,
    Signer,
    by_our_workflow,
    owners_differ,
)

__all__ = [
    "GITHUB",
    "OWNER",
    "SIGNER_WORKFLOWS",
    "Outcome",
    "Signature",
    "Signer",
    "Statement",
    "by_our_workflow",
    "owners_differ",
    "signature",
    "statement",
]

Outcome: TypeAlias = Literal["holds", "fails", "unverified", "unknown"]
_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Signature:
    """The result of checking a file's signature.

    Parameters
    ----------
    outcome : {"holds", "fails", "unverified", "unknown"}
        ``unverified``: there is none. ``fails``: there is one, and it is not of this content or is
        invalid. ``unknown``: it could not be checked.
    detail : str
        Why, in plain words; one line of printable characters.
    signer : Signer or None
        The signer, if it holds.
    predicate_type : str
        Kind of statement that was signed; empty for a signature over the file itself.
    others : tuple of Signer
        Other signers, if the file of bundles has several signatures that hold.
    """

    outcome: Outcome
    detail: str
    signer: Signer | None = None
    predicate_type: str = ""
    others: tuple[Signer, ...] = ()

    @property
    def signers(self) -> tuple[Signer, ...]:
        """All signers; none where no signature holds."""
        return (self.signer, *self.others) if self.signer else ()


def signature(
    content: bytes,
    bundle: bytes | None,
    *,
    trusted_root: Path | None = None,
    offline: bool = False,
) -> Signature:
    """Check the signature of a file.

    Parameters
    ----------
    content : bytes
        The signed file.
    bundle : bytes or None
        Its Sigstore bundle as JSON, or several of them, one per line, as ``gh attestation
        download`` writes them: then one that holds is enough, and one by our workflow is named
        first.
    trusted_root : Path, optional
        File with the trust root of a private Sigstore.
    offline : bool
        Use no network. Nothing is fetched either if the environment says so, or if a
        `trusted_root` is given.
    """
    if bundle is None:
        return Signature("unverified", "There is no signature.")
    try:
        held = _held(lambda *each: check(content, *each), bundle, trusted_root, offline)
    except Fails as error:
        return Signature("fails", str(error))
    except Unknown as error:
        return Signature("unknown", str(error))
    (signer, predicate_type), *others = held
    what = f" {one_line(predicate_type)}" if predicate_type else ""
    return Signature(
        "holds",
        one_line(f"Signed by {signer}, {signer.signed_at}.{what}"),
        signer,
        predicate_type,
        tuple(other for other, _ in others),
    )


@dataclass(frozen=True, slots=True)
class Statement:
    """The result of checking a signed statement; its fields are those of `Signature`.

    `content` is the statement, if the signature holds.
    """

    outcome: Outcome
    detail: str
    signer: Signer | None = None
    content: Mapping[str, Any] = field(default_factory=dict)


def statement(
    bundle: bytes, *, trusted_root: Path | None = None, offline: bool = False
) -> Statement:
    """Check the signature of a statement, which the bundle holds; of several the best counts."""
    try:
        held = _held(opened, bundle, trusted_root, offline)
    except Fails as error:
        return Statement("fails", str(error))
    except Unknown as error:
        return Statement("unknown", str(error))
    signer, content = held[0]
    told = one_line(f"Signed by {signer}, {signer.signed_at}.")
    return Statement("holds", told, signer, content)


def _held(
    check_one: Callable[..., tuple[Signer, _Found]],
    bundle: bytes,
    trusted_root: Path | None,
    offline: bool,
) -> list[tuple[Signer, _Found]]:
    """Return what each bundle that holds gives, those by our workflow first; at least one."""
    lines = bundles(bundle)
    trust = verifier(trusted_root, is_offline(offline))
    held: list[tuple[Signer, _Found]] = []
    failed: list[str] = []
    for line in lines:
        try:
            held.append(check_one(line, trust))
        except Fails as error:
            failed.append(str(error))
    if not held:
        count = f"None of {len(lines)} signatures holds. " if len(lines) > 1 else ""
        raise Fails(f"{count}{failed[0]}")
    return sorted(held, key=lambda found: not by_our_workflow(found[0]))
