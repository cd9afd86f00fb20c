"""Description of a served model before the measurement, from its server's answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pytest_bias.environment import is_offline
from pytest_bias.errors import ModelError, UsageError
from pytest_bias.models.chat import refuse_system
from pytest_bias.models.description import UNKNOWN, Described, placing
from pytest_bias.models.interface import Capability, Model, ModelKind
from pytest_bias.models.reference import ModelRef
from pytest_bias.models.served.address import is_loopback, shown_name
from pytest_bias.models.served.client import (
    Client,
    NotServed,
    Refused,
    Unanswered,
    again_in_words,
    read_key,
)
from pytest_bias.models.served.model import ServedModel
from pytest_bias.models.served.probing import Found, Probe, chosen
from pytest_bias.models.served.settings import RequestSettings
from pytest_bias.records.identity import ModelIdentity, ServedIdentity

LISTED: Final = ("owned_by", "root", "parent", "max_model_len", "context_length", "meta")
"""Keys of a server's model list that are the same in every request."""


@dataclass(frozen=True, kw_only=True)
class ServedDescription(Described):
    """A model behind a server."""

    place: ModelRef
    client: Client
    found: Found
    name: str
    """The server's name for the model."""
    n_probes: int
    """Requests of the probe: calls, which may be paid for."""

    @property
    def ref(self) -> ModelRef:
        """Address, with the model's name."""
        return self.place

    @property
    def about_chat(self) -> str:
        """Notice about the chat template that is used."""
        return (
            "Prompts are a user's turns, by the server's own chat template, which cannot be seen "
            "from here. --chat off continues them as plain text."
        )

    @property
    def about_writing(self) -> str:
        """Notice about the sampler that is used."""
        told = "What the model writes depends on the sampler of its server"
        if self.found.plain:
            return f"{told}."
        return f"{told}, which cannot be told to leave out top-k and penalties."

    def chats(self, asked: str, system: str | None = None) -> bool:
        """Whether prompts become chat turns: if the server has answered one."""
        chats = self.found.chat and asked != "off"
        if not chats:
            refuse_system(system, str(self.ref))
        return chats

    def weights_digest(self) -> str | None:
        """Fingerprint of the server's answers, in place of a digest of weights."""
        return self.found.fingerprint

    def precision(
        self, device: str, dtype: str, device_map: str | None, devices: str | None = None
    ) -> str:
        """Return that it is unknown; the server decides where and how a model runs."""
        if named := placing(device, dtype, device_map, devices):
            raise UsageError(
                f"{named} with a served model: its server decides where it runs, and in which "
                "precision.",
                "Leave it out, and configure the server instead.",
            )
        return UNKNOWN

    def fetch(self) -> None:
        """Do nothing: the weights stay on the server."""

    def loaded(self, **how: Any) -> Model:
        """Return the model, without loading anything."""
        self.precision(how["device"], how["dtype"], how["device_map"])
        model = ServedModel(self.identity, self.capabilities, self.client, self.name, self.found)
        model.meter.asked.calls = self.n_probes
        model.system = how["system"]
        model.chat = self.chats(how["chat"], model.system)
        return model


def describe_served(
    ref: ModelRef,
    *,
    offline: bool = False,
    asking: RequestSettings | None = None,
    chat: str = "auto",
) -> ServedDescription:
    """Query a server for its models and for the capabilities of one.

    Raises
    ------
    UsageError
        If the model does not exist, or none is named and there are several.
    ModelError
        If there is no such server, it refuses, or the model has no capabilities.
    """
    assert ref.server, "a served model has a server"
    asking = asking or RequestSettings()
    if is_offline(offline) and not is_loopback(ref.server):
        raise ModelError(
            f"{ref.server} is not on this machine, and this run is offline.",
            "Run without --offline (HF_HUB_OFFLINE, PYTEST_BIAS_OFFLINE).",
        )
    client = Client(ref.server, asking, read_key())
    listed = _listed(client, named=bool(ref.name))
    name, entry = (ref.name, {}) if listed is None else chosen(listed, ref.name, ref.server)
    known = _known(client, entry)
    found = Probe(client, name, asking, known).find(chat)
    place = replace(ref, name=shown_name(name))
    length = known.get("max_model_len") or known.get("context_length")
    served = ServedIdentity(
        api="openai",
        model=client.shown(shown_name(name)),
        likelihood=_likelihood(found),
        fingerprint=found.fingerprint,
        owned_by=_text(known.get("owned_by")),
        root=_text(known.get("root")),
        max_length=length if isinstance(length, int) else None,
    )
    identity = ModelIdentity(
        reference=client.shown(place, 300),
        kind=ModelKind.CAUSAL.value,
        architecture="served",
        dtype=UNKNOWN,
        prefix_token=found.beginning,
        served=served,
    )
    return ServedDescription(
        identity=identity,
        kind=ModelKind.CAUSAL,
        capabilities=found.capabilities,
        notices=tuple(_notices(client, found)),
        lacks=found.lacks,
        place=place,
        client=client,
        found=found,
        name=name,
        n_probes=client.posts,
    )


def _listed(client: Client, *, named: bool) -> list[Mapping[str, Any]] | None:
    """Return a server's list of models; None if it has no list and a model is named."""
    where = client.server
    try:
        # A missing server is detected at once, without retries.
        reply = client.ask("/models", retries=min(1, client.asking.retries))
        listed = reply.get("data")
        if isinstance(listed, list):
            return [e for e in listed if isinstance(e, dict) and isinstance(e.get("id"), str)]
        why = "it lists no models"
    except NotServed as error:
        if named:
            return None
        raise ModelError(error.message, error.hint) from None
    except (Refused, Unanswered) as error:
        why = str(error)
    raise ModelError(
        f"{where} is not a usable model server: {why}.",
        "Is it running? The address of an OpenAI-compatible server usually ends in /v1.",
    )


def _known(client: Client, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stable part of a server's entry for a model, cleaned and limited in size."""
    found: dict[str, Any] = {}
    for name in LISTED:
        value = entry.get(name)
        if isinstance(value, dict):
            value = ", ".join(f"{k}={v}" for k, v in sorted(value.items(), key=str))
        if isinstance(value, str):
            # Folders of the server's machine are private.
            found[name] = client.shown(shown_name(value))
        elif isinstance(value, int) and abs(value) < 1 << 53:
            found[name] = value
    return found


def _text(value: object) -> str | None:
    return str(value) if value else None


def _likelihood(found: Found) -> str | None:
    if Capability.LOG_LIKELIHOOD not in found.capabilities:
        return None
    behind = f" behind {found.prefix!r}" if found.prefix else ""
    return f"the text given back by /completions{behind}, places checked"


def _notices(client: Client, found: Found) -> Sequence[str]:
    told = [
        "This model is served: its weights, precision and tokenizer are unknown, and it cannot be "
        "proven later that this model was measured."
    ]
    if why := found.lacks.get(Capability.LOG_LIKELIHOOD):
        told.append(f"There is no likelihood of texts: {why}.")
    if found.repeat_tolerance > 0:
        told.append(
            "The server does not repeat itself exactly: up to "
            f"{found.repeat_tolerance:.2g} nats apart for one token. Another run may yield "
            "slightly different scores, and another digest."
        )
    if client.key and client.server.startswith("http:") and not is_loopback(client.server):
        told.append("The key is sent to the server unencrypted: the address begins with http.")
    told.append(again_in_words(client.again))
    return [text for text in told if text]
