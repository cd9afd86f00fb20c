"""A report as a bill of materials: CycloneDX 1.6, one model with its model card.

Plain JSON: the library ``cyclonedx-python-lib`` (11.12) has no model card. The format has no place
for an ideal: it stands in the type of every metric, and in the properties of the model card.

Source: https://cyclonedx.org/docs/1.6/json/
"""

import uuid
from collections.abc import Iterator, Mapping
from typing import Final, TypeGuard

from pytest_bias.emit import badges
from pytest_bias.emit.exports.origin import created, on_hub, page_on_hub
from pytest_bias.emit.exports.rows import ScoreRow, absent, score_rows
from pytest_bias.emit.wording import MOST, scope_limits
from pytest_bias.models.kind_table import ModelKind, hub_task
from pytest_bias.records.documents import to_document
from pytest_bias.records.identity import ModelIdentity
from pytest_bias.records.report import Json, Report, SuiteResult, canonical_json
from pytest_bias.records.score import Score
from pytest_bias.reports.folder import REPORT
from pytest_bias.suites.scope_cards import NOT_STATED

FILE: Final = "cyclonedx.json"
NAMESPACE: Final = "pytest-bias"
"""Namespace of our properties."""

_LONGEST_VERSION: Final = 1024
_GRAMS_PER_TONNE: Final = 1e6
_OF_MODEL: Final = (
    *("kind", "dtype", "parameters", "revision", "base_model", "weights_sha256", "config_sha256"),
    *("tokenizer_sha256", "chat_template_sha256", "code_sha256"),
)
_OF_ADAPTER: Final = ("reference", "revision", "weights_sha256", "config_sha256")
_OF_SUITE: Final = (
    *("version", "title", "language", "kind", "status", "measure", "adapted", "draft", "validity"),
    *("control_of", "sampled", "n_available"),
)
_OF_SCORE: Final = (
    *("metric", "ideal", "unit", "bounds", "headline", "level", "method", "interval_reason"),
    *("n", "n_unscored", "n_excluded", "n_clusters", "floor", "floor_of", "note"),
)


def render(report: Report) -> str:
    """Return the bill of materials; the same report gives the same text."""
    time = created(report)
    seed = f"{report.digest} {time.isoformat() if time else ''}"
    found: dict[str, Json] = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        # Two runs with one result have one digest, and still two bills with two dates.
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, f"{NAMESPACE}:{seed}").urn,
        "version": 1,
        "metadata": {
            **({"timestamp": time.isoformat()} if time else {}),
            "tools": {"components": [_tool(report)]},
        },
        "components": [_component(report)],
    }
    return to_document(found)


def _tool(report: Report) -> dict[str, Json]:
    version = str(report.tool["version"])
    return {"type": "application", "name": NAMESPACE, **_version(version)}


def _version(text: str | None) -> dict[str, Json]:
    return {"version": text} if text and len(text) <= _LONGEST_VERSION else {}


def _component(report: Report) -> dict[str, Json]:
    model = report.model
    name = on_hub(model)
    group, _, short = (name or "").partition("/")
    named = {"group": group, "name": short} if name else {"name": model.reference}
    evidence = {
        "type": "evidence",
        "url": REPORT,
        "comment": f"The report, in the folder of the run. Its digest: {report.digest}",
    }
    places = [evidence]
    if page := page_on_hub(model):
        places.append({"type": "distribution", "url": page})
    return {
        "type": "machine-learning-model",
        "bom-ref": "model",
        **named,
        **({} if model.adapter else _version(model.revision)),
        **({"purl": f"pkg:huggingface/{name}@{model.revision}"} if name else {}),
        **({"hashes": hashes} if (hashes := _hashes(model)) else {}),
        "externalReferences": places,
        "modelCard": _card(report),
        "properties": [
            _property("report", report.digest),
            *(_property(f"model:{key}", value) for key, value in _facts(model)),
        ],
    }


def _hashes(model: ModelIdentity) -> list[dict[str, str]]:
    """Return the digest of a model that is one file; other digests are of parts of a model.

    The three digests are alike only where weights, configuration and tokenizer are in one file.
    """
    digest = model.weights_sha256
    parts = {digest, model.config_sha256, model.tokenizer_sha256}
    whole = len(parts) == 1 and not (model.adapter or model.code_sha256)
    return [{"alg": "SHA-256", "content": digest}] if digest and whole else []


def _facts(model: ModelIdentity) -> Iterator[tuple[str, Json]]:
    for key in _OF_MODEL:
        if (value := getattr(model, key)) is not None:
            yield key, value
    for key in _OF_ADAPTER if model.adapter else ():
        if (value := getattr(model.adapter, key)) is not None:
            yield f"adapter:{key}", value
    if asked := model.served or model.application:
        yield "asked", model.asked
        yield "fingerprint", asked.fingerprint


def _card(report: Report) -> dict[str, Json]:
    model, rows = report.model, score_rows(report)
    parameters = {"modelArchitecture": model.architecture} if not model.asked else {}
    if model.kind in set(ModelKind):
        parameters["task"] = hub_task(model.kind)
    analysis: dict[str, Json] = {}
    if rows:
        analysis["performanceMetrics"] = [_metric(row) for row in rows]
    if drawn := _graphics(report):
        analysis["graphics"] = {"description": "Badges of the report", "collection": drawn}
    return {
        "modelParameters": parameters,
        "quantitativeAnalysis": analysis,
        "considerations": _considerations(report, rows),
        "properties": [
            *(_property("score", _about_score(row)) for row in rows),
            *(_property("suite", about) for about in _about_suites(report)),
        ],
    }


def _metric(row: ScoreRow) -> dict[str, Json]:
    score = row.score
    found: dict[str, Json] = {
        "type": _type(score),
        "value": repr(score.value),
        "slice": _slice(row),
    }
    if score.interval:
        low, high = map(repr, score.interval)
        found["confidenceInterval"] = {"lowerBound": low, "upperBound": high}
    return found


def _type(score: Score) -> str:
    unit = f"{score.unit}, " if score.unit else ""
    return f"{score.metric} ({unit}ideal {score.ideal!r})"


def _slice(row: ScoreRow) -> str:
    groups = [f"{key}={name}" for key, name in sorted(row.score.by.items())]
    return ", ".join([row.suite.entry, *groups])


def _about_score(row: ScoreRow) -> str:
    """Return what else belongs to a value, as JSON; `type` and `slice` say which value."""
    score = row.score
    about = {key: value for key in _OF_SCORE if (value := getattr(score, key)) is not None}
    about |= {"suite": row.suite.entry, "by": dict(score.by)}
    return canonical_json(about | {"type": _type(score), "slice": _slice(row)})


def _about_suites(report: Report) -> Iterator[str]:
    """Yield what a reader of its scores has to know of each suite, or why it has none, as JSON."""
    reasons = {one.suite.entry: one.reason for one in absent(report)}
    for suite in report.suites:
        about = {key: value for key in _OF_SUITE if (value := getattr(suite, key)) is not None}
        if data := suite.data:
            about["data"] = {
                key: value
                for key in ("source", "licence", "revision", "sha256", "n_items", "visibility")
                if (value := getattr(data, key)) is not None
            }
        if suite.entry in reasons:
            about["without_scores"] = reasons[suite.entry]
        yield canonical_json(about | {"suite": suite.entry})


def _graphics(report: Report) -> list[dict[str, Json]]:
    """Return the badges as images, without those of suites whose scores may not be shown."""
    left_out = {f"{one.suite.name}-{one.suite.config}" for one in absent(report)}
    return [
        {"name": badge.name, "image": {"contentType": "image/svg+xml", "content": badge.svg()}}
        for badge in badges.badges(report)
        if badge.name not in left_out
    ]


def _considerations(report: Report, rows: tuple[ScoreRow, ...]) -> dict[str, Json]:
    suites = {row.suite.name: row.suite for row in rows}
    limits = [
        f"What {name} does not show: {text}"
        for name, suite in suites.items()
        if (text := _said(suite, "does_not_show"))
    ]
    found: dict[str, Json] = {}
    if rows:
        found["technicalLimitations"] = [*scope_limits(report), *limits]
    if assessed := [a for suite in suites.values() if (a := _assessment(suite))]:
        found["fairnessAssessments"] = assessed
    if energy := _energy(report):
        found["environmentalConsiderations"] = {"energyConsumptions": [energy]}
    return found


def _assessment(suite: SuiteResult) -> dict[str, Json]:
    """Return who is at risk of which harm, as the scope card of a suite about bias says it."""
    groups = _said(suite, "groups")
    if suite.kind not in ("intrinsic", "downstream") or not groups:
        return {}
    said = [text for key in ("harm_type", "bias_definition") if (text := _said(suite, key))]
    harms = f"As {suite.name} defines them: {'. '.join(said)}" if said else ""
    return {"groupAtRisk": groups, **({"harms": harms} if harms else {})}


def _said(suite: SuiteResult, field: str) -> str:
    """Return a field of a scope card as text; empty where its author does not state it."""
    value = suite.about.scope.get(field) if suite.about else None
    if value is None or value == NOT_STATED:
        return ""
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _energy(report: Report) -> dict[str, Json]:
    """Return the energy of the run where it was measured; who provided it is not known."""
    spent = report.run.get("cost") or {}
    kwh, co2e = spent.get("energy_kwh"), spent.get("co2e_g")
    if not (_is_amount(kwh) and _is_amount(co2e)):
        return {}
    about = spent.get("energy")
    assumed = about.items() if isinstance(about, Mapping) else ()
    return {
        "activity": "validation",
        "energyProviders": [],
        "activityEnergyCost": {"value": kwh, "unit": "kWh"},
        "co2CostEquivalent": {"value": co2e / _GRAMS_PER_TONNE, "unit": "tCO2eq"},
        "properties": [_property(f"energy:{k}", v) for k, v in assumed if _is_amount(v)],
    }


def _is_amount(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MOST


def _property(name: str, value: Json) -> dict[str, str]:
    return {"name": f"{NAMESPACE}:{name}", "value": str(value)}
