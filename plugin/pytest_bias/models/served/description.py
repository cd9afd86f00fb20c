"""A served model as it is known before anything is measured: what its server says and answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pytest_bias.environment import is_offline
from pytest_bias.errors import ModelError, UsageError
from pytest_bias.models.description import Described
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

UNKNOWN: Final = "unknown"
"""Precision of weights that nobody here has seen."""

LISTED: Final = ("owned_by", "root", "parent", "max_model_len", "context_length", "meta")
"""What servers list of a model and does not change from request to request."""


@dataclass(frozen=True, kw_only=True)
class ServedDescription(Described):
    """A model behind a server."""

    place: ModelRef
    client: Client
    found: Found
    name: str
    """Name by which the server knows the model."""

    @property
    def ref(self) -> ModelRef:
        """The address with the model's name."""
        return self.place

    @property
    def about_chat(self) -> str:
        """Whose template prompts are put into."""
        return (
            "Prompts are a user's turns, by the server's own chat template, which cannot be seen "
            "from here. --chat off continues them as plain text."
        )

    @property
    def about_writing(self) -> str:
        """Whose sampler chooses tokens."""
        told = "What the model writes depends on the sampler of its server"
        if self.found.plain:
            return f"{told}."
        return f"{told}, which cannot be told to leave out top-k and penalties."

    def chats(self, asked: str) -> bool:
        """Whether prompts become turns of a chat: where the server has answered one."""
        return self.found.chat and asked != "off"

    def weights_digest(self) -> str | None:
        """Digest of what the server said and answered, in place of weights that nobody has seen."""
        return self.found.fingerprint

    def precision(
        self, device: str, dtype: str, device_map: str | None, devices: str | None = None
    ) -> str:
        """Return that it is not known; where a model runs is for its server to say."""
        given = {
            "--device": device if device != "auto" else None,
            "--devices": devices,
            "--dtype": dtype if dtype != "auto" else None,
            "--device-map": device_map,
        }
        if named := [f"{flag} {value}" for flag, value in given.items() if value]:
            raise UsageError(
                f"{' and '.join(named)} with a served model: where it runs, and in which "
                "precision, is for its server to say.",
                "Leave it out, and start the server so.",
            )
        return UNKNOWN

    def fetch(self) -> None:
        """Fetch nothing: the weights stay where they are."""

    def loaded(self, **how: Any) -> Model:
        """Return the model; there is nothing to load."""
        self.precision(how["device"], how["dtype"], how["device_map"])
        model = ServedModel(self.identity, self.capabilities, self.client, self.name, self.found)
        model.chat = self.chats(how["chat"])
        return model


def describe_served(
    ref: ModelRef,
    *,
    offline: bool = False,
    asking: RequestSettings | None = None,
    chat: str = "auto",
) -> ServedDescription:
    """Ask a server which models it has and what can be asked of one.

    Raises
    ------
    UsageError
        If there is no such model, or several and none is named.
    ModelError
        If there is no such server, it refuses, or nothing can be asked of the model.
    """
    assert ref.server, "a served model has a server"
    asking = asking or RequestSettings()
    if is_offline(offline) and not is_loopback(ref.server):
        raise ModelError(
            f"{ref.server} is not on this machine, and the network is not to be used.",
            "Without --offline (HF_HUB_OFFLINE, PYTEST_BIAS_OFFLINE) it is asked.",
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
    )


def _listed(client: Client, *, named: bool) -> list[Mapping[str, Any]] | None:
    """Return what a server lists of its models; null if it has no list and a model is named."""
    where = client.server
    try:
        # Whether anybody is there is known at once.
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
        f"{where} is no server of models that could be asked: {why}.",
        "Is it there? The address of an OpenAI-compatible server mostly ends in /v1.",
    )


def _known(client: Client, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a server lists of a model, as far as it stays, clean and in bounds."""
    found: dict[str, Any] = {}
    for name in LISTED:
        value = entry.get(name)
        if isinstance(value, dict):
            value = ", ".join(f"{k}={v}" for k, v in sorted(value.items(), key=str))
        if isinstance(value, str):
            # A folder of the machine that serves it is nobody's business.
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
        "This model is served: its weights, precision and tokenizer are not known, and nobody can "
        "prove later that it was this one."
    ]
    if why := found.lacks.get(Capability.LOG_LIKELIHOOD):
        told.append(f"There is no likelihood of texts: {why}.")
    if found.repeat_tolerance > 0:
        told.append(
            "The server does not repeat itself exactly: up to "
            f"{found.repeat_tolerance:.2g} nats apart for one token. Another run may give slightly "
            "other scores, and another digest."
        )
    if client.key and client.server.startswith("http:") and not is_loopback(client.server):
        told.append("The key goes to the server unencrypted: the address begins with http.")
    told.append(again_in_words(client.again))
    return [text for text in told if text]
