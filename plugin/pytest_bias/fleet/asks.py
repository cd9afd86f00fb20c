"""What is asked of a fleet's machines, and what they answer; torch is not needed for that."""

from dataclasses import dataclass, field, replace
from typing import Final

from pytest_bias.fleet.rows import FleetRow
from pytest_bias.records.identity import tool_version
from pytest_bias.records.suite_states import FAILED
from pytest_bias.settings.settings import Settings, to_json

MARK: Final = "fleet.json"
"""File by which a machine knows that it sees the store of the fleet."""
AGAIN: Final = FAILED
"""Statuses that a second run tries again."""


@dataclass(frozen=True)
class Ask:
    """One model, as it is asked for.

    Parameters
    ----------
    asked : str
        The model as the list names it.
    settings : str
        `Settings` as JSON, with this model.
    store : str
        Address of the store.
    mark : str
        What stands in the store's own file.
    """

    asked: str
    settings: str
    store: str
    mark: str

    @classmethod
    def of(cls, asked: str, settings: Settings, store: str, mark: str) -> "Ask":
        """Return what asks for a model with these settings."""
        return cls(asked, to_json(replace(settings, model=asked)), store, mark)


@dataclass(frozen=True)
class Seen:
    """What is known of a model before its weights are read.

    Parameters
    ----------
    key : str
        The run key: digest of all that the scores depend on.
    folder : str
        Its folder below the store.
    reference : str
        Its name in a report.
    parameters : int or None
    width : int
        Bytes of a parameter on a GPU.
    entries : tuple of str
        What will be measured.
    finished : bool
        Whether its report is there, whole.
    served : bool
        Whether a server has it, wherever that is.
    base : Ask or None
        What would measure its base model alike.
    version : str
        Of pytest-bias, where it was looked at.
    """

    key: str
    folder: str
    reference: str
    parameters: int | None
    width: int
    entries: tuple[str, ...]
    finished: bool
    served: bool = False
    base: Ask | None = None
    version: str = field(default_factory=tool_version)


@dataclass(frozen=True)
class Done:
    """An entry of which a part has been measured, or was there already."""

    entry: str
    status: str
    kept: bool


@dataclass(frozen=True)
class Result:
    """What became of a model: its row, and what `run` of it alone would end with."""

    row: FleetRow
    exit_code: int
