"""The verdicts on limits as an in-toto test result: valid, about files, without numbers."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made import report, result
from pytest_bias.emit.exports import intoto
from pytest_bias.errors import ReportError, UsageError
from pytest_bias.models.snapshot import joined
from pytest_bias.records.identity import AdapterIdentity, ApplicationIdentity, ServedIdentity
from pytest_bias.records.report import Report
from pytest_bias.reports.decision import Decision, Outcome
from pytest_bias.settings.waivers import OfWaiver
from random_reports import TEXTS, Case, cases
from statements import valid

ONE, TWO, FILE = "1" * 64, "2" * 64, "f" * 64
SHARDS = {"model-00001-of-00002.safetensors": ONE, "model-00002-of-00002.safetensors": TWO}
LIMIT = "crows_pairs.stereotype_preference"


def measured(weights: dict[str, str] = SHARDS, **more: Any) -> Report:
    """Return a report of a model with these files."""
    made = report(result(), **more)
    model = replace(made.model, weights_sha256=joined(weights.items()))
    return replace(made, model=model, run={**made.run, "files": {"model": {"weights": weights}}})


def outcome(limit: str, verdict: Any, rule: str = "max_distance", **more: Any) -> Outcome:
    return Outcome(limit, rule, verdict, "crows_pairs[en]", value=60.48, **more)


def decided(*outcomes: Outcome, **more: Any) -> Decision:
    return Decision("held", 0, outcomes, (), "sha256:0", **more)


def predicate(*outcomes: Outcome) -> dict[str, Any]:
    return valid(intoto.render(measured(), decided(*outcomes), FILE))["predicate"]


def test_a_statement_is_about_the_files_of_the_weights_and_names_what_decided() -> None:
    settings = {"name": "pytest-bias.yaml", "sha256": "a" * 64}
    found = decided(
        outcome(LIMIT, "held"),
        outcome("seat.mean_absolute_effect", "undecided"),
        settings_file=settings,
    )
    assert valid(intoto.render(measured(), found, FILE)) == {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": "model-00001-of-00002.safetensors", "digest": {"sha256": ONE}},
            {"name": "model-00002-of-00002.safetensors", "digest": {"sha256": TWO}},
        ],
        "predicateType": "https://in-toto.io/attestation/test-result/v0.1",
        "predicate": {
            "result": "WARNED",
            "configuration": [
                {"name": "pytest-bias.yaml", "digest": {"sha256": "a" * 64}},
                {"name": "report.json", "digest": {"sha256": FILE}},
            ],
            "passedTests": [LIMIT],
            "warnedTests": ["seat.mean_absolute_effect"],
            "failedTests": [],
        },
    }


def test_the_most_severe_verdict_is_the_result() -> None:
    held, undecided = outcome("a.b", "held"), outcome("c.d", "undecided", fails=True)
    exceeded = outcome("e.f", "exceeded", fails=True)
    assert predicate(held)["result"] == "PASSED"
    assert predicate(held, undecided)["result"] == "WARNED"
    assert predicate(held, undecided, exceeded)["result"] == "FAILED"


def test_a_waived_limit_warns() -> None:
    waiver = OfWaiver("known", "2027-03-01", 90, "waives")
    found = predicate(outcome("a.b", "exceeded", waiver=waiver), outcome("c.d", "held"))
    assert (found["result"], found["warnedTests"], found["failedTests"]) == ("WARNED", ["a.b"], [])
    found = predicate(outcome("a.b", "exceeded", waiver=replace(waiver, state="expired")))
    assert (found["result"], found["warnedTests"], found["failedTests"]) == ("FAILED", [], ["a.b"])


def test_several_verdicts_on_one_limit_say_which_they_are() -> None:
    found = predicate(
        outcome("a.b", "held"), outcome("a.b", "exceeded", "max_regression"), outcome("c.d", "held")
    )
    assert found["passedTests"] == ["a.b (max_distance, crows_pairs[en])", "c.d"]
    assert found["failedTests"] == ["a.b (max_regression, crows_pairs[en])"]


def test_an_adapter_is_a_subject_too() -> None:
    made = measured({"model.safetensors": ONE})
    adapter = AdapterIdentity("org/adapter", None, TWO, "c" * 64)
    files = {**made.run["files"], "adapter": {"weights": {"adapter_model.safetensors": TWO}}}
    made = replace(
        made, model=replace(made.model, adapter=adapter), run={**made.run, "files": files}
    )
    found = valid(intoto.render(made, decided(outcome("a.b", "held")), FILE))
    assert [s["name"] for s in found["subject"]] == [
        "model.safetensors",
        "adapter_model.safetensors",
    ]


# What is refused


def refused(error: type[Exception], words: str, made: Report, found: Decision | None) -> None:
    with pytest.raises(error, match=words):
        intoto.render(made, found, FILE)


def test_without_limits_there_is_nothing_to_state() -> None:
    refused(UsageError, "the run sets no limits", measured(), decided())
    refused(UsageError, "no decision.json of this report is there", measured(), None)


def test_what_could_not_be_decided_is_named_with_the_reason() -> None:
    late = replace(outcome("a.b", "not_measured"), reason="the suite was not run")
    refused(ReportError, "a.b: the suite was not run", measured(), decided(late))
    first = replace(outcome("c.d", "no_baseline"), reason="there is no baseline to compare with")
    broken = replace(decided(outcome("a.b", "held"), first), status="no-baseline")
    refused(ReportError, r"there is no baseline\): c.d: there is no baseline", measured(), broken)
    failed = replace(decided(outcome("a.b", "held")), problems=("seat[en]: error, boom",))
    refused(ReportError, "seat.en.: error, boom", measured(), failed)


def test_a_model_that_is_asked_has_no_files() -> None:
    made, found = measured(), decided(outcome("a.b", "held"))
    for name, one in (
        ("a server", {"served": ServedIdentity("openai", "m", None, "f")}),
        ("an application", {"application": ApplicationIdentity("f")}),
    ):
        asked = replace(made, model=replace(made.model, **one))
        refused(ReportError, f"{name} answered for this model", asked, found)


def test_only_files_that_give_the_digest_of_the_model_are_named() -> None:
    found = decided(outcome("a.b", "held"))
    earlier = report(result())
    refused(ReportError, "does not name the files of the weights", earlier, found)
    for files in (
        {"model": {"weights": {"model.safetensors": TWO}}},
        {"model": {"weights": SHARDS}, "adapter": {"weights": {"a": ONE}}},
        {"model": {"weights": SHARDS, "tokenizer": {"tokenizer.json": TWO}}},
    ):
        changed = replace(measured(), run={"files": files})
        refused(ReportError, "do not give the digest of the", changed, found)
    for files in (
        [], {"model": {}}, {"model": {"weights": {"a": 1}}}, {"model": {"weights": {"a": "x"}}},
        {"model": {"weights": {}}}, {"other": {"weights": SHARDS}}, "", {"model": []},
    ):  # fmt: skip
        changed = replace(measured(), run={"files": files})
        refused(ReportError, "malformed", changed, found)


def test_a_name_that_breaks_a_list_of_checksums_is_refused() -> None:
    strange = measured({f"a\n{TWO}  other": ONE})
    refused(ReportError, "a name that is not text", strange, decided(outcome("a.b", "held")))


def test_a_run_that_is_not_finished_is_refused() -> None:
    made = measured()
    found = decided(outcome("a.b", "held"))
    refused(ReportError, "interrupted", replace(made, run={**made.run, "interrupted": True}), found)


# Every report


NAMES = st.sampled_from(("model.safetensors", "pytorch_model.bin", "x.gguf")) | TEXTS.filter(bool)
FILES = st.dictionaries(NAMES, st.sampled_from((ONE, TWO, FILE)), min_size=1, max_size=3)


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from leaves(one)
    else:
        yield value


@given(cases(), FILES, st.booleans())
def test_every_report_gives_a_valid_statement_without_numbers_or_is_refused(
    case: Case, files: dict[str, str], stated: bool
) -> None:
    made, decision = case.report, case.decision
    adapter = made.model.adapter
    if stated and not made.model.asked:
        model = replace(made.model, weights_sha256=joined(files.items()))
        run = {"model": {"weights": files}}
        if adapter:
            run["adapter"] = {"weights": {"adapter_model.safetensors": adapter.weights_sha256}}
        made = replace(made, model=model, run={**made.run, "files": run})
    verdicts = [o.verdict for o in decision.outcomes] if decision else []
    allowed = (
        not made.model.asked
        and stated
        and all(map(str.isprintable, files))
        and not made.run.get("interrupted")
        and bool(verdicts)
        and not {*verdicts} & {"not_measured", "no_baseline"}
        and not decision.problems
    )
    text = refusal = ""
    try:
        text = intoto.render(made, decision, FILE)
    except (ReportError, UsageError) as error:
        refusal = error.message
    assert bool(text) == allowed, refusal
    assert case.told(text + refusal) == []
    if not text:
        return
    found = valid(text)
    assert {type(leaf) for leaf in leaves(found)} == {str}
    of = found["predicate"]
    waived = sum(o.is_waived for o in decision.outcomes)
    assert len(of["passedTests"]) == verdicts.count("held")
    assert len(of["warnedTests"]) == verdicts.count("undecided") + sum(
        o.is_waived and o.verdict == "exceeded" for o in decision.outcomes
    )
    assert sum(len(of[name]) for name in intoto.RESULTS) == len(verdicts)
    assert (of["result"] == "PASSED") == ({*verdicts} == {"held"} and not waived)
    assert json.loads(text)["predicateType"] == intoto.TEST_RESULT
