"""A report as an aggregate of Every Eval Ever: valid, with the ideal, and as distances."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from made import HOSTILE, report, result, score
from published_schemas import problems
from pytest_bias.emit.exports import every_eval_ever
from pytest_bias.emit.exports.rows import score_rows
from pytest_bias.errors import ReportError
from pytest_bias.records.identity import ServedIdentity
from pytest_bias.records.report import DataInfo, Report
from random_reports import Case, cases, numbers_of

SCHEMA = "every-eval-ever-0.3.0.schema.json"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
CROWS = result(scores=[score()])
SKIPPED = result("honest", "it", status="skipped", reason="the licence was not accepted", data=None)
MADE = report(CROWS, SKIPPED)


def aggregate(made: Report) -> dict[str, Any]:
    """Return a valid aggregate."""
    found = json.loads(every_eval_ever.render(made))
    assert problems(found, SCHEMA) == []
    return dict(found)


def results(**more: Any) -> list[Any]:
    """Return the results of a report with one score: its value, and its distance."""
    return list(aggregate(report(result(scores=[score(**more)])))["evaluation_results"])


def uncertainty(of: Any) -> tuple[float, float]:
    interval = of["score_details"]["uncertainty"]["confidence_interval"]
    return interval["lower"], interval["upper"]


def test_a_value_and_its_distance_by_hand() -> None:
    value, distance = aggregate(MADE)["evaluation_results"]
    assert value["evaluation_result_id"] == "pytest-bias.crows_pairs[en].stereotype_preference"
    config = value["metric_config"]
    assert config["metric_parameters"] == {"ideal": 50, "tolerance": 0.5}
    scale = (config["score_type"], config["min_score"], config["max_score"], config["metric_unit"])
    assert scale == ("continuous", 0, 100, "%")
    assert value["score_details"]["score"] == 60.48
    assert value["score_details"]["uncertainty"] == {
        "confidence_interval": {
            "lower": 57.99,
            "upper": 62.92,
            "confidence_level": 0.95,
            "method": "wilson",
        },
        "num_samples": 1508,
    }
    assert distance["evaluation_result_id"].endswith("stereotype_preference.distance_from_ideal")
    assert distance["metric_config"]["lower_is_better"] is True
    assert distance["metric_config"]["max_score"] == 50
    assert distance["score_details"]["score"] == pytest.approx(10.48)
    assert uncertainty(distance) == pytest.approx((7.99, 12.92))


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        ((55.0, 65.0), (5.0, 15.0)),
        ((38.0, 45.0), (5.0, 12.0)),
        # The ideal is inside: no end of the interval is nearest to it.
        ((48.0, 53.0), (0.0, 3.0)),
        ((41.0, 53.0), (0.0, 9.0)),
        ((50.0, 53.0), (0.0, 3.0)),
        ((50.0, 50.0), (0.0, 0.0)),
    ],
)
def test_the_interval_of_a_distance_is_the_image_of_that_of_the_value(interval, expected) -> None:
    value = sum(interval) / 2
    assert uncertainty(results(value=value, interval=interval)[1]) == expected


@pytest.mark.parametrize(
    ("ideal", "bounds", "value", "expected", "told"),
    [
        (0, (0, 100), 3.0, True, False),
        (0, (0, None), 3.0, True, False),
        (100, (0, 100), 3.0, False, False),
        (50, (0, 100), 60.0, True, True),
        (50, (0, 100), 40.0, False, True),
        (0, (None, None), -0.25, False, True),
    ],
)
def test_the_direction_is_what_is_true_of_the_value(ideal, bounds, value, expected, told) -> None:
    given = {"ideal": ideal, "bounds": bounds, "value": value, "interval": None}
    config = results(**given)[0]["metric_config"]
    assert config["lower_is_better"] is expected
    assert ("direction" in config["additional_details"]) is told
    assert config["max_score"] == ("Infinity" if bounds[1] is None else bounds[1])


def test_a_value_without_an_interval_says_why() -> None:
    for one in results(interval=None, interval_reason="3 clusters; it takes 8"):
        assert "uncertainty" not in one["score_details"]
        assert one["score_details"]["details"]["interval_reason"] == "3 clusters; it takes 8"


def test_what_a_report_does_not_state_is_not_made_up() -> None:
    found = aggregate(MADE)
    source = found["source_metadata"]
    assert source["evaluator_relationship"] == "other"
    assert source["source_organization_name"] == "not stated"
    missing = json.loads(source["additional_details"]["suites_without_scores"])
    assert missing == {"honest[it]": "the licence was not accepted"}
    assert found["evaluation_timestamp"] == "2026-11-27T12:00:00+00:00"
    assert found["evaluation_id"] == "pytest-bias/org/name/1795780800"
    assert "developer" not in found["model_info"]
    on_hub = replace(MADE, model=replace(MADE.model, revision=COMMIT))
    model = aggregate(on_hub)["model_info"]
    assert (model["developer"], model["id"]) == ("org", "org/name")
    assert model["additional_details"]["deployment_type"] == "self_deployed"
    served = ServedIdentity("openai", "m", None, "f" * 64)
    asked = replace(MADE, model=replace(MADE.model, served=served))
    assert aggregate(asked)["model_info"]["additional_details"]["deployment_type"] == "unknown"


def test_settings_of_a_chat_are_told() -> None:
    made = replace(MADE, settings={**MADE.settings, "chat": "on", "answer_tokens": 8})
    (one, _) = aggregate(made)["evaluation_results"]
    assert one["generation_config"]["additional_details"] == {"chat": "on", "answer_tokens": "8"}


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_kept_as_they_are(name) -> None:
    made = report(result(scores=[score(by={"group": HOSTILE[name]})]), model=HOSTILE[name])
    found = aggregate(made)
    assert found["model_info"]["name"] == HOSTILE[name]
    details = found["evaluation_results"][0]["score_details"]["details"]
    assert json.loads(details["by"]) == {"group": HOSTILE[name]}


def test_a_report_without_a_score_is_refused_with_the_reasons() -> None:
    hidden = DataInfo("ours", "none", visibility="hidden")
    for suite, why in ((SKIPPED, "licence"), (replace(CROWS, data=hidden), "items are hidden")):
        with pytest.raises(ReportError, match=why):
            every_eval_ever.render(report(suite))
    with pytest.raises(ReportError, match="when its model was measured"):
        every_eval_ever.render(replace(MADE, run={}))


@given(cases(decided=False))
@settings(max_examples=60)
def test_every_report_gives_a_valid_aggregate_or_is_refused(case: Case) -> None:
    if not score_rows(case.report):
        with pytest.raises(ReportError) as refused:
            every_eval_ever.render(case.report)
        assert case.told(str(refused.value)) == []
        return
    text = every_eval_ever.render(case.report)
    assert case.told(text) == []
    found = json.loads(text)
    assert problems(found, SCHEMA) == []
    known = numbers_of(case)
    for row in score_rows(case.report):
        known |= {abs(end - row.score.ideal) for end in row.score.interval or ()}
    values, told = [], []
    for one in found["evaluation_results"]:
        number, config = one["score_details"], one["metric_config"]
        scale = [config.get(key, 0) for key in ("min_score", "max_score")]
        if "score_type" in config:
            assert float(scale[0]) <= number["score"] <= float(scale[1])
        ends = uncertainty(one) if "uncertainty" in number else ()
        # Zero is the least of distances, also where no end of an interval has it.
        assert {number["score"], *ends} <= known | {0}
        if not one["evaluation_result_id"].endswith(every_eval_ever.OF_DISTANCE):
            assert set(config["metric_parameters"].values()) - known <= set(FLOORS)
            values.append(number["score"])
            details = number["details"]
            told.append((json.loads(details["by"]), int(details["n"]), config["metric_unit"]))
    scores = [row.score for row in score_rows(case.report)]
    assert values == [s.value for s in scores]
    assert told == [(s.by, s.n, s.unit) for s in scores]


FLOORS = ("", "guessing", "shuffled labels", "wording alone")
