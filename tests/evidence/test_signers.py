"""Whose signature counts: our workflows, and owners who are not each other."""

from collections.abc import Callable

import pytest

from own_fulcio import COMMIT
from own_sigstore import Sigstore
from pytest_bias.evidence.signatures import Signature, by_our_workflow, owners_differ, signature
from signers import HOME, signer

CONTENT = b'{"schema": "pytest-bias/report/1"}\n'


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Sigstore:
    return Sigstore(tmp_path_factory.mktemp("sigstore"))


@pytest.fixture
def check(own: Sigstore) -> Callable[..., Signature]:
    """Return a check of `CONTENT`, or of another content, that trusts our Sigstore."""

    def call(bundle: bytes | None, content: bytes = CONTENT) -> Signature:
        return signature(content, bundle, trusted_root=own.trusted_root)

    return call


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
    elsewhere = signer(owner="org-a", issuer="https://gitlab.com")
    assert owners_differ(signer(), elsewhere), "numbers of two hosts say nothing of each other"


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
