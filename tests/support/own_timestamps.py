"""A timestamp authority of our own (RFC 3161), played by the command ``openssl ts``."""

import hashlib
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CONFIGURATION = """
[tsa]
default_tsa = own
[own]
serial = serial
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256
ess_cert_id_alg = sha256
"""


class Authority:
    """An authority that stamps what it is given with the time of now.

    Parameters
    ----------
    folder : Path
        Where its keys lie.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        root, own = generate_private_key(SECP256R1()), generate_private_key(SECP256R1())
        self.root = self._certificate("own time root", root, "own time root", root)
        self.certificate = self._certificate("own time", own, "own time root", root)
        (folder / "openssl.cnf").write_text(CONFIGURATION, encoding="utf-8")
        (folder / "serial").write_text("01\n", encoding="utf-8")
        (folder / "signer.pem").write_bytes(self.certificate.public_bytes(Encoding.PEM))
        (folder / "key.pem").write_bytes(
            own.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        )

    def stamp(self, data: bytes) -> bytes:
        """Return the response to the request for a timestamp of `data`."""
        digest = hashlib.sha256(data).hexdigest()
        self._openssl("-query", "-digest", digest, "-sha256", "-cert", "-out", "query")
        signer = ("-signer", "signer.pem", "-inkey", "key.pem")
        self._openssl("-reply", "-config", "openssl.cnf", "-queryfile", "query", *signer)
        return (self.folder / "reply").read_bytes()

    def _openssl(self, *words: str) -> None:
        out = () if "-out" in words else ("-out", "reply")
        subprocess.run(
            ["openssl", "ts", *words, *out], cwd=self.folder, check=True, capture_output=True
        )

    @staticmethod
    def _certificate(
        name: str, key: EllipticCurvePrivateKey, issuer: str, signer: EllipticCurvePrivateKey
    ) -> x509.Certificate:
        root, now = name == issuer, datetime.now(UTC)
        usage = x509.KeyUsage(not root, False, False, False, False, root, False, False, False)
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=root, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), False
            )
        )
        if not root:
            usage_of_key = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING])
            builder = builder.add_extension(usage_of_key, critical=True)
        return builder.sign(signer, SHA256())
