"""Reports for AVID: valid, measurements without a verdict, or a clear refusal."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given

from made import HOSTILE, report, result, score
from pytest_bias.emit.exports.avid import render
from pytest_bias.errors import UsageError
from pytest_bias.records.documents import finite_json
from pytest_bias.records.identity import ApplicationIdentity
from pytest_bias.records.report import DataInfo, Report
from pytest_bias.reports.withholding import withheld
from random_reports import SALT, Case, cases, numbers_of

SCHEMA = Path(__file__).parents[1] / "data" / "schemas" / "avid-report.schema.json"
CROWS = result(scores=[score(), score(by={"bias_type": "age"}, headline=False)])
NO_METHOD = result("seat", scores=[score("size", 0.6, interval=None, interval_reason="few")])
HANS = result("hans", "en", [score("accuracy", 70.0, ideal=100)], kind="robustness")
ACCURACY = result("lm", "en", [score("perplexity", 9.0)], kind="quality")


@cache
def schema() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def read(made: Report) -> dict[str, Any]:
    """Return an AVID report, after it was held against the schema."""
    found = finite_json(render(made))
    schema().validate(found)
    return found


def test_a_headline_has_its_value_with_interval_and_ideal_and_how_it_was_found() -> None:
    tested = score("bias", 55.0, test="exact sign test", p_value=0.01, p_adjusted=0.02)
    found = read(report(CROWS, result("bbq", scores=[tested], kind="downstream"), ACCURACY))
    first, second = found["metrics"]
    assert first["name"] == "crows_pairs[en].stereotype_preference"
    method = {"type": "Significance Test", "name": "95 % confidence interval (wilson)"}
    assert first["detection_method"] == method
    wanted = {"value": 60.48, "low": 57.99, "high": 62.92, "level": 0.95, "ideal": 50, "n": 1508}
    assert wanted.items() <= first["results"].items()
    assert first["results"]["distance"] == 60.48 - 50
    assert second["detection_method"]["name"] == "exact sign test"
    assert (second["results"]["p_value"], second["results"]["p_adjusted"]) == (0.01, 0.02)


def test_it_is_a_measurement_and_claims_no_more() -> None:
    found = read(report(CROWS))
    assert found["problemtype"]["type"] == "Measurement"
    assert "They are no verdict" in found["problemtype"]["description"]["value"]
    affects = found["affects"]
    assert affects["artifacts"] == [{"type": "Model", "name": "org/name"}]
    assert affects["developer"] == affects["deployer"] == found["references"] == []
    avid = found["impact"]["avid"]
    assert (avid["risk_domain"], avid["vuln_id"]) == (["Ethics"], None)
    assert avid["sep_view"] == ["E0100: Bias/ Discrimination"]
    assert found["reported_date"] == "2026-11-27"
    both = read(report(CROWS, HANS))["impact"]["avid"]
    assert both["risk_domain"] == ["Ethics", "Performance"]
    only = read(report(HANS))
    assert only["impact"]["avid"]["sep_view"] == ["P0200: Model issues"]
    assert "Measurements of robustness of" in only["problemtype"]["description"]["value"]


def test_an_application_is_a_system() -> None:
    made = report(CROWS)
    asked = replace(made.model, application=ApplicationIdentity("d" * 64))
    assert read(replace(made, model=asked))["affects"]["artifacts"][0]["type"] == "System"


def test_what_is_left_out_is_named() -> None:
    skipped = result("honest", "it", status="skipped", reason="licence not accepted")
    hidden = result("own", scores=[score(value=12.345678)])
    hidden = replace(hidden, data=DataInfo("hidden items", "none", visibility="hidden"))
    control = replace(CROWS, config="en-controls", control_of="en")
    text = render(report(CROWS, NO_METHOD, skipped, hidden, control))
    found = finite_json(text)
    assert [m["results"]["entry"] for m in found["metrics"]] == ["crows_pairs[en]"]
    words = found["description"]["value"]
    assert "Left out, with neither interval nor test: seat[en]." in words
    assert "Without a score here: honest[it], own[en]." in words
    assert "12.345678" not in text


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (withheld(report(CROWS), SALT), "crows_pairs[en]: scores not published"),
        (report(NO_METHOD), "seat[en] has neither interval nor test"),
        (report(ACCURACY), "no suite of social bias or robustness has a headline"),
        (report(), "no suite of social bias or robustness has a headline"),
    ],
    ids=["withheld", "no method", "quality only", "nothing"],
)
def test_where_nothing_can_be_said_it_is_refused(made: Report, why: str) -> None:
    with pytest.raises(UsageError, match="--to avid: there is nothing to say of org/name") as told:
        render(made)
    assert why in told.value.message
    assert "--to csv" in (told.value.hint or "")


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_are_valid(name: str) -> None:
    found = read(report(replace(CROWS, title=name, scores=(score(name),)), model=name))
    assert found["metrics"][0]["results"]["metric"] == name
    assert found["affects"]["artifacts"][0]["name"].isprintable()


def _numbers(plain: Any) -> list[float]:
    if isinstance(plain, dict | list):
        inner = plain.values() if isinstance(plain, dict) else plain
        return [n for one in inner for n in _numbers(one)]
    return [plain] if isinstance(plain, int | float) and not isinstance(plain, bool) else []


@given(cases())
def test_random_reports_are_valid_or_refused(found: Case) -> None:
    text = _rendered(found.report)
    assert found.told(text) == []
    if not text.startswith("--to avid"):
        plain = finite_json(text)
        schema().validate(plain)
        assert {*_numbers(plain)} <= numbers_of(found)


def _rendered(made: Report) -> str:
    """Return the document, or the words of the refusal."""
    try:
        return render(made)
    except UsageError as error:
        return str(error)
