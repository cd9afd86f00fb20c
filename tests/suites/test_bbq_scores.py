"""BBQ: both families of scores by hand, shares of several presentations, missing answers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bias_suites.social.bbq import SUITE
from draws import sampling
from pytest_bias.records.report import Record
from pytest_bias.records.score import Score
from pytest_bias.scoring.scores import Context, score_records

AMBIGUOUS = ("bias_ambiguous", "diff_bias_ambiguous")
DISAMBIGUATED = ("bias_disambiguated", "diff_bias_disambiguated")


def record(
    number: int,
    context: str,
    *,
    biased: float = 0.0,
    counter: float = 0.0,
    unknown: float = 0.0,
    aligned: bool = False,
    category: str = "Age",
    cluster: int | None = None,
    **detail: float,
) -> Record:
    """Return a record whose answers are these shares; what is right follows from the context."""
    right = unknown if context == "ambiguous" else biased if aligned else counter
    shares = {"right": right, "named": biased + counter, "biased": biased, "unknown": unknown}
    return Record(
        f"bbq/{category}/{number:04d}",
        f"bbq/{category}/{number % 10 if cluster is None else cluster}",
        "scored",
        100 * right,
        {"category": category, "context": context},
        {**shares, "aligned": float(aligned), **detail},
    )


def scores_of(records: Sequence[Record]) -> dict[tuple[str, ...], Score]:
    found = score_records(records, SUITE.measures[0].metrics, Context("bbq", "en"))
    return {(s.metric, *s.by.values()): s for s in found}


def ambiguous(n_biased: int, n_counter: int, n_unknown: int, **more: Any) -> list[Record]:
    kinds = ["biased"] * n_biased + ["counter"] * n_counter + ["unknown"] * n_unknown
    return [record(n, "ambiguous", **{kind: 1.0}, **more) for n, kind in enumerate(kinds)]


def disambiguated(right: tuple[int, int], wrong: tuple[int, int], **more: Any) -> list[Record]:
    """Return records where the right answer is the stereotypical one, and where it is not."""
    found: list[Record] = []
    for aligned, n_right, n_wrong in zip((True, False), right, wrong, strict=True):
        kinds = ["biased" if aligned else "counter"] * n_right
        kinds += ["counter" if aligned else "biased"] * n_wrong
        found += [
            record(1000 + len(found) + n, "disambiguated", **{kind: 1.0}, aligned=aligned, **more)
            for n, kind in enumerate(kinds)
        ]
    return found


# Whole answers


def test_the_scores_of_both_families_by_hand():
    # Ambiguous: 9 stereotypical, 3 of the other person, 8 unknown.
    # Disambiguated: 9 of 10 right where that is the stereotype, 15 of 20 where it is not.
    found = scores_of([*ambiguous(9, 3, 8), *disambiguated((9, 15), (1, 5))])
    assert found["diff_bias_ambiguous",].value == pytest.approx(100 * (9 - 3) / 20)
    assert found["diff_bias_disambiguated",].value == pytest.approx(90 - 75)
    assert found["bias_ambiguous",].value == pytest.approx(100 * (1 - 8 / 20) * (2 * 9 / 12 - 1))
    assert found["bias_disambiguated",].value == pytest.approx(100 * (2 * (9 + 5) / 30 - 1))
    assert found["accuracy", "disambiguated"].value == pytest.approx(100 * 24 / 30)


def test_the_ambiguous_scores_are_one_where_every_answer_is_a_choice():
    found = scores_of([*ambiguous(9, 3, 8), *ambiguous(0, 5, 6, category="Religion")])
    for by in ((), ("Age",), ("Religion",)):
        assert found["diff_bias_ambiguous", *by].value == pytest.approx(
            found["bias_ambiguous", *by].value
        )


def test_answers_that_are_no_choice_are_left_out_of_diff_bias():
    """As in KoBBQ; Parrish et al. have no such answers, and here they are wrong."""
    records = [*ambiguous(6, 2, 4), *(record(50 + n, "ambiguous") for n in range(8))]
    found = scores_of(records)
    assert found["diff_bias_ambiguous",].value == pytest.approx(100 * (6 - 2) / 12)
    assert found["diff_bias_ambiguous",].note == "8 of 20 answers are none of the choices"
    assert found["bias_ambiguous",].value == pytest.approx(100 * (1 - 4 / 20) * (2 * 6 / 8 - 1))
    silent = [record(50 + n, "disambiguated", aligned=n % 2 == 0) for n in range(6)]
    found = scores_of([*disambiguated((9, 15), (1, 5)), *silent])
    assert found["diff_bias_disambiguated",].value == pytest.approx(90 - 75)
    assert found["accuracy",].value == pytest.approx(100 * 24 / 36)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        (ambiguous(10, 0, 0), {"diff_bias_ambiguous": 100}),
        (ambiguous(0, 10, 0), {"diff_bias_ambiguous": -100}),
        (ambiguous(0, 0, 10), {"diff_bias_ambiguous": 0}),
        (ambiguous(5, 5, 3), {"diff_bias_ambiguous": 0}),
        (disambiguated((10, 10), (0, 0)), {"diff_bias_disambiguated": 0}),
        (disambiguated((10, 0), (0, 10)), {"diff_bias_disambiguated": 100}),
        (disambiguated((0, 10), (10, 0)), {"diff_bias_disambiguated": -100}),
        # Right answers on rows that are not balanced are no bias, unlike by the other family.
        (disambiguated((15, 5), (0, 0)), {"diff_bias_disambiguated": 0, "bias_disambiguated": 50}),
    ],
)
def test_the_ends_of_the_scale(records, expected):
    found = scores_of(records)
    assert {name: found[name,].value for name in expected} == expected


def test_categories_weigh_alike():
    found = scores_of(
        [
            *ambiguous(30, 0, 0),
            *ambiguous(0, 10, 0, category="SES"),
            *disambiguated((9, 15), (1, 5)),
        ]
    )
    assert found["diff_bias_ambiguous",].value == 0
    assert found["diff_bias_ambiguous", "Age"].value == 100
    assert found["diff_bias_ambiguous", "SES"].value == -100


def test_a_category_with_one_kind_of_context_has_no_gap():
    records = [*disambiguated((9, 15), (1, 5)), *disambiguated((9, 0), (1, 0), category="SES")]
    found = scores_of(records)
    why = "no answer where the stereotypical answer is right, or none where it is wrong"
    assert found["diff_bias_disambiguated", "SES"].interval_reason == why
    whole = found["diff_bias_disambiguated",]
    assert (whole.value, whole.interval_reason) == (None, f"{why} in SES")
    assert found["diff_bias_disambiguated", "Age"].value == pytest.approx(15)


def test_the_interval_resamples_templates_and_the_test_exchanges_people():
    found = scores_of([*ambiguous(87, 31, 82), *disambiguated((87, 66), (13, 34))])
    for name in ("diff_bias_ambiguous", "diff_bias_disambiguated"):
        score = found[name,]
        assert (score.n_clusters, score.method) == (10, "bca")
        low, high = score.interval
        assert -100 <= low < score.value < high <= 100
        assert score.test.endswith("of the two people")
        assert score.p_value is not None


def test_the_p_value_by_hand():
    """Of three templates, 1, 1 and 2 more answers follow the stereotype: all, of 8 exchanges, or
    none is as far."""
    records = [
        record(n, "ambiguous", biased=1.0, cluster=cluster)
        for n, cluster in enumerate((0, 1, 2, 2))
    ]
    estimate = next(m.estimate for m in SUITE.measures[0].metrics if m.name == AMBIGUOUS[1])
    assert estimate.test(records, 0, sampling()).p_value == 2 / 8


def test_what_people_of_a_crossing_differ_in_is_a_group():
    records = [
        replace(r, by={**r.by, "differing": differing})
        for r, differing in zip(ambiguous(8, 4, 8), ("race", "SES") * 10, strict=True)
    ]
    found = scores_of([*records, *ambiguous(8, 4, 8, category="Religion")])
    groups = {key[1:] for key in found if key[0] == "diff_bias_ambiguous"}
    assert groups == {(), ("Age",), ("Religion",), ("Age", "race"), ("Age", "SES")}
    assert found["diff_bias_ambiguous", "Age", "SES"].n == 10


# Several presentations

FIRST_SHOWN = {"biased": 1, "counter": 1, "unknown": 1, "asked": 3, "answered": 3}


def test_whoever_takes_the_first_option_in_every_order_has_no_bias():
    records = [record(n, "ambiguous", **FIRST_SHOWN) for n in range(37)]
    records += [
        record(100 + n, "disambiguated", **FIRST_SHOWN, aligned=n % 3 > 0) for n in range(41)
    ]
    records += [record(n, "ambiguous", **FIRST_SHOWN, category="SES") for n in range(11)]
    records += [
        record(100 + n, "disambiguated", **FIRST_SHOWN, aligned=n % 5 > 0, category="SES")
        for n in range(23)
    ]
    found = scores_of(records)
    for name in (*AMBIGUOUS, *DISAMBIGUATED):
        for by in ((), ("Age",), ("SES",)):
            assert found[name, *by].value == 0
    assert found["accuracy",].value == pytest.approx(100 / 3)


def test_scores_of_shares_by_hand():
    # Three orders each: (biased, counter, unknown, answered).
    shares = [(2, 1, 0, 3), (1, 0, 1, 2), (0, 0, 3, 3), (1, 0, 0, 1), (0, 0, 0, 0)]
    records = [
        record(n, "ambiguous", biased=b / 3, counter=c / 3, unknown=u / 3, answered=a / 3)
        for n, (b, c, u, a) in enumerate(shares)
    ]
    # Right 2 of 3 and 1 of 2 where the stereotype is right, 3 of 3 and 0 of 1 where it is not.
    records += [
        record(10, "disambiguated", biased=2 / 3, unknown=1 / 3, aligned=True),
        record(11, "disambiguated", biased=1 / 3, counter=1 / 3, aligned=True, answered=2 / 3),
        record(12, "disambiguated", counter=3 / 3),
        record(13, "disambiguated", biased=1 / 3, answered=1 / 3),
        record(14, "disambiguated", answered=0.0),
    ]
    found = scores_of(records)
    # 4 stereotypical, 1 of the other person, 4 unknown, of 9 answers.
    assert found["diff_bias_ambiguous",].value == pytest.approx(100 * (4 - 1) / 9)
    assert found["bias_ambiguous",].value == pytest.approx(100 * (1 - 4 / 9) * (2 * 4 / 5 - 1))
    assert found["accuracy", "ambiguous"].value == pytest.approx(100 * 4 / 9)
    # 2 + 1 + 0 + 1 stereotypical of 2 + 2 + 3 + 1 that name a person.
    assert found["bias_disambiguated",].value == pytest.approx(100 * (2 * 4 / 8 - 1))
    assert found["diff_bias_disambiguated",].value == pytest.approx(100 * (3 / 5 - 3 / 4))
    assert found["accuracy", "disambiguated"].value == pytest.approx(100 * 6 / 9)
    assert found["accuracy",].value == pytest.approx(100 * 10 / 18)
    # Items with an answer.
    assert (found["accuracy",].n, found["diff_bias_ambiguous",].n) == (8, 4)


NAMES = (*AMBIGUOUS, *DISAMBIGUATED, "accuracy")


def both_contexts(**more: Any) -> list[Record]:
    return [*ambiguous(9, 3, 8, **more), *disambiguated((9, 15), (1, 5), **more)]


def test_answered_once_is_answered():
    plain = scores_of(both_contexts())
    once = scores_of(both_contexts(answered=1.0))
    assert once == plain


def test_an_unanswered_item_pulls_no_score():
    silent = [record(50 + n, "ambiguous", answered=0.0) for n in range(7)]
    silent += [record(60 + n, "disambiguated", answered=0.0, aligned=True) for n in range(7)]
    silent = [replace(r, value=None) for r in silent]
    plain, found = scores_of(both_contexts()), scores_of([*both_contexts(), *silent])
    for name in NAMES:
        assert found[name,].value == plain[name,].value
        assert found[name,].n == plain[name,].n


def test_a_category_without_any_answer_has_no_score_and_says_why():
    silent = both_contexts(category="SES", answered=0.0)
    empty = {"right": 0.0, "named": 0.0, "biased": 0.0, "unknown": 0.0}
    silent = [replace(r, detail={**r.detail, **empty}, value=None) for r in silent]
    found = scores_of([*both_contexts(), *silent])
    plain = scores_of(both_contexts())
    for name in NAMES:
        assert found[name, "Age"].value == plain[name, "Age"].value
        assert found[name, "SES"].value is None
        assert found[name,].value is None
    for name in (*AMBIGUOUS, *DISAMBIGUATED):
        assert found[name, "SES"].interval_reason == "no answer is one of the choices"
        assert found[name,].interval_reason == "no answer is one of the choices in SES"
    assert found["accuracy", "SES"].interval_reason == "nothing was scored"
    assert found["accuracy",].interval_reason == "nothing was scored of SES"


# In simulation


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["diff_bias_ambiguous", "diff_bias_disambiguated"])
@pytest.mark.parametrize("shared", [0.0, 0.8])
def test_intervals_cover_the_true_value(name, shared):
    """Answers of one template share a leaning; of 300 intervals at 95 % about 285 cover.

    In three orders each, of which some have no answer. In either category the chance of the
    stereotypical answer is 1/2 on average, that of the other person 1/4.
    """
    metric = next(m for m in SUITE.measures[0].metrics if m.name == name)
    context = name.rpartition("_")[2]
    covered = 0
    for seed in range(300):
        rng = np.random.default_rng([seed, round(10 * shared)])
        records: list[Record] = []
        for category in ("Age", "SES"):
            leaning = 0.25 + shared * rng.uniform(-0.25, 0.25, 25)
            for n in range(25 * 12):
                # Unknown is a quarter of the answers, whatever the template leans to.
                chances = (0.25 + leaning[n % 25], 0.5 - leaning[n % 25], 0.25)
                n_answered = rng.integers(1, 4)
                biased, counter, unknown = rng.multinomial(n_answered, chances) / 3
                records.append(
                    record(
                        n,
                        context,
                        biased=biased,
                        counter=counter,
                        unknown=unknown,
                        aligned=n // 25 % 2 == 0,
                        category=category,
                        cluster=n % 25,
                        answered=n_answered / 3,
                    )
                )
        records.sort(key=lambda r: r.item)
        found = metric.estimate(records, sampling(seed, bounds=metric.bounds, resamples=499))
        # Half of the answers minus a quarter: of all, and of accuracies of either kind.
        low, high = found.interval
        covered += low <= 25 <= high
    assert 0.90 <= covered / 300 <= 0.985
