"""What every step begins with: the store, and a model planned for, on whichever machine."""

import socket
from dataclasses import replace

from pytest_bias.engine.planning import described_for, plan
from pytest_bias.engine.session import Session
from pytest_bias.errors import OutputError
from pytest_bias.fleet.asks import MARK, Ask
from pytest_bias.fleet.store import Store
from pytest_bias.records.report import sha256
from pytest_bias.reports.folder import run_key
from pytest_bias.settings.settings import Settings, from_json, require_model, to_json
from pytest_bias.suites.suite import LoadedData

_KEPT: dict[str, dict[str, LoadedData]] = {}
"""Items that this process has read, by what they depend on: models share them."""


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


def key_of(session: Session) -> str:
    """Return the run key; the items that it needs stay with this process."""
    key = run_key(session.depends_on())
    kept = _KEPT.setdefault(_items_key(session.settings), {})
    kept |= {n: d for n, d in session.prepared.items() if isinstance(d, LoadedData)}
    return key


def _items_key(settings: Settings) -> str:
    """Return a digest of what decides which items are read."""
    return sha256(to_json(replace(settings, model=None, baseline=None, fresh=False)))
