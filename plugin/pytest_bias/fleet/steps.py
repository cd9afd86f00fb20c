"""The first steps of a model: it is looked at, and its parts are measured.

Each step is a function of what it is asked and of the store, so it can be done on any machine, and
again: what the store has is not measured a second time. A step returns plain values and raises
`BiasError` for what is about the model.
"""

from collections.abc import Iterator
from dataclasses import replace

from pytest_bias.engine.merging import Measured
from pytest_bias.engine.planning import Planned
from pytest_bias.engine.run_forecast import expected
from pytest_bias.engine.session import Session
from pytest_bias.errors import BiasError
from pytest_bias.fleet.asks import AGAIN, Ask, Done, Result, Seen
from pytest_bias.fleet.finishing import finished, is_finished
from pytest_bias.fleet.needs import PART_S, n_parts
from pytest_bias.fleet.parts import Parts
from pytest_bias.fleet.sessions import checked_store, key_of, session_of
from pytest_bias.records.report import Part
from pytest_bias.reports.folder import default_folder
from pytest_bias.runs.baselines import base_of, settings_for
from pytest_bias.suites.suite import LoadedData


def look(ask: Ask) -> Seen:
    """Find out what a model is, what will be measured, and what is there already."""
    store = checked_store(ask)
    session = session_of(ask)
    key = key_of(session)
    about = session.plan.model
    place = Parts(store, key)
    folder = default_folder(about.identity.reference, key).name
    if session.settings.fresh:
        store.remove(place.root)
        store.remove(folder)
    return Seen(
        key=key,
        folder=folder,
        reference=about.identity.reference,
        parameters=about.identity.parameters,
        width=_width(session),
        served=bool(about.identity.asked),
        entries=tuple(p.entry.id for p in session.plan.entries),
        finished=is_finished(store, folder, key),
        base=_base(session, ask),
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
        self.place = Parts(checked_store(ask), seen.key)
        self.session = session_of(ask, device_map)
        if self.place.store.local:
            self.session.unfinished = self.place.store.local / self.place.root / "answers"

    def parts(self, *, shared: bool = True) -> int:
        """Settle in how many parts the model is measured; the same ever after.

        Where it is `shared` among processes, a forecast decides; else there is one.
        """
        found = self.place.number
        if found is None:
            found = self._forecast() if shared else 1
            self.place.settle(found)
        return found

    def _forecast(self) -> int:
        session = self.session
        ready = [p for p in session.plan.entries if isinstance(session.prepare(p), LoadedData)]
        if not ready:
            return 1
        _ = session.model
        seconds = sum(e.seconds or 0.0 for e in expected(session, ready))
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
            found = self.place.read(part, entry)
            is_kept = found is not None and found.report.suites[0].status not in AGAIN
            if found is None or not is_kept:
                if isinstance(session.prepare(planned), LoadedData):
                    # One that cannot be loaded is no result of a suite.
                    _ = session.model
                found = self._measured(planned, number)
                self.place.write(part, entry, found)
            yield Done(entry, found.report.suites[0].status, is_kept)

    def finish(self, parts: int) -> Result:
        """Put all parts together, with nothing to compare with."""
        return finished(self.ask, self.seen, parts, None)

    def _measured(self, planned: Planned, part: Part | None) -> Measured:
        """Measure one entry, and return it as if nothing else had been."""
        session, entry = self.session, planned.entry.id
        result = session.measure(planned, part)
        (of,) = [p for p, s in session.measured() if s is result]
        whole = session.report(only_measured=True)
        spent = session.costs.get(entry, {})
        nothing = dict.fromkeys(("wall_s", "model_s", "tokens", "forwards"), 0)
        suites_cost = {entry: spent} if spent else {}
        cost = {**nothing, **spent, "energy_kwh": None, "co2e_g": None, "suites": suites_cost}
        suites = tuple(s for s in whole.suites if s.entry == entry)[-1:]
        report = replace(
            whole, suites=suites, run={**whole.run, "cost": cost}
        ).without_hidden_records()
        return Measured(report, (of,), {entry: session.schedule.sampled.get(entry)})


def _base(session: Session, ask: Ask) -> Ask | None:
    """Return what asks for the base model, to be measured alike; null if none is named."""
    try:
        ref = base_of(session.plan.model)
        settings = settings_for(session.plan, ref)
    except BiasError:
        return None
    settings = replace(settings, fleet=session.settings.fleet, baseline=None)
    return Ask.of(ref.argument, settings, ask.store, ask.mark)


def _width(session: Session) -> int:
    """Return the bytes of a parameter on a GPU."""
    widths = {"float32": 4, "tf32": 4, "bfloat16": 2, "float16": 2}
    asked = session.settings.dtype
    return widths.get(session.plan.model.own_dtype if asked == "auto" else asked, 4)
