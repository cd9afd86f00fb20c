"""Merging of reports of parts of one run into one report."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from pytest_bias.engine.allowance import summed
from pytest_bias.engine.isolation import failed
from pytest_bias.errors import BiasError, ReportError
from pytest_bias.models.devices import in_words
from pytest_bias.records.identity import ModelIdentity
from pytest_bias.records.report import (
    Part,
    Record,
    Report,
    SuiteResult,
    items_digest,
    records_digest,
)
from pytest_bias.records.suite_states import FAILED
from pytest_bias.scoring.families import with_decision_family
from pytest_bias.suites.catalogue import INSTALLED, Catalogue
from pytest_bias.suites.results import scored
from pytest_bias.suites.suite import STRUCTURE


def merged(reports: Sequence[Report], order: Sequence[str]) -> Report:
    """Return one report of what several workers measured of one model, entries in `order`.

    Raises
    ------
    ReportError
        If they did not measure the same model under the same settings.
    """
    first = reports[0]
    identity = _identity(reports)
    if any(r.settings != first.settings for r in reports):
        raise ReportError("the parts were measured under different settings.")
    results: dict[str, SuiteResult] = {}
    for suite in (s for report in reports for s in report.suites):
        # Every worker runs the structural checks itself: one failure counts.
        before = results.get(suite.entry)
        if before is None or before.status == "scored":
            results[suite.entry] = suite
    names = [*order, *sorted(results.keys() - set(order))]
    interrupted = any(r.run.get("interrupted") for r in reports)
    costs = [r.run["cost"] for r in reports]
    cost = costs[0] | {k: sum(c[k] for c in costs) for k in ("model_s", "tokens", "forwards")}
    cost |= summed(costs)
    cost["wall_s"] = max(c["wall_s"] for c in costs)
    for name in ("energy_kwh", "co2e_g"):
        parts = [c.get(name) for c in costs]
        cost[name] = None if None in parts else sum(parts)
    cost["suites"] = _sums(c.get("suites", {}) for c in costs)
    environment = dict(first.run.get("environment") or {})
    parts = [r.run.get("environment") or {} for r in reports]
    if devices := {name: of for e in parts for name, of in e.get("devices", {}).items()}:
        environment |= {"device": in_words(devices), "devices": devices}
    notices = list(dict.fromkeys(n for r in reports for n in r.notices))
    stopped = [{"stopped": r.run["stopped"]} for r in reports if r.run.get("stopped")]
    return replace(
        first,
        model=identity,
        suites=tuple(results[name] for name in names if name in results),
        run={
            **first.run,
            "environment": environment,
            "cost": cost,
            "interrupted": interrupted,
            "notices": notices,
            **(stopped[0] if stopped else {}),
        },
        sealed=None,
    )


def _sums(costs: Iterable[Mapping[str, Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for entry, cost in (pair for part in costs for pair in part.items()):
        own = found.setdefault(entry, dict.fromkeys(cost, 0))
        for name, amount in cost.items():
            own[name] = round(own.get(name, 0) + amount, 3)
    return found


def joined(reports: Sequence[Report], catalogue: Catalogue = INSTALLED) -> Report:
    """Return the report of a whole run whose shards were measured separately.

    Scores are computed from the records of all shards, so the digest is that of a run in one piece.

    Raises
    ------
    ReportError
        If a shard is missing or given twice, or the shards are not of one whole run.
    """
    for report in reports:
        if report.withheld:
            raise ReportError(
                f"the scores of {report.model.reference} are withheld: nothing can be joined.",
                "Measure the shards without --withhold-scores; merge has it as well.",
            )
    by_part = _parts(reports)
    parts = [by_part[number] for number in sorted(by_part)]
    whole = merged(parts, [s.entry for s in parts[0].suites])
    for report in parts[1:]:
        if (report.tool, report.coverage) != (whole.tool, whole.coverage):
            raise ReportError("the shards were measured by different versions of pytest-bias.")
    seed = int(whole.settings["seed"])
    suites = []
    for suite in whole.suites:
        found = [s for p in parts for s in p.suites if s.entry == suite.entry]
        sampled = parts[0].run["shard"]["sampled"].get(suite.entry)
        suites.append(_whole(suite, found, sampled, seed, catalogue))
    scored_together = with_decision_family(suites)
    return replace(whole, suites=scored_together, run={**whole.run, "shard": None})


@dataclass(frozen=True)
class Measured:
    """What one process measured, as it is sent to the process that merges the parts.

    Parameters
    ----------
    report : Report
        Its suites may be parts of an entry, also several parts of one entry.
    parts : tuple of Part or None
        For every suite of the report, which part it is; None for a whole entry.
    sampled : mapping
        Entry to the number of items of the whole suite, where it is a sample.
    """

    report: Report
    parts: tuple[Part | None, ...]
    sampled: Mapping[str, int | None]

    def to_json(self) -> str:
        """Return report and records as one line of JSON."""
        return json.dumps(
            {
                "report": self.report.to_json(),
                "records": [[asdict(r) for r in s.records] for s in self.report.suites],
                "parts": self.parts,
                "sampled": dict(self.sampled),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> "Measured":
        """Read what `to_json` wrote."""
        plain = json.loads(text)
        report = Report.from_json(plain["report"], of_parts=True)
        suites = tuple(
            replace(suite, records=tuple(Record(**r) for r in records))
            for suite, records in zip(report.suites, plain["records"], strict=True)
        )
        parts = tuple((p[0], p[1]) if p else None for p in plain["parts"])
        return cls(replace(report, suites=suites), parts, plain["sampled"])


def gathered(
    workers: Sequence[Measured], order: Sequence[str], catalogue: Catalogue = INSTALLED
) -> Report:
    """Return one report of what several processes measured: whole entries or parts of them.

    Parts are joined as `joined` does; an entry that lacks a part is inconclusive.

    Raises
    ------
    ReportError
        If they did not measure the same model under the same settings.
    """
    wholes: list[Report] = []
    shards: dict[str, dict[Part, SuiteResult]] = {}
    sampled: dict[str, int | None] = {}
    for worker in workers:
        suites = list(zip(worker.parts, worker.report.suites, strict=True))
        wholes.append(replace(worker.report, suites=tuple(s for p, s in suites if p is None)))
        for part, suite in suites:
            if part:
                shards.setdefault(suite.entry, {})[part] = suite
        sampled |= worker.sampled
    report = merged(wholes, order)
    found = {s.entry: s for s in report.suites}
    for entry, by_part in shards.items():
        if entry not in found:
            seed = int(report.settings["seed"])
            found[entry] = _of_parts(by_part, sampled.get(entry), seed, catalogue)
    names = [*order, *sorted(found.keys() - set(order))]
    there = with_decision_family([found[name] for name in names if name in found])
    return replace(report, suites=there)


def _of_parts(
    by_part: Mapping[Part, SuiteResult], sampled: int | None, seed: int, catalogue: Catalogue
) -> SuiteResult:
    (_, of), suite = next(iter(by_part.items()))
    wanted = [(number, of) for number in range(1, of + 1)]
    if missing := [f"{n}/{of}" for n, _ in wanted if (n, of) not in by_part]:
        reason = f"not every part of it was measured: {', '.join(missing)} missing"
        return replace(
            suite, status="inconclusive", reason=reason, scores=(), records=(), records_sha256=None
        )
    return _whole(suite, [by_part[part] for part in wanted], sampled, seed, catalogue)


def _parts(reports: Sequence[Report]) -> dict[int, Report]:
    """Return the shards by number; raise unless each is present exactly once."""
    found: dict[int, Report] = {}
    whole: set[int] = set()
    for report in reports:
        told = (report.run.get("shard") or {}).get("part")
        if told is None:
            raise ReportError(
                f"the report of {report.model.reference} is of no shard.", "run --shard 1/2"
            )
        if report.run.get("interrupted"):
            raise ReportError(
                f"shard {told} was interrupted.", "Run it again with the same command."
            )
        number, of = map(int, str(told).split("/"))
        if number in found:
            raise ReportError(f"shard {told} is there twice.")
        found[number] = report
        whole.add(of)
    if len(whole) > 1:
        raise ReportError(f"these are shards of {' and of '.join(map(str, sorted(whole)))}.")
    if missing := sorted(set(range(1, max(whole, default=0) + 1)) - found.keys()):
        raise ReportError(f"shards are missing: {', '.join(map(str, missing))} of {max(whole)}.")
    return found


def _whole(
    suite: SuiteResult,
    shards: Sequence[SuiteResult],
    sampled: int | None,
    seed: int,
    catalogue: Catalogue,
) -> SuiteResult:
    if suite.kind == STRUCTURE:
        return suite
    if wrong := [s for s in shards if s.status in FAILED]:
        return wrong[0]
    measured = [s for s in shards if s.records]
    if not measured:
        # A hidden suite, measured whole by one of them.
        return next((s for s in shards if s.status == "scored"), suite)
    first = measured[0]
    same = ("version", "measure", "adapted", "scorer", "labels")
    if any(getattr(s, name) != getattr(first, name) for s in measured for name in same) or any(
        (s.data and s.data.sha256) != (first.data and first.data.sha256) for s in measured
    ):
        raise ReportError(f"{suite.entry}: the shards were measured on different data or versions.")
    records = tuple(sorted((r for s in measured for r in s.records), key=lambda r: r.item))
    n_items = sum(r.status != "excluded" for r in records)
    result = replace(
        first,
        status="scored",
        reason=None,
        sampled=sampled,
        n_available=None if sampled is None else first.n_available,
        data=first.data
        and replace(first.data, n_items=n_items, items_sha256=items_digest(records)),
        records=records,
        records_sha256=records_digest(records),
    )
    try:
        return scored(result, catalogue.find(suite.name), seed)
    except BiasError:
        raise
    except Exception as error:
        return failed(result, error, "it was scored")


def _identity(reports: Sequence[Report]) -> ModelIdentity:
    """Return the model's identity; a part that needed no weights has no digest of them."""
    loaded = {r.model for r in reports if r.model.weights_sha256}
    described = {replace(r.model, weights_sha256=None, dtype="") for r in reports}
    if len(loaded) > 1 or len(described) > 1:
        raise ReportError("the parts were measured on different models.")
    return loaded.pop() if loaded else reports[0].model
