"""Limits of a project: held, exceeded, undecided, and the exit code that follows."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from made import record, report, result, score
from pytest_bias.emit.verdict import because
from pytest_bias.emit.verdict import decided as sentence
from pytest_bias.errors import UsageError
from pytest_bias.pytest_plugin.testing import Difference, assert_within
from pytest_bias.records.report import Record, SuiteResult
from pytest_bias.records.score import Score
from pytest_bias.reports.decision import Decision
from pytest_bias.reports.limits import decide, decision_level, read_limits
from pytest_bias.scoring.scores import Context, score_records
from pytest_bias.scoring.statistics import Estimate, wilson
from pytest_bias.suites import find

PREFERENCE = "crows_pairs.stereotype_preference"
ASSOCIATION = "template_association.association"


def decided(
    limits: dict[str, Any], *suites: SuiteResult, scores: Sequence[Score] = (), **more: Any
) -> Decision:
    suites = suites or (result(scores=scores or [score()]),)
    return decide(report(*suites), read_limits(limits), **more)


def verdict(value: float | None, interval: tuple[float, float] | None, distance: float) -> str:
    made = score(value=value, interval=interval, interval_reason="one value", n=100)
    (outcome,) = decided({PREFERENCE: {"max_distance": distance}}, scores=[made]).outcomes
    return outcome.verdict


@pytest.mark.parametrize(
    ("interval", "distance", "expected"),
    [
        ((45, 55), 10, "held"),
        ((40, 60), 10, "held"),
        ((41, 60.1), 10, "undecided"),
        ((39.9, 59), 10, "undecided"),
        ((30, 70), 10, "undecided"),
        ((60, 70), 10, "undecided"),
        ((60.1, 70), 10, "exceeded"),
        ((20, 39.9), 10, "exceeded"),
        ((0, 100), 50, "held"),
        ((0, 100), 70, "held"),
        ((50.1, 60), 0, "exceeded"),
        ((49, 60), 0, "undecided"),
    ],
)
def test_the_whole_interval_decides(interval, distance, expected):
    assert verdict(sum(interval) / 2, interval, distance) == expected


def test_a_value_inside_the_limit_is_not_enough():
    assert verdict(50, (39, 61), 10) == "undecided"
    assert verdict(61, (59, 63), 10) == "undecided"


@pytest.mark.parametrize("value", [50.0, 99.0])
def test_measuring_less_never_turns_undecided_into_held(value):
    assert verdict(value, None, 10) == "undecided"
    for half in (1, 5, 9, 12, 20, 40):
        wide = (max(0.0, 50 - half), min(100.0, 50.0 + half))
        assert (verdict(50, wide, 10) == "held") is (half <= 10)


def test_an_outcome_says_what_it_rests_on():
    (outcome,) = decided({PREFERENCE: {"max_distance": 10}}).outcomes
    assert outcome.entry == "crows_pairs[en]"
    assert (outcome.value, outcome.interval) == (60.48, (57.99, 62.92))
    assert outcome.allowed == (40, 60)
    assert (outcome.verdict, outcome.reason) == ("undecided", "the limit lies inside the interval")
    assert (outcome.n, outcome.fails) == (1508, False)


def test_without_an_interval_the_reason_is_given():
    made = score(value=55, interval=None, interval_reason="all values are equal")
    (outcome,) = decided({PREFERENCE: {"max_distance": 10}}, scores=[made]).outcomes
    assert outcome.reason == "no interval: all values are equal"
    assert outcome.n_to_decide is None


def n_to_decide(value: float, interval: tuple[float, float], **more: Any) -> int | None:
    made = score(value=value, interval=interval, **{"n": 100} | more)
    (outcome,) = decided({PREFERENCE: {"max_distance": 10}}, scores=[made]).outcomes
    return outcome.n_to_decide


def test_the_number_that_would_decide_by_hand():
    # Half the width is 6, the limit at 60 is 2 away: a third of the width takes nine times as many.
    assert n_to_decide(58, (52, 64)) == 900
    assert n_to_decide(42, (36, 48)) == 900
    assert n_to_decide(63, (57, 69)) == 400
    assert n_to_decide(60, (54, 66)) is None
    assert n_to_decide(55, (52, 58)) is None
    # The width by the distance is more than any float, or than anybody measures.
    assert n_to_decide(60.00000000000001, (54, 66)) is None
    assert n_to_decide(60.1, (40, 1e300)) == 100 * 201**2


def test_the_end_of_the_scale_is_no_limit_to_come_closer_to():
    # Control accuracy, ideal 100, at least 95: 99 is 4 away from the limit, not 1.
    made = score(
        "control_accuracy", value=99, ideal=100, interval=(91, 99.8), headline=False, n=100
    )
    limit = {"gendered_pair_entropy.control_accuracy": {"max_distance": 5}}
    suite = result("gendered_pair_entropy", scores=[made])
    (outcome,) = decided(limit, suite).outcomes
    assert outcome.verdict == "undecided"
    assert 100 < outcome.n_to_decide <= 400


def test_fewer_items_than_were_measured_never_decide():
    assert n_to_decide(55, (54, 61)) > 100


@pytest.mark.parametrize("undecided", ["warn", "fail", None])
@pytest.mark.parametrize(
    ("interval", "status", "code"),
    [((45, 55), "held", 0), ((57, 63), "undecided", None), ((61, 70), "exceeded", 1)],
)
def test_exit_codes(undecided, interval, status, code):
    rules = {"max_distance": 10} | ({"undecided": undecided} if undecided else {})
    made = score(value=sum(interval) / 2, interval=interval)
    decision = decided({PREFERENCE: rules}, scores=[made])
    assert decision.status == status
    assert decision.exit_code == (code if code is not None else 3 if undecided == "fail" else 0)
    assert decision.outcomes[0].fails is (code == 1 or (code is None and undecided == "fail"))


def test_nothing_is_limited_by_default():
    decision = decided({}, scores=[score(value=100, interval=(99, 100))])
    assert (decision.status, decision.exit_code, decision.outcomes) == ("measured", 0, ())


@pytest.mark.parametrize(
    ("suite", "reason"),
    [
        (result("seat"), "the suite was not run"),
        (result(status="skipped", reason="no data"), "no data"),
        (result(status="not_applicable", reason="closed vocabulary"), "closed vocabulary"),
        (result(status="inconclusive", reason="8 of 98", scores=[score()]), "8 of 98"),
        (result(scores=[score(value=None, note="nothing was scored")]), "nothing was scored"),
        (result(scores=[score("aul_preference")]), "crows_pairs[en] has no score"),
    ],
    ids=["not run", "skipped", "not applicable", "inconclusive", "null", "no such score"],
)
def test_what_was_not_measured_is_not_held(suite, reason):
    decision = decided({PREFERENCE: {"max_distance": 50}}, suite)
    (outcome,) = decision.outcomes
    assert outcome.verdict == "not_measured"
    assert reason in outcome.reason
    assert (decision.status, decision.exit_code) == ("could-not-measure", 3)


@pytest.mark.parametrize("status", ["error", "inconclusive", "unavailable"])
def test_a_failed_suite_fails_the_run_with_and_without_limits(status):
    failed = result("seat", status=status, reason="CUDA is gone")
    for limits in ({}, {PREFERENCE: {"max_distance": 50}}):
        decision = decided(limits, result(scores=[score()]), failed)
        assert decision.exit_code == 3
        assert decision.status == "could-not-measure"
        assert decision.problems == ("seat[en]: CUDA is gone",)


def test_data_that_could_not_be_had_fail_the_run_unless_that_is_allowed():
    lost = result("seat", status="unavailable", reason="no connection")
    broken = result("honest", "it", status="error", reason="CUDA is gone")
    made = report(broken, result(scores=[score()]), lost)
    decision = decide(made, ())
    assert (decision.status, decision.exit_code) == ("could-not-measure", 3)
    # What could not be had is named first.
    assert decision.problems == ("seat[en]: no connection", "honest[it]: CUDA is gone")
    assert decision.missing == ("seat[en]: no connection",)
    allowed = decide(made, (), allow_missing_data=True)
    assert (allowed.exit_code, allowed.problems) == (3, ("honest[it]: CUDA is gone",))
    allowed = decide(report(result(scores=[score()]), lost), (), allow_missing_data=True)
    assert (allowed.status, allowed.exit_code) == ("measured", 0)
    assert sentence(allowed) == (
        "The data of 1 suite could not be had, which is allowed. Measured; this project sets no "
        "limits."
    )
    # A limit on it asks for it all the same.
    limits = read_limits({"seat.mean_absolute_effect": {"max_distance": 1}})
    assert decide(made, limits, allow_missing_data=True).exit_code == 3


@pytest.mark.parametrize("status", ["skipped", "not_applicable"])
def test_a_suite_that_was_left_out_is_no_failure(status):
    decision = decided({}, result(scores=[score()]), result("seat", status=status, reason="x"))
    assert (decision.exit_code, decision.problems) == (0, ())


def test_exceeding_outweighs_everything_else():
    failed = result("seat", status="error", reason="x")
    decision = decided({PREFERENCE: {"max_distance": 1}}, result(scores=[score()]), failed)
    assert (decision.status, decision.exit_code) == ("exceeded", 1)
    assert decision.problems


GROUPS = (
    score(headline=False, value=80, interval=(75, 85), by={"bias_type": "religion"}),
    score(headline=False, value=50, interval=(45, 55), by={"bias_type": "age"}),
)


@pytest.mark.parametrize(
    ("group", "expected"),
    [("religion", "exceeded"), ("age", "held"), ("wealth", "not_measured")],
)
def test_a_limit_may_name_a_group(group, expected):
    limit = {f"{PREFERENCE}[bias_type={group}]": {"max_distance": 10}}
    (outcome,) = decided(limit, scores=[score(), *GROUPS]).outcomes
    assert outcome.verdict == expected
    if expected == "not_measured":
        assert outcome.reason == (
            "crows_pairs[en] has no score 'stereotype_preference' by bias_type=wealth; it has "
            "bias_type=religion; bias_type=age"
        )


def test_a_group_may_have_several_keys():
    made = score("association", by={"axis": "gender", "group": "male"}, unit="nats", ideal=0)
    made = replace(made, value=2.0, interval=(1.5, 2.5), bounds=(None, None))
    limit = {f"{ASSOCIATION}[axis=gender, group=male]": {"max_distance": 1}}
    (outcome,) = decided(limit, result("template_association", scores=[made])).outcomes
    assert (outcome.verdict, outcome.allowed) == ("exceeded", (-1, 1))


def test_without_a_configuration_a_limit_holds_for_each_that_was_run():
    suites = [result(config=c, language=c, scores=[score()]) for c in ("en", "fr")]
    outcomes = decided({PREFERENCE: {"max_distance": 20}}, *suites).outcomes
    assert [o.entry for o in outcomes] == ["crows_pairs[en]", "crows_pairs[fr]"]
    limit = "crows_pairs[fr].stereotype_preference"
    outcomes = decided({limit: {"max_distance": 20}}, *suites).outcomes
    assert [o.entry for o in outcomes] == ["crows_pairs[fr]"]


def test_without_a_configuration_a_limit_passes_over_those_that_have_to_be_named():
    suites = [result(config=c, language="en", scores=[score()]) for c in ("en", "en-revised")]
    outcomes = decided({PREFERENCE: {"max_distance": 20}}, *suites).outcomes
    assert [o.entry for o in outcomes] == ["crows_pairs[en]"]


def test_a_language_that_could_not_be_measured_is_not_passed_over():
    suites = [
        result(config="en", language="en", scores=[score()]),
        result(config="fr", language="fr", status="skipped", reason="data are missing"),
    ]
    decision = decided({PREFERENCE: {"max_distance": 50}}, *suites)
    assert [o.verdict for o in decision.outcomes] == ["held", "not_measured"]
    assert decision.exit_code == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("crowspairs.x", "suite 'crowspairs' is not known. Did you mean 'crows_pairs'?"),
        ("crows_pairs[en].stereotype", "metric 'stereotype' is not known"),
        (
            "crows_pairs.stereotype_prefrence",
            "Did you mean 'stereotype_preference'? Known: stereotype_preference, stereotype_",
        ),
        ("crows_pairs[en-revisd].stereotype_preference", "Did you mean 'en-revised'?"),
        ("crows_pairs", "limit 'crows_pairs' is malformed"),
        ("", "limit '' is malformed"),
        ("crows_pairs.a.b", "is malformed"),
        (f"{PREFERENCE}[religion]", "a group is written [bias_type=religion]"),
        (f"{PREFERENCE}[]", "is malformed"),
        pytest.param(
            f"{PREFERENCE}[bias_type=age, religion]", "a group is written [bias_type=religion]"
        ),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest(text, message):
    with pytest.raises(UsageError) as caught:
        read_limits({text: {"max_distance": 1}})
    assert message in caught.value.message
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"max_distanse": 1}, "'max_distanse' is not known. Did you mean 'max_distance'?"),
        ({"max_distance": -1}, "max_distance: must be a number from 0 up, not '-1'"),
        ({"max_distance": "ten"}, "max_distance: must be a number from 0 up, not 'ten'"),
        ({"max_distance": True}, "must be a number from 0 up, not 'true'"),
        ({"max_distance": math.nan}, "must be a number from 0 up, not 'nan'"),
        ({"max_distance": 1, "undecided": "ignore"}, "undecided: 'ignore' is not known"),
        (10, "must be a table, not '10'"),
        (None, "must be a table, not nothing"),
        ({}, PREFERENCE),
        ({"undecided": "fail"}, PREFERENCE),
        ({"max_distance": 10**400}, "must be a number from 0 up"),
        pytest.param({"max_distance": math.inf}, "must be a number from 0 up, not 'inf'"),
    ],
    ids=str,
)
def test_a_wrong_rule_is_named(rules, message):
    with pytest.raises(UsageError) as caught:
        read_limits({PREFERENCE: rules})
    assert message in str(caught.value)
    assert PREFERENCE in str(caught.value)


@pytest.mark.parametrize(
    "rules", [10, 0.5, {"points": "two"}, {"pionts": 2}, {"points": -1}, {}], ids=str
)
def test_a_regression_is_given_in_points(rules):
    with pytest.raises(UsageError, match=r"max_regression"):
        read_limits({PREFERENCE: {"max_regression": rules}})


def test_a_regression_without_a_baseline_cannot_be_decided():
    limit = {PREFERENCE: {"max_regression": {"points": 2}}}
    decision = decided(limit)
    assert decision.outcomes[0].verdict == "no_baseline"
    assert (decision.status, decision.exit_code) == ("no-baseline", 3)
    assert decided(limit, first_run=True).exit_code == 0


def test_the_decision_is_one_json_text():
    decision = decided({PREFERENCE: {"max_distance": 10}})
    content = json.loads(decision.to_json())
    assert content["schema"] == "pytest-bias/decision/1"
    assert content["status"] == "undecided"
    assert content["report"].startswith("sha256:")
    assert content["outcomes"][0]["interval"] == [57.99, 62.92]
    assert content["outcomes"][0]["n_to_decide"] > 1508


def test_a_decision_on_a_score_without_bounds_is_json_too():
    made = score("association", value=2.0, interval=(1.5, 2.5), bounds=(None, None), ideal=0)
    limit = {ASSOCIATION: {"max_distance": 3}}
    decision = decided(limit, result("template_association", scores=[made]))
    assert json.loads(decision.to_json())["outcomes"][0]["allowed"] == [-3, 3]


LIMITS = {
    "crows_pairs.stereotype_preference": {"max_distance": 10},
    "crows_pairs.stereotype_preference[bias_type=religion]": {
        "max_distance": 20,
        "max_regression": {"points": 5},
    },
    "gendered_pair_entropy[en].entropy_bias": {"max_regression": {"points": 0.05}},
}
ENTRIES = [("crows_pairs", "en", "en"), ("crows_pairs", "fr", "fr"), ("seat", "en", "en")]


@pytest.mark.parametrize(
    ("entries", "has_baseline", "n"),
    [
        (ENTRIES, False, 4),
        (ENTRIES, True, 6),
        ([*ENTRIES, ("gendered_pair_entropy", "en", "en")], True, 7),
        (ENTRIES[:1], False, 2),
        (ENTRIES[2:], True, 1),
        ([], True, 1),
    ],
)
def test_the_level_that_decides_follows_from_the_number_of_limits(entries, has_baseline, n):
    found = decision_level(read_limits(LIMITS), entries, has_baseline=has_baseline)
    assert found == pytest.approx(1 - 0.05 / n)


def test_with_several_limits_an_interval_is_made_again_at_their_level():
    # 60 of 100 pairs: 50.2 to 69.1 at 95 %, which excludes 50; at 99 % it does not.
    records = [crows_record(n, 100.0 * (n < 60)) for n in range(100)]
    metric = find("crows_pairs").measures[0].metrics[0]
    made = result(
        records=records,
        measure=find("crows_pairs").measures[0].name,
        scores=score_records(records, [replace(metric, by=())], Context("crows_pairs", "en")),
    )
    limits = read_limits({"crows_pairs.stereotype_preference": {"max_distance": 0}})
    (alone,) = decide(report(made), limits).outcomes
    assert (alone.verdict, alone.level) == ("exceeded", 0.95)
    assert alone.interval == made.scores[0].interval
    (among,) = decide(report(made), limits, level=0.99).outcomes
    assert (among.verdict, among.level) == ("undecided", 0.99)
    low, high = wilson(60, 100, 0.99)
    assert among.interval == pytest.approx((100 * low, 100 * high))
    # What was not kept cannot be looked at again.
    (bare,) = decide(report(replace(made, records=())), limits, level=0.99).outcomes
    assert bare.verdict == "not_measured"
    assert bare.reason == "no interval at the level 0.99: the records are missing"


def crows_record(number: int, value: float) -> Record:
    detail = {"more": value / 100, "less": 0.5, "tokens_more": 3, "tokens_less": 3}
    by = {"bias_type": "gender", "direction": "stereo"}
    return record(f"crows/{number:04d}", value, by=by, detail=detail)


def test_a_limit_on_everything_is_refused_with_the_reason():
    with pytest.raises(UsageError) as caught:
        read_limits({"*": {"max_regression": {"points": 2}}})
    assert "a limit is on one metric" in str(caught.value)


@pytest.mark.parametrize("value", [0.0, 100.0])
def test_the_worst_value_of_a_scale_exceeds_without_an_interval(value):
    assert verdict(value, None, 20) == "exceeded"
    assert verdict(value, None, 50) == "undecided"
    made = score(value=value, interval=None, interval_reason="a reason", n_clusters=10)
    (outcome,) = decided({PREFERENCE: {"max_distance": 20}}, scores=[made]).outcomes
    assert outcome.reason == "the worst that there is on its scale (no interval: a reason)"
    few = replace(made, n_clusters=9, interval_reason="9 clusters; it takes 10")
    (outcome,) = decided({PREFERENCE: {"max_distance": 20}}, scores=[few]).outcomes
    assert (outcome.verdict, outcome.reason) == (
        "undecided",
        "no interval: 9 clusters; it takes 10",
    )


@pytest.mark.parametrize(
    ("interval", "distance", "verdict", "told"),
    [
        ((60.04, 62), 10, "exceeded", "measured 61.02 (60.04 to 62.00, 95 %); allowed from 40 up"),
        ((60.004, 62), 10, "exceeded", "(60.004 to 62.000, 95 %); allowed from 40 up to 60"),
        ((58, 60.0004), 10, "undecided", "(58.0000 to 60.0004, 95 %); allowed"),
        ((39.99999, 41), 10, "undecided", "(39.99999 to 41.00000, 95 %); allowed"),
        ((52, 59.9996), 10, "held", "(52.0000 to 59.9996, 95 %); allowed"),
        ((40, 60), 10, "held", "(40.00 to 60.00, 95 %); allowed from 40 up to 60"),
        ((50.0001, 52), 0.00005, "exceeded", "(50.0001 to 52.0000, 95 %); allowed from 49.99995"),
        ((39.9, 60.1), 10.1, "held", "(39.90 to 60.10, 95 %); allowed from 39.9 up to 60.1"),
    ],
)
def test_what_is_printed_never_says_otherwise_than_the_verdict(interval, distance, verdict, told):
    made = score(value=sum(interval) / 2, interval=interval)
    (outcome,) = decided({PREFERENCE: {"max_distance": distance}}, scores=[made]).outcomes
    assert outcome.verdict == verdict
    assert told in because(outcome)


@pytest.mark.parametrize(
    ("interval", "told"),
    [
        (
            (0.10004, 0.3),
            "0.20000 (0.10004 to 0.30000), n = (5, 5) against a limit of ±0.1: exceeded",
        ),
        ((-0.1, 0.09), "0.200 (-0.100 to 0.090), n = (5, 5) against a limit of ±0.1: held"),
        ((-0.10001, 0.09), "(-0.10001 to 0.09000), n = (5, 5) against a limit of ±0.1: undecided"),
    ],
)
def test_a_test_by_hand_prints_what_decides_too(interval, told):
    found = Difference(Estimate(0.2, interval), (5, 5))
    if "held" in told:
        assert_within(found, 0.1, "fail")
        assert found.in_words(0.1) in told
        return
    with pytest.raises(AssertionError) as failed:
        assert_within(found, 0.1, "fail")
    assert told in str(failed.value)


def test_a_level_of_many_limits_is_not_certain():
    made = replace(decided({PREFERENCE: {"max_distance": 10}}).outcomes[0], level=1 - 0.05 / 5000)
    assert ", 99.999 %)" in because(made)


def test_a_regression_that_can_never_be_decided_is_refused_with_what_can_be():
    with pytest.raises(UsageError) as refused:
        read_limits({"perturbation.worst_class": {"max_regression": {"points": 2}}})
    assert refused.value.exit_code == 2
    assert "no value for single items" in refused.value.message
    assert "max_regression on perturbation." in str(refused.value.hint)
    assert read_limits({"perturbation.worst_class": {"max_distance": 2}})


@pytest.mark.parametrize(
    ("n_clusters", "expected"), [(2, "undecided"), (9, "undecided"), (10, "exceeded")]
)
def test_the_worst_of_a_few_clusters_decides_nothing(n_clusters, expected):
    made = score(value=0.0, interval=None, interval_reason="few", n_clusters=n_clusters)
    (outcome,) = decided({PREFERENCE: {"max_distance": 20}}, scores=[made]).outcomes
    assert outcome.verdict == expected
