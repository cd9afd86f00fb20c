"""Two reports side by side: what agrees, what is consistent, what differs, what is not compared."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from made import record, report, result, score
from pytest_bias.errors import ReportError
from pytest_bias.evidence.reproduction import Party, Reproduction, SuiteAgain, claimed_party
from pytest_bias.evidence.reproduction_compare import reproduction
from pytest_bias.records.identity import ScorerIdentity
from pytest_bias.records.report import Record, Report, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.suites.catalogue import installed

MEASURES = {s.name: s.measures[0].name for s in installed()}


def crows(
    value: float = 60.0, outcomes: Sequence[float] = (1.0,) * 1000, **more: Any
) -> SuiteResult:
    """Return a suite in percent with records of its own."""
    records = [record(f"c/{i:04}", v, text_sha256=f"{i:064x}") for i, v in enumerate(outcomes)]
    more = {"measure": MEASURES["crows_pairs"], **more}
    return result(scores=[score(value=value)], records=records, **more)


def compared(one: SuiteResult, two: SuiteResult) -> SuiteAgain:
    (found,) = made(report(one), report(two)).suites
    return found


def made(one: Report, two: Report) -> Reproduction:
    return reproduction(one, two, "org/name@1111111", Party("org-b", "stated"))


def flipped(n: int, of: int = 1000) -> list[float]:
    return [0.0] * n + [1.0] * (of - n)


@pytest.mark.parametrize(
    ("again", "level"),
    [(60.0, "agrees"), (60.5, "agrees"), (59.5, "agrees"), (60.51, "differs"), (59.0, "differs")],
)
def test_a_score_agrees_within_the_tolerance_of_its_metric(again, level):
    assert compared(crows(60.0), crows(again)).level == level


@pytest.mark.parametrize(
    ("unit", "tolerance", "off", "level"),
    [
        ("bits", 0.002, 0.0019, "agrees"),
        ("bits", 0.002, 0.0021, "differs"),
        ("d", 0.01, 0.0099, "agrees"),
        ("d", 0.01, 0.0101, "differs"),
    ],
)
def test_the_tolerance_is_in_the_unit_of_the_metric(unit, tolerance, off, level):
    def suite(value: float) -> SuiteResult:
        own = score("entropy_bias", value, unit=unit, tolerance=tolerance, ideal=0)
        name = "gendered_pair_entropy"
        records = [record("e/1", value, by={"part": "control"})]
        return result(name, scores=[own], records=records, measure=MEASURES[name])

    assert compared(suite(0.4), suite(0.4 + off)).level == level


@pytest.mark.parametrize(("n", "level"), [(0, "agrees"), (5, "agrees"), (6, "differs")])
def test_99_5_percent_of_the_outcomes_are_the_same(n, level):
    found = compared(crows(), crows(outcomes=flipped(n)))
    assert (found.level, found.n, found.n_same) == (level, 1000, 1000 - n)


def test_an_outcome_is_also_whether_it_was_scored():
    one = crows()
    records = [replace(one.records[0], status="unscored", value=None), *one.records[1:]]
    found = compared(one, replace(one, records=tuple(records)))
    assert found.n_same == 999


def test_every_group_has_to_agree():
    def suite(religion: float) -> SuiteResult:
        groups = [score(value=religion, by={"bias_type": "religion"}, headline=False)]
        return replace(crows(), scores=(score(), *groups))

    assert compared(suite(70.0), suite(70.4)).level == "agrees"
    found = compared(suite(70.0), suite(71.0))
    assert found.level == "differs"
    assert found.reason == (
        "1 of 2 scores differ by more than the tolerance; 1000 of 1000 outcomes are the same"
    )


def test_a_score_that_only_one_run_has_differs():
    extra = replace(crows(), scores=(score(), score("aul_preference", headline=False)))
    assert compared(crows(60.48), extra).level == "differs"
    assert compared(extra, crows(60.48)).level == "differs"


def test_no_value_in_both_agrees_and_in_one_differs():
    none = replace(crows(), scores=(score(value=None, interval=None),))
    assert compared(none, none).level == "agrees"
    assert compared(none, crows()).level == "differs"


def sampled(value: float, interval: tuple[float, float] | None, n: int) -> SuiteResult:
    """Return a suite with an interval, of whose 100 outcomes n are nought."""
    return replace(crows(outcomes=flipped(n, 100)), scores=(score(value=value, interval=interval),))


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every suite be one for which the model writes."""
    monkeypatch.setattr(
        "pytest_bias.evidence.reproduction_compare.asks_for_texts", lambda suite, catalogue: True
    )


@pytest.mark.usefixtures("writes")
def test_texts_that_a_model_wrote_are_consistent_within_the_margin():
    # Half-widths of 3 and 4 points: the margin is 5.
    one = sampled(10.0, (7.0, 13.0), 50)
    two = sampled(14.9, (10.9, 18.9), 60)
    found = compared(one, two)
    assert found.level == "consistent"
    assert found.scores[0].margin == pytest.approx(5.0)
    assert compared(one, sampled(15.1, (11.1, 19.1), 60)).level == "differs"
    assert compared(one, sampled(14.9, None, 60)).level == "differs"
    # What comes out to the item needs no margin.
    assert compared(one, one).level == "agrees"


def test_what_no_model_wrote_has_no_margin():
    one = sampled(10.0, (7.0, 13.0), 50)
    assert compared(one, one).scores[0].margin is None


def test_a_suite_that_is_not_installed_is_not_compared():
    theirs = replace(crows(), name="theirs")
    found = compared(theirs, theirs)
    assert (found.level, "'theirs' is not known" in (found.reason or "")) == ("not compared", True)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"version": "99"}, "another version of the suite"),
        ({"measure": "another"}, "another measure"),
        ({"labels": {"toxic": "LABEL_1"}}, "another choice of labels"),
        (
            {"scorer": ScorerIdentity("toxicity", "org/c", weights_sha256="e" * 64)},
            "another scorer",
        ),
        ({"records": ()}, "another set of items"),
        ({"status": "error", "reason": "out of memory"}, "error in the second run: out of memory"),
        ({"status": "skipped"}, "skipped in the second run: no reason is given"),
    ],
    ids=["version", "measure", "labels", "scorer", "records", "error", "skipped"],
)
def test_what_is_not_the_same_question_is_not_compared(change, what):
    found = compared(crows(), replace(crows(), **change))
    assert found.level == "not compared"
    assert what in (found.reason or "")


def test_other_data_and_other_items_are_not_compared():
    one = crows()
    assert one.data is not None
    other = compared(one, replace(one, data=replace(one.data, sha256="9" * 64)))
    assert other.reason == "another data in the second run"
    texts = tuple(replace(r, text_sha256="9" * 64) for r in one.records)
    assert compared(one, replace(one, records=texts)).reason == (
        "another set of items in the second run"
    )


def test_what_comes_out_counts_suites_that_earn_a_badge():
    control = crows(config="en-controls", control_of="en")
    quality = result(
        "general_quality",
        kind="quality",
        scores=[score("accuracy")],
        records=[R],
        measure=MEASURES["general_quality"],
    )
    one = report(crows(), control, quality)
    found = made(one, one)
    assert [s.entry for s in found.counted] == ["crows_pairs[en]"]
    assert (found.n("agrees"), found.verdict) == (1, "agrees")
    differs = made(one, report(crows(70.0), control, quality))
    assert (differs.n("differs"), differs.verdict) == (1, "differs")
    left_out = made(one, report(control, quality))
    assert left_out.verdict == "not comparable"


R: Record = record("q/1", 1.0)


@pytest.mark.parametrize(
    ("field", "what"),
    [
        ("weights_sha256", "weights"),
        ("config_sha256", "configuration"),
        ("tokenizer_sha256", "tokenizer"),
        ("code_sha256", "remote code"),
        ("chat_template_sha256", "chat template"),
        ("dtype", "precision"),
        ("kind", "kind of model"),
    ],
)
def test_another_model_is_not_comparable(field, what):
    one = report(crows())
    two = replace(one, model=replace(one.model, **{field: "other"}))
    found = made(one, two)
    assert found.verdict == "not comparable"
    assert [d.what for d in found.digests if not d.is_same] == [what]


@pytest.mark.parametrize("name", ["seed", "profile", "chat"])
def test_another_setting_is_not_comparable(name):
    one = report(crows())
    found = made(one, replace(one, settings={**one.settings, name: "other"}))
    assert found.verdict == "not comparable"


def test_it_is_written_and_read_whole():
    one = report(crows(), crows(70.0, config="fr", language="fr"))
    found = made(one, report(crows(60.2, flipped(3)), crows(72.0, config="fr", language="fr")))
    text = found.to_json()
    assert Reproduction.from_json(text) == found
    plain = json.loads(text)
    assert plain["verdict"] == "differs"
    assert plain["by"]["owner"] == "org-b"
    assert plain["suites"][0]["scores"][0]["difference"] == pytest.approx(0.2)


@pytest.mark.parametrize(
    "change",
    [
        lambda p: p.update(verdict="agrees"),
        lambda p: p["by"].update(owner="org-a"),
        lambda p: p["suites"][0].update(level="agrees"),
        lambda p: p["suites"][0]["scores"][0].update(again=60.0),
        lambda p: p.update(digest="sha256:" + "0" * 64),
        lambda p: p.pop("suites"),
        lambda p: p.update(schema="pytest-bias/reproduction/9"),
        lambda p: p["suites"][0].update(n="many"),
    ],
    ids=["verdict", "owner", "level", "value", "digest", "no suites", "schema", "type"],
)
def test_an_edited_one_is_refused(change):
    plain = json.loads(made(report(crows()), report(crows(70.0))).to_json())
    change(plain)
    with pytest.raises(ReportError):
        Reproduction.from_json(json.dumps(plain))


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", "{", '{"schema": 1}', "[" * 99_999])
def test_what_is_none_is_refused(text):
    with pytest.raises(ReportError):
        Reproduction.from_json(text)


@pytest.mark.parametrize(
    ("stated", "environment", "party"),
    [
        ("org-b", {}, Party("org-b", "stated")),
        (None, {}, Party()),
        (
            None,
            {
                "GITHUB_ACTIONS": "true",
                "GITHUB_REPOSITORY_OWNER": "org-b",
                "GITHUB_REPOSITORY": "org-b/runs",
                "GITHUB_RUN_ID": "7",
            },
            Party("org-b", "github", "org-b/runs", "7"),
        ),
        (None, {"GITHUB_REPOSITORY_OWNER": "org-b"}, Party()),
    ],
)
def test_who_runs_it_says_so(stated, environment, party):
    assert claimed_party(stated, environment) == party


def test_scores_are_matched_by_metric_and_group():
    def suite(order: int) -> SuiteResult:
        rows: list[Score] = [
            score(value=70.0, by={"bias_type": "religion"}, headline=False),
            score(value=50.0, by={"bias_type": "age"}, headline=False),
        ]
        return replace(crows(), scores=(score(), *rows[::order]))

    assert compared(suite(1), suite(-1)).level == "agrees"
