"""What is asked of a fleet's machines, what they answer, and what all of them share."""

import socket
from dataclasses import dataclass, field, replace
from typing import Final

from pytest_bias.config import Settings, from_json, require_model, to_json
from pytest_bias.engine import Session
from pytest_bias.errors import OutputError
from pytest_bias.fleet.store import Store
from pytest_bias.fleet_rows import Row
from pytest_bias.folder import run_key
from pytest_bias.identity import tool_version
from pytest_bias.planning import described_for, plan
from pytest_bias.records import sha256
from pytest_bias.suites import LoadedData

MARK: Final = "fleet.json"
"""File by which a machine knows that it sees the store of the fleet."""
AGAIN: Final = ("error", "inconclusive")
"""Statuses that a second run tries again."""

_KEPT: dict[str, dict[str, LoadedData]] = {}
"""Items that this process has read, by what they depend on: models share them."""


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
    seconds: float
    forwards: int
    kept: bool


@dataclass(frozen=True)
class Result:
    """What became of a model: its row, and what `run` of it alone would end with."""

    row: Row
    exit_code: int


def checked_store(ask: Ask) -> Store:
    """Return the store, if this machine sees the one that the fleet was started with."""
    store = Store(ask.store)
    if store.read(MARK) != ask.mark.encode():
        raise OutputError(
            f"{ask.store} is not the same place on every machine: {socket.gethostname()} does not "
            "see it.",
            "Give a folder that all machines share, or an address: --out s3://bucket/folder",
        )
    return store


def session_of(ask: Ask, device_map: str | None = None) -> Session:
    """Plan a model; items that this process has read before are there."""
    settings = replace(from_json(ask.settings), device_map=device_map)
    # Whether device and precision are there is asked where it is loaded.
    described = described_for(settings, require_model(settings))
    session = Session(plan(described, settings))
    kept = _KEPT.get(_items_key(settings), {})
    session.prepared |= {
        p.entry.id: kept[p.entry.id]
        for p in session.plan.entries
        if p.measure and not p.lacks and p.entry.id in kept
    }
    return session


def key_of(session: Session, expected: str | None = None) -> str:
    """Return the run key; the items that it needs stay with this process."""
    key = expected or run_key(session.depends_on())
    kept = _KEPT.setdefault(_items_key(session.settings), {})
    kept |= {n: d for n, d in session.prepared.items() if isinstance(d, LoadedData)}
    return key


def _items_key(settings: Settings) -> str:
    """Return a digest of what decides which items are read."""
    return sha256(to_json(replace(settings, model=None, baseline=None, fresh=False)))
