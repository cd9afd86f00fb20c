"""Signers, as workflows would be."""

from dataclasses import replace

from own_fulcio import COMMIT
from own_sigstore import GITHUB
from pytest_bias.evidence.signatures import Signer

HOME = "https://github.com/pytest-bias/pytest-bias/.github/workflows"


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
