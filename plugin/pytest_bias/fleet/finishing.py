"""The last step of a model: its parts put together, compared, decided and written."""

import json
import math
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pytest_bias.engine.merging import gathered
from pytest_bias.errors import OutputError, ReportError
from pytest_bias.fleet.asks import AGAIN, Ask, Result, Seen
from pytest_bias.fleet.parts import Parts
from pytest_bias.fleet.rows import row_of
from pytest_bias.fleet.sessions import checked_store, key_of, session_of
from pytest_bias.fleet.store import Store
from pytest_bias.records.report import Item, Report
from pytest_bias.reports.folder import DECISION, REPORT, read_report
from pytest_bias.reports.limits import decision_level, limits_of
from pytest_bias.runs.finishing import Finished, finish
from pytest_bias.settings.settings import Settings, from_json


def finished(ask: Ask, seen: Seen, parts: int, base: str | None) -> Result:
    """Put the parts of a model together, write its report, and return its row.

    Parameters
    ----------
    parts : int
        How many there are.
    base : str or None
        Folder below the store that holds the report of its base model.
    """
    store, settings = checked_store(ask), from_json(ask.settings)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before = _fetched(store, base, folder / "base") if base else None
        # Asked again, for what it answered was lost with its machine, it finds what it has written.
        is_there = seen.finished or is_finished(store, seen.folder, seen.key)
        there = _fetched(store, seen.folder, folder / "there") if is_there else None
        # Limits are no part of the key: they are held against the scores anew.
        if there and not (settings.limits or settings.baseline):
            report, (status, code) = there, _decided(store, seen.folder)
        else:
            whole = there or _joined(store, seen, parts, settings)
            baseline = before if settings.baseline else None
            done = _finish(whole, ask, settings, baseline, folder / "own")
            store.put(folder / "own", seen.folder, last=REPORT)
            report, status, code = done.report, done.decision.status, done.exit_code
        if not any(s.status in AGAIN for s in report.suites):
            Parts(store, seen.key).remove()
        row = row_of(
            report,
            asked=ask.asked,
            folder=seen.folder,
            decision=status,
            base=before,
            catalogue=settings.catalogue,
        )
        return Result(row, code)


def is_finished(store: Store, folder: str, key: str) -> bool:
    """Whether the whole report of a run with this key is there."""
    content = store.read(f"{folder}/{REPORT}")
    if content is None:
        return False
    try:
        report = Report.from_json(content.decode())
    except (ReportError, UnicodeDecodeError):
        return False
    mine = report.run.get("key") == key and not report.run.get("interrupted")
    return mine and not any(s.status in AGAIN for s in report.suites)


def _joined(store: Store, seen: Seen, parts: int, settings: Settings) -> Report:
    """Return the report of everything that was measured of a model."""
    place = Parts(store, seen.key)
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
    report = gathered(found, seen.entries, settings.catalogue)
    seconds = math.fsum(m.report.run["cost"]["wall_s"] for m in found)
    # Of all parts together, wherever they were measured.
    cost = {**report.run["cost"], "wall_s": round(seconds, 3)}
    return replace(report, run={**report.run, "cost": cost, "key": seen.key, "parts": parts})


def _finish(
    report: Report, ask: Ask, settings: Settings, baseline: Report | None, out: Path
) -> Finished:
    limits = limits_of(settings)
    entries = [(s.name, s.config, s.language) for s in report.suites]
    level = decision_level(limits, entries, has_baseline=baseline is not None)
    items: Mapping[str, Mapping[str, Item]] = {}
    if settings.with_texts:
        session = session_of(ask)
        key_of(session)
        items = session.items()
    return finish(report, settings, limits, baseline, out, items, level)


def _decided(store: Store, folder: str) -> tuple[str | None, int]:
    """Return what was decided on a report that is there: status and exit code."""
    content = store.read(f"{folder}/{DECISION}")
    plain = json.loads(content) if content else {}
    return plain.get("status"), int(plain.get("exit_code", 0))


def _fetched(store: Store, name: str, folder: Path) -> Report:
    """Read a report with its records from the store."""
    if store.local:
        return read_report(store.local / name)
    store.get(name, folder)
    return read_report(folder)
