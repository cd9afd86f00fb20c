"""Association tests against plain cosines, plain permutations and plain effect sizes."""

from dataclasses import replace
from functools import cache, partial
from itertools import groupby
from math import sqrt

import pytest

import ours
import plain
from pytest_bias.suites import find

EXACT = "exact permutation of words"


def by_test(of):
    return {t: list(own) for t, own in groupby(of, key=lambda i: i.by["test"])}


@pytest.mark.by_day(name=("encoder", "gpt2"), step=(5,))
@pytest.mark.parametrize(
    ("name", "configuration"),
    [
        pytest.param("minilm", "en-published", marks=pytest.mark.slow),
        pytest.param("minilm", "en", marks=pytest.mark.slow),
        ("minilm", "en-implicit"),
        pytest.param("minilm", "en-religion", marks=pytest.mark.slow),
        pytest.param("bert-tiny", "en-published", marks=pytest.mark.slow),
        ("bert-tiny", "en"),
        pytest.param("encoder", "en-published", marks=pytest.mark.nightly),
        ("encoder", "en"),
        ("byte-level", "en"),
        ("unigram", "en"),
        ("gpt2", "en"),
        ("llama", "en"),
    ],
)
@pytest.mark.parametrize("step", [1, 5])
def test_effect_sizes_equal_the_loop(name, configuration, step, checkpoint, data_dir, measured):
    items = ours.items("seat", configuration, data_dir)
    chosen = list(by_test(items))[::step]
    items = [i for i in items if i.by["test"] in chosen]
    model = ours.model(checkpoint(name))
    records = {r.item: r for r in ours.records("seat", model, items)}
    slow = plain.encoder(checkpoint(name))
    limit = model.body.tokens.max_length
    vector = cache(partial(plain.mean_vector, slow))
    largest_s = largest_d = 0.0
    n_targets, effects = 0, {}
    for test, own in by_test(items).items():
        texts = {i.texts["target"] for i in own}.union(*(own[0].meta[side] for side in "ab"))
        if any(len(slow.tokenizer.encode(t)) > limit for t in texts):
            assert any(records[i.id].status == "unscored" for i in own)
            continue
        a, b = ([vector(t) for t in own[0].meta[side]] for side in "ab")
        expected = {i.id: plain.lean(vector(i.texts["target"]), a, b) for i in own}
        x, y = ([i.id for i in own if i.meta["side"] == side] for side in "xy")
        d = plain.effect_size([expected[i] for i in x], [expected[i] for i in y])
        found = absolute_effect([records[i.id] for i in own])
        largest_d = max(largest_d, abs(found - abs(d)))
        largest_s = max(largest_s, *(abs(records[i].value - s) for i, s in expected.items()))
        effects[test] = abs(d)
        n_targets += len(own)
        of_ours = plain.effect_size([records[i].value for i in x], [records[i].value for i in y])
        assert found == pytest.approx(abs(of_ours), abs=1e-12)
    measured(f"s of {n_targets} targets", largest_s, "")
    measured(f"d of {len(effects)} tests", largest_d, "d")
    assert largest_s < 1e-6
    # Vectors are float32; d divides their noise by standard deviations of a few hundredths.
    assert largest_d < 1e-5
    if all(r.status == "scored" for r in records.values()):
        assert len(effects) == len(by_test(items))
        (headline,) = ours.scores("seat", records.values(), only="mean_absolute_effect")
        of_people = [d for test, d in effects.items() if not test.endswith(("weat1", "weat2"))]
        with_others = configuration not in ("en-implicit", "en-religion")
        assert len(of_people) < len(effects) or step > 1 or not with_others
        assert headline.value == pytest.approx(sum(of_people) / len(of_people), abs=1e-5)
    else:
        assert (name, configuration) == ("encoder", "en-published")
        assert len(effects) > 10


def absolute_effect(records):
    """Return our |d| of one test; the signed one comes with an interval, which takes long."""
    # As a test about people, so that a check has a mean as well.
    renamed = [replace(r, by={"test": "t"}) for r in records]
    (score,) = ours.scores("seat", renamed, only="mean_absolute_effect")
    return score.value


def sums_of_words(records):
    """Return the sum of s over the sentences of each word, for the two sets of targets."""
    sides = {"x": {}, "y": {}}
    for r in records:
        words = sides[r.detail["side"]]
        words.setdefault(r.detail["word"], []).append(r.value)
    return [[sum(values) for values in words.values()] for words in sides.values()]


@pytest.mark.by_day(configuration=("en", "en-implicit"))
@pytest.mark.all_draws
@pytest.mark.parametrize(
    ("configuration", "n_exact"), [("en", 15), ("en-published", 19), ("en-implicit", 6)]
)
def test_signed_effects_and_p_values_equal_enumeration_or_plain_sampling(
    configuration, n_exact, checkpoint, data_dir, measured
):
    items = [
        item
        for test, own in by_test(ours.items("seat", configuration, data_dir)).items()
        for item in own
        # Long tests are sampled in the same way as short ones, and take minutes here.
        if len(own) <= 300 and not test.startswith("sent-")
    ]
    records = ours.records("seat", ours.model(checkpoint("bert-tiny")), items)
    groups = by_test(records)
    largest, exact = 0.0, 0
    for score in ours.scores("seat", records, only="effect_size"):
        of_test = groups[score.by["test"]]
        sides = ([r.value for r in of_test if r.detail["side"] == side] for side in "xy")
        assert score.value == pytest.approx(plain.effect_size(*sides), abs=1e-12)
        x, y = sums_of_words(of_test)
        if score.test == EXACT:
            exact += 1
            assert score.p_value == plain.exact_p(x, y), score.by
        else:
            n = 2_000
            p = plain.sampled_p(x, y, n, seed=1)
            error = sqrt(score.p_value * (1 - score.p_value) / n) + 1 / n
            largest = max(largest, abs(score.p_value - p) / error)
    measured(f"{len(groups) - exact} sampled p-values", largest, "standard errors")
    assert exact == n_exact
    assert largest < 4


def test_effect_size_and_p_of_a_test_that_can_be_done_by_hand():
    # s = 3, 2 against 1, 0: means differ by 2, the variance of 0 1 2 3 is 5/3; of the six
    # partitions only the observed one sums to 5.
    records = [
        ours.Item(f"i{s}", "t", {}, by={"test": "t"}).scored(
            float(s), {"side": "x" if s > 1 else "y", "word": str(s)}
        )
        for s in range(4)
    ]
    (score,) = ours.scores("seat", records, only="effect_size")
    assert score.value == pytest.approx(2 / sqrt(5 / 3)) == plain.effect_size([3, 2], [1, 0])
    assert score.p_value == pytest.approx(1 / 6) == plain.exact_p([3, 2], [1, 0])
    assert score.test == EXACT


def test_every_published_test_is_there():
    names = {f.path for f in find("seat").configuration("en-published").files}
    assert len(names) == 46
