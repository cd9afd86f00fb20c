"""Reports of parts of one run, put together."""

from collections.abc import Sequence
from dataclasses import replace

from pytest_bias.errors import ReportError
from pytest_bias.records import ModelIdentity, Report, SuiteResult


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
        # Every worker checks the structure for itself: one that failed counts.
        before = results.get(suite.entry)
        if before is None or before.status == "scored":
            results[suite.entry] = suite
    names = [*order, *sorted(results.keys() - set(order))]
    interrupted = any(r.run.get("interrupted") for r in reports)
    costs = [r.run["cost"] for r in reports]
    cost = costs[0] | {k: sum(c[k] for c in costs) for k in ("model_s", "tokens", "forwards")}
    cost["wall_s"] = max(c["wall_s"] for c in costs)
    return replace(
        first,
        model=identity,
        suites=tuple(results[name] for name in names if name in results),
        run={**first.run, "cost": cost, "interrupted": interrupted},
        sealed=None,
    )


def _identity(reports: Sequence[Report]) -> ModelIdentity:
    """Return what was measured; a part that needed no weights does not know their digest."""
    loaded = {r.model for r in reports if r.model.weights_sha256}
    described = {replace(r.model, weights_sha256=None, dtype="") for r in reports}
    if len(loaded) > 1 or len(described) > 1:
        raise ReportError("the parts were measured on different models.")
    return loaded.pop() if loaded else reports[0].model
