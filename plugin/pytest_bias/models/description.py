"""Description of a model before it is loaded, from its files or from its server."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_bias.models.interface import Capability, Model, ModelKind
from pytest_bias.models.reference import ModelRef
from pytest_bias.records.identity import ModelIdentity

UNKNOWN: Final = "unknown"
"""Precision of weights that are unknown."""


def placing(device: str, dtype: str, device_map: str | None, devices: str | None) -> str:
    """Return the given options about devices and precision, in words; empty if there are none."""
    given = {
        "--device": device if device != "auto" else None,
        "--devices": devices,
        "--dtype": dtype if dtype != "auto" else None,
        "--device-map": device_map,
    }
    return " and ".join(f"{flag} {value}" for flag, value in given.items() if value)


@dataclass(frozen=True, kw_only=True)
class Described(ABC):
    """A model that has been described but not loaded.

    Attributes
    ----------
    identity : ModelIdentity
        Identity of the model, as far as it is known without the weights.
    kind : ModelKind
        Kind of the model.
    capabilities : frozenset of Capability
        Queries that it supports.
    languages : tuple of str
        Languages in its model card.
    notices : tuple of str
        Notices for the user before the measurement.
    lacks : mapping of Capability to str
        Reasons for missing capabilities that its kind usually has.
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
        """Reference of the model, as far as it is resolved."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of a classifier's outputs; empty for other kinds."""
        return ()

    @property
    def card(self) -> Mapping[str, Any]:
        """Metadata of the model card; empty if there are none."""
        return {}

    @property
    def own_dtype(self) -> str:
        """Precision in which its weights are stored; empty if unknown."""
        return ""

    @property
    def keeps_answers(self) -> bool:
        """Whether answers stay in the output folder, so that a second run repeats no question."""
        return False

    @property
    @abstractmethod
    def about_chat(self) -> str:
        """Notice for the user if prompts are chat turns."""

    @property
    def about_writing(self) -> str:
        """Notice for the user if the model generates texts; may be empty."""
        return ""

    @abstractmethod
    def chats(self, asked: str, system: str | None = None) -> bool:
        """Whether prompts become chat turns; `asked` is ``auto``, ``on`` or ``off``.

        Raises
        ------
        BiasError
            If a chat is requested, or a system text is to precede the turns, and cannot be.
        """

    @abstractmethod
    def weights_digest(self) -> str | None:
        """Digest of local weights; None if the revision identifies them."""

    @abstractmethod
    def precision(
        self, device: str, dtype: str, device_map: str | None, devices: str | None = None
    ) -> str:
        """Return the precision in which the model would be measured.

        Raises
        ------
        BiasError
            If it cannot be measured on these devices, or in this precision.
        """

    @abstractmethod
    def fetch(self) -> None:
        """Download missing files to this machine, so that several processes can use them."""

    @abstractmethod
    def loaded(self, **how: Any) -> Model:
        """Return the loaded model; `how` are the parameters of `loading.load`."""
