"""A Sigstore bundle, checked by the package ``sigstore``, which need not be installed."""

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_bias.evidence.signatures.signers import Signer

if TYPE_CHECKING:
    from cryptography.x509 import Certificate
    from sigstore.models import Bundle
    from sigstore.verify import Verifier

MOST_BYTES: Final = 4 * 1024 * 1024
"""Largest file of bundles that is read; one bundle has about ten thousand bytes."""

STATEMENTS: Final = ("https://in-toto.io/Statement/v1", "https://in-toto.io/Statement/v0.1")
IN_TOTO: Final = "application/vnd.in-toto+json"

OIDS: Final = {
    "issuer": "1.3.6.1.4.1.57264.1.8",
    "signer": "1.3.6.1.4.1.57264.1.9",
    "runner": "1.3.6.1.4.1.57264.1.11",
    "repository": "1.3.6.1.4.1.57264.1.12",
    "commit": "1.3.6.1.4.1.57264.1.13",
    "ref": "1.3.6.1.4.1.57264.1.14",
    "owner": "1.3.6.1.4.1.57264.1.16",
    "owner_id": "1.3.6.1.4.1.57264.1.17",
    "trigger": "1.3.6.1.4.1.57264.1.20",
    "run": "1.3.6.1.4.1.57264.1.21",
}
"""Extensions of a certificate (Fulcio, docs/oid-info.md), each a DER UTF8String."""
OLD_ISSUER: Final = "1.3.6.1.4.1.57264.1.1"
"""Issuer in certificates from before 2023, as raw bytes."""

INSTALL: Final = "pip install 'pytest-bias[signatures]'"

# The package warns on standard error about what is requested here, such as being offline.
logging.getLogger("sigstore").addHandler(logging.NullHandler())


class Unknown(Exception):
    """The bundle cannot be checked; the message says why and what helps."""


class Fails(Exception):
    """The bundle does not hold; the message says why."""


class _Nameable:
    """Policy of the package: the certificate must say who signed.

    Which signers are accepted depends on the purpose, so that is checked later.
    """

    def verify(self, cert: "Certificate") -> None:
        _signer(cert, "")


def bundles(raw: bytes) -> list[bytes]:
    """Return the bundles of a file: the whole file as one, or one per line."""
    if len(raw) > MOST_BYTES:
        raise Fails(f"The signature has {len(raw):,} bytes; at most {MOST_BYTES:,} are read.")
    if not raw.strip():
        raise Fails("The signature is empty.")
    lines = [line for line in raw.splitlines() if line.strip()]
    if len(lines) > 1 and all(_is_object(line) for line in lines):
        return lines
    if not _is_object(raw):
        raise Fails("The signature is not a Sigstore bundle: it is no JSON object.")
    return [raw]


def _is_object(raw: bytes) -> bool:
    try:
        return isinstance(json.loads(raw), dict)
    except (ValueError, RecursionError):
        return False


def verifier(trusted_root: Path | None, offline: bool) -> "Verifier":
    """Return the verifier for a trust root."""
    try:
        from sigstore.errors import Error
        from sigstore.models import ClientTrustConfig, TrustedRoot
        from sigstore.verify import Verifier
    except ImportError as error:
        raise Unknown(
            f"Signatures are checked by the package sigstore, version 4 or later: {INSTALL}"
        ) from error

    if trusted_root is not None:
        try:
            text = trusted_root.read_text(encoding="utf-8")
            if "trustedRoot" in json.loads(text):
                root = ClientTrustConfig.from_json(text).trusted_root
            else:
                root = TrustedRoot.from_file(str(trusted_root))
            return Verifier(trusted_root=root)
        # ValueError is what the package's models and certificates raise.
        except (Error, OSError, ValueError, TypeError) as error:
            raise Unknown(f"{trusted_root} is not a trust root: {one_line(error)}") from error
    if offline:
        try:
            return Verifier.production(offline=True)
        except (Error, OSError, ValueError) as error:
            raise Unknown(
                f"The trust root of this machine cannot be read: {one_line(error)}. Give one with "
                "--trusted-root FILE, or let XDG_CACHE_HOME name a folder that can be written."
            ) from error
    try:
        return _fetched()
    except (Error, OSError, ValueError) as error:
        raise Unknown(
            f"The trust root of Sigstore could not be fetched: {one_line(error)}. With --offline "
            "the one on this machine is used, with --trusted-root FILE that of a file."
        ) from error


@cache
def _fetched() -> "Verifier":
    """Return the verifier of the public Sigstore, refreshed once in a process."""
    from sigstore.verify import Verifier

    return Verifier.production()


def check(content: bytes, raw: bytes, verifier: "Verifier") -> tuple[Signer, str]:
    """Return who signed the content, and the type of the statement if one was signed."""
    digest = hashlib.sha256(content).hexdigest()
    with _told():
        bundle, parts = _parsed(raw)
        if "dsseEnvelope" in parts:
            found = _statement(*verifier.verify_dsse(bundle, _Nameable()))
            subjects = [subject["digest"].get("sha256") for subject in found["subject"]]
            if digest not in subjects:
                raise Fails("The signature is of a statement about another file.")
            predicate_type = str(found.get("predicateType", ""))
        else:
            verifier.verify_artifact(content, bundle, _Nameable())
            predicate_type = ""
        return _who(bundle, parts), predicate_type


def opened(raw: bytes, verifier: "Verifier") -> tuple[Signer, dict[str, Any]]:
    """Return who signed a statement, and the statement."""
    with _told():
        bundle, parts = _parsed(raw)
        if "dsseEnvelope" not in parts:
            raise Fails("The signature is of a file, and not of a statement.")
        found = _statement(*verifier.verify_dsse(bundle, _Nameable()))
        return _who(bundle, parts), found


@contextmanager
def _told() -> Iterator[None]:
    """Turn whatever the package raises into `Fails` or `Unknown`."""
    from sigstore.errors import CertValidationError, MetadataError

    try:
        yield
    except Fails:
        raise
    except MetadataError as error:
        raise Unknown(f"The trust root lacks something: {one_line(error)}.") from error
    except CertValidationError as error:
        raise Fails(
            "The certificate is of an authority that is not trusted, or was not valid when it was "
            f"used ({one_line(error)}). A private Sigstore needs --trusted-root FILE; "
            "offline, the trust root may be too old."
        ) from error
    # A bundle is untrusted, and for one that is malformed on purpose the libraries raise errors
    # of many kinds. Whatever they raise, it has not been verified.
    except Exception as error:
        raise Fails(f"The signature does not hold: {one_line(error)}.") from error


def _parsed(raw: bytes) -> tuple["Bundle", dict[str, Any]]:
    from sigstore.models import Bundle

    if not json.loads(raw)["verificationMaterial"].get("tlogEntries"):
        raise Fails("The signature is in no public log; those of private repositories are in none.")
    bundle = Bundle.from_json(raw)
    return bundle, json.loads(bundle.to_json())


def _statement(kind: str, payload: bytes) -> dict[str, Any]:
    """Return a verified payload, which must be an in-toto statement."""
    found = json.loads(payload) if kind == IN_TOTO else None
    if not isinstance(found, dict) or found.get("_type") not in STATEMENTS:
        raise Fails("The signature is of something else than an in-toto statement.")
    return found


def _who(bundle: "Bundle", parts: Mapping[str, Any]) -> Signer:
    signed_at = _time(bundle, parts).strftime("%Y-%m-%dT%H:%M:%SZ")
    return _signer(bundle.signing_certificate, signed_at)


def _time(bundle: "Bundle", parts: Mapping[str, Any]) -> datetime:
    """Return when a verified bundle was signed, from a part of it that was verified.

    The log's time was verified if the log promised it. Of several timestamps one was, and which one
    is not stated: then it is the start of the certificate's validity, a few minutes before.
    """
    entry = parts["verificationMaterial"]["tlogEntries"][0]
    seconds = int(entry.get("integratedTime", 0))
    if seconds and entry.get("inclusionPromise"):
        return datetime.fromtimestamp(seconds, UTC)
    stamps = bundle.verification_material.timestamp_verification_data
    if stamps is not None and len(stamps.rfc3161_timestamps) == 1:
        return stamps.rfc3161_timestamps[0].tst_info.gen_time.astimezone(UTC)
    return bundle.signing_certificate.not_valid_before_utc


def _signer(certificate: "Certificate", signed_at: str) -> Signer:
    """Read the signer from a certificate.

    Raises
    ------
    ValueError
        If it does not name one identity and its issuer.
    """
    from cryptography.hazmat import asn1
    from cryptography.x509 import (
        RFC822Name,
        SubjectAlternativeName,
        UniformResourceIdentifier,
        UnrecognizedExtension,
    )

    names = certificate.extensions.get_extension_for_class(SubjectAlternativeName).value
    identities = [
        *names.get_values_for_type(UniformResourceIdentifier),
        *names.get_values_for_type(RFC822Name),
    ]
    raw = {
        extension.oid.dotted_string: extension.value.value
        for extension in certificate.extensions
        if isinstance(extension.value, UnrecognizedExtension)
    }
    said = {
        name: asn1.decode_der(str, raw[oid]) if oid in raw else "" for name, oid in OIDS.items()
    }
    issuer = said["issuer"] or raw.get(OLD_ISSUER, b"").decode()
    if len(identities) != 1 or not issuer:
        raise ValueError("the certificate does not name one signer and who vouches for it")
    workflow, _, workflow_ref = said["signer"].partition("@")
    return Signer(
        issuer=issuer,
        identity=identities[0],
        owner=_path(said["owner"]),
        owner_id=said["owner_id"],
        repository=_path(said["repository"]),
        commit=said["commit"],
        ref=said["ref"],
        workflow=workflow,
        workflow_ref=workflow_ref,
        trigger=said["trigger"],
        runner=said["runner"],
        run=said["run"],
        signed_at=signed_at,
    )


def _path(address: str) -> str:
    """Return the part of an address after the host."""
    return address.partition("://")[2].partition("/")[2]


def one_line(words: object) -> str:
    """Return untrusted text, or an error message about it, as one short line."""
    text = " ".join("".join(c if c.isprintable() else " " for c in str(words)).split())
    return text if len(text) <= 300 else f"{text[:299]}…"
