"""Who signed a file: real bundles of a Sigstore of our own, verified by the real package."""

import base64
import hashlib
import json
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from own_sigstore import COMMIT, GITHUB, PREDICATE, Sigstore, github_extensions
from pytest_bias.signatures import Signature, Signer, by_our_workflow, owners_differ, signature
from pytest_bias.signatures.bundles import MOST_BYTES

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


def signer(**changes: str) -> Signer:
    """Return a signer as our workflow would be."""
    return replace(
        Signer(
            issuer=GITHUB,
            identity=f"{HOME}/bias-tests.yml@refs/tags/v1",
            owner="org-b",
            owner_id="7",
            repository="org-b/runs",
            commit=COMMIT,
            ref="refs/heads/main",
            workflow=f"{HOME}/bias-tests.yml",
            workflow_ref="refs/tags/v1",
            trigger="workflow_dispatch",
            runner="github-hosted",
            run="https://github.com/org-b/runs/actions/runs/1/attempts/1",
            signed_at="2026-11-27T12:00:05Z",
        ),
        **changes,
    )


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


def test_a_certificate_of_another_authority(
    tmp_path: Path, own: Sigstore, check: Callable[..., Signature]
) -> None:
    other = Sigstore(tmp_path)
    found = check(other.sign(CONTENT))
    assert found.outcome == "fails"
    assert "authority that is not trusted" in found.detail
    assert "--trusted-root" in found.detail
    other.key = own.key
    assert check(other.sign(CONTENT)).outcome == "fails", "its logs are not ours"


@pytest.mark.parametrize("log", ["certificates", "signatures"])
def test_a_log_that_is_not_trusted(
    tmp_path: Path, own: Sigstore, check: Callable[..., Signature], log: str
) -> None:
    other = Sigstore(tmp_path)
    other.key = own.key
    assert check(other.sign(CONTENT)).outcome == "fails"
    for name in {"certificates", "signatures"} - {log}:
        setattr(other, name, getattr(own, name))
    assert check(other.sign(CONTENT)).outcome == "fails"
    setattr(other, log, getattr(own, log))
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


# Who counts


@pytest.mark.parametrize(
    "changes",
    [
        {"issuer": "https://token.actions.githubusercontent.com/"},
        {"issuer": "https://token.actions.githubusercontent.com.example.org"},
        {"workflow": "https://github.com/org-b/runs/.github/workflows/bias-tests.yml"},
        {"workflow": "https://github.com/pytest-bias/pytest-bias-x/.github/workflows/a.yml"},
        {"workflow": f"{HOME}/../../../org-b/runs/.github/workflows/bias-tests.yml"},
        {"workflow": f"{HOME}/"},
        {"workflow": f"{HOME}/bias-tests.sh"},
        {"workflow": f"https://example.org/{HOME}/bias-tests.yml"},
        {"workflow": ""},
        {"workflow_ref": COMMIT},
        {"workflow_ref": "refs/pull/7/merge"},
        {"workflow_ref": "refs/heads/own"},
        {"workflow_ref": "refs/tags/other"},
        {"workflow_ref": ""},
    ],
    ids=lambda changes: str(*changes.items()),
)
def test_other_workflows_do_not_count(changes: dict[str, str]) -> None:
    assert by_our_workflow(signer())
    assert by_our_workflow(signer(workflow_ref="refs/heads/main"))
    assert by_our_workflow(signer(workflow_ref="refs/tags/v1.2.0"))
    assert not by_our_workflow(signer(**changes))


def test_another_issuer_does_not_count(own: Sigstore, check: Callable[..., Signature]) -> None:
    found = check(own.sign(CONTENT, issuer="https://gitlab.com"))
    assert found.outcome == "holds"
    assert found.signer is not None
    assert not by_our_workflow(found.signer)


def test_owners() -> None:
    assert owners_differ("org-b", "org-a", "org-c")
    assert not owners_differ("Org-A", "org-a")
    assert not owners_differ("org-a", "org-b", "ORG-A")
    # Cyrillic о, fullwidth g, Kelvin sign, zero-width space, a space, nothing
    for odd in ("\u043erg-b", "or\uff47-b", "org-\u212a", "org-b\u200b", " org-b", "org b", ""):
        assert not owners_differ(odd, "org-a")
        assert not owners_differ("org-a", odd)
    assert owners_differ(signer(owner="new-name", owner_id="7"), signer(owner="b", owner_id="8"))
    assert not owners_differ(signer(owner="new-name"), signer(owner="old-name"))
    assert owners_differ(signer(owner_id=""), signer(owner="org-a", owner_id=""))


def test_a_look_alike_owner(own: Sigstore, check: Callable[..., Signature]) -> None:
    found = check(own.sign(CONTENT, owner="\u043erg-a", repository="\u043erg-a/runs"))
    assert found.outcome == "holds"
    assert found.signer is not None
    assert not owners_differ(found.signer, "org-a")


def test_a_repository_is_not_taken_for_an_owner(
    own: Sigstore, check: Callable[..., Signature]
) -> None:
    found = check(own.sign(CONTENT, owner="org-b/runs"))
    assert found.signer is not None
    assert not owners_differ(found.signer, "org-a")


# What cannot be checked


def test_without_the_package(monkeypatch: pytest.MonkeyPatch, own: Sigstore) -> None:
    bundle = own.sign(CONTENT)
    for name in [n for n in sys.modules if n.split(".")[0] == "sigstore"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sigstore", None)
    found = signature(CONTENT, bundle, trusted_root=own.trusted_root)
    assert found.outcome == "unknown"
    assert "pip install 'pytest-bias[signatures]'" in found.detail
    assert signature(CONTENT, None).outcome == "unverified"


def test_our_module_is_imported_without_the_package() -> None:
    code = "import sys, pytest_bias.signatures; print({m.split('.')[0] for m in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'pytest_bias'" in done.stdout
    assert not any(f"'{name}'" in done.stdout for name in ("sigstore", "cryptography", "pydantic"))


@pytest.mark.parametrize(
    "content", [None, "", "{}", "[]", "null", "7", "\x00", '{"trustedRoot": 1}']
)
def test_a_file_that_is_no_trust_root(own: Sigstore, tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "root.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    found = signature(CONTENT, own.sign(CONTENT), trusted_root=path)
    assert found.outcome == "unknown"
    assert str(path) in found.detail


@pytest.mark.parametrize("part", ["tlogs", "certificateAuthorities", "ctlogs"])
def test_a_trust_root_that_lacks_something(own: Sigstore, tmp_path: Path, part: str) -> None:
    path = tmp_path / "root.json"
    path.write_text(json.dumps(own.trust() | {part: []}), encoding="utf-8")
    found = signature(CONTENT, own.sign(CONTENT), trusted_root=path)
    assert found.outcome == "unknown"


def test_the_configuration_of_a_client_has_a_trust_root(own: Sigstore, tmp_path: Path) -> None:
    path = tmp_path / "trust.json"
    config = {
        "mediaType": "application/vnd.dev.sigstore.clienttrustconfig.v0.1+json",
        "trustedRoot": own.trust(),
        "signingConfig": {
            "mediaType": "application/vnd.dev.sigstore.signingconfig.v0.2+json",
        },
    }
    path.write_text(json.dumps(config), encoding="utf-8")
    assert signature(CONTENT, own.sign(CONTENT), trusted_root=path).outcome == "holds"


# The public Sigstore, without the network


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network is used")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.parametrize("variable", [True, False], ids=["environment", "argument"])
@pytest.mark.usefixtures("no_network")
def test_offline_the_trust_root_of_the_package_is_used(
    own: Sigstore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: bool
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1" if variable else "0")
    found = signature(CONTENT, own.sign(CONTENT), offline=not variable)
    assert found.outcome == "fails", "there is a trust root, and ours is not in it"
    assert "authority that is not trusted" in found.detail
    assert list(tmp_path.rglob("trusted_root.json"))


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("broken", ["not a folder", "damaged"])
def test_offline_without_a_trust_root(
    own: Sigstore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    place = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    if broken == "damaged":
        signature(CONTENT, own.sign(CONTENT), offline=True)
        (path,) = place.rglob("trusted_root.json")
        path.write_text('{"mediaType', encoding="utf-8")
    else:
        place.write_text("a file", encoding="utf-8")
    found = signature(CONTENT, own.sign(CONTENT), offline=True)
    assert found.outcome == "unknown"
    assert "--trusted-root FILE" in found.detail


def test_a_trust_root_that_cannot_be_fetched(
    own: Sigstore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        for name in ("HTTPS_PROXY", "https_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{closed.getsockname()[1]}")
        found = signature(CONTENT, own.sign(CONTENT))
    assert found.outcome == "unknown"
    assert "could not be fetched" in found.detail
    assert "--offline" in found.detail


def test_extensions_of_fulcio_are_complete() -> None:
    """The certificates of our tests have what Fulcio writes of GitHub: 1 to 6, 8 to 22."""
    numbers = github_extensions(
        issuer="", owner="", owner_id="", repository="", workflow="", workflow_ref="", ref="",
        commit="", trigger="", runner="",
    )  # fmt: skip
    assert {int(n) for n in numbers} == {*range(1, 7), *range(8, 23)}
