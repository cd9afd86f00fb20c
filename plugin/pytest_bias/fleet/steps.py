"""What a fleet does with one model: look at it, measure parts of it, finish its report.

Each step is a function of what it is asked and of the store, so it can be done on any machine, and
again: what the store has is not measured a second time. A step returns plain values and raises
`BiasError` for what is about the model.
"""

import gzip
import json
import math
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pytest_bias.baselines import base_of, settings_for
from pytest_bias.config import Settings, from_json, require_model, to_json
from pytest_bias.engine import Session
from pytest_bias.errors import BiasError, OutputError, ReportError
from pytest_bias.events import Listener, ignore
from pytest_bias.fleet.needs import PART_S, n_parts
from pytest_bias.fleet.store import Store
from pytest_bias.fleet_rows import Row, row_of
from pytest_bias.folder import DECISION, REPORT, UNFINISHED, default_folder, read_report, run_key
from pytest_bias.hidden_results import to_leave
from pytest_bias.identity import tool_version
from pytest_bias.limits import decision_level, read_limits
from pytest_bias.merging import Measured, gathered
from pytest_bias.models import ModelRef, Trust, describe
from pytest_bias.planning import Planned, plan
from pytest_bias.records import Item, Part, Report, sha256
from pytest_bias.run import Finished, finish
from pytest_bias.suite_files import with_files
from pytest_bias.suites import LoadedData

MARK: Final = "fleet.json"
"""File by which a machine knows that it sees the store of the fleet."""
PARTS: Final = "parts.json"
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
    parts : int or None
        In how many parts it is measured; null if that has not been settled.
    finished : bool
        Whether its report is there, whole.
    base : Ask or None
        What would measure its base model alike.
    base_reason : str
        Why there is none.
    version : str
        Of pytest-bias, where it was looked at.
    """

    key: str
    folder: str
    reference: str
    parameters: int | None
    width: int
    entries: tuple[str, ...]
    parts: int | None
    finished: bool
    base: Ask | None = None
    base_reason: str = ""
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


@dataclass
class _Place:
    """Where the parts of one model lie in the store."""

    store: Store
    key: str

    @property
    def root(self) -> str:
        return f"{UNFINISHED}/{self.key[:32]}"

    @property
    def parts(self) -> int | None:
        content = self.store.read(f"{self.root}/{PARTS}")
        with suppress(ValueError, TypeError):
            return int(json.loads(content)["parts"]) if content else None
        return None

    def settle(self, number: int) -> None:
        self.store.write(f"{self.root}/{PARTS}", json.dumps({"parts": number}).encode())

    def _name(self, part: Part, entry: str) -> str:
        return f"{self.root}/{part[0]}-of-{part[1]}/{entry}.json.gz"

    def read(self, part: Part, entry: str) -> Measured | None:
        """Return what was measured of an entry, null if nothing whole is there."""
        content = self.store.read(self._name(part, entry))
        if content is None:
            return None
        with suppress(OSError, EOFError, ValueError, KeyError, TypeError, ReportError):
            return Measured.from_json(gzip.decompress(content).decode())
        return None

    def write(self, part: Part, entry: str, found: Measured) -> None:
        packed = gzip.compress(found.to_json().encode(), compresslevel=3, mtime=0)
        self.store.write(self._name(part, entry), packed)


def look(ask: Ask) -> Seen:
    """Find out what a model is, what will be measured, and what is there already."""
    store = _checked(ask)
    session = _session(ask)
    key = _key(session)
    about = session.plan.model
    place = _Place(store, key)
    folder = default_folder(about.identity.reference, key).name
    if session.settings.fresh:
        store.remove(place.root)
        store.remove(folder)
    base, why = _base(session, ask)
    return Seen(
        key=key,
        folder=folder,
        reference=about.identity.reference,
        parameters=about.identity.parameters,
        width=_width(session),
        entries=tuple(p.entry.id for p in session.plan.entries),
        parts=place.parts,
        finished=_is_finished(store, folder, key),
        base=base,
        base_reason=why,
    )


class Bench:
    """One model, loaded when it is first needed, and the parts of it that are measured.

    Parameters
    ----------
    ask : Ask
        The model.
    seen : Seen
        What `look` found.
    device_map : str, optional
        ``auto`` where the model is spread over several GPUs.
    """

    def __init__(self, ask: Ask, seen: Seen, device_map: str | None = None) -> None:
        self.ask, self.seen = ask, seen
        self.place = _Place(_checked(ask), seen.key)
        self.listener: Listener = ignore
        self.session = _session(ask, lambda event: self.listener(event), device_map)
        _key(self.session, seen.key)
        if self.place.store.local:
            self.session.unfinished = self.place.store.local / self.place.root / "answers"

    def parts(self, *, shared: bool = True) -> int:
        """Settle in how many parts the model is measured; the same ever after.

        Where it is `shared` among processes, a forecast decides; else there is one.
        """
        found = self.place.parts
        if found is None:
            found = self._forecast() if shared else 1
            self.place.settle(found)
        return found

    def _forecast(self) -> int:
        session = self.session
        ready = [p for p in session.plan.entries if isinstance(session.prepare(p), LoadedData)]
        if not ready:
            return 1
        try:
            expected = session.expected(ready)
        except BiasError:
            # The model cannot be loaded: that is every entry's result.
            return 1
        seconds = sum(e.seconds or 0.0 for e in expected)
        n_clusters = max(
            (
                len({i.cluster for i in d.items})
                for d in map(session.prepare, ready)
                if isinstance(d, LoadedData)
            ),
            default=1,
        )
        return n_parts(seconds, n_clusters, session.settings.fleet.get("part", PART_S))

    def measure(self, part: Part) -> Iterator[Done]:
        """Measure a part of every entry; yields as many times as there are entries, in order."""
        session, number = self.session, part if part[1] > 1 else None
        for planned in session.plan.entries:
            entry = planned.entry.id
            kept = self.place.read(part, entry)
            result = kept.report.suites[0] if kept else None
            if kept and result and result.status not in AGAIN:
                cost = kept.report.run["cost"]
                yield Done(entry, result.status, cost["wall_s"], cost["forwards"], True)
                continue
            found = self._measured(planned, number)
            self.place.write(part, entry, found)
            cost = found.report.run["cost"]
            yield Done(
                entry, found.report.suites[0].status, cost["wall_s"], cost["forwards"], False
            )

    def finish(self, parts: int) -> Result:
        """Put all parts together, with nothing to compare with."""
        return finished(self.ask, self.seen, parts, None)

    def _measured(self, planned: Planned, part: Part | None) -> Measured:
        """Measure one entry, and return it as if nothing else had been."""
        session, entry = self.session, planned.entry.id
        n_notices = len(session.notices)
        result = session.measure(planned, part)
        (of,) = [p for p, s in session.measured() if s is result]
        whole = session.report(only_measured=True)
        spent = session.costs.get(entry, {})
        nothing = dict.fromkeys(("wall_s", "model_s", "tokens", "forwards"), 0)
        notices = [*session.plan.notices, *session.notices[n_notices:]]
        cost = {**nothing, **spent, "energy_kwh": None, "co2e_g": None}
        report = to_leave(
            replace(
                whole,
                suites=tuple(s for s in whole.suites if s.entry == entry)[-1:],
                run={
                    **whole.run,
                    "cost": {**cost, "suites": {entry: spent} if spent else {}},
                    "notices": [n for n in whole.run["notices"] if n in notices] or notices,
                },
            )
        )
        return Measured(report, (of,), {entry: session.schedule.sampled.get(entry)})


def finished(ask: Ask, seen: Seen, parts: int, base: str | None) -> Result:
    """Put the parts of a model together, write its report, and return its row.

    Parameters
    ----------
    parts : int
        How many there are.
    base : str or None
        Folder below the store that holds the report of its base model.
    """
    store, settings = _checked(ask), from_json(ask.settings)
    with_files(settings.suites)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before = _fetched(store, base, folder / "base") if base else None
        there = _fetched(store, seen.folder, folder / "there") if seen.finished else None
        # Limits are no part of the key: they are held against the scores anew.
        if there and not (settings.limits or settings.baseline):
            report, (status, code) = there, _decided(store, seen.folder)
        else:
            whole = there or _joined(store, seen, parts)
            baseline = before if settings.baseline else None
            done = _finish(whole, ask, settings, baseline, folder / "own")
            store.put(folder / "own", seen.folder, last=REPORT)
            report, status, code = done.report, done.decision.status, done.exit_code
        if not any(s.status in AGAIN for s in report.suites):
            store.remove(_Place(store, seen.key).root)
            if store.local:
                with suppress(OSError):
                    (store.local / UNFINISHED).rmdir()
        row = row_of(report, asked=ask.asked, folder=seen.folder, decision=status, base=before)
        return Result(row, code)


def _joined(store: Store, seen: Seen, parts: int) -> Report:
    """Return the report of everything that was measured of a model."""
    place = _Place(store, seen.key)
    found = []
    for part in ((n, parts) for n in range(1, parts + 1)):
        for entry in seen.entries:
            measured = place.read(part, entry)
            if measured is None:
                raise OutputError(
                    f"{store.path(place.root)}: part {part[0]} of {parts} of {entry} is gone.",
                    "The same command measures it again.",
                )
            found.append(measured)
    report = gathered(found, seen.entries)
    seconds = math.fsum(m.report.run["cost"]["wall_s"] for m in found)
    # Of all parts together, wherever they were measured.
    cost = {**report.run["cost"], "wall_s": round(seconds, 3)}
    return replace(report, run={**report.run, "cost": cost, "key": seen.key, "parts": parts})


def _finish(
    report: Report, ask: Ask, settings: Settings, baseline: Report | None, out: Path
) -> Finished:
    limits = read_limits(settings.limits)
    entries = [(s.name, s.config, s.language) for s in report.suites]
    level = decision_level(limits, entries, has_baseline=baseline is not None)
    items: Mapping[str, Mapping[str, Item]] = {}
    if settings.with_texts:
        session = _session(ask)
        _key(session)
        items = session.items()
    return finish(report, settings, limits, baseline, out, items, level)


def _decided(store: Store, folder: str) -> tuple[str | None, int]:
    """Return what was decided on a report that is there: status and exit code."""
    content = store.read(f"{folder}/{DECISION}")
    plain = json.loads(content) if content else {}
    return plain.get("status"), int(plain.get("exit_code", 0))


def _checked(ask: Ask) -> Store:
    """Return the store, if this machine sees the one that the fleet was started with."""
    store = Store(ask.store)
    if store.read(MARK) != ask.mark.encode():
        raise OutputError(
            f"{ask.store} is not the same place on every machine: {_host()} does not see it.",
            "Give a folder that all machines share, or an address: --out s3://bucket/folder",
        )
    return store


def _session(ask: Ask, listener: Listener = ignore, device_map: str | None = None) -> Session:
    settings = replace(from_json(ask.settings), device_map=device_map)
    trust = Trust(settings.allow_pickle, settings.trust_remote_code)
    # Whether device and precision are there is asked where it is loaded.
    described = describe(
        ModelRef.parse(require_model(settings)), offline=settings.offline, trust=trust
    )
    session = Session(plan(described, settings), listener)
    kept = _KEPT.get(_items_key(settings), {})
    session.prepared |= {
        p.entry.id: kept[p.entry.id]
        for p in session.plan.entries
        if p.measure and not p.lacks and p.entry.id in kept
    }
    return session


def _key(session: Session, expected: str | None = None) -> str:
    """Return the run key; the items that it needs stay with this process."""
    key = expected or run_key(session.depends_on())
    kept = _KEPT.setdefault(_items_key(session.settings), {})
    kept |= {n: d for n, d in session.prepared.items() if isinstance(d, LoadedData)}
    return key


def _items_key(settings: Settings) -> str:
    """Return a digest of what decides which items are read."""
    return sha256(to_json(replace(settings, model=None, baseline=None, fresh=False)))


def _base(session: Session, ask: Ask) -> tuple[Ask | None, str]:
    try:
        ref = base_of(session.plan.model)
        settings = settings_for(session.plan, ref)
    except BiasError as error:
        return None, error.message
    settings = replace(settings, fleet=session.settings.fleet, baseline=None)
    return Ask.of(ref.argument, settings, ask.store, ask.mark), ""


def _width(session: Session) -> int:
    """Return the bytes of a parameter on a GPU."""
    widths = {"float32": 4, "tf32": 4, "bfloat16": 2, "float16": 2}
    asked = session.settings.dtype
    own = str(getattr(session.plan.model.config, "dtype", "")).rpartition(".")[2]
    return widths.get(own if asked == "auto" else asked, 4)


def _is_finished(store: Store, folder: str, key: str) -> bool:
    content = store.read(f"{folder}/{REPORT}")
    if content is None:
        return False
    try:
        report = Report.from_json(content.decode())
    except (ReportError, UnicodeDecodeError):
        return False
    mine = report.run.get("key") == key and not report.run.get("interrupted")
    return mine and not any(s.status in AGAIN for s in report.suites)


def _fetched(store: Store, name: str, folder: Path) -> Report:
    """Read a report with its records from the store."""
    if store.local:
        return read_report(store.local / name)
    store.get(name, folder)
    return read_report(folder)


def _host() -> str:
    import socket

    return socket.gethostname()
