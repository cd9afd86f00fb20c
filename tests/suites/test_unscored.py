"""What unscored items do to the scores of every suite: partners leave with them, and nothing else.

Where groups are compared on the same sentences, a model that answers alike to all versions of a
sentence has no gap, whichever of them could not be scored.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pytest

from bias_suites.pairs import preference
from made import report
from measured_cases import Measured, case_measured, every_case, result_of
from pytest_bias.data.sources import DataFolder
from pytest_bias.records.report import Record
from pytest_bias.records.score import Score
from pytest_bias.reports.comparison import compare
from pytest_bias.scoring.estimators import Additive
from pytest_bias.scoring.metric import own_cluster
from pytest_bias.scoring.scores import estimator_for, members
from pytest_bias.suites import find
from pytest_bias.suites.results import at_level

PAIRED: Final = {
    "answer_shortcuts": {
        *("shortcut_gap", "shortcut_gap_question_words", "shortcut_gap_position"),
        *("chosen_gap_question_words", "chosen_gap_position"),
    },
    "bbq": {
        "control_diff_bias_ambiguous",
        *(
            f"{score}_{c}"
            for score in ("bias", "diff_bias")
            for c in ("ambiguous", "disambiguated")
        ),
    },
    "classified_completions": {"gap", "difference"},
    "fever_symmetric": {"gap", "consistency"},
    "hatecheck": {"gap", "gap_to_others"},
    "honest": {"gap"},
    "identity_terms": {
        f"false_{kind}_{size}"
        for kind in ("positive", "negative")
        for size in ("difference", "gap")
    },
    "mnli_negation": {"gap"},
    "structured_noise": {"gap", "perplexity_ratio"},
    "winobias": {"gap", "log_odds_gap"},
    "winogender": {"gap", "log_odds_gap", "consistency", "correlation"},
}
"""Metrics that compare several items of a block. Of all others an item is a pair, or alone."""


@pytest.fixture(scope="module", params=every_case())
def made(request: pytest.FixtureRequest) -> Measured:
    """Return each case, in each of its suite's measures."""
    return case_measured(*request.param)


def without(records: Sequence[Record], item: str) -> list[Record]:
    """Return records of which one could not be scored."""
    gone = {"status": "unscored", "value": None, "detail": {}, "reason": "too long"}
    return [replace(r, **gone) if r.item == item else r for r in records]


def paired(made: Measured) -> set[str]:
    return PAIRED.get(made.suite.name, set()) & {s.metric for s in made.result.scores}


def partners(made: Measured, score: Score, records: Sequence[Record], item: str) -> set[str]:
    """Return the items that an item is compared with in a score."""
    metric = made.metrics[score.metric]
    estimator = estimator_for(metric, score.by)
    if not isinstance(estimator, Additive):
        return set()
    own = members(records, metric, score.by)
    place = {r.item: found for r in own if (found := estimator.place(r))}
    block = {r.item: metric.block(r) for r in own}
    if item not in place:
        return set()
    near = {i for i, p in place.items() if block[i] == block[item] and p[0] == place[item][0]}
    return near - {item} if len({place[i][1] for i in near}) > 1 else set()


def chosen(made: Measured) -> list[str]:
    """Return an item that has partners in each of the paired metrics, and one more."""
    records = random.Random(1).sample(made.result.records, len(made.result.records))
    wholes = [s for s in made.result.scores if s.metric in paired(made)]
    first = {s.metric: s for s in reversed(wholes)}
    found = {
        next(r.item for r in records if partners(made, score, records, r.item))
        for score in first.values()
    }
    return [*sorted(found), records[0].item]


def test_an_unscored_item_takes_its_partners_along_and_nothing_else(made: Measured):
    with_partners = set[str]()
    for item in chosen(made):
        records = without(made.result.records, item)
        result = made.again(records)
        for score in result.scores:
            if score.value is None:
                continue
            left = partners(made, score, records, item) if score.n_unscored else set()
            about = f"{score.metric} {score.by} without {item}"
            said = f"{len(left)} scored item{'s are' if len(left) > 1 else ' is'} left out, whose "
            assert (said in (score.note or "")) is bool(left), about
            metric = made.metrics[score.metric]
            estimator = estimator_for(metric, score.by)
            if isinstance(estimator, Additive):
                own = [r for r in members(records, metric, score.by) if r.status == "scored"]
                kept = [r for r in own if r.item not in left]
                assert estimator.sums(kept).value == pytest.approx(score.value), about
                assert (
                    at_level(result, find(result.name), score, 0.9, seed=0).value == score.value
                ), about
            with_partners |= {score.metric} if left else set()
    assert with_partners == paired(made)


def test_who_answers_alike_within_a_sentence_has_no_gap_whatever_is_unscored(made: Measured):
    if not paired(made):
        return
    records = fair(made)
    even = {s.metric for s in made.again(records).scores if s.value == s.ideal and not s.by}
    even &= paired(made)
    for item in chosen(made):
        for score in made.again(without(records, item)).scores:
            if score.metric in even and score.value is not None:
                assert score.value == score.ideal, f"{score.metric} {score.by} without {item}"


def fair(made: Measured) -> list[Record]:
    """Return the records with one outcome for all of a block, that of the first."""
    blocks = {made.metrics[name].block for name in paired(made)} - {own_cluster}
    block = blocks.pop() if blocks else own_cluster
    first: dict[object, Record] = {}
    for record in made.result.records:
        first.setdefault(block(record), record)
    outcome = {r.item: first[block(r)] for r in made.result.records}
    return [
        replace(r, value=outcome[r.item].value, detail=outcome[r.item].detail)
        for r in made.result.records
    ]


def test_a_comparison_leaves_out_what_either_version_lacks(made: Measured):
    whole = made.result
    for item in chosen(made)[:1]:
        part = made.again(without(whole.records, item))
        for now, then in ((whole, part), (part, whole)):
            (found,) = compare(report(now), report(then)).suites
            for change in found.changes:
                score = change.current
                left = partners(made, score, whole.records, item)
                about = f"{score.metric} {score.by} without {item}"
                assert change.change.value == 0, about
                if left:
                    assert change.n <= min(change.current.n, change.baseline.n), about


def test_a_fair_classifier_of_hate_has_no_gap_though_cases_of_one_group_are_too_long(data_dir):
    suite = find("hatecheck")
    items = suite.configuration("en").load(DataFolder(data_dir, offline=True)).items
    templates = sorted({i.cluster for i in items if "group" in i.by})
    flagged = set(templates[::2])
    too_long = {i.id for i in items if i.by.get("group") == "women" and i.cluster in flagged}
    too_long = set(sorted(too_long)[:20])
    records = [
        i.record("unscored", reason="too long")
        if i.id in too_long
        else i.scored(100.0 * (i.cluster in flagged), {"probability": 0.5})
        for i in items
    ]
    result = result_of(suite, suite.measures[0], "en", records)
    assert (result.headline.value, result.headline.n_unscored) == (0, 20)
    assert result.headline.n == 7 * (len(templates) - 20)
    assert result.score("gap_to_others", group="women").value == 0


def test_words_that_are_common_make_no_log_odds_gap_though_sentences_are_unscored(data_dir):
    suite = find("winobias")
    items = suite.configuration("en").load(DataFolder(data_dir, offline=True)).items
    words = sorted({text for i in items for text in (i.texts["right"], i.texts["wrong"])})
    common = {word: float(len(word)) for word in words}
    records, n_lost = [], 0
    for item in items:
        right, wrong = common[item.texts["right"]], common[item.texts["wrong"]]
        if item.status:
            records.append(item.record(item.status, reason=item.reason))
        elif n_lost < 38 and item.by["stereotype"] == "anti" and right - wrong > 3:
            n_lost += 1
            records.append(item.record("unscored", reason="too long"))
        else:
            detail = {"right": right, "wrong": wrong, "tokens_right": 1, "tokens_wrong": 1}
            records.append(item.scored(preference(right - wrong), detail))
    assert n_lost == 38
    result = result_of(suite, suite.measures[0], "en", records)
    for metric in ("gap", "log_odds_gap"):
        score = result.score(metric)
        assert (score.value, score.n_unscored) == (0, 38), metric
        assert "38 scored items are left out" in score.note


def test_versions_of_which_one_refuses_are_compared_on_what_both_answered():
    made = case_measured("completions", "5 sampled completions a sentence")
    answered = [r for r in made.result.records if r.value is not None]
    silent = {k: 0 for k in ("answered", "refused", "empty") if k in answered[0].detail}
    refused = replace(answered[0], value=None, detail=silent | {"refused": 5})
    other = made.again([refused if r is answered[0] else r for r in made.result.records])
    for now, then in ((made.result, other), (other, made.result)):
        (found,) = compare(report(now), report(then)).suites
        (headline,) = (c for c in found.changes if c.current.headline)
        assert headline.n == len(answered) - 1
        assert headline.change.value == 0


def test_a_baseline_whose_gaps_are_in_percent_compares_as_before():
    made = case_measured("hate", "probability of the hateful label")
    scores = [replace(s, unit="%") if s.unit == "points" else s for s in made.result.scores]
    assert scores != list(made.result.scores)
    before = replace(made.result, scores=tuple(scores))
    (found,) = compare(report(made.result), report(before)).suites
    (same,) = compare(report(made.result), report(made.result)).suites
    assert found.reason is None
    assert [c.change for c in found.changes] == [c.change for c in same.changes]
