"""A small Sigstore of our own: real certificates, real logs, real signatures, no network.

It plays the certificate authority (Fulcio), its certificate transparency log, the log of
signatures (Rekor, version 1) and the person or workflow that signs. What it writes is verified by
the real package `sigstore` against `Sigstore.trusted_root`; nothing is mocked.
"""

import base64
import hashlib
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    SECP256R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID, NameOID

GITHUB = "https://token.actions.githubusercontent.com"
WORKFLOW = "pytest-bias/pytest-bias/.github/workflows/bias-tests.yml"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
PREDICATE = "https://slsa.dev/provenance/v1"

FULCIO = "1.3.6.1.4.1.57264.1"
LIFE = timedelta(minutes=10)
BEGIN = datetime(2020, 1, 1, tzinfo=UTC)

Form = Literal["message", "dsse"]


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def compact(value: object) -> bytes:
    """Return canonical JSON, for values without fractions or characters beyond ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def der(tag: int, data: bytes) -> bytes:
    """Return a value in DER; the length takes as few bytes as it can."""
    size = len(data)
    if size < 0x80:
        return bytes([tag, size]) + data
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + data


def utf8_string(text: str) -> bytes:
    """Return a DER UTF8String, the form of Fulcio's extensions from .8 on."""
    return der(0x0C, text.encode())


def octet_string(data: bytes) -> bytes:
    return der(0x04, data)


def public_bytes(key: EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def sign(key: EllipticCurvePrivateKey, data: bytes) -> bytes:
    return key.sign(data, ECDSA(SHA256()))


@dataclass
class Log:
    """Key of a log; its identifier is the digest of the public half, as RFC 6962 has it."""

    key: EllipticCurvePrivateKey = field(default_factory=lambda: generate_private_key(SECP256R1()))

    @property
    def id(self) -> bytes:
        return hashlib.sha256(public_bytes(self.key)).digest()

    def instance(self, url: str) -> dict[str, object]:
        """Return the log's entry in a trusted root."""
        return {
            "baseUrl": url,
            "hashAlgorithm": "SHA2_256",
            "publicKey": {
                "rawBytes": b64(public_bytes(self.key)),
                "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                "validFor": {"start": BEGIN.isoformat()},
            },
            "logId": {"keyId": b64(self.id)},
        }


def github_extensions(
    *,
    issuer: str,
    owner: str,
    owner_id: str,
    repository: str,
    workflow: str,
    workflow_ref: str,
    ref: str,
    commit: str,
    trigger: str,
    runner: str,
) -> dict[str, str]:
    """Return what Fulcio writes of a run of a GitHub workflow, by the last number of the OID."""
    home = f"https://github.com/{repository}"
    signer = f"https://github.com/{workflow}@{workflow_ref}"
    return {
        "1": issuer,
        "2": trigger,
        "3": commit,
        "4": "bias",
        "5": repository,
        "6": ref,
        "8": issuer,
        "9": signer,
        "10": COMMIT,
        "11": runner,
        "12": home,
        "13": commit,
        "14": ref,
        "15": "4242",
        "16": f"https://github.com/{owner}",
        "17": owner_id,
        "18": f"{home}/.github/workflows/ci.yml@{ref}",
        "19": commit,
        "20": trigger,
        "21": f"{home}/actions/runs/1/attempts/1",
        "22": "public",
    }


class Sigstore:
    """One certificate authority with its logs, trusted by who is given `trusted_root`.

    Parameters
    ----------
    folder : Path
        Where trusted_root.json is written.
    """

    def __init__(self, folder: Path) -> None:
        self.key = generate_private_key(SECP256R1())
        self.certificates, self.signatures = Log(), Log()
        self.name = x509.Name(
            [
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, "own sigstore"),
                x509.NameAttribute(NameOID.COMMON_NAME, "own root"),
            ]
        )
        self.root = self._root()
        self.trusted_root = folder / "trusted_root.json"
        folder.mkdir(parents=True, exist_ok=True)
        self.trusted_root.write_text(json.dumps(self.trust()), encoding="utf-8")

    def trust(self) -> dict[str, Any]:
        """Return the content of trusted_root.json."""
        return {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [self.signatures.instance("https://rekor.invalid")],
            "certificateAuthorities": [
                {
                    "subject": {"organization": "own sigstore", "commonName": "own root"},
                    "uri": "https://fulcio.invalid",
                    "certChain": {
                        "certificates": [{"rawBytes": b64(self.root.public_bytes(Encoding.DER))}]
                    },
                    "validFor": {"start": BEGIN.isoformat()},
                }
            ],
            "ctlogs": [self.certificates.instance("https://ctlog.invalid")],
            "timestampAuthorities": [],
        }

    def sign(
        self,
        content: bytes,
        *,
        owner: str = "org-b",
        repository: str = "org-b/runs",
        workflow: str = WORKFLOW,
        form: Form = "dsse",
        workflow_ref: str = "refs/tags/v1",
        ref: str = "refs/heads/main",
        commit: str = COMMIT,
        trigger: str = "workflow_dispatch",
        runner: str = "github-hosted",
        owner_id: str | None = None,
        email: str | None = None,
        issuer: str | None = None,
        at: datetime | None = None,
        logged: datetime | None = None,
        sct: bool = True,
        predicate_type: str = PREDICATE,
        statement: Mapping[str, object] | None = None,
        extensions: Mapping[str, str] | None = None,
    ) -> bytes:
        """Return the bundle of a signature over `content`, as JSON.

        Parameters
        ----------
        owner, repository, ref, commit, trigger, runner : str
            The run that signs, and where it ran.
        workflow, workflow_ref : str
            The workflow file that signs, as ``owner/repository/path``, and its ref.
        form : {"dsse", "message"}
            A statement about the content, as actions/attest writes it, or a signature over the
            content itself, as ``sigstore sign`` makes it.
        email : str, optional
            A person signs, without any of the above.
        issuer : str, optional
            Who vouches for the identity.
        at, logged : datetime, optional
            When the certificate begins to hold, and when the signature came into the log.
        sct : bool
            Whether the certificate says that it is in the certificate transparency log.
        predicate_type, statement
            What the statement is; `statement` replaces the whole of it.
        extensions : mapping, optional
            Extensions of Fulcio that the certificate has instead, by their last number.
        """
        at = at or datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=1)
        logged = logged or at + timedelta(seconds=5)
        if email is not None:
            identity: x509.GeneralName = x509.RFC822Name(email)
            issuer = issuer or "https://accounts.google.com"
            values: Mapping[str, str] = {"1": issuer, "8": issuer}
        else:
            identity = x509.UniformResourceIdentifier(
                f"https://github.com/{workflow}@{workflow_ref}"
            )
            values = github_extensions(
                issuer=issuer or GITHUB,
                owner=owner,
                owner_id=owner_id or str(int(hashlib.sha256(owner.encode()).hexdigest()[:7], 16)),
                repository=repository,
                workflow=workflow,
                workflow_ref=workflow_ref,
                ref=ref,
                commit=commit,
                trigger=trigger,
                runner=runner,
            )
        key = generate_private_key(SECP256R1())
        leaf = self._leaf(key, identity, values if extensions is None else extensions, at, sct)
        if form == "message":
            signed, body = self._message(content, key, leaf)
        else:
            about = statement or {
                "_type": "https://in-toto.io/Statement/v1",
                "subject": [
                    {
                        "name": "report.json",
                        "digest": {"sha256": hashlib.sha256(content).hexdigest()},
                    }
                ],
                "predicateType": predicate_type,
                "predicate": {},
            }
            signed, body = self._statement(about, key, leaf)
        bundle = {
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "certificate": {"rawBytes": b64(leaf.public_bytes(Encoding.DER))},
                "tlogEntries": [self._entry(body, logged)],
            },
            **signed,
        }
        return json.dumps(bundle).encode()

    def _root(self) -> x509.Certificate:
        public = self.key.public_key()
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        return (
            x509.CertificateBuilder()
            .subject_name(self.name)
            .issuer_name(self.name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(BEGIN)
            .not_valid_after(BEGIN + timedelta(days=36500))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .sign(self.key, SHA256())
        )

    def _leaf(
        self,
        key: EllipticCurvePrivateKey,
        identity: x509.GeneralName,
        values: Mapping[str, str],
        at: datetime,
        sct: bool,
    ) -> x509.Certificate:
        public, ca = key.public_key(), self.key.public_key()
        usage = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([]))
            .issuer_name(self.name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(at)
            .not_valid_after(at + LIFE)
            .add_extension(usage, critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca), False)
            .add_extension(x509.SubjectAlternativeName([identity]), critical=True)
        )
        for number, text in values.items():
            oid = x509.ObjectIdentifier(f"{FULCIO}.{number}")
            data = text.encode() if int(number) <= 6 else utf8_string(text)
            builder = builder.add_extension(x509.UnrecognizedExtension(oid, data), False)
        if sct:
            # What the log signs is the certificate as it is without the log's own words.
            entry = builder.sign(self.key, SHA256()).tbs_certificate_bytes
            oid = ExtensionOID.PRECERT_SIGNED_CERTIFICATE_TIMESTAMPS
            stamps = octet_string(self._sct(entry, at))
            builder = builder.add_extension(x509.UnrecognizedExtension(oid, stamps), False)
        return builder.sign(self.key, SHA256())

    def _sct(self, entry: bytes, at: datetime) -> bytes:
        """Return the list of one signed certificate timestamp (RFC 6962, 3.2 and 3.3)."""
        milliseconds = int(at.timestamp() * 1000)
        issuer = hashlib.sha256(public_bytes(self.key)).digest()
        signed = struct.pack("!BBQH", 0, 0, milliseconds, 1) + issuer
        signed += len(entry).to_bytes(3, "big") + entry + struct.pack("!H", 0)
        signature = sign(self.certificates.key, signed)
        stamp = b"\x00" + self.certificates.id + struct.pack("!QH", milliseconds, 0)
        stamp += struct.pack("!BBH", 4, 3, len(signature)) + signature
        return struct.pack("!HH", len(stamp) + 2, len(stamp)) + stamp

    def _message(
        self, content: bytes, key: EllipticCurvePrivateKey, leaf: x509.Certificate
    ) -> tuple[dict[str, object], bytes]:
        digest, signature = hashlib.sha256(content), sign(key, content)
        body = {
            "apiVersion": "0.0.1",
            "kind": "hashedrekord",
            "spec": {
                "data": {"hash": {"algorithm": "sha256", "value": digest.hexdigest()}},
                "signature": {
                    "content": b64(signature),
                    "publicKey": {"content": b64(leaf.public_bytes(Encoding.PEM))},
                },
            },
        }
        signed = {
            "messageDigest": {"algorithm": "SHA2_256", "digest": b64(digest.digest())},
            "signature": b64(signature),
        }
        return {"messageSignature": signed}, compact(body)

    def _statement(
        self,
        statement: Mapping[str, object],
        key: EllipticCurvePrivateKey,
        leaf: x509.Certificate,
    ) -> tuple[dict[str, object], bytes]:
        kind, payload = "application/vnd.in-toto+json", json.dumps(statement).encode()
        encoded = f"DSSEv1 {len(kind)} {kind} {len(payload)} ".encode() + payload
        signature = sign(key, encoded)
        envelope = {
            "payload": b64(payload),
            "payloadType": kind,
            "signatures": [{"sig": b64(signature)}],
        }
        body = {
            "apiVersion": "0.0.1",
            "kind": "dsse",
            "spec": {
                "envelopeHash": {
                    "algorithm": "sha256",
                    "value": hashlib.sha256(compact(envelope)).hexdigest(),
                },
                "payloadHash": {
                    "algorithm": "sha256",
                    "value": hashlib.sha256(payload).hexdigest(),
                },
                "signatures": [
                    {"signature": b64(signature), "verifier": b64(leaf.public_bytes(Encoding.PEM))}
                ],
            },
        }
        return {"dsseEnvelope": envelope}, compact(body)

    def _entry(self, body: bytes, logged: datetime) -> dict[str, object]:
        """Return the log entry: the second leaf of a tree of two, promised and proven."""
        kind, log = json.loads(body), self.signatures
        before = hashlib.sha256(b"\x00an earlier entry").digest()
        leaf = hashlib.sha256(b"\x00" + body).digest()
        tree = hashlib.sha256(b"\x01" + before + leaf).digest()
        note = f"own.invalid - 1\n2\n{b64(tree)}\n"
        seal = b64(log.id[:4] + sign(log.key, note.encode()))
        seconds = int(logged.timestamp())
        promise = {
            "body": b64(body),
            "integratedTime": seconds,
            "logID": log.id.hex(),
            "logIndex": 1,
        }
        return {
            "logIndex": "1",
            "logId": {"keyId": b64(log.id)},
            "kindVersion": {"kind": kind["kind"], "version": kind["apiVersion"]},
            "integratedTime": str(seconds),
            "inclusionPromise": {"signedEntryTimestamp": b64(sign(log.key, compact(promise)))},
            "inclusionProof": {
                "logIndex": "1",
                "rootHash": b64(tree),
                "treeSize": "2",
                "hashes": [b64(before)],
                "checkpoint": {"envelope": f"{note}\n— own.invalid {seal}\n"},
            },
            "canonicalizedBody": b64(body),
        }
