"""examples/evalhub: a provider and a collection of EvalHub, and a report in its terms."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from hypothesis import given, settings

from made import report, result, score
from published_schemas import problems
from pytest_bias.models.kind_table import Capability
from pytest_bias.suites import find
from random_reports import Case, cases, numbers_of

FOLDER = Path(__file__).parents[1] / "examples" / "evalhub"
OF_A_SERVER = {Capability.LOG_LIKELIHOOD, Capability.CHOOSE, Capability.GENERATE}


def read(name: str) -> Any:
    return yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"evalhub_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


PROVIDER, COLLECTION = read("provider.yaml"), read("collection.yaml")
SCORES = module("scores")


def test_provider_and_collection_are_valid() -> None:
    stored = {"resource": {"id": PROVIDER["id"]}, **PROVIDER}
    assert problems(stored, "evalhub-provider.schema.json") == []
    assert problems(COLLECTION, "evalhub-collection.schema.json") == []
    offered = {b["id"]: b["primary_score"] for b in PROVIDER["benchmarks"]}
    for benchmark in COLLECTION["benchmarks"]:
        assert benchmark["provider_id"] == PROVIDER["id"]
        assert benchmark["primary_score"] == offered[benchmark["id"]]
        SCORES.options_of(benchmark.get("parameters", {}), None)


def test_nothing_is_passed_or_failed() -> None:
    assert "pass_criteria" not in json.dumps([PROVIDER, COLLECTION])


@pytest.mark.parametrize("benchmark", PROVIDER["benchmarks"], ids=lambda b: b["id"])
def test_a_benchmark_is_a_suite_and_its_score_the_distance_of_the_headline(benchmark) -> None:
    name, _, configuration = SCORES.suite_of(benchmark["id"])[:-1].partition("[")
    suite = find(name)
    assert configuration in {c.name for c in suite.configurations}
    # Whatever a server is able to do, the headline has the same name and the same ideal.
    served = [
        m
        for m in suite.measures
        if m.needs <= OF_A_SERVER and (not m.configurations or configuration in m.configurations)
    ]
    headlines = {(x.name, x.ideal) for m in served for x in m.metrics if x.headline}
    ((metric, ideal),) = headlines
    assert benchmark["metrics"] == [metric, f"{metric}{SCORES.OF_DISTANCE}"]
    assert benchmark["primary_score"] == {
        "metric": benchmark["metrics"][1],
        "lower_is_better": True,
    }
    assert f"ideal is {ideal:g}" in benchmark["agent"]["result_interpretation"]


def test_scores_and_distances_by_hand() -> None:
    group = score(value=45.0, by={"bias_type": "age"}, headline=False, level=0.99, n=9)
    made = report(result(scores=[score(), group]))
    found = SCORES.results_of(made, "crows_pairs[en]")
    metric = "stereotype_preference"
    assert [(r["metric_name"], r["metric_value"]) for r in found] == [
        (metric, 60.48),
        (f"{metric}_distance_from_ideal", pytest.approx(10.48)),
        (f"{metric}[bias_type=age]", 45.0),
        (f"{metric}_distance_from_ideal[bias_type=age]", 5.0),
    ]
    # An interval of another level is no 95 % interval.
    assert [r.get("confidence_interval") for r in found] == [(57.99, 62.92), None, None, None]
    sample = report(result(scores=[score()], sampled=10, n_available=70))
    (first, _) = SCORES.results_of(sample, "crows_pairs[en]")
    assert (first["metadata"]["sampled"], first["metadata"]["n_available"]) == (10, 70)
    info = SCORES.info_of(made, found)
    assert info["metrics"][metric] == {
        **{"ideal": 50, "unit": "%", "level": 0.95, "interval": (57.99, 62.92), "n": 1508}
    }


def test_a_suite_without_a_score_is_an_error_with_the_reason() -> None:
    skipped = result(status="skipped", reason="the licence was not accepted", data=None)
    with pytest.raises(ValueError, match="the licence was not accepted"):
        SCORES.results_of(report(skipped), "crows_pairs[en]")
    with pytest.raises(ValueError, match="unknown parameters \\['num_fewshot'\\]; known: profile"):
        SCORES.options_of({"num_fewshot": 0}, None)
    with pytest.raises(ValueError, match="num_examples"):
        SCORES.options_of({}, 10)


@given(cases(decided=False))
@settings(max_examples=30)
def test_every_report_gives_valid_results_or_a_reason(case: Case) -> None:
    known = numbers_of(case)
    for suite in case.report.suites:
        try:
            found = SCORES.results_of(case.report, suite.entry)
        except ValueError:
            continue
        assert case.told(repr(found)) == []
        for one in found:
            assert problems(json.loads(json.dumps(one)), "evalhub-result.schema.json") == []
            assert one["metric_value"] in known
