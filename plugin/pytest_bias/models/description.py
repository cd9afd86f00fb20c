"""What is known of a model before it is loaded, whatever it is: files, or an answer of a server."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_bias.models.interface import Capability, Model, ModelKind
from pytest_bias.models.reference import ModelRef
from pytest_bias.records.identity import ModelIdentity


@dataclass(frozen=True, kw_only=True)
class Described(ABC):
    """A model that can be planned for and loaded.

    Attributes
    ----------
    identity : ModelIdentity
        What exactly will be measured, as far as that is known without its weights.
    kind : ModelKind
        What it was made for.
    capabilities : frozenset of Capability
        What a suite can ask of it.
    languages : tuple of str
        Those that its card names.
    notices : tuple of str
        What a user should know before it is measured.
    lacks : mapping of Capability to str
        Why something cannot be asked that its kind has.
    """

    identity: ModelIdentity
    kind: ModelKind
    capabilities: frozenset[Capability]
    languages: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    lacks: Mapping[Capability, str] = field(default_factory=dict)

    @property
    @abstractmethod
    def ref(self) -> ModelRef:
        """Name of the model, as far as it is resolved."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of a classifier's outputs; empty for other kinds."""
        return ()

    @property
    def card(self) -> Mapping[str, Any]:
        """Metadata of the model's card; empty if there are none."""
        return {}

    @property
    def own_dtype(self) -> str:
        """Precision in which its weights are stored; empty if that is not known."""
        return ""

    @property
    @abstractmethod
    def about_chat(self) -> str:
        """What a user should know where prompts are turns of a chat."""

    @property
    def about_writing(self) -> str:
        """What a user should know where the model writes texts; empty if that is nothing."""
        return ""

    @abstractmethod
    def chats(self, asked: str) -> bool:
        """Whether prompts become turns of a chat; `asked` is ``auto``, ``on`` or ``off``."""

    @abstractmethod
    def weights_digest(self) -> str | None:
        """Digest of weights that are at hand; null where the revision serves."""

    @abstractmethod
    def precision(
        self, device: str, dtype: str, device_map: str | None, devices: str | None = None
    ) -> str:
        """Return the precision in which it would be measured.

        Raises
        ------
        BiasError
            If it cannot be measured on these devices, or in this precision.
        """

    @abstractmethod
    def fetch(self) -> None:
        """Bring what is missing to this machine, so that several processes find it there."""

    @abstractmethod
    def loaded(self, **how: Any) -> Model:
        """Return the model, ready to be asked; `how` as for `loading.load`."""
