"""A model's repository, asked by the Hub's own client: what its refusals and failures become."""

from collections.abc import Iterator
from pathlib import Path

import huggingface_hub.utils._http
import pytest
from huggingface_hub import HfApi, constants

from hub_server import Failure, Hub, Repository, serving
from pytest_bias.errors import HubNotReached, ModelError
from pytest_bias.http.hub import failure
from pytest_bias.models import ModelRef
from pytest_bias.models.repository import ask, fetch

SHA = "1" * 40
REF = ModelRef.parse("org/model")
WEIGHTS = "model.safetensors"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """Serve a model, and lead the client to it; it does not wait between two attempts."""

    class Clock:
        sleep = staticmethod(lambda seconds: None)

    repository = Repository({SHA: {"config.json": b"{}", WEIGHTS: b"weights"}}, {"main": SHA})
    with serving(Hub({"org/model": repository})) as found:
        monkeypatch.setattr(constants, "ENDPOINT", found.address)
        template = f"{found.address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(huggingface_hub.utils._http, "time", Clock)
        yield found


ASKED = {
    "dropped": (Failure(drop="before"), HubNotReached, "no connection to the Hub (RemoteProtocol"),
    "busy": (Failure(503), HubNotReached, "it answers 503 (Service Unavailable)"),
    "limit": (
        Failure(429, headers={"Retry-After": "90"}),
        HubNotReached,
        "it answers 429 (Too Many Requests) and asks to wait 90 s",
    ),
    "gated": (Failure(403, "GatedRepo"), ModelError, "org/model is gated"),
    "nobody": (Failure(401, "RepoNotFound"), ModelError, "there is no model 'org/model'"),
    "revision": (Failure(404, "RevisionNotFound"), ModelError, "has no revision"),
}


@pytest.mark.parametrize("case", ASKED)
def test_what_the_hub_says_of_a_model(hub: Hub, case: str) -> None:
    failure, kind, words = ASKED[case]
    hub.failures["model"] = [failure] * 9
    with pytest.raises(ModelError) as caught:
        ask(REF)
    assert type(caught.value) is kind
    assert words in caught.value.message
    hub.failures.clear()
    assert ask(REF).sha == SHA


FETCHED = {
    "broken off": (Failure(drop="after"), "could not be fetched: no connection to the Hub (Remote"),
    "forbidden": (Failure(403, "", "no"), "not in the cache, and the Hub answers 403 (Forbidden)"),
    "busy": (Failure(503), "not in the cache, and the Hub answers 503 (Service Unavailable)"),
    "gated": (Failure(403, "GatedRepo"), "org/model is gated"),
}


@pytest.mark.parametrize("case", FETCHED)
def test_weights_that_do_not_come(hub: Hub, case: str) -> None:
    failure, words = FETCHED[case]
    hub.failures["file"] = [failure] * 60
    with pytest.raises(ModelError) as caught:
        fetch(REF, SHA, ["*.safetensors"])
    assert words in caught.value.message
    assert caught.value.hint
    hub.failures.clear()
    assert (fetch(REF, SHA, ["*.safetensors"]) / WEIGHTS).read_bytes() == b"weights"


def test_a_cache_without_the_model(hub: Hub) -> None:
    with pytest.raises(ModelError, match="is not in the cache, and this run is offline"):
        fetch(REF, SHA, ["*"], cached=True, why="this run is offline")
    assert hub.asked == []


def test_a_token_that_cannot_be_sent_is_not_shown(hub: Hub) -> None:
    with pytest.raises(Exception, match="hf_secret") as caught:
        HfApi(token="hf_secret\nword").model_info("org/model")
    failed = failure(caught.value)
    assert failed is not None
    assert failed.answer("it") == (
        "no connection to the Hub (LocalProtocolError: Illegal header value b'Bearer ***)"
    )
