"""The list of files in a model's signature (``model.sig`` of OpenSSF model signing 1).

It is a Sigstore bundle with a statement that lists every file of the model with its digest. Here
the list is read and files are held against it; `evidence.signatures` checks who signed it.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from pytest_bias.untrusted import clean

PREDICATE: Final = "https://model_signing/signature/v1.0"
WHOLE: Final = "."
"""Name of the file in a list where a single file was signed, and no folder."""
MOST_BYTES: Final = 4 * 1024 * 1024
"""Largest signature that is read; a file takes about 150 bytes."""


class NotListed(Exception):
    """A statement lists no files; `is_wrong` is false where it has digests of another kind."""

    def __init__(self, message: str, *, is_wrong: bool = True) -> None:
        super().__init__(message)
        self.is_wrong = is_wrong


def listed(statement: Mapping[str, Any]) -> dict[str, str]:
    """Return path to SHA-256 of the files that a statement lists, or raise `NotListed`."""
    kind = statement.get("predicateType")
    if kind != PREDICATE:
        raise NotListed(f"The statement is of {clean(str(kind), 120)}, and not of a model's files.")
    try:
        (subject,) = statement["subject"]
        form, rows = statement["predicate"]["serialization"], statement["predicate"]["resources"]
        if (form["method"], form["hash_type"]) != ("files", "sha256"):
            digests = f"{clean(str(form['hash_type']), 40)} of {clean(str(form['method']), 40)}"
            told = f"It lists {digests}; what is compared here is the SHA-256 of files."
            raise NotListed(told, is_wrong=False)
        files = {row["name"]: row["digest"] for row in rows if row["algorithm"] == "sha256"}
        whole = all(isinstance(d, str) and re.fullmatch("[0-9a-f]{64}", d) for d in files.values())
        if not whole or not all(isinstance(n, str) for n in files) or len(files) != len(rows):
            raise NotListed("The list of signed files is not whole.")
        joined = b"".join(bytes.fromhex(row["digest"]) for row in rows)
        if hashlib.sha256(joined).hexdigest() != subject["digest"]["sha256"]:
            raise NotListed("The list of signed files does not give the digest of the model.")
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise NotListed(f"The list of signed files is malformed: {error!r:.200}.") from error
    return files


def uncovered(measured: Mapping[str, str], signed: Mapping[str, str]) -> str:
    """Return which file that was measured is not in a list as it is; empty if all are.

    Files that are listed and were not measured do not matter.
    """
    for path, digest in measured.items():
        found = signed.get(path)
        if found is None and len(measured) == len(signed) == 1:
            found = signed.get(WHOLE)
        if found is None:
            return f"{clean(path, 120)} was measured, and is not among the signed files"
        if found != digest:
            return f"{clean(path, 120)} was measured, and is not the file that was signed"
    return ""


def covered(measured: Mapping[str, str]) -> str:
    """Return the words for files that are all in a list as they are."""
    n = len(measured)
    if n == 1:
        return "the file that was measured is as signed"
    return f"all {n} files that were measured are as signed"


def claimed(bundle: bytes, measured: Mapping[str, str]) -> dict[str, str]:
    """Return whether the measured files are those in a signature whose signer is not checked."""
    try:
        if len(bundle) > MOST_BYTES:
            raise NotListed(f"The signature has {len(bundle):,} bytes.")
        payload = json.loads(bundle)["dsseEnvelope"]["payload"]
        files = listed(json.loads(base64.b64decode(payload, validate=True)))
    except NotListed as error:
        return {"outcome": "fails" if error.is_wrong else "unknown", "detail": str(error)}
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        told = clean(f"it is no signature of a model: {error!r}", 200)
        return {"outcome": "fails", "detail": told}
    if wrong := uncovered(measured, files):
        return {"outcome": "fails", "detail": wrong}
    told = f"{covered(measured)}; pytest-bias verify checks the signature itself"
    return {"outcome": "unverified", "detail": told}
