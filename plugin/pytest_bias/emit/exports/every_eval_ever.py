"""A report as an aggregate of Every Eval Ever 0.3.0: every score twice, also as a distance.

The format has a direction and no ideal. Beside each value stands its distance from the ideal, of
which less is better. Files of single instances need the texts, which a report does not have.

Source: https://github.com/evaleval/every_eval_ever
"""

import math
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from pytest_bias.emit.exports.origin import created, on_hub
from pytest_bias.emit.exports.rows import ScoreRow, absent, score_rows
from pytest_bias.errors import ReportError
from pytest_bias.records.documents import to_document
from pytest_bias.records.report import Json, Report, SuiteResult, canonical_json
from pytest_bias.records.score import Score

FILE: Final = "every-eval-ever.json"
SCHEMA_VERSION: Final = "0.3.0"
NAME: Final = "pytest-bias"
OF_DISTANCE: Final = "distance_from_ideal"
"""End of the identifiers of distances."""

_NOT_STATED: Final = "not stated"
_OF_DATA: Final = ("source", "licence", "revision", "sha256", "n_items", "items_sha256", "local")
_OF_MODEL: Final = (
    *("kind", "architecture", "parameters", "revision", "dtype", "base_model"),
    *("weights_sha256", "config_sha256", "tokenizer_sha256"),
)
_OF_SUITE: Final = (
    *("kind", "version", "language", "adapted", "draft", "validity", "control_of"),
    *("sampled", "n_available"),
)
_OF_SCORE: Final = (
    *("headline", "n", "n_unscored", "n_excluded", "n_clusters", "interval_reason", "note"),
)
_OF_SETTINGS: Final = ("chat", "system", "answers", "answer_tokens", "answer_samples")


def render(report: Report) -> str:
    """Return the aggregate; the same report gives the same text.

    Raises
    ------
    ReportError
        If there is no score to show, or no time of the run, which the format requires.
    """
    rows, time = score_rows(report), created(report)
    if not rows:
        reasons = [f"{one.suite.entry}: {one.reason}" for one in absent(report)]
        raise ReportError(
            f"no score of this report can be shown to others ({'; '.join(reasons)[:300]}).",
            "Every Eval Ever holds scores alone; --to cyclonedx says why there are none.",
        )
    if time is None:
        raise ReportError(
            "the report does not say when its model was measured, and Every Eval Ever requires it."
        )
    moment = str(int(time.timestamp()))
    return to_document(
        {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": f"{NAME}/{report.model.reference}/{moment}",
            "evaluation_timestamp": time.isoformat(),
            "retrieved_timestamp": moment,
            "source_metadata": _source(report),
            "eval_library": {"name": NAME, "version": str(report.tool["version"])},
            "model_info": _model(report),
            "evaluation_results": [one for row in rows for one in _results(report, row, time)],
        }
    )


def _source(report: Report) -> dict[str, Json]:
    """Return who says this: a report does not state who made it, or who made the model."""
    details = {"report": report.digest, "evaluator": _NOT_STATED}
    missing = {one.suite.entry: one.reason for one in absent(report)}
    if missing:
        details["suites_without_scores"] = canonical_json(missing)
    return {
        "source_name": NAME,
        "source_type": "evaluation_run",
        "source_organization_name": _NOT_STATED,
        "evaluator_relationship": "other",
        "additional_details": details,
    }


def _model(report: Report) -> dict[str, Json]:
    model, name = report.model, on_hub(report.model)
    details = {
        "deployment_type": "unknown" if model.asked else "self_deployed",
        "model_availability": "unknown",
        **_texts(model, _OF_MODEL),
    }
    if model.adapter:
        details["adapter"] = canonical_json(_texts(model.adapter, ("reference", "revision")))
    if model.asked:
        details["asked"] = model.asked
    found: dict[str, Json] = {"name": model.reference, "id": model.reference}
    if name:
        found["developer"] = name.partition("/")[0]
    version = (report.run.get("environment") or {}).get("transformers")
    if isinstance(version, str) and not model.asked:
        found["inference_engine"] = {"name": "transformers", "version": version}
    return {**found, "additional_details": details}


def _results(report: Report, row: ScoreRow, time: datetime) -> Iterator[dict[str, Json]]:
    """Yield the value of a score, and its distance from the ideal."""
    score = row.score
    assert score.value is not None, "rows have values"
    yield _result(report, row, time, _value_config(score), score.value, score.interval)
    distance = abs(score.value - score.ideal)
    if math.isfinite(distance):
        ends = _distances(score)
        yield _result(report, row, time, _distance_config(score), distance, ends, OF_DISTANCE)


def _result(
    report: Report,
    row: ScoreRow,
    time: datetime,
    config: dict[str, Json],
    value: float,
    interval: tuple[float, float] | None,
    what: str = "",
) -> dict[str, Json]:
    suite, score = row.suite, row.score
    name = f"{NAME}.{suite.entry}"
    groups = [f"{key}={group}" for key, group in sorted(score.by.items())]
    details = {**_texts(score, _OF_SCORE), "by": canonical_json(dict(score.by))}
    number: dict[str, Json] = {"score": value, "details": details}
    if interval and 0 < score.level < 1:
        method = "; the image of that of the value" if what else ""
        number["uncertainty"] = {
            "confidence_interval": {
                "lower": interval[0],
                "upper": interval[1],
                "confidence_level": score.level,
                **({"method": f"{score.method}{method}"} if score.method else {}),
            },
            "num_samples": score.n,
        }
    return {
        "evaluation_result_id": ".".join(filter(None, (name, score.metric, *groups, what))),
        "evaluation_name": name,
        "evaluation_timestamp": time.isoformat(),
        "source_data": _data(suite),
        "metric_config": {
            **config,
            "metric_unit": score.unit,
            "additional_details": {**config["additional_details"], **_texts(suite, _OF_SUITE)},
        },
        "score_details": number,
        "generation_config": {
            "additional_details": {
                **({"measure": suite.measure} if suite.measure else {}),
                **{k: str(v) for k in _OF_SETTINGS if (v := report.settings.get(k)) is not None},
            }
        },
    }


def _value_config(score: Score) -> dict[str, Json]:
    low, high = score.bounds
    assert score.value is not None
    details = {}
    if score.ideal == low:
        lower_is_better = True
    elif score.ideal == high:
        lower_is_better = False
    else:
        lower_is_better = score.value >= score.ideal
        details["direction"] = (
            "Neither: the ideal is not at an end of the scale. lower_is_better says on which side "
            f"of it this value is. Rank by {OF_DISTANCE}."
        )
    return {
        "metric_id": f"{NAME}.{score.metric}",
        "metric_name": score.metric,
        "evaluation_description": f"Best at its ideal, {score.ideal!r}.",
        "metric_parameters": _parameters(score),
        "lower_is_better": lower_is_better,
        **_scale(score.value, low, high),
        "additional_details": details,
    }


def _distance_config(score: Score) -> dict[str, Json]:
    low, high = score.bounds
    assert score.value is not None
    most = None if low is None or high is None else max(score.ideal - low, high - score.ideal)
    if most is not None and not math.isfinite(most):
        most = None
    return {
        "metric_id": f"{NAME}.{score.metric}.{OF_DISTANCE}",
        "metric_name": f"distance of {score.metric} from its ideal",
        "evaluation_description": f"How far the value is from its ideal, {score.ideal!r}.",
        "metric_parameters": {"ideal_of_value": score.ideal, "tolerance": score.tolerance},
        "lower_is_better": True,
        **_scale(abs(score.value - score.ideal), 0, most),
        "additional_details": {"value": repr(score.value)},
    }


def _scale(value: float, low: float | None, high: float | None) -> dict[str, Json]:
    """Return the ends of a scale; nothing if the value is outside, as no such scale is valid."""
    if (low is not None and value < low) or (high is not None and value > high):
        return {}
    return {
        "score_type": "continuous",
        "min_score": "-Infinity" if low is None else low,
        "max_score": "Infinity" if high is None else high,
    }


def _distances(score: Score) -> tuple[float, float] | None:
    """Return the interval of the distance: the image of the interval under ``|x - ideal|``.

    Examples
    --------
    >>> of = Score("m", 60, 50, (0, 100), "%", 0, interval=(45.0, 62.0))
    >>> _distances(of)
    (0.0, 12.0)
    """
    if score.interval is None:
        return None
    low, high = (end - score.ideal for end in score.interval)
    ends = sorted((abs(low), abs(high)))
    found = (0.0 if low <= 0 <= high else ends[0], ends[1])
    return found if math.isfinite(found[1]) else None


def _parameters(score: Score) -> dict[str, float | str]:
    found: dict[str, float | str] = {"ideal": score.ideal, "tolerance": score.tolerance}
    if score.floor is not None:
        found |= {"floor": score.floor, "floor_of": score.floor_of or ""}
    return found


def _data(suite: SuiteResult) -> dict[str, Json]:
    """Return where the items are from; a report does not say on which service that is."""
    details = _texts(suite.data, _OF_DATA) if suite.data else {}
    return {"dataset_name": suite.entry, "source_type": "other", "additional_details": details}


def _texts(of: Any, fields: tuple[str, ...]) -> dict[str, str]:
    """Return fields that have a value, as texts; true and false as in JSON."""
    values = {name: value for name in fields if (value := getattr(of, name)) is not None}
    return {k: v if isinstance(v, str) else canonical_json(v) for k, v in values.items()}
