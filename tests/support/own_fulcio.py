"""A certificate authority of our own, which writes certificates as Sigstore's Fulcio does."""

import base64
import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

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

COMMIT = "0123456789abcdef0123456789abcdef01234567"

FULCIO = "1.3.6.1.4.1.57264.1"
LIFE = timedelta(minutes=10)
BEGIN = datetime(2020, 1, 1, tzinfo=UTC)


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


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


class Fulcio:
    """A certificate authority with its own log of the certificates that it issued."""

    def __init__(self) -> None:
        self.key = generate_private_key(SECP256R1())
        self.log = Log()
        self.name = x509.Name(
            [
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, "own sigstore"),
                x509.NameAttribute(NameOID.COMMON_NAME, "own root"),
            ]
        )
        self.root = self._root()

    def issue(
        self,
        key: EllipticCurvePrivateKey,
        identity: x509.GeneralName,
        values: Mapping[str, str],
        at: datetime,
        sct: bool,
    ) -> x509.Certificate:
        """Return a certificate that holds for ten minutes.

        Parameters
        ----------
        values : mapping
            Fulcio's extensions by the last number of their OID; up to 6 they are bare bytes.
        sct : bool
            Whether it says that it is in the log.
        """
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
        signature = sign(self.log.key, signed)
        stamp = b"\x00" + self.log.id + struct.pack("!QH", milliseconds, 0)
        stamp += struct.pack("!BBH", 4, 3, len(signature)) + signature
        return struct.pack("!HH", len(stamp) + 2, len(stamp)) + stamp

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
