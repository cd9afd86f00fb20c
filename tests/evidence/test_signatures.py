"""Who signed a file: real bundles of a Sigstore of our own, verified by the real package."""

import base64
import hashlib
import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from own_fulcio import github_extensions
from own_sigstore import PREDICATE, Sigstore
from own_timestamps import Authority
from pytest_bias.evidence.signatures import Signature, by_our_workflow, owners_differ, signature
from pytest_bias.evidence.signatures.bundles import MOST_BYTES
from signers import signer

CONTENT = b'{"schema": "pytest-bias/report/1"}\n'
HOME = "https://github.com/pytest-bias/pytest-bias/.github/workflows"
FORMS = ("message", "dsse")


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Sigstore:
    return Sigstore(tmp_path_factory.mktemp("sigstore"))


@pytest.fixture
def check(own: Sigstore) -> Callable[..., Signature]:
    """Return a check of `CONTENT`, or of another content, that trusts our Sigstore."""

    def call(bundle: bytes | None, content: bytes = CONTENT) -> Signature:
        return signature(content, bundle, trusted_root=own.trusted_root)

    return call


def edited(bundle: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    parts = json.loads(bundle)
    change(parts)
    return json.dumps(parts).encode()


def flipped(text: str, at: int = -3) -> str:
    """Flip a bit of a value in base64."""
    data = bytearray(base64.b64decode(text))
    data[at] ^= 1
    return base64.b64encode(data).decode()


def entry(parts: dict[str, Any]) -> dict[str, Any]:
    (found,) = parts["verificationMaterial"]["tlogEntries"]
    return found


# What holds


@pytest.mark.parametrize("form", FORMS)
def test_the_signer_is_named_as_the_certificate_says(
    own: Sigstore, check: Callable[..., Signature], form: str
) -> None:
    at = datetime(2026, 11, 27, 12, tzinfo=UTC)
    found = check(own.sign(CONTENT, form=form, owner_id="7", at=at))
    assert found == Signature(
        "holds",
        "Signed by org-b, in a run of org-b/runs by "
        f"{HOME}/bias-tests.yml@refs/tags/v1, 2026-11-27T12:00:05Z."
        + (f" {PREDICATE}" if form == "dsse" else ""),
        signer(),
        PREDICATE if form == "dsse" else "",
    )
    assert by_our_workflow(found.signer)


def test_a_person_is_named_by_the_address(own: Sigstore, check: Callable[..., Signature]) -> None:
    found = check(own.sign(CONTENT, form="message", email="ada@example.org"))
    assert found.outcome == "holds"
    assert found.signer is not None
    assert (found.signer.identity, found.signer.owner) == ("ada@example.org", "")
    assert found.signer.issuer == "https://accounts.google.com"
    assert "ada@example.org (https://accounts.google.com)" in found.detail
    assert not by_our_workflow(found.signer)
    assert not owners_differ(found.signer, "org-a")


def test_certificates_from_before_2023_name_their_issuer_too(
    own: Sigstore, check: Callable[..., Signature]
) -> None:
    found = check(own.sign(CONTENT, email="ada@example.org", extensions={"1": "https://old.one"}))
    assert found.signer is not None
    assert found.signer.issuer == "https://old.one"


def test_a_statement_may_be_about_several_files(
    own: Sigstore, check: Callable[..., Signature]
) -> None:
    digests = [hashlib.sha256(text).hexdigest() for text in (b"another", CONTENT)]
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "f", "digest": {"sha256": digest}} for digest in digests],
        "predicateType": "https://example.org/own",
        "predicate": {},
    }
    found = check(own.sign(CONTENT, statement=statement))
    assert (found.outcome, found.predicate_type) == ("holds", "https://example.org/own")


def test_one_of_several_bundles_is_enough(own: Sigstore, check: Callable[..., Signature]) -> None:
    bundles = [
        own.sign(b"another"),
        own.sign(CONTENT, owner="org-c", workflow="org-c/runs/.github/workflows/own.yml"),
        own.sign(CONTENT, owner="org-b"),
    ]
    found = check(b"\n".join(bundles) + b"\n")
    assert found.outcome == "holds"
    assert found.signer is not None
    assert found.signer.owner == "org-b", "our workflow is named first"
    assert [other.owner for other in found.others] == ["org-c"]
    none = check(b"\n".join([own.sign(b"another"), own.sign(b"a third")]))
    assert none.outcome == "fails"
    assert none.detail == (
        "None of 2 signatures holds. The signature is of a statement about another file."
    )


def test_a_bundle_may_be_indented(own: Sigstore, check: Callable[..., Signature]) -> None:
    assert check(json.dumps(json.loads(own.sign(CONTENT)), indent=2).encode()).outcome == "holds"


def test_self_hosted_runners_are_named(own: Sigstore, check: Callable[..., Signature]) -> None:
    found = check(own.sign(CONTENT, runner="self-hosted"))
    assert "on a self-hosted runner" in found.detail


# A log of version 2, which leaves the time to timestamp authorities


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    if shutil.which("openssl") is None:
        pytest.skip("the command openssl is not here")
    return Authority(tmp_path_factory.mktemp("clock") / "own")


@pytest.fixture(scope="module")
def clocked(tmp_path_factory: pytest.TempPathFactory, clock: Authority) -> Sigstore:
    """Return a Sigstore beside which a timestamp authority is trusted."""
    return Sigstore(tmp_path_factory.mktemp("clocked"), [clock.certificate, clock.root])


@pytest.mark.parametrize("form", FORMS)
def test_a_timestamp_tells_when(clocked: Sigstore, clock: Authority, form: str) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    bundle = clocked.sign(CONTENT, form=form, stamps=[clock.stamp])
    found = signature(CONTENT, bundle, trusted_root=clocked.trusted_root)
    assert found.outcome == "holds"
    assert found.signer is not None
    assert before <= datetime.fromisoformat(found.signer.signed_at) <= datetime.now(UTC)
    assert signature(b"another", bundle, trusted_root=clocked.trusted_root).outcome == "fails"


def test_a_time_that_nobody_vouches_for_is_not_told(
    clocked: Sigstore, clock: Authority, tmp_path: Path
) -> None:
    """Of two timestamps one is by a stranger, and the entry says a time without a promise."""
    at = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=2)
    stranger = Authority(tmp_path / "stranger")
    for stamps in ([clock.stamp, stranger.stamp], [stranger.stamp, clock.stamp]):
        bundle = edited(
            clocked.sign(CONTENT, stamps=stamps, at=at),
            lambda p: entry(p).update(integratedTime="1000000000"),
        )
        found = signature(CONTENT, bundle, trusted_root=clocked.trusted_root)
        assert found.outcome == "holds"
        assert found.signer is not None
        assert datetime.fromisoformat(found.signer.signed_at) == at, "the certificate's own"
    bundle = clocked.sign(CONTENT, stamps=[stranger.stamp], at=at)
    assert signature(CONTENT, bundle, trusted_root=clocked.trusted_root).outcome == "fails"


def test_a_timestamp_of_another_signature(clocked: Sigstore, clock: Authority) -> None:
    bundle = clocked.sign(CONTENT, stamps=[lambda _: clock.stamp(b"another")])
    assert signature(CONTENT, bundle, trusted_root=clocked.trusted_root).outcome == "fails"


def test_a_certificate_that_did_not_hold_at_the_timestamp(
    clocked: Sigstore, clock: Authority
) -> None:
    at = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=11)
    bundle = clocked.sign(CONTENT, stamps=[clock.stamp], at=at)
    assert signature(CONTENT, bundle, trusted_root=clocked.trusted_root).outcome == "fails"


# What does not hold


def test_without_a_bundle_it_is_unverified(check: Callable[..., Signature]) -> None:
    assert check(None) == Signature("unverified", "There is no signature.")


@pytest.mark.parametrize("form", FORMS)
def test_of_another_content(own: Sigstore, check: Callable[..., Signature], form: str) -> None:
    found = check(own.sign(CONTENT, form=form), CONTENT + b" ")
    assert (found.outcome, found.signer) == ("fails", None)


def test_digest_of_another_content_beside_the_signature(
    own: Sigstore, check: Callable[..., Signature]
) -> None:
    other = hashlib.sha256(b"another").digest()
    bundle = edited(
        own.sign(CONTENT, form="message"),
        lambda parts: parts["messageSignature"]["messageDigest"].update(
            digest=base64.b64encode(other).decode()
        ),
    )
    assert check(bundle, b"another").outcome == "fails"
    assert check(bundle).outcome == "fails"


TAMPERED: dict[str, Callable[[dict[str, Any]], object]] = {
    "log: body": lambda p: entry(p).update(
        canonicalizedBody=flipped(entry(p)["canonicalizedBody"], 40)
    ),
    "log: time": lambda p: entry(p).update(integratedTime=str(int(entry(p)["integratedTime"]) + 1)),
    "log: index": lambda p: entry(p).update(logIndex="2"),
    "log: promise": lambda p: entry(p)["inclusionPromise"].update(
        signedEntryTimestamp=flipped(entry(p)["inclusionPromise"]["signedEntryTimestamp"])
    ),
    "log: no promise": lambda p: entry(p).pop("inclusionPromise"),
    "log: proof": lambda p: entry(p)["inclusionProof"].update(
        hashes=[flipped(entry(p)["inclusionProof"]["hashes"][0])]
    ),
    "log: root": lambda p: entry(p)["inclusionProof"].update(
        rootHash=flipped(entry(p)["inclusionProof"]["rootHash"])
    ),
    "log: checkpoint": lambda p: entry(p)["inclusionProof"]["checkpoint"].update(
        envelope=entry(p)["inclusionProof"]["checkpoint"]["envelope"].replace("\n2\n", "\n3\n")
    ),
    "log: none": lambda p: p["verificationMaterial"].update(tlogEntries=[]),
    "certificate": lambda p: p["verificationMaterial"]["certificate"].update(
        rawBytes=flipped(p["verificationMaterial"]["certificate"]["rawBytes"], 300)
    ),
    "certificate: signature": lambda p: p["verificationMaterial"]["certificate"].update(
        rawBytes=flipped(p["verificationMaterial"]["certificate"]["rawBytes"])
    ),
    "certificate: none": lambda p: p["verificationMaterial"].pop("certificate"),
    "media type": lambda p: p.update(mediaType="text/plain"),
    "material": lambda p: p.pop("verificationMaterial"),
    "material: a list": lambda p: p.update(verificationMaterial=[1]),
    "unknown key": lambda p: p.update(owner="org-x"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", TAMPERED.values(), ids=TAMPERED)
def test_tampered(
    own: Sigstore,
    check: Callable[..., Signature],
    change: Callable[[dict[str, Any]], object],
    form: str,
) -> None:
    found = check(edited(own.sign(CONTENT, form=form), change))
    assert (found.outcome, found.signer) == ("fails", None)
    assert found.detail.isprintable()


@pytest.mark.parametrize(
    "change",
    [
        lambda p: p["messageSignature"].update(
            signature=flipped(p["messageSignature"]["signature"])
        ),
        lambda p: p["messageSignature"].update(signature=""),
        lambda p: p.pop("messageSignature"),
    ],
    ids=["flipped", "empty", "none"],
)
def test_tampered_signature(
    own: Sigstore, check: Callable[..., Signature], change: Callable[[dict[str, Any]], object]
) -> None:
    assert check(edited(own.sign(CONTENT, form="message"), change)).outcome == "fails"


def test_tampered_statement(own: Sigstore, check: Callable[..., Signature]) -> None:
    """The digest in a statement is changed to that of another content; its signature stays."""
    old, new = (hashlib.sha256(text).hexdigest().encode() for text in (CONTENT, b"another"))

    def change(parts: dict[str, Any]) -> None:
        payload = base64.b64decode(parts["dsseEnvelope"]["payload"])
        parts["dsseEnvelope"]["payload"] = base64.b64encode(payload.replace(old, new)).decode()

    bundle = edited(own.sign(CONTENT), change)
    assert check(bundle, b"another").outcome == "fails"
    bundle = edited(
        own.sign(CONTENT),
        lambda p: p["dsseEnvelope"]["signatures"][0].update(
            sig=flipped(p["dsseEnvelope"]["signatures"][0]["sig"])
        ),
    )
    assert check(bundle).outcome == "fails"


@pytest.mark.parametrize(
    "statement",
    [
        {"_type": "https://in-toto.io/Statement/v1", "subject": []},
        {"_type": "https://in-toto.io/Statement/v1"},
        {"_type": "https://in-toto.io/Statement/v1", "subject": [{"name": "report.json"}]},
        {"_type": "https://in-toto.io/Statement/v1", "subject": [{"digest": {"sha512": "00"}}]},
        {"_type": "of our own", "subject": [{"digest": {"sha256": "CONTENT"}}]},
    ],
    ids=["no subject", "no list", "no digest", "other digest", "another type"],
)
def test_statement_that_says_nothing_of_the_file(
    own: Sigstore, check: Callable[..., Signature], statement: dict[str, Any]
) -> None:
    digest = hashlib.sha256(CONTENT).hexdigest()
    whole = json.loads(json.dumps(statement).replace("CONTENT", digest))
    assert check(own.sign(CONTENT, statement=whole)).outcome == "fails"


def test_an_envelope_of_something_else(own: Sigstore, check: Callable[..., Signature]) -> None:
    found = check(own.sign(CONTENT, payload_type="text/plain"))
    assert found.outcome == "fails"
    assert "something else" in found.detail


def test_a_certificate_of_another_authority(
    tmp_path: Path, own: Sigstore, check: Callable[..., Signature]
) -> None:
    other = Sigstore(tmp_path)
    found = check(other.sign(CONTENT))
    assert found.outcome == "fails"
    assert "authority that is not trusted" in found.detail
    assert "--trusted-root" in found.detail
    other.fulcio.key = own.fulcio.key
    assert check(other.sign(CONTENT)).outcome == "fails", "its logs are not ours"


@pytest.mark.parametrize("log", ["of certificates", "of signatures"])
def test_a_log_that_is_not_trusted(
    tmp_path: Path, own: Sigstore, check: Callable[..., Signature], log: str
) -> None:
    other = Sigstore(tmp_path)
    other.fulcio.key = own.fulcio.key
    assert check(other.sign(CONTENT)).outcome == "fails"
    if log == "of certificates":
        other.log = own.log
        assert check(other.sign(CONTENT)).outcome == "fails"
        other.fulcio.log = own.fulcio.log
    else:
        other.fulcio.log = own.fulcio.log
        assert check(other.sign(CONTENT)).outcome == "fails"
        other.log = own.log
    assert check(other.sign(CONTENT)).outcome == "holds"


@pytest.mark.parametrize("minutes", [-1, 11])
def test_a_certificate_that_did_not_hold_when_it_was_used(
    own: Sigstore, check: Callable[..., Signature], minutes: int
) -> None:
    at = datetime(2026, 11, 27, 12, tzinfo=UTC)
    found = check(own.sign(CONTENT, at=at, logged=at + timedelta(minutes=minutes)))
    assert found.outcome == "fails"


def test_a_certificate_that_is_in_no_log(own: Sigstore, check: Callable[..., Signature]) -> None:
    found = check(own.sign(CONTENT, sct=False))
    assert found.outcome == "fails"
    assert "certificate timestamp" in found.detail


def test_a_certificate_that_names_nobody(own: Sigstore, check: Callable[..., Signature]) -> None:
    assert check(own.sign(CONTENT, extensions={})).outcome == "fails"


@pytest.mark.parametrize(
    "bundle",
    [
        *(b"", b" \n", b"{", b"[]", b"null", b"\xff\xfe", b'{"a": 1}', b"{}\n{}", b"not json"),
        b'{"verificationMaterial": ' * 50_000,
        b"\x00" * 1000,
    ],
    ids=lambda b: repr(b[:12]),
)
def test_no_bundle_at_all(check: Callable[..., Signature], bundle: bytes) -> None:
    found = check(bundle)
    assert (found.outcome, found.signer) == ("fails", None)
    assert found.detail.isprintable()


def test_a_huge_file_is_not_read(own: Sigstore, check: Callable[..., Signature]) -> None:
    found = check(own.sign(CONTENT) + b" " * MOST_BYTES)
    assert found.outcome == "fails"
    assert f"{MOST_BYTES:,}" in found.detail


def test_words_of_a_stranger_reach_no_terminal(
    own: Sigstore, check: Callable[..., Signature]
) -> None:
    hostile = "\x1b[2J\r\n\u202eholds " + "x" * 5000
    found = check(edited(own.sign(CONTENT), lambda p: p.update(mediaType=hostile)))
    assert found.outcome == "fails"
    assert found.detail.isprintable()
    assert len(found.detail) < 400
    found = check(own.sign(CONTENT, predicate_type=hostile))
    assert found.outcome == "holds"
    assert found.detail.isprintable()


def test_extensions_of_fulcio_are_complete() -> None:
    """The certificates of our tests have what Fulcio writes of GitHub: 1 to 6, 8 to 22."""
    numbers = github_extensions(
        issuer="", owner="", owner_id="", repository="", workflow="", workflow_ref="", ref="",
        commit="", trigger="", runner="",
    )  # fmt: skip
    assert {int(n) for n in numbers} == {*range(1, 7), *range(8, 23)}
