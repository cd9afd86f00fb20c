"""Description of an application before the measurement, from its function."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pytest_bias.errors import UsageError
from pytest_bias.models.applications.function import Function, find
from pytest_bias.models.applications.model import IGNORES_LIMIT, ApplicationModel
from pytest_bias.models.applications.name import DEMO_CHAT, target
from pytest_bias.models.description import UNKNOWN, Described, placing
from pytest_bias.models.interface import Capability, Model, ModelKind
from pytest_bias.models.reference import ModelRef
from pytest_bias.models.served.settings import RequestSettings, settings_for
from pytest_bias.records.identity import ApplicationIdentity, ModelIdentity

NO_PROBABILITIES: Final = "an application returns text, no probabilities"

LACKS: Final[Mapping[Capability, str]] = dict.fromkeys(
    (Capability.LOG_LIKELIHOOD, Capability.BRANCH, Capability.NEXT, Capability.CHOOSE),
    NO_PROBABILITIES,
)
"""What models that generate texts usually can, and an application cannot."""


@dataclass(frozen=True, kw_only=True)
class ApplicationDescription(Described):
    """A function that answers prompts."""

    place: ModelRef
    function: Function
    asking: RequestSettings

    @property
    def ref(self) -> ModelRef:
        """The function's name."""
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
        """Fingerprint of the function, in place of a digest of weights."""
        return self.function.fingerprint

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
        """Do nothing: the function is imported already."""

    def loaded(self, **how: Any) -> Model:
        """Return the model; the function is imported already."""
        self.precision(how["device"], how["dtype"], how["device_map"])
        model = ApplicationModel(self.identity, self.capabilities, self.function, self.asking)
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
    known = ApplicationIdentity(
        module=function.module,
        function=function.name,
        fingerprint=function.fingerprint,
        distribution=function.distribution,
        seeded="seed" in function.accepts,
    )
    identity = ModelIdentity(
        reference=str(ref),
        kind=ModelKind.APPLICATION.value,
        architecture="application",
        dtype=UNKNOWN,
        code_sha256=function.code_sha256,
        application=known,
    )
    return ApplicationDescription(
        identity=identity,
        kind=ModelKind.APPLICATION,
        capabilities=ModelKind.APPLICATION.facts.capabilities | {Capability.OPEN_VOCABULARY},
        notices=tuple(_notices(ref, function)),
        lacks=LACKS,
        place=ref,
        function=function,
        asking=asking or settings_for(ref.source, {}),
    )


def _notices(ref: ModelRef, function: Function) -> list[str]:
    if ref.name == DEMO_CHAT:
        return [
            f"{DEMO_CHAT} is no language model: it answers by rules, with planted numbers, to show "
            "what a run looks like and to test suites."
        ]
    told = [
        "This model is an application: what it asks in turn is not known here, and it cannot be "
        "proven later that this model was measured."
    ]
    if "seed" not in function.accepts:
        told.append(
            "The application takes no seed: another run may yield other texts, and another digest."
        )
    if function.code_sha256 is None:
        told.append(
            "The application's source cannot be read: answers of an earlier run are used again "
            "even if it has changed. --fresh starts over."
        )
    return told
