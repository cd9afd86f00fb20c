"""A small Sigstore of our own: real certificates, real logs, real signatures, no network.

It plays the certificate authority (Fulcio), its certificate transparency log, the log of
signatures (Rekor) and the person or workflow that signs. What it writes is verified by the real
package `sigstore` against `Sigstore.trusted_root`; nothing is mocked.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.serialization import Encoding

from own_fulcio import BEGIN, COMMIT, Fulcio, Log, b64, github_extensions, sign

GITHUB = "https://token.actions.githubusercontent.com"
WORKFLOW = "pytest-bias/pytest-bias/.github/workflows/bias-tests.yml"
PREDICATE = "https://slsa.dev/provenance/v1"
IN_TOTO = "application/vnd.in-toto+json"

Form = Literal["message", "dsse"]
Stamp = Callable[[bytes], bytes]


def compact(value: object) -> bytes:
    """Return canonical JSON, for values without fractions or characters beyond ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def authority(chain: Sequence[x509.Certificate]) -> dict[str, object]:
    """Return the entry of a certificate authority in a trusted root."""
    certificates = [{"rawBytes": b64(one.public_bytes(Encoding.DER))} for one in chain]
    return {
        "subject": {"organization": "own sigstore", "commonName": "own"},
        "uri": "https://authority.invalid",
        "certChain": {"certificates": certificates},
        "validFor": {"start": BEGIN.isoformat()},
    }


def second(message: bytes, signature: bytes, leaf: x509.Certificate) -> bytes:
    """Return the body of an entry of Rekor, version 2: the same for both forms."""
    verifier = {
        "keyDetails": "PKIX_ECDSA_P256_SHA_256",
        "x509Certificate": {"rawBytes": b64(leaf.public_bytes(Encoding.DER))},
    }
    record = {
        "data": {"algorithm": "SHA2_256", "digest": b64(hashlib.sha256(message).digest())},
        "signature": {"content": b64(signature), "verifier": verifier},
    }
    spec = {"hashedRekordV002": record}
    return compact({"apiVersion": "0.0.2", "kind": "hashedrekord", "spec": spec})


class Sigstore:
    """One certificate authority with its logs, trusted by who is given `trusted_root`.

    Parameters
    ----------
    folder : Path
        Where trusted_root.json is written.
    clocks : sequence of certificates, optional
        The chain of a timestamp authority that is trusted too, its own certificate first.
    """

    def __init__(self, folder: Path, clocks: Sequence[x509.Certificate] = ()) -> None:
        self.fulcio = Fulcio()
        self.log = Log()
        self.clocks = clocks
        self.trusted_root = folder / "trusted_root.json"
        folder.mkdir(parents=True, exist_ok=True)
        self.trusted_root.write_text(json.dumps(self.trust()), encoding="utf-8")

    def trust(self) -> dict[str, Any]:
        """Return the content of trusted_root.json."""
        return {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [self.log.instance("https://rekor.invalid")],
            "certificateAuthorities": [authority([self.fulcio.root])],
            "ctlogs": [self.fulcio.log.instance("https://ctlog.invalid")],
            "timestampAuthorities": [authority(self.clocks)] if self.clocks else [],
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
        stamps: Sequence[Stamp] = (),
        predicate_type: str = PREDICATE,
        payload_type: str = IN_TOTO,
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
        stamps : sequence of functions
            Timestamp authorities, each given the signature. Then the log is of version 2, which
            tells no time of its own.
        predicate_type, payload_type, statement
            What the statement is, and what its envelope says it is; `statement` replaces the whole.
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
        leaf = self.fulcio.issue(
            key, identity, values if extensions is None else extensions, at, sct
        )
        if form == "message":
            signed, message, signature, body = self._message(content, key, leaf)
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
            signed, message, signature, body = self._statement(about, payload_type, key, leaf)
        material: dict[str, object] = {
            "certificate": {"rawBytes": b64(leaf.public_bytes(Encoding.DER))},
            "tlogEntries": [self._entry(body, logged)],
        }
        if stamps:
            material["tlogEntries"] = [self._entry(second(message, signature, leaf), None)]
            material["timestampVerificationData"] = {
                "rfc3161Timestamps": [{"signedTimestamp": b64(one(signature))} for one in stamps]
            }
        bundle = {
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": material,
            **signed,
        }
        return json.dumps(bundle).encode()

    def _message(
        self, content: bytes, key: EllipticCurvePrivateKey, leaf: x509.Certificate
    ) -> tuple[dict[str, object], bytes, bytes, bytes]:
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
        return {"messageSignature": signed}, content, signature, compact(body)

    def _statement(
        self,
        statement: Mapping[str, object],
        kind: str,
        key: EllipticCurvePrivateKey,
        leaf: x509.Certificate,
    ) -> tuple[dict[str, object], bytes, bytes, bytes]:
        payload = json.dumps(statement).encode()
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
        return {"dsseEnvelope": envelope}, encoded, signature, compact(body)

    def _entry(self, body: bytes, logged: datetime | None) -> dict[str, object]:
        """Return the log entry: the second leaf of a tree of two, with its time if it has one."""
        kind, log = json.loads(body), self.log
        before = hashlib.sha256(b"\x00an earlier entry").digest()
        leaf = hashlib.sha256(b"\x00" + body).digest()
        tree = hashlib.sha256(b"\x01" + before + leaf).digest()
        note = f"own.invalid - 1\n2\n{b64(tree)}\n"
        seal = b64(log.id[:4] + sign(log.key, note.encode()))
        time: dict[str, object] = {}
        if logged is not None:
            seconds = int(logged.timestamp())
            promise = {
                "body": b64(body),
                "integratedTime": seconds,
                "logID": log.id.hex(),
                "logIndex": 1,
            }
            seal_of_time = b64(sign(log.key, compact(promise)))
            time = {
                "integratedTime": str(seconds),
                "inclusionPromise": {"signedEntryTimestamp": seal_of_time},
            }
        return {
            "logIndex": "1",
            "logId": {"keyId": b64(log.id)},
            "kindVersion": {"kind": kind["kind"], "version": kind["apiVersion"]},
            **time,
            "inclusionProof": {
                "logIndex": "1",
                "rootHash": b64(tree),
                "treeSize": "2",
                "hashes": [b64(before)],
                "checkpoint": {"envelope": f"{note}\n— own.invalid {seal}\n"},
            },
            "canonicalizedBody": b64(body),
        }
