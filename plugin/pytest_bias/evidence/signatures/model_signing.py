"""Signatures of a model's files, as OpenSSF model signing 1 writes them (``model.sig``).

It is a Sigstore bundle with a signed statement that lists every file with its digest. The signer is
an identity that Sigstore vouches for, or the holder of a key.

The package ``model-signing`` checks whole folders and hashes them again. Here the files that were
measured are looked up in the list, for which ``sigstore`` and ``cryptography``, its own
dependencies, are enough.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pytest_bias.environment import is_offline
from pytest_bias.evidence.signatures.bundles import (
    IN_TOTO,
    INSTALL,
    STATEMENTS,
    Fails,
    Unknown,
    bundles,
    one_line,
    opened,
    verifier,
)
from pytest_bias.models.model_signature import NotListed, covered, listed, uncovered

State: TypeAlias = Literal["holds", "fails", "unknown"]


@dataclass(frozen=True, slots=True)
class SignedFiles:
    """The result of checking a model's signature.

    Parameters
    ----------
    outcome : {"holds", "fails", "unknown"}
        ``unknown``: it could not be checked.
    detail : str
        Who signed, or why not; one line of printable characters.
    files : mapping of str to str
        Path to SHA-256 of every file that is signed, if the signature holds.
    """

    outcome: State
    detail: str
    files: Mapping[str, str] = field(default_factory=dict)

    def covering(self, measured: Mapping[str, str]) -> "SignedFiles":
        """Return the result for the files that were measured, which must all be signed as they are.

        Files that are signed and were not measured do not matter.
        """
        if self.outcome != "holds":
            return self
        if wrong := uncovered(measured, self.files):
            return SignedFiles("fails", wrong)
        return SignedFiles("holds", f"{covered(measured)}. {self.detail}", self.files)


def signed_files(
    bundle: bytes,
    *,
    key: Path | None = None,
    trusted_root: Path | None = None,
    offline: bool = False,
) -> SignedFiles:
    """Check the signature in a ``model.sig``.

    Parameters
    ----------
    bundle : bytes
        Its content.
    key : Path, optional
        Public key in PEM of the signer, where a key signed.
    trusted_root, offline
        As for `signature`.
    """
    try:
        (raw,) = bundles(bundle)[:1]
        material = json.loads(raw).get("verificationMaterial")
        kinds = material if isinstance(material, dict) else {}
        if "publicKey" in kinds:
            said, statement = _by_key(json.loads(raw), key)
        elif "x509CertificateChain" in kinds:
            raise Unknown(
                "Signed with a certificate that is not Sigstore's: model_signing verify "
                "certificate checks it"
            )
        else:
            signer, statement = opened(raw, verifier(trusted_root, is_offline(offline)))
            said = f"Signed by {signer}, {signer.signed_at}"
        return SignedFiles("holds", one_line(f"{said}."), listed(statement))
    except NotListed as error:
        return SignedFiles("fails" if error.is_wrong else "unknown", str(error))
    except Fails as error:
        return SignedFiles("fails", str(error))
    except Unknown as error:
        return SignedFiles("unknown", str(error))


def _by_key(bundle: Mapping[str, Any], key: Path | None) -> tuple[str, dict[str, Any]]:
    """Return who signed with a key, and the statement."""
    if key is None:
        raise Unknown("Signed with a key, which is not known here. Give it with --model-key FILE.")
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            PublicFormat,
            load_pem_public_key,
        )
    except ImportError as error:
        raise Unknown(
            f"Signatures by keys are checked by the package cryptography: {INSTALL}"
        ) from error
    try:
        public = load_pem_public_key(key.read_bytes())
    # ValueError and its like are what the package raises for a file that is no key.
    except (OSError, ValueError, TypeError) as error:
        raise Unknown(f"{key} is no public key in PEM: {one_line(error)}") from error
    hashes_of = {256: hashes.SHA256(), 384: hashes.SHA384(), 521: hashes.SHA512()}
    if not isinstance(public, EllipticCurvePublicKey) or public.curve.key_size not in hashes_of:
        raise Unknown(f"{key} is no key of a kind that signs models: NIST P-256, P-384 or P-521")
    try:
        envelope = bundle["dsseEnvelope"]
        payload = base64.b64decode(envelope["payload"], validate=True)
        (signature,) = envelope["signatures"]
        kind = str(envelope["payloadType"])
        message = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
        public.verify(
            base64.b64decode(signature["sig"], validate=True),
            message,
            ECDSA(hashes_of[public.curve.key_size]),
        )
        statement = json.loads(payload)
    except InvalidSignature:
        raise Fails(f"The signature is not of the key in {one_line(key.name)}.") from None
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise Fails(f"The signature does not hold: {one_line(repr(error))}.") from error
    if (
        kind != IN_TOTO
        or not isinstance(statement, dict)
        or statement.get("_type") not in STATEMENTS
    ):
        raise Fails("The signature is of something else than an in-toto statement.")
    raw = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return f"Signed with the key {hashlib.sha256(raw).hexdigest()[:12]}", statement
