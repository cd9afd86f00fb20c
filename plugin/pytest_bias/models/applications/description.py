"""Description of an application before the measurement, from its function or its mapping."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from pytest_bias.environment import is_offline
from pytest_bias.errors import ModelError, UsageError
from pytest_bias.models.applications.calls import Calls
from pytest_bias.models.applications.function import Function, find
from pytest_bias.models.applications.http import fingerprint_of, requests_to
from pytest_bias.models.applications.model import IGNORES_LIMIT, ApplicationModel
from pytest_bias.models.applications.name import DEMO_CHAT, target
from pytest_bias.models.applications.transport import Transport
from pytest_bias.models.description import UNKNOWN, Described, placing
from pytest_bias.models.interface import Capability, Model, ModelKind
from pytest_bias.models.reference import ModelRef
from pytest_bias.models.served.address import is_loopback
from pytest_bias.models.served.settings import RequestSettings, settings_for
from pytest_bias.records.identity import ApplicationIdentity, ModelIdentity

NO_PROBABILITIES: Final = "an application returns text, no probabilities"

NOT_PROVEN: Final = (
    "This model is an application: what it asks in turn is not known here, and it cannot be "
    "proven later that this model was measured."
)
UNSEEDED: Final = (
    "The application takes no seed: another run may yield other texts, and another digest."
)

LACKS: Final[Mapping[Capability, str]] = dict.fromkeys(
    (Capability.LOG_LIKELIHOOD, Capability.BRANCH, Capability.NEXT, Capability.CHOOSE),
    NO_PROBABILITIES,
)
"""What models that generate texts usually can, and an application cannot."""


@dataclass(frozen=True, kw_only=True)
class ApplicationDescription(Described):
    """An application that answers prompts."""

    place: ModelRef
    known_by: str
    """Fingerprint of what is known to determine its answers."""
    transport: Callable[[], Transport]
    concurrency: int

    @property
    def ref(self) -> ModelRef:
        """The function's name, or the address."""
        return self.place

    @property
    def keeps_answers(self) -> bool:
        """Whether answers stay in the output folder: every call may be paid for."""
        return True

    @property
    def about_chat(self) -> str:
        """Notice that prompts are passed unchanged."""
        return "Prompts are passed to the application as they are; it answers as in a chat."

    @property
    def about_writing(self) -> str:
        """Notice that its length cannot be limited."""
        return IGNORES_LIMIT

    def chats(self, asked: str, system: str | None = None) -> bool:
        """Return true: an application answers.

        Raises
        ------
        UsageError
            If prompts shall be continued as plain texts.
        """
        if asked == "off":
            raise UsageError(
                f"--chat off with {self.place}: an application answers prompts, it does not "
                "continue texts.",
                "Leave it out.",
            )
        return True

    def weights_digest(self) -> str | None:
        """Fingerprint of function or mapping, in place of a digest of weights."""
        return self.known_by

    def precision(
        self, device: str, dtype: str, device_map: str | None, devices: str | None = None
    ) -> str:
        """Return that it is unknown; the application decides where its models run."""
        if named := placing(device, dtype, device_map, devices):
            raise UsageError(
                f"{named} with an application: it decides by itself where its models run.",
                "Leave it out.",
            )
        return UNKNOWN

    def fetch(self) -> None:
        """Do nothing: there are no weights."""

    def loaded(self, **how: Any) -> Model:
        """Return the model; a function is imported already."""
        self.precision(how["device"], how["dtype"], how["device_map"])
        model = ApplicationModel(
            self.identity, self.capabilities, self.transport(), self.concurrency
        )
        model.system = how["system"]
        model.chat = self.chats(how["chat"], model.system)
        return model


def describe_application(
    ref: ModelRef, *, asking: RequestSettings | None = None
) -> ApplicationDescription:
    """Import the function of an application.

    Raises
    ------
    UsageError
        If there is no such function, or it takes no prompt.
    ModelError
        If the import of its module raises.
    """
    function = find(*target(ref.name), str(ref))
    asking = asking or settings_for({}, calls_code=True)
    known = ApplicationIdentity(
        fingerprint=function.fingerprint,
        module=function.module,
        function=function.name,
        distribution=function.distribution,
        seeded="seed" in function.accepts,
    )
    return _described(
        ref,
        known,
        _notices(ref, function),
        partial(Calls, function, asking),
        asking.concurrency,
        code_sha256=function.code_sha256,
    )


def describe_http(
    ref: ModelRef,
    mapping: Mapping[str, Any],
    *,
    offline: bool = False,
    asking: RequestSettings | None = None,
) -> ApplicationDescription:
    """Read how an application behind HTTP is asked; no request is made.

    Raises
    ------
    UsageError
        If there is no mapping, or a variable of the environment that it names is not set.
    ModelError
        If it is not on this machine, and the run is offline.
    """
    asking, url = asking or settings_for({}), ref.name
    is_here = is_loopback(url)
    if is_offline(offline) and not is_here:
        raise ModelError(
            f"{url} is not on this machine, and this run is offline.",
            "Run without --offline (HF_HUB_OFFLINE, PYTEST_BIAS_OFFLINE).",
        )
    transport = requests_to(url, mapping, asking)
    known = ApplicationIdentity(
        fingerprint=fingerprint_of(url, mapping),
        seeded="seed" in transport.accepts,
        url=url,
        method=mapping.get("method", "POST"),
    )
    told = [NOT_PROVEN]
    if not known.seeded:
        told.append(UNSEEDED)
    if transport.client.secrets and url.startswith("http:") and not is_here:
        told.append("Keys are sent to the application unencrypted: the address begins with http.")

    # Each model has a client of its own: one that was stopped stays so.
    def anew() -> Transport:
        return requests_to(url, mapping, asking)

    return _described(ref, known, told, anew, asking.concurrency)


def _described(
    ref: ModelRef,
    known: ApplicationIdentity,
    notices: Sequence[str],
    transport: Callable[[], Transport],
    concurrency: int,
    *,
    code_sha256: str | None = None,
) -> ApplicationDescription:
    identity = ModelIdentity(
        reference=str(ref),
        kind=ModelKind.APPLICATION.value,
        architecture="application",
        dtype=UNKNOWN,
        code_sha256=code_sha256,
        application=known,
    )
    return ApplicationDescription(
        identity=identity,
        kind=ModelKind.APPLICATION,
        capabilities=ModelKind.APPLICATION.facts.capabilities | {Capability.OPEN_VOCABULARY},
        notices=tuple(notices),
        lacks=LACKS,
        place=ref,
        known_by=known.fingerprint,
        transport=transport,
        concurrency=concurrency,
    )


def _notices(ref: ModelRef, function: Function) -> list[str]:
    if ref.name == DEMO_CHAT:
        return [
            f"{DEMO_CHAT} is no language model: it answers by rules, with planted numbers, to show "
            "what a run looks like and to test suites."
        ]
    told = [NOT_PROVEN]
    if "seed" not in function.accepts:
        told.append(UNSEEDED)
    if function.code_sha256 is None:
        told.append(
            "The application's source cannot be read: answers of an earlier run are used again "
            "even if it has changed. --fresh starts over."
        )
    return told
