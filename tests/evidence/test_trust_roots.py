"""What is trusted, and what is said when a signature cannot be checked."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from own_sigstore import Sigstore
from pytest_bias.evidence.signatures import signature

CONTENT = b'{"schema": "pytest-bias/report/1"}\n'


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Sigstore:
    return Sigstore(tmp_path_factory.mktemp("sigstore"))


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


@pytest.mark.cold
def test_our_module_is_imported_without_the_package() -> None:
    code = (
        "import sys, pytest_bias.evidence.signatures; print({m.split('.')[0] for m in sys.modules})"
    )
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
