"""Permutation tests over words: exact against an enumeration by hand, sampled against a formula."""

import math
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from draws import sampling
from pytest_bias.scoring import permutation
from pytest_bias.scoring.statistics import Estimate

pytestmark = pytest.mark.all_draws

Words = Mapping[str, Sequence[float]]
"""Word to the associations of the sentences that it was put into; x names the first set."""


def targets(words: Words) -> tuple[np.ndarray, list[str], np.ndarray]:
    flat = [(w, float(v)) for w, values in words.items() for v in values]
    names = [w for w, _ in flat]
    return np.array([v for _, v in flat]), names, np.array([w[0] == "x" for w in names], dtype=bool)


def outcome(words: Words, seed: int = 0, resamples: int = 99, **more: Any) -> Estimate:
    drawn = sampling(seed, resamples=resamples, **more)
    return permutation.association_test(*targets(words), drawn)


def sets(first: Sequence[float], second: Sequence[float]) -> dict[str, list[float]]:
    """Return words of one sentence each."""
    named = [*((f"x{n:03d}", v) for n, v in enumerate(first))]
    named += [(f"y{n:03d}", v) for n, v in enumerate(second)]
    return {name: [v] for name, v in named}


def enumerated(words: Words) -> tuple[float, float]:
    """Go through every split of the words, in fractions: p-value, and mean |d|."""
    exact = {w: [Fraction(str(v)) for v in values] for w, values in words.items()}

    def difference(chosen: Sequence[str]) -> Fraction:
        mine = [v for w in chosen for v in exact[w]]
        others = [v for w in exact if w not in chosen for v in exact[w]]
        return sum(mine, Fraction()) / len(mine) - sum(others, Fraction()) / len(others)

    first = [w for w in words if w[0] == "x"]
    splits = [difference(s) for s in combinations(words, len(first))]
    every = [v for values in exact.values() for v in values]
    mean = sum(every, Fraction()) / len(every)
    variance = sum((v - mean) ** 2 for v in every) / (len(every) - 1)
    at_least = sum(d >= difference(first) for d in splits)
    floor = float(sum(map(abs, splits))) / len(splits) / math.sqrt(variance)
    return at_least / len(splits), floor


# One decimal only, so that ties come up.
CASES: dict[str, Words] = {
    "one word each": {"x0": [0.3], "y0": [0.1]},
    "one word against three": {"x0": [0.2], "y0": [0.1], "y1": [0.3], "y2": [0.2]},
    "as many sentences": {"x0": [0.1, 0.5], "x1": [0.2, 0.2], "y0": [0.0, 0.3], "y1": [0.1, 0.3]},
    "uneven numbers of sentences": {
        "x0": [0.9],
        "x1": [0.2, 0.1, 0.4],
        "x2": [-0.3, 0.0],
        "y0": [0.1, 0.1, 0.1, 0.2],
        "y1": [-0.5],
        "y2": [0.3, 0.2],
        "y3": [0.0, -0.1, 0.6],
    },
    "below zero": {"x0": [-1.0], "x1": [-0.8], "y0": [-0.9], "y1": [-0.1], "y2": [-0.8]},
    "many ties": sets([0.1, 0.1, 0.0, 0.1], [0.0, 0.0, 0.1, 0.0]),
    "ties in thirds": sets([0.1, 0.2, 0.3, 0.7], [0.3, 0.2, 0.1, 0.7, 0.6]),
}


@pytest.mark.parametrize("words", CASES.values(), ids=CASES.keys())
def test_few_words_are_tested_exactly(words):
    p_value, floor = enumerated(words)
    found = outcome(words)
    assert found.p_value == pytest.approx(p_value, abs=1e-12)
    assert found.floor == pytest.approx(floor, abs=1e-12)
    assert found.test == "exact permutation of words"
    assert found.n_clusters == len(words)


def test_a_small_case_by_hand():
    # Six splits of 4 3 | 2 1: differences 2 1 0 0 -1 -2; the variance is 5/3.
    found = outcome(sets([4, 3], [2, 1]))
    deviation = math.sqrt(5 / 3)
    assert found.value == pytest.approx(2 / deviation)
    assert found.p_value == pytest.approx(1 / 6)
    assert found.floor == pytest.approx(1 / deviation)
    assert outcome(sets([4, 2], [3, 1])).p_value == pytest.approx(2 / 6)
    assert outcome(sets([4, 1], [3, 2])).p_value == pytest.approx(4 / 6)
    assert outcome(sets([2, 1], [4, 3])).p_value == 1


def test_every_p_value_is_as_likely_as_it_says_if_labels_mean_nothing():
    # Powers of two, so that no two splits tie.
    values = [2.0**n for n in range(6)]
    found = []
    for chosen in combinations(values, 3):
        others = [v for v in values if v not in chosen]
        found.append(outcome(sets(chosen, others), resamples=9).p_value)
    assert sorted(found) == pytest.approx([k / 20 for k in range(1, 21)])


def test_words_are_permuted_and_not_sentences():
    # By sentences the ten would be far apart; there are just two ways to tell two words apart.
    far = {"x0": [1.0, 1.1, 1.2, 1.3, 1.4], "y0": [0.0, 0.1, 0.2, 0.3, 0.4]}
    assert outcome(far).p_value == 0.5
    assert outcome({"x0": far["y0"], "y0": far["x0"]}).p_value == 1


def test_one_word_in_both_sets_is_two_words():
    values, in_first = np.array([3.0, 2.0, 1.0, 0.0]), np.array([True, True, False, False])
    drawn = sampling(resamples=99)
    found = permutation.association_test(values, ["a", "b", "a", "b"], in_first, drawn)
    assert found.n_clusters == 4
    assert found.p_value == pytest.approx(1 / 6)


@pytest.mark.parametrize("words", CASES.values(), ids=CASES.keys())
def test_neither_scale_nor_place_changes_the_p_value(words):
    p_value = outcome(words).p_value
    for scale, shift in ((1000.0, 0.0), (1e-4, 0.0), (1.0, 7.3), (0.1, -2.9)):
        moved = {w: [scale * v + shift for v in values] for w, values in words.items()}
        assert outcome(moved).p_value == p_value


def test_the_order_of_targets_does_not_matter():
    words = CASES["uneven numbers of sentences"]
    names = random.Random(1).sample(sorted(words), len(words))
    shuffled = {name: words[name][::-1] for name in names}
    once, again = outcome(words), outcome(shuffled)
    assert again.p_value == once.p_value
    assert again.value == pytest.approx(once.value)
    assert again.floor == pytest.approx(once.floor)
    assert again.interval == pytest.approx(once.interval)


@pytest.mark.parametrize(
    ("first", "second", "exact"),
    [(9, 10, True), (10, 10, False), (2, 445, True), (2, 447, False), (1, 600, True)],
)
def test_up_to_100_000_splits_are_gone_through(first, second, exact):
    assert (math.comb(first + second, first) <= 100_000) is exact
    rng = np.random.default_rng(0)
    found = outcome(sets(rng.normal(size=first), rng.normal(size=second)), resamples=9)
    how = "exact permutation of words" if exact else "100,000 permutations of words"
    assert found.test == how
    of = math.comb(first + second, first) if exact else 100_001
    assert found.p_value * of == pytest.approx(round(found.p_value * of), abs=1e-6)
    assert 1 <= round(found.p_value * of) <= of


def hypergeometric(ones: int, size: int, n: int) -> list[float]:
    """Return the probability that `size` of 2 `size` words hold at least 0, 1, ... n ones."""
    ways = [math.comb(ones, k) * math.comb(2 * size - ones, size - k) for k in range(n + 1)]
    return [sum(ways[k:]) / math.comb(2 * size, size) for k in range(n + 1)]


@pytest.mark.parametrize("held", [5, 6, 8, 9])
def test_many_words_are_sampled_close_to_the_exact_tail(held):
    # Ten ones among 24 words, `held` of them in the first set.
    first = [1.0] * held + [0.0] * (12 - held)
    second = [1.0] * (10 - held) + [0.0] * (2 + held)
    found = outcome(sets(first, second), resamples=9)
    exact = hypergeometric(10, 12, 10)[held]
    deviation = math.sqrt(exact * (1 - exact) / 100_000)
    assert found.p_value == pytest.approx(exact, abs=5 * deviation + 1e-5)


def test_a_sampled_p_value_counts_the_observed_split():
    # No random split comes near: none of 100,000, and the observed one.
    far = sets([100.0 + n for n in range(40)], [float(n) for n in range(40)])
    assert outcome(far, resamples=9).p_value == 1 / 100_001
    # Every split ties or does better, so all of them and the observed one.
    low = sets([float(n) for n in range(40)], [100.0 + n for n in range(40)])
    assert outcome(low, resamples=9).p_value == 1


def test_the_seed_decides_sampled_p_values_only():
    rng = np.random.default_rng(3)
    many = sets(rng.normal(0.3, 1, 12), rng.normal(0, 1, 12))
    few = sets(rng.normal(0.3, 1, 5), rng.normal(0, 1, 5))
    found = [outcome(many, seed, resamples=9).p_value for seed in (0, 0, 1, 2)]
    assert found[0] == found[1]
    assert len(set(found)) == 3
    assert max(found) - min(found) < 0.01
    assert len({outcome(few, seed, resamples=9).p_value for seed in range(4)}) == 1


@pytest.mark.parametrize(
    "words",
    [
        sets([1, 1], [1, 1]),
        sets([0, 0, 0], [0]),
        sets([], [1, 2, 3]),
        sets([1, 2, 3], []),
        sets([], []),
    ],
    ids=["all equal", "all nothing", "no first set", "no second set", "nothing"],
)
def test_without_variation_or_a_set_there_is_no_number_at_all(words):
    found = outcome(words)
    assert (found.value, found.p_value, found.floor, found.interval) == (None,) * 4
    assert found.interval_reason
    assert found.note == found.interval_reason
    assert permutation.chance_effect(*targets(words), sampling()) is None


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ([3.0], [1.0, 2.0], "one cluster on a side; it takes 8"),
        ([3.0, 2.5], [1.0], "one cluster on a side; it takes 8"),
        ([1.0] * 8, [0.0] * 8, "the resamples do not vary"),
    ],
)
def test_an_effect_without_an_interval_says_why(first, second, reason):
    found = outcome(sets(first, second))
    assert (found.interval, found.interval_reason) == (None, reason)
    assert found.value > 0
    assert found.p_value == pytest.approx(1 / math.comb(len(first) + len(second), len(first)))


def test_the_interval_holds_the_effect_and_turns_with_the_sets():
    rng = np.random.default_rng(5)
    first, second = rng.normal(1, 1, 8), rng.normal(0, 1, 8)
    found = outcome(sets(first, second), resamples=1999)
    turned = outcome(sets(second, first), resamples=1999)
    assert found.interval[0] < found.value < found.interval[1]
    assert turned.value == pytest.approx(-found.value)
    assert turned.interval == pytest.approx([-e for e in found.interval[::-1]], abs=0.1)
    assert found.method == "bca"


def test_chance_falls_with_the_number_of_words_and_is_never_zero():
    rng = np.random.default_rng(0)
    floors = []
    for n in (4, 16, 64):
        made = targets(sets(rng.normal(size=n), rng.normal(size=n)))
        floors.append(permutation.chance_effect(*made, sampling(n)))
    # Mean of |N(0, 2 / n)|, the effect of two sets of n words that differ in nothing.
    expected = [math.sqrt(2 / math.pi * 2 / n) for n in (4, 16, 64)]
    assert floors == pytest.approx(expected, rel=0.1)


def test_chance_of_many_words_follows_from_the_seed():
    rng = np.random.default_rng(0)
    made = targets(sets(rng.normal(size=12), rng.normal(size=12)))
    found = [permutation.chance_effect(*made, sampling(s)) for s in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    assert found[2] == pytest.approx(found[0], rel=0.05)
