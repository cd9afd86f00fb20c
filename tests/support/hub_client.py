"""The Hub's own client, led to a Hub on this machine, in this process."""

from pathlib import Path

import pytest
from huggingface_hub import constants
from huggingface_hub.utils import _auth

from hub_contents import Hub


def lead_to(hub: Hub, monkeypatch: pytest.MonkeyPatch, folder: Path, token: str) -> None:
    """Lead the client to a Hub with a token; it keeps files in the folder."""
    monkeypatch.setattr(constants, "ENDPOINT", hub.address)
    template = f"{hub.address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder / "cache"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(folder / "token"))
    monkeypatch.setattr(_auth, "_OIDC_TOKEN_CACHE", None)
    for name in ("HF_HUB_OFFLINE", "HF_OIDC_RESOURCE", "HF_OIDC_ID_TOKEN", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_TOKEN", token)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
