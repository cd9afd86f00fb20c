"""Signatures of a model's files, made by the real tool, against the files that are measured."""

import base64
import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from own_sigstore import Sigstore
from publications import DEMOS, Repository, measured
from pytest_bias.emit import page
from pytest_bias.evidence.checks import Check
from pytest_bias.evidence.signatures.model_signing import SignedFiles, signed_files
from pytest_bias.evidence.verification import Trust, verify_publication
from pytest_bias.models.model_signature import claimed
from pytest_bias.models.snapshot import file_sha256
from pytest_bias.records.report import Report
from pytest_bias.reports.measured_files import measured_files
from pytest_bias.settings.settings import Settings

DATA = Path(__file__).parents[1] / "data" / "model_signing"
CURVES = ("p256", "p384", "p521")
CONTENTS = {
    "model.safetensors": b"weights",
    "config.json": b'{"a": 1}\n',
    "tokenizer.json": b"{}\n",
    "sub/more.txt": b"x\n",
}
"""What `sign.sh` signs; .gitattributes, which is there too, is none of the model's."""
FILES = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENTS.items()}


def real(name: str) -> bytes:
    """Return a signature that the real tool made."""
    return (DATA / f"{name}.sig").read_bytes()


def check(name: str, key: str | None = None) -> SignedFiles:
    return signed_files(real(name), key=DATA / f"{key}.pub" if key else None, offline=True)


def statement(name: str = "p256") -> dict[str, Any]:
    """Return the statement of such a signature."""
    found = json.loads(real(name))["dsseEnvelope"]["payload"]
    return dict(json.loads(base64.b64decode(found)))


# By a key


@pytest.mark.parametrize("curve", CURVES)
def test_a_signature_by_a_key_lists_the_files_that_were_signed(curve: str) -> None:
    found = check(curve, curve)
    der = b"".join((DATA / f"{curve}.pub").read_bytes().splitlines()[1:-1])
    number = hashlib.sha256(base64.b64decode(der)).hexdigest()
    assert found == SignedFiles("holds", f"Signed with the key {number[:12]}.", FILES)
    measured = {name: FILES[name] for name in ("model.safetensors", "config.json")}
    assert found.covering(measured).outcome == "holds"
    assert found.covering(FILES).detail.startswith("all 4 files that were measured are as signed.")


def test_a_single_file_is_signed_without_its_name() -> None:
    found = check("single", "single")
    digest = FILES["model.safetensors"]
    assert found.covering({"any.gguf": digest}).outcome == "holds"
    assert found.covering({"any.gguf": "0" * 64}).outcome == "fails"
    assert found.covering({"any.gguf": digest, "config.json": digest}).outcome == "fails"


def test_what_was_measured_and_not_signed_is_named() -> None:
    found = check("p256", "p256")
    other = found.covering({**FILES, "config.json": "0" * 64})
    assert other == SignedFiles(
        "fails", "config.json was measured, and is not the file that was signed"
    )
    more = found.covering({**FILES, "vocab.txt": FILES["config.json"]})
    assert more == SignedFiles("fails", "vocab.txt was measured, and is not among the signed files")
    hostile = found.covering({"a\nb\x1b[31m": "0" * 64})
    assert hostile.detail.startswith("a b[31m was measured")


def test_without_the_key_it_is_unknown() -> None:
    found = check("p256")
    assert found.outcome == "unknown"
    assert "--model-key FILE" in found.detail
    assert found.covering({}) == found


def test_another_key_fails(tmp_path: Path) -> None:
    assert check("p256", "single").outcome == "fails"
    assert check("p256", "p384").detail == "The signature is not of the key in p384.pub."
    for content in ("", "-----BEGIN PUBLIC KEY-----\n", real("p256").decode()):
        key = tmp_path / "key.pub"
        key.write_text(content, encoding="utf-8")
        found = signed_files(real("p256"), key=key)
        assert found.outcome == "unknown"
        assert "no public key in PEM" in found.detail


def test_what_was_changed_after_signing_fails() -> None:
    bundle = json.loads(real("p256"))
    changed = statement()
    changed["predicate"]["resources"][0]["digest"] = "0" * 64
    payload = base64.b64encode(json.dumps(changed).encode()).decode()
    bundle["dsseEnvelope"]["payload"] = payload
    found = signed_files(json.dumps(bundle).encode(), key=DATA / "p256.pub")
    assert found.outcome == "fails"
    assert found.files == {}


def test_certificates_of_others_are_not_checked() -> None:
    found = check("certificate")
    assert found.outcome == "unknown"
    assert "model_signing verify certificate" in found.detail


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{}", b"[]", b"\xff", b"null", b'{"verificationMaterial": 7}'),
        b'{"verificationMaterial": {"publicKey": {}}}',
        b'{"verificationMaterial": {"publicKey": {}}, "dsseEnvelope": {"payload": "e30="}}',
        b"[" * 100_000,
    ],
)
def test_a_file_that_is_no_signature_fails(content: bytes) -> None:
    found = signed_files(content, key=DATA / "p256.pub", offline=True)
    assert found.outcome == "fails"
    assert found.detail.isprintable()


# By an identity


def by_identity(sigstore: Sigstore, content: dict[str, Any], **more: Any) -> SignedFiles:
    bundle = sigstore.sign(b"", statement=content, **more)
    return signed_files(bundle, trusted_root=sigstore.trusted_root)


def test_a_signer_that_sigstore_vouches_for_is_named(sigstore: Sigstore) -> None:
    """The statement is the real tool's, signed by a Sigstore of our own."""
    found = by_identity(sigstore, statement(), email="ada@example.org")
    assert (found.outcome, found.files) == ("holds", FILES)
    assert found.detail.startswith("Signed by ada@example.org (https://accounts.google.com), 20")


def test_a_list_that_does_not_give_the_signed_digest_fails(sigstore: Sigstore) -> None:
    changed = statement()
    changed["predicate"]["resources"].pop()
    assert "does not give the digest" in by_identity(sigstore, changed).detail
    twice = statement()
    twice["predicate"]["resources"].append(twice["predicate"]["resources"][0])
    assert by_identity(sigstore, twice).outcome == "fails"
    assert "https://slsa.dev" in by_identity(
        sigstore, statement() | {"predicateType": "https://slsa.dev/provenance/v1"}
    ).detail  # fmt: skip
    assert by_identity(sigstore, statement() | {"predicate": None}).outcome == "fails"


def test_other_digests_than_those_of_files_are_unknown(sigstore: Sigstore) -> None:
    for key, value in (("hash_type", "blake3"), ("method", "shards")):
        other = statement()
        other["predicate"]["serialization"][key] = value
        found = by_identity(sigstore, other)
        assert found.outcome == "unknown"
        assert value in found.detail


def test_without_the_package_it_is_unknown(
    sigstore: Sigstore, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = sigstore.sign(b"", statement=statement())
    for package in ("sigstore.verify", "cryptography.exceptions"):
        monkeypatch.setitem(sys.modules, package, None)
    for raw in (bundle, real("p256")):
        found = signed_files(raw, key=DATA / "p256.pub", trusted_root=sigstore.trusted_root)
        assert found.outcome == "unknown"
        assert "pip install 'pytest-bias[signatures]'" in found.detail


# A model


def listing(folder: Path, without: str = "", **changed: str) -> dict[str, Any]:
    """Return the statement on a folder, as the real tool writes it."""
    paths = sorted(p for p in folder.iterdir() if p.is_file() and p.name not in (without, "x.sig"))
    digests = {p.name: changed.get(p.stem, file_sha256(p)) for p in paths if p.name != "model.sig"}
    found = statement()
    found["predicate"]["resources"] = [
        {"name": n, "algorithm": "sha256", "digest": d} for n, d in digests.items()
    ]
    joined = b"".join(bytes.fromhex(d) for d in digests.values())
    found["subject"] = [{"name": "m", "digest": {"sha256": hashlib.sha256(joined).hexdigest()}}]
    return found


def sign(repository: Repository, content: dict[str, Any]) -> None:
    bundle = repository.sigstore.sign(b"", statement=content, owner="org-a")
    (repository.root / "model.sig").write_bytes(bundle)


def of_files(repository: Repository) -> Check:
    (found,) = [c for c in repository.verify().checks if c.what == "signature of the model"]
    return found


def test_our_listing_is_the_tools_own(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name, content in CONTENTS.items():
        (tmp_path / name).write_bytes(content)
    real = statement()["predicate"]["resources"]
    ours = listing(tmp_path)["predicate"]["resources"]
    assert [r for r in real if r["name"] != "sub/more.txt"] == ours


def test_a_published_model_is_the_one_that_was_signed(repository: Repository) -> None:
    assert "signature of the model" not in repository.outcomes()
    sign(repository, listing(repository.root))
    found = of_files(repository)
    assert found.outcome == "holds"
    assert found.detail.startswith("all 4 files that were measured are as signed. Signed by org-a,")
    assert repository.failing() == {}


@pytest.mark.parametrize(
    ("words", "change"),
    [
        (
            "model.safetensors was measured, and is not the file that was signed",
            {"model": "0" * 64},
        ),
        ("tokenizer.json was measured, and is not among", {"without": "tokenizer.json"}),
    ],
)
def test_a_published_model_that_is_another_fails(
    repository: Repository, words: str, change: dict[str, str]
) -> None:
    sign(repository, listing(repository.root, **change))
    assert of_files(repository).outcome == "fails"
    assert words in of_files(repository).detail


def test_the_key_of_a_published_model_has_to_be_given(repository: Repository) -> None:
    (repository.root / "model.sig").write_bytes(real("p256"))
    assert of_files(repository).outcome == "unknown"
    trust = Trust(repository.sigstore.trusted_root, offline=True, model_key=DATA / "p256.pub")
    checks = verify_publication(repository.publication(), Settings(), trust).checks
    (found,) = [c for c in checks if c.what == "signature of the model"]
    assert found.detail == "model.safetensors was measured, and is not the file that was signed"


def test_a_report_that_names_no_files_says_nothing_of_them(repository: Repository) -> None:
    sign(repository, listing(repository.root))
    repository.edit(lambda report: report["run"].pop("files"))
    assert of_files(repository).outcome == "unknown"
    repository.edit(lambda report: report["run"].update(files={"model": {"weights": FILES}}))
    assert of_files(repository).outcome == "fails"
    assert "do not give the digest of the weights" in of_files(repository).detail


def test_a_list_is_read_without_its_signature() -> None:
    measured = {name: FILES[name] for name in ("model.safetensors", "config.json")}
    assert claimed(real("p256"), measured)["outcome"] == "unverified"
    other = claimed(real("p256"), {"config.json": "0" * 64})
    assert other["detail"] == "config.json was measured, and is not the file that was signed"
    assert claimed(real("single"), {"x.gguf": "0" * 64})["outcome"] == "fails"
    for content in (
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        b'{"dsseEnvelope": {"payload": 7}}',
    ):
        assert claimed(content, measured)["outcome"] == "fails"


def test_a_run_names_its_files_and_what_their_signature_says(made: Report, tmp_path: Path) -> None:
    model = Path(shutil.copytree(DEMOS / "planted", tmp_path / "model"))
    bundle = json.loads(real("p256"))
    content = json.dumps(listing(model)).encode()
    bundle["dsseEnvelope"]["payload"] = base64.b64encode(content).decode()
    (model / "model.sig").write_text(json.dumps(bundle), encoding="utf-8")
    report = measured(model)
    # That nobody signed this list is for `verify` to find.
    assert report.run["signed"]["model"] == {
        "outcome": "unverified",
        "detail": "all 4 files that were measured are as signed; pytest-bias verify checks the "
        "signature itself",
    }
    assert "signature of the model" in page.render(report)
    assert "signature of the model" not in page.render(made)
    # The signature is beside the model, not a part of it.
    assert "signed" not in made.run
    assert report.digest == made.digest
    parts = measured_files(report)["model"]
    assert {name: sorted(files) for name, files in parts.items()} == {
        "weights": ["model.safetensors"],
        "configuration": ["config.json"],
        "tokenizer": ["tokenizer.json", "tokenizer_config.json"],
    }
    for files in parts.values():
        for path, digest in files.items():
            assert digest == hashlib.sha256((model / path).read_bytes()).hexdigest()
