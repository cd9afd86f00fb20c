"""Rates and perplexities by hand, their intervals and tests, and what is too large for a number."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from draws import sampling
from pytest_bias.records.report import Record
from pytest_bias.scoring import permutation
from pytest_bias.scoring.estimators import Additive
from pytest_bias.scoring.rates import TOO_LARGE, Perplexity, PerplexityRatio, Rate, RateGap
from pytest_bias.scoring.statistics import Estimate, Sampling

pytestmark = pytest.mark.all_draws


def record(name: str, nats: float, words: int, cluster: str = "", **by: str) -> Record:
    detail = {"nats": nats, "words": words}
    return Record(name, cluster or name, "scored", nats / words, by, detail)


def rate(found: Record) -> float:
    return float(found.detail["nats"] or 0) / int(found.detail["words"] or 1)


def words(found: Record) -> float:
    return float(found.detail["words"] or 0)


def estimate(of: Additive, records: Sequence[Record]) -> Estimate:
    return of(records, sampling())


TEXTS = [
    record(f"{name}{n}", nats, count)
    for name, nats, count in (("a", 2.0, 1), ("b", 12.0, 9), ("c", 6.0, 10))
    for n in range(3)
]


def test_a_rate_is_a_sum_over_a_sum():
    found = estimate(Rate(rate, words), TEXTS)
    # (2 + 12 + 6) / (1 + 9 + 10), where the mean of 2, 4/3 and 0.6 is 1.31.
    assert found.value == pytest.approx(1.0)
    assert found.interval is not None
    assert found.interval[0] < 1 < found.interval[1]
    assert (found.method, found.n_clusters) == ("bca", 9)


def test_a_perplexity_is_its_exponential():
    found, plain = estimate(Perplexity(rate, words), TEXTS), estimate(Rate(rate, words), TEXTS)
    assert found.value == pytest.approx(math.e)
    # Percentiles of resamples go through a monotonous function.
    assert found.interval == pytest.approx([math.exp(end) for end in plain.interval or ()], rel=0.1)


def test_texts_of_one_cluster_are_one_unit():
    together = [record(r.item, r.detail["nats"], r.detail["words"], "x") for r in TEXTS]
    found = estimate(Rate(rate, words), together)
    assert (found.value, found.interval) == (pytest.approx(1.0), None)
    assert found.interval_reason == "one cluster; it takes 8"


VERSIONS = [
    record(f"{n}/{side}", nats, count, str(n), side=side)
    for n, (noisy, clean, count) in enumerate([(6.0, 3.0, 2), (20.0, 12.0, 10), (8.0, 5.0, 3)])
    for side, nats in (("noisy", noisy), ("clean", clean))
]


def test_a_gap_of_versions_compares_the_two_rates():
    gap = estimate(RateGap(rate, "side", "noisy", "clean", weight=words), VERSIONS)
    ratio = estimate(PerplexityRatio(rate, "side", "noisy", "clean", weight=words), VERSIONS)
    # 34 nats against 20, of 15 words.
    assert gap.value == pytest.approx(14 / 15)
    assert ratio.value == pytest.approx(math.exp(14 / 15))
    assert (gap.n_clusters, ratio.n_clusters) == (3, 3)


@pytest.mark.parametrize(("kind", "ideal"), [(RateGap, 0), (PerplexityRatio, 1)])
def test_versions_are_exchanged_within_their_text(kind, ideal):
    found = kind(rate, "side", "noisy", "clean", weight=words)
    again = [replace(r, item=f"{r.item}/2", cluster=f"{r.cluster}/2") for r in VERSIONS]
    test = found.test([*VERSIONS, *again], ideal, sampling())
    # Of the 64 ways to exchange six texts, as observed and all exchanged are as far.
    assert (test.how, test.p_value) == ("exact permutation of groups", 2 / 64)
    few = found.test(VERSIONS, ideal, sampling())
    assert (few.p_value, (few.reason or "")[:19]) == (None, "only 8 arrangements")
    assert found.test(VERSIONS, 3, sampling()).reason == "no test for a gap of 3"


AWAY = [record(f"away/{n}", 3.0 * n, n, out="forum") for n in (1, 2, 4)]
FAR = [record(f"far/{n}", 5.0 * n, n, out="mail") for n in (2, 3)]
HOME = [record(f"home/{n}", 2.0 * n + n % 2, n) for n in (1, 3, 5)]


def test_different_texts_stand_apart():
    whole = PerplexityRatio(rate, "out", weight=words)
    found = estimate(whole, [*AWAY, *FAR, *HOME])
    # (21 + 25) / 12 against (18 + 3) / 9 nats per word.
    assert found.value == pytest.approx(math.exp(46 / 12 - 21 / 9))
    assert found.n_clusters == 8
    assert [len(s) for s in whole.sums([*AWAY, *FAR, *HOME]).samples] == [5, 3]


def test_one_group_is_held_against_the_texts_that_have_none():
    of_mail = RateGap(rate, "out", weight=words).against("mail")
    assert estimate(of_mail, [*AWAY, *FAR, *HOME]).value == pytest.approx(5 - 21 / 9)
    assert {k: len(v) for k, v in of_mail.compared([*AWAY, *FAR, *HOME]).items()} == {
        "mail": 2,
        "the others": 3,
    }


def test_the_test_of_different_texts_is_a_permutation_of_their_sides():
    gap = RateGap(rate, "out", weight=words)
    test = gap.test([*AWAY, *FAR, *HOME], 0, sampling())
    pairs = [(r.detail["nats"], r.detail["words"]) for r in (*AWAY, *FAR, *HOME)]
    gaps = []
    for chosen in combinations(range(8), 5):
        first = [pairs[n] for n in chosen]
        second = [pairs[n] for n in range(8) if n not in chosen]
        gaps.append(abs(_rate_of(first) - _rate_of(second)))
    # The first is as observed.
    expected = sum(g >= gaps[0] - 1e-12 for g in gaps) / math.comb(8, 3)
    assert (test.how, test.p_value) == ("exact permutation of groups", pytest.approx(expected))


def _rate_of(pairs):
    return sum(nats for nats, _ in pairs) / sum(count for _, count in pairs)


def test_a_test_of_sides_keeps_its_level_when_one_side_is_small():
    rng = np.random.default_rng(1)
    gap = RateGap(rate, "out", weight=words)
    p_values = []
    for _ in range(200):
        nats = rng.normal(3, 1, 24)
        texts = [
            record(f"{n:02d}", nats[n], 1, **({"out": "x"} if n < 4 else {})) for n in range(24)
        ]
        p_values.append(gap.test(texts, 0, Sampling(rng)).p_value or 0.0)
    # 5 % of 200, within three standard errors.
    assert sum(p <= 0.05 for p in p_values) <= 10 + 3 * math.sqrt(200 * 0.05 * 0.95)


def test_one_text_on_a_side_has_no_interval_and_no_test():
    gap = RateGap(rate, "out", weight=words)
    found = estimate(gap, [AWAY[0], *HOME])
    assert (found.value, found.interval) == (pytest.approx(3 - 21 / 9), None)
    test = permutation.groups_test(gap.sums([AWAY[0], *HOME]), sampling())
    assert test.reason == "fewer than two clusters on a side"


@pytest.mark.parametrize(
    "of",
    [
        Perplexity(rate, words),
        PerplexityRatio(rate, "side", "noisy", "clean", weight=words),
    ],
)
def test_what_no_number_holds_has_no_value(of):
    huge = [
        record(f"{n}/{side}", nats, 1, str(n), side=side)
        for n in range(3)
        for side, nats in (("noisy", 2000.0 + n), ("clean", 1.0))
    ]
    found = estimate(of, huge)
    assert (found.value, found.interval, found.note) == (None, None, TOO_LARGE)
