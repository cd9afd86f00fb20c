"""A report as a bill of materials: valid by the published schema, and nothing but the report."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from made import report, result, score
from published_schemas import problems
from pytest_bias.emit.exports import cyclonedx
from pytest_bias.emit.exports.rows import absent, score_rows
from pytest_bias.records.identity import ModelIdentity, ServedIdentity
from pytest_bias.records.report import DataInfo, Report
from random_reports import Case, cases, numbers_of

SCHEMA = "bom-1.6.schema.json"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
GROUP = score(value=71.125, by={"bias_type": "religion"}, headline=False, interval=None, n=105)
CROWS = result(scores=[score(), GROUP, score("no_value", None)])
SKIPPED = result("honest", "it", status="skipped", reason="the licence was not accepted", data=None)
HIDDEN = result(
    "seat",
    scores=[score("mean_absolute_effect", 0.123456789, ideal=0)],
    title="SEAT",
    data=DataInfo("ours", "none", sha256="e" * 64, visibility="hidden"),
)
MADE = report(CROWS, SKIPPED, HIDDEN)


def bill(made: Report) -> dict[str, Any]:
    """Return a valid bill."""
    found = json.loads(cyclonedx.render(made))
    assert problems(found, SCHEMA) == []
    return dict(found)


def component(made: Report) -> Any:
    (found,) = bill(made)["components"]
    return found


def properties(of: Any, name: str) -> list[Any]:
    return [p["value"] for p in of["properties"] if p["name"] == f"pytest-bias:{name}"]


def checkpoint(**more: Any) -> ModelIdentity:
    return replace(MADE.model, revision=COMMIT, **more)


def test_the_metrics_by_hand() -> None:
    analysis = component(MADE)["modelCard"]["quantitativeAnalysis"]
    assert analysis["performanceMetrics"] == [
        {
            "type": "stereotype_preference (%, ideal 50)",
            "value": "60.48",
            "slice": "crows_pairs[en]",
            "confidenceInterval": {"lowerBound": "57.99", "upperBound": "62.92"},
        },
        {
            "type": "stereotype_preference (%, ideal 50)",
            "value": "71.125",
            "slice": "crows_pairs[en], bias_type=religion",
        },
    ]


def test_what_has_no_place_is_beside_every_metric() -> None:
    card = component(MADE)["modelCard"]
    about = [json.loads(value) for value in properties(card, "score")]
    keys = ("suite", "metric", "by", "ideal", "level", "n", "unit", "method")
    first = ["crows_pairs[en]", "stereotype_preference", {}, 50, 0.95, 1508, "%", "wilson"]
    second = [*first[:2], {"bias_type": "religion"}, 50, 0.95, 105, "%", "wilson"]
    assert [[one[key] for key in keys] for one in about] == [first, second]
    # A reader finds it by the two texts of the metric.
    metrics = card["quantitativeAnalysis"]["performanceMetrics"]
    assert [(m["type"], m["slice"]) for m in metrics] == [(a["type"], a["slice"]) for a in about]


def test_suites_without_scores_say_why() -> None:
    suites = [json.loads(v) for v in properties(component(MADE)["modelCard"], "suite")]
    assert [(s["suite"], s["status"], s.get("without_scores")) for s in suites] == [
        ("crows_pairs[en]", "scored", None),
        ("honest[it]", "skipped", "the licence was not accepted"),
        ("seat[en]", "scored", "its items are hidden: its scores are in the report only"),
    ]
    assert "0.123456789" not in cyclonedx.render(MADE)
    # Neither are they on a badge.
    graphics = component(MADE)["modelCard"]["quantitativeAnalysis"]["graphics"]["collection"]
    names = [g["name"] for g in graphics]
    assert "crows_pairs-en" in names
    assert "seat-en" not in names
    assert all(g["image"]["content"].startswith("<svg") for g in graphics)


def test_a_report_without_scores_is_a_bill_without_metrics() -> None:
    card = component(report(SKIPPED))["modelCard"]
    assert card["quantitativeAnalysis"] == {}
    assert card["considerations"] == {}


def test_what_the_scope_card_says_of_groups_harms_and_limits() -> None:
    considerations = component(MADE)["modelCard"]["considerations"]
    assert CROWS.about is None
    scope = MADE.suites[0].about.scope
    (assessed,) = considerations["fairnessAssessments"]
    assert assessed["groupAtRisk"] == scope["groups"]
    assert assessed["harms"].startswith("As crows_pairs defines them: representation")
    assert set(assessed) == {"groupAtRisk", "harms"}
    limits = considerations["technicalLimitations"]
    assert limits[0] == "A low score does not show that a model is safe."
    assert limits[-1] == f"What crows_pairs does not show: {scope['does_not_show']}"
    # A suite of others may say nothing; robustness is not about people.
    silent = replace(CROWS, name="own_pairs")
    robust = result("hans", kind="robustness", scores=[score("accuracy", 80.0, ideal=100)])
    assert (
        "fairnessAssessments"
        not in component(report(silent, robust))["modelCard"]["considerations"]
    )


def test_energy_is_there_where_it_was_measured() -> None:
    spent = {
        "energy_kwh": 0.9,
        "co2e_g": 427.5,
        "energy": {"gpu_kwh": 0.5, "pue": 1.8, "grid_g_per_kwh": 475.0},
    }
    made = report(CROWS, run={**MADE.run, "cost": spent})
    card = component(made)["modelCard"]
    assert card["considerations"]["environmentalConsiderations"] == {
        "energyConsumptions": [
            {
                "activity": "validation",
                "energyProviders": [],
                "activityEnergyCost": {"value": 0.9, "unit": "kWh"},
                "co2CostEquivalent": {"value": pytest.approx(0.0004275), "unit": "tCO2eq"},
                "properties": [
                    {"name": "pytest-bias:energy:gpu_kwh", "value": "0.5"},
                    {"name": "pytest-bias:energy:pue", "value": "1.8"},
                    {"name": "pytest-bias:energy:grid_g_per_kwh", "value": "475.0"},
                ],
            }
        ]
    }
    for unknown in ({"energy_kwh": None, "co2e_g": None}, {"energy_kwh": 10**400, "co2e_g": 1}):
        silent = report(CROWS, run={**MADE.run, "cost": unknown})
        card = component(silent)["modelCard"]
        assert "environmentalConsiderations" not in card["considerations"]


def test_a_model_of_the_hub_is_named_with_its_commit() -> None:
    found = component(replace(MADE, model=checkpoint()))
    assert (found["group"], found["name"], found["version"]) == ("org", "name", COMMIT)
    assert found["purl"] == f"pkg:huggingface/org/name@{COMMIT}"
    urls = {r["type"]: r["url"] for r in found["externalReferences"]}
    assert urls == {
        "evidence": "report.json",
        "distribution": f"https://huggingface.co/org/name/tree/{COMMIT}",
    }
    parameters = {"modelArchitecture": "BertForMaskedLM", "task": "fill-mask"}
    assert found["modelCard"]["modelParameters"] == parameters
    # What lies in a folder of that name, or is asked, is no model of the Hub.
    served = ServedIdentity("openai", "m", None, "f" * 64)
    for other in (MADE.model, checkpoint(served=served), checkpoint(reference="/home/x")):
        found = component(replace(MADE, model=other))
        assert "purl" not in found
        assert found["name"] == other.reference


def test_only_the_digest_of_a_model_in_one_file_is_the_hash_of_the_component() -> None:
    found = component(MADE)
    assert "hashes" not in found
    assert properties(found, "model:weights_sha256") == ["a" * 64]
    one = checkpoint(config_sha256="a" * 64, tokenizer_sha256="a" * 64)
    hashes = component(replace(MADE, model=one))["hashes"]
    assert hashes == [{"alg": "SHA-256", "content": "a" * 64}]
    with_code = replace(one, code_sha256="d" * 64)
    assert "hashes" not in component(replace(MADE, model=with_code))


def test_two_renders_are_equal_and_two_runs_are_two_bills() -> None:
    later = replace(MADE, run={**MADE.run, "created": "2026-11-28T12:00:00+00:00"})
    assert cyclonedx.render(MADE) == cyclonedx.render(Report.from_json(MADE.to_json()))
    one, other = bill(MADE), bill(later)
    assert MADE.digest == later.digest
    assert one["serialNumber"] != other["serialNumber"]
    assert one["metadata"]["timestamp"] == "2026-11-27T12:00:00+00:00"
    assert one["metadata"]["tools"]["components"][0]["version"] == "0.1.0"


@pytest.mark.parametrize("time", ["", "yesterday", "2026-11-27", "2026-13-01T00:00:00Z"])
def test_a_date_that_is_none_is_left_out(time: str) -> None:
    assert "timestamp" not in bill(replace(MADE, run={"created": time}))["metadata"]


@given(cases(decided=False))
@settings(max_examples=60)
def test_every_report_gives_a_valid_bill_that_says_only_what_the_report_says(case: Case) -> None:
    text = cyclonedx.render(case.report)
    assert case.told(text) == []
    card = component(case.report)["modelCard"]
    known = numbers_of(case)
    metrics = card["quantitativeAnalysis"].get("performanceMetrics", [])
    for metric in metrics:
        ends = metric.get("confidenceInterval", {}).values()
        ideal = re.findall(r"ideal (\S+)\)$", metric["type"])
        assert {float(n) for n in (metric["value"], *ends, *ideal)} <= known
    rows = score_rows(case.report)
    abouts = [json.loads(value) for value in properties(card, "score")]
    for row, metric, about in zip(rows, metrics, abouts, strict=True):
        score, ends = row.score, metric.get("confidenceInterval")
        assert float(metric["value"]) == score.value
        interval = (float(ends["lowerBound"]), float(ends["upperBound"])) if ends else None
        assert interval == score.interval
        assert (about["type"], about["slice"]) == (metric["type"], metric["slice"])
        assert (about["suite"], about["metric"], about["by"]) == (
            *(row.suite.entry, score.metric),
            score.by,
        )
        told = [about.get(key) for key in ("ideal", "unit", "level", "n", "method", "floor")]
        assert told == [score.ideal, score.unit, score.level, score.n, score.method, score.floor]
    suites = [json.loads(value) for value in properties(card, "suite")]
    assert [s["suite"] for s in suites] == [s.entry for s in case.report.suites]
    without = {s["suite"] for s in suites if "without_scores" in s}
    assert without == {one.suite.entry for one in absent(case.report)}
