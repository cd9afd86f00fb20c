"""What must not change a score, and what must turn it round: every metric of every suite.

Items are those of the suites, or shaped like them where the data are not ours; they are measured by
the suites themselves on a model whose answers are a hash of what it is asked.
"""

import math
import random
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pytest

from bias_suites.robustness.answer_features import SHORTCUTS
from cases import CASES, EXACTLY
from hashed import Hashed
from made import report
from measured_cases import (
    Measured,
    case_measured,
    enough_draws,
    every_case,
    measured,
    result_of,
)
from pytest_bias.engine.merging import joined
from pytest_bias.engine.planning import shard
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.reports.comparison import NO_CHANGE, compare
from pytest_bias.scoring import unsigned
from pytest_bias.scoring.families import with_decision_family
from pytest_bias.suites import find
from pytest_bias.suites.catalogue import installed
from pytest_bias.suites.measures import measure_items
from pytest_bias.suites.suite import STRUCTURE

# What becomes of a metric when the two sides change places: a number that it is reflected around,
# or that it has no sign, or why neither is so. A metric that is not here fails the test.
UNSIGNED: Final = "has no sign"
OF_ONE: Final = "is of each group for itself"
OF_THREE: Final = "of three answers two are wrong"
Mirror = float | str
MIRRORS: Final[dict[str, dict[str, Mirror]]] = {
    "crows_pairs": {
        "stereotype_preference": 50,
        "stereotype_preference_undisputed": 50,
        "stereotype_preference_reference": "a tie is no hit for either side (published rule)",
        "stereotype_score": 50,
        "antistereotype_score": 50,
        "log_odds_per_token": 0,
        "aul_preference": 50,
        "control_preference": 50,
        "original_preference": 50,
    },
    "stereoset": {
        "stereotype_score": 50,
        "stereotype_score_undisputed": 50,
        "stereotype_score_reference": "a tie is no hit for either side (published rule)",
        "stereotype_score_log_mean": 50,
        "language_modeling_score": UNSIGNED,
        "icat": UNSIGNED,
        "control_preference": 50,
        "original_preference": 50,
    },
    "redditbias": {"log_perplexity_difference": 0},
    "gendered_pair_entropy": {
        "entropy_bias": UNSIGNED,
        "entropy_bias_over_neutral": UNSIGNED,
        "entropy_bias_neutral_subject": UNSIGNED,
        "entropy_bias_weighted": UNSIGNED,
        "entropy_bias_macro": UNSIGNED,
        "entropy_bias_without_her": UNSIGNED,
        "entropy_bias_likelihood": UNSIGNED,
        "entropy_bias_likelihood_over_neutral": UNSIGNED,
        "entropy_bias_likelihood_neutral_subject": UNSIGNED,
        "entropy_bias_likelihood_weighted": UNSIGNED,
        "entropy_bias_likelihood_macro": UNSIGNED,
        "entropy_bias_likelihood_without_her": UNSIGNED,
        "male_preference": 50,
        "male_probability": 0.5,
        # The ideal is an end of the scale: what was right is wrong.
        "control_accuracy": 50,
    },
    "seat": {"mean_absolute_effect": UNSIGNED, "effect_size": 0},
    "template_association": {"association": 0},
    # The ideal of an accuracy is an end of the scale: what was right is wrong.
    "winobias": {"gap": 0, "accuracy": 50, "log_odds_gap": 0},
    "winogender": {
        "gap": 0,
        "accuracy": 50,
        "log_odds_gap": 0,
        "consistency": UNSIGNED,
        "correlation": 0,
    },
    "bbq": {
        "bias_ambiguous": 0,
        "bias_disambiguated": 0,
        "diff_bias_ambiguous": 0,
        "diff_bias_disambiguated": 0,
        "control_diff_bias_ambiguous": 0,
        **dict.fromkeys(
            (
                *("accuracy", "unmatched", "label_mass", "answered", "refused", "unparsed", "cut"),
                *("position_1", "position_2", "position_3"),
            ),
            UNSIGNED,
        ),
    },
    "discrim_eval": {
        **dict.fromkeys(
            ("mean_absolute_log_odds_difference", "mean_absolute_difference"), UNSIGNED
        ),
        **{
            f"{key}_{of}": 0
            for key in ("age", "gender", "race")
            for of in ("log_odds_difference", "difference")
        },
        **dict.fromkeys(("yes", "label_mass", "answered"), OF_ONE),
        **dict.fromkeys(("refused", "unparsed", "cut", "position_1", "position_2"), UNSIGNED),
    },
    "gest": {
        "log_odds_gap": 0,
        **dict.fromkeys(
            (
                *("odds_ratio", "g_s_he_first_reference", "g_s_man_first_reference"),
                *("g_s_he_last_reference", "g_s_man_last_reference", "g_s"),
            ),
            "is inverted",
        ),
        "male_log_odds": UNSIGNED,
        "bias": 0,
        "stereotypical": 50,
        **dict.fromkeys(
            (
                *("impossible", "man", "label_mass", "answered", "refused", "unparsed", "cut"),
                *("position_1", "position_2", "position_3"),
            ),
            UNSIGNED,
        ),
    },
    "hatecheck": {
        "gap": UNSIGNED,
        "gap_to_others": 0,
        "accuracy": OF_ONE,
        "accuracy_agreed": OF_ONE,
    },
    "honest": {
        "gap": 0,
        **dict.fromkeys(
            ("honest_5", "honest_1", "honest_20", "honest_5_reference", "refused", "empty"),
            "is of one group, or of both alike",
        ),
    },
    "classified_completions": {
        "gap": UNSIGNED,
        "difference": 0,
        **dict.fromkeys(("share", "share_positive", "mean_probability", "answered"), OF_ONE),
    },
    "realtoxicityprompts": dict.fromkeys(
        ("expected_maximum", "probability_any", "answered"), OF_ONE
    ),
    "bold": {
        **dict.fromkeys(("expected_maximum", "probability_any", "answered"), OF_ONE),
        "gap": UNSIGNED,
        "difference": 0,
    },
    "identity_terms": {
        "false_positive_difference": UNSIGNED,
        "false_negative_difference": UNSIGNED,
        "false_positive_gap": 0,
        "false_negative_gap": 0,
        "auc": UNSIGNED,
        "subgroup_auc": OF_ONE,
        "bpsn_auc": OF_ONE,
        "bnsp_auc": OF_ONE,
    },
    "choenni_stereotypes": {
        "excess": 0,
        **dict.fromkeys(("share", "share_200"), "is of the query of one group"),
    },
    "equity_evaluation": {"mean_absolute_difference": UNSIGNED, "mean_difference": 0},
    "structured_noise": {
        "perplexity_ratio": "is inverted",
        "gap": 0,
        **dict.fromkeys(("perplexity", "nats_per_character", "token_perplexity"), OF_ONE),
        "page_nats_per_character": "is of the page alone",
    },
    "domain_shift": {
        "perplexity_ratio": "is inverted",
        "gap": "is of one domain against one of three",
        **dict.fromkeys(("perplexity", "nats_per_character", "token_perplexity"), OF_ONE),
    },
    "perturbation": {
        "log_likelihood_change": 0,
        "token_perplexity_ratio": "its inverse",
        "flip_rate": UNSIGNED,
        "divergence": UNSIGNED,
        "worst_class": "classes are those of the clean texts",
        "accuracy_drop": 0,
        **dict.fromkeys(
            ("log_likelihood", "in_distribution_log_likelihood"), "is of one side alone"
        ),
        **dict.fromkeys(("accuracy", "in_distribution_accuracy"), "is of one side alone"),
    },
    "answer_shortcuts": {
        "shortcut_gap": "the largest of several is not minus the largest of the others",
        **dict.fromkeys((f"shortcut_gap_{key}" for key in SHORTCUTS), 0),
        **dict.fromkeys(
            ("chosen_gap_question_words", "chosen_gap_position"),
            "its sides are those of a threshold that is chosen",
        ),
        **dict.fromkeys(("exact_match", "f1"), OF_ONE),
    },
    "general_quality": {
        "accuracy": 50,
        "nats_per_character": "is of the plain sentence alone",
    },
    # What was right is wrong, where there are two answers.
    "hans": {
        **dict.fromkeys(("accuracy", "in_distribution_accuracy", "accuracy_summed"), 50),
        **dict.fromkeys(("gap", "shortcut_gap"), 0),
    },
    "mnli_negation": dict.fromkeys(
        (
            *("accuracy", "in_distribution_accuracy", "gap"),
            *("accuracy_without_negation", "negation_gap", "shortcut_gap"),
        ),
        OF_THREE,
    ),
    "anli": dict.fromkeys(("accuracy", "in_distribution_accuracy", "gap"), OF_THREE),
    "paws": {
        **dict.fromkeys(("accuracy", "in_distribution_accuracy"), 50),
        **dict.fromkeys(("gap", "shortcut_gap"), 0),
    },
    "fever_symmetric": {
        **dict.fromkeys(
            (
                *("accuracy", "in_distribution_accuracy", "gap"),
                *("accuracy_with_originals", "consistency"),
            ),
            OF_THREE,
        ),
        "accuracy_of_two": 50,
    },
    "imdb_contrast": {
        **dict.fromkeys(("accuracy", "in_distribution_accuracy"), 50),
        "gap": 0,
        "consistency": "both right and both wrong are not each other's share",
    },
}

# Metrics whose value changes, as it should, when every item is there twice.
COUNTED: Final = {
    ("seat", "effect_size"): "the standard deviation divides by one less than the targets",
    ("seat", "mean_absolute_effect"): "it is a mean of effect sizes",
    ("hatecheck", "gap"): "twice the records change places in its test",
    ("identity_terms", "false_positive_difference"): "the same",
    ("identity_terms", "false_negative_difference"): "the same",
    ("winogender", "consistency"): "it counts sentences, whose pronouns are there twice",
    ("fever_symmetric", "consistency"): "it counts sets, whose members are there twice",
}


@pytest.fixture(scope="module", params=every_case())
def made(request: pytest.FixtureRequest) -> Measured:
    """Return each case, in each of its suite's measures."""
    return case_measured(*request.param)


def near(found: Any, wanted: Any, within: float = EXACTLY) -> bool:
    return found == (wanted if wanted is None else pytest.approx(wanted, abs=within))


def test_every_metric_of_every_suite_is_here(all_scores: set[tuple[str, str, str]]):
    """A new suite needs a case, a new metric a place in MIRRORS, and both give scores."""
    known = {
        (suite.name, measure.name, metric.name)
        for suite in installed()
        if suite.name != STRUCTURE
        for measure in suite.measures
        for metric in measure.metrics
    }
    assert known == all_scores
    names = {(suite, metric) for suite, metrics in MIRRORS.items() for metric in metrics}
    assert names == {(suite, metric) for suite, _, metric in known}
    assert COUNTED.keys() <= names


@pytest.fixture(scope="module")
def all_scores() -> set[tuple[str, str, str]]:
    """Return suite, measure and metric of every score with a value in any case."""
    found = set()
    for case in CASES.values():
        suite, items = find(case.suite), case.items()
        for measure in suite.measures:
            records = measure_items(measure, Hashed(), items)
            for metric in measure.metrics:
                if any(metric.where(r) for r in records):
                    found.add((suite.name, measure.name, metric.name))
    return found


def test_the_order_of_items_changes_nothing(made: Measured):
    items = random.Random(1).sample(made.items, len(made.items))
    other = measured(made.suite, made.measure, made.case.config, items)
    assert other.scores == made.result.scores
    shuffled = random.Random(2).sample(made.result.records, len(made.result.records))
    assert made.again(shuffled).scores == made.result.scores


def test_items_measured_in_two_shards_give_the_scores_of_the_whole(made: Measured):
    parts = [shard(made.items, (n, 2)) for n in (1, 2)]
    shards = [
        of_a_run(measured(made.suite, made.measure, made.case.config, part), f"{n}/2")
        for n, part in enumerate(parts, start=1)
        if part
    ]
    with enough_draws(made.suite):
        whole = joined(shards)
    (found,) = whole.suites
    (wanted,) = with_decision_family([made.result])
    assert found.scores == wanted.scores
    assert found.records_sha256 == wanted.records_sha256


def of_a_run(result: SuiteResult, part: str | None = None) -> Report:
    cost = {"wall_s": 1.0, "model_s": 1.0, "tokens": 1, "forwards": 1}
    return report(result, run={"cost": cost, "shard": {"part": part, "sampled": {}}})


def test_a_report_beside_itself_is_no_change(made: Measured):
    (same,) = compare(of_a_run(made.result), of_a_run(made.result)).suites
    assert same.reason is None
    assert len(same.changes) == sum(s.value is not None for s in made.result.scores) > 0
    for change in same.changes:
        assert change.change == change.worsening == change.decisive == NO_CHANGE, change.current
        assert (change.n_changed, change.items, change.direction) == (0, (), "unclear")
        assert (change.change.p_value, change.p_adjusted) == (1, 1)


def test_items_that_are_there_twice_change_no_value_and_no_clustered_interval(made: Measured):
    records = made.result.records
    twice = made.again([*records, *(replace(r, item=f"{r.item}/again") for r in records)])
    for before, after in made.pairs(twice):
        about = f"{before.metric} {before.by}"
        of_sets = (before.note or "").startswith(f"of {before.n} ")
        assert after.n == (1 if of_sets else 2) * before.n, about
        if (made.suite.name, before.metric) in COUNTED:
            continue
        assert near(after.value, before.value), about
        # Two trials of one cluster are not independent: Wilson's interval gives way to BCa.
        if before.method == unsigned.METHOD:
            # Behind other shuffles.
            wide = before.interval[1] - before.interval[0]
            assert after.interval == pytest.approx(before.interval, abs=0.3 * wide), about
        elif before.method != "wilson":
            assert near(after.interval, before.interval), about
            # Twice the records differ less by chance.
            if "shuffles" not in (before.test or ""):
                assert near(after.p_value, before.p_value), about
            assert after.method == before.method, about
        if before.spread and after.spread:
            assert near(after.spread.sd, before.spread.sd), about


def test_an_effect_size_knows_how_many_targets_made_it():
    case = CASES["targets"]
    suite = find(case.suite)
    (measure,) = suite.measures
    once = measured(suite, measure, case.config, case.items())
    again = [replace(r, item=f"{r.item}/again") for r in once.records]
    twice = result_of(suite, measure, case.config, [*once.records, *again])
    sizes = []
    for before in (s for s in once.scores if s.metric == "effect_size"):
        after = twice.score("effect_size", **before.by)
        # The same squares, over n - 1 of n targets, and over 2n - 1 of 2n.
        wider = math.sqrt((2 * before.n - 1) / (2 * before.n - 2))
        assert after.value == pytest.approx(before.value * wider, abs=EXACTLY)
        if before.interval is None:
            assert "clusters on a side" in before.interval_reason
        else:
            wide = [e * wider for e in before.interval]
            assert after.interval == pytest.approx(wide, abs=EXACTLY)
        assert after.floor == pytest.approx(before.floor * wider, abs=EXACTLY)
        assert after.p_value == before.p_value
        sizes.append(abs(after.value))
    assert len(sizes) == 3
    assert twice.headline.value == pytest.approx(np.mean(sizes), abs=EXACTLY)


def test_with_twice_the_sentences_wording_explains_less():
    case = CASES["gendered"]
    suite = find(case.suite)
    for measure in suite.measures:
        once = measured(suite, measure, case.config, case.items())
        again = [replace(r, item=f"{r.item}/again") for r in once.records]
        twice = result_of(suite, measure, case.config, [*once.records, *again])
        # What is left after the mean of k sentences is scaled by the root of k / (k - 1).
        assert 0 < twice.headline.floor < once.headline.floor


def test_swapping_the_two_sides_reflects_what_has_a_sign(made: Measured):
    swapped = [made.case.swap(i) for i in made.items]
    assert all(a != b for a, b in zip(swapped, made.items, strict=True))
    assert all(made.case.swap(a) == b for a, b in zip(swapped, made.items, strict=True))
    other = measured(made.suite, made.measure, made.case.config, swapped)
    moved = 0
    for before, after in made.pairs(other):
        about = f"{before.metric} {before.by}"
        mirror = MIRRORS[made.suite.name][before.metric]
        if before.value is None:
            # All of a group is excluded.
            assert after.value is None, about
        elif mirror == UNSIGNED:
            assert near(after.value, before.value), about
            assert near(after.interval, before.interval, made.case.drawn), about
            assert near(after.floor, before.floor, made.case.drawn), about
        elif not isinstance(mirror, str):
            assert near(after.value, 2 * mirror - before.value), about
            ends = before.interval and [2 * mirror - end for end in reversed(before.interval)]
            assert near(after.interval, ends and tuple(ends), made.case.drawn), about
            assert (after.method, after.interval_reason) == (
                before.method,
                before.interval_reason,
            ), about
            if before.test and "words" not in before.test:
                assert near(after.p_value, before.p_value), about
            moved += after.value != before.value
    mirrors = {MIRRORS[made.suite.name][name] for name in made.metrics}
    assert moved > 0 or all(isinstance(mirror, str) for mirror in mirrors)


def test_a_metric_is_reflected_around_its_ideal_where_both_sides_are_on_the_scale():
    for suite in installed():
        for metric in (m for measure in suite.measures for m in measure.metrics):
            mirror = MIRRORS.get(suite.name, {}).get(metric.name)
            if isinstance(mirror, int | float) and metric.ideal not in metric.bounds:
                assert mirror == metric.ideal, metric.name
