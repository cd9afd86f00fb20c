"""The structural checks: each defect is found by a model that has it."""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from bias_suites.structure.structure import CHECKS, SUITE
from pytest_bias.data.sources import DataFolder
from pytest_bias.models.interface import (
    Capability,
    Cloze,
    ClozeScore,
    Embeddings,
    Model,
    ModelKind,
    SequenceScore,
)
from pytest_bias.records.identity import ModelIdentity
from pytest_bias.records.report import Record, SuiteResult
from stand_ins import records_of, result_of

ITEMS = SUITE.configurations[0].load(DataFolder()).items


class Sound(Model):
    """A masked model that passes every check."""

    def __init__(self) -> None:
        super().__init__(
            ModelIdentity("sound", ModelKind.MASKED, "Sound"),
            frozenset({Capability.PSEUDO_LOG_LIKELIHOOD, Capability.SLOT}),
        )

    def pseudo_log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
        return [SequenceScore(-0.1 * len(t), len(t.split())) for t in texts]

    def slot(self, clozes: Sequence[Cloze]) -> list[ClozeScore]:
        return [ClozeScore((math.log(0.3), math.log(0.2)), (1, 1)) for _ in clozes]

    def round_trip(self, texts: Sequence[str]) -> list[str]:
        return [t.lower().replace(" .", ".") for t in texts]


Scores = Callable[[Sequence[str]], Iterable[float]]


def scoring(change: Scores) -> Sound:
    """Return a model whose scores are what `change` makes of the texts."""

    class Changed(Sound):
        def pseudo_log_likelihood(self, texts: Sequence[str]) -> list[SequenceScore]:
            return [SequenceScore(float(s), 1) for s in change(texts)]

    return Changed()


def one(texts: Sequence[str], broken: float) -> list[float]:
    return [broken if "uncle" in t else -float(len(t)) for t in texts]


CALLS = itertools.count()

DEFECTS = {
    "finite outputs": [
        (lambda texts: one(texts, math.nan), "1 of 8 sentences give NaN or infinity"),
        (lambda texts: one(texts, -math.inf), "1 of 8 sentences give NaN or infinity"),
        (lambda texts: [math.nan] * len(texts), "8 of 8 sentences give NaN or infinity"),
    ],
    "determinism": [
        (lambda texts: [-len(t) - 1e-9 * next(CALLS) for t in texts], "two calls differ by"),
    ],
    "batch invariance": [
        (lambda texts: [-len(t) - 0.01 * len(texts) for t in texts], "alone and in a batch differ"),
        (lambda texts: [-len(t) - max(map(len, texts)) / 1e4 for t in texts], "in a batch differ"),
    ],
    "sensible range": [
        (lambda texts: [-5.0 for _ in texts], "all sentences get the same numbers"),
        (
            lambda texts: [-500.0 - len(t) for t in texts],
            "a token has a log-probability of -5",
        ),
    ],
}
CASES = [
    pytest.param(check, change, message, id=f"{check} {n}")
    for check, listed in DEFECTS.items()
    for n, (change, message) in enumerate(listed)
]


def problems(model: Model) -> dict[str, str]:
    """Return the checks that fail, with their reasons."""
    return {n: r.reason for n, r in checked(model).items() if r.status == "scored" and not r.value}


def checked(model: Model) -> dict[str, Record]:
    return records_of(SUITE, model, ITEMS)


def result(model: Model) -> SuiteResult:
    return result_of(SUITE, model, ITEMS, config="all")


def test_a_sound_model_passes_every_check():
    assert problems(Sound()) == {}
    assert {r.status for r in checked(Sound()).values()} == {"scored"}
    found = result(Sound())
    assert (found.status, found.headline.value, found.headline.n) == ("scored", 100.0, 6)


# Infinity minus infinity; numpy says so, and the check finds it.
@pytest.mark.filterwarnings("ignore:invalid value encountered in subtract")
@pytest.mark.parametrize(("check", "change", "message"), CASES)
def test_a_defect_is_found_and_leaves_everything_else_unmeasured(check, change, message):
    found = problems(scoring(change))
    assert message in found[check]
    status, reason = result(scoring(change)).status, result(scoring(change)).reason
    assert status == "inconclusive"
    assert reason.startswith("structural checks failed: ")
    assert check in reason


@pytest.mark.parametrize("check", ["determinism", "batch invariance"])
def test_a_defect_is_found_by_its_own_check(check):
    (change, _), *_ = DEFECTS[check]
    others = {"finite outputs", "sensible range", "mask token", "round trip"}
    assert not set(problems(scoring(change))) & others


@pytest.mark.parametrize(
    ("dtype", "difference", "fails"),
    [
        ("float32", 0.9e-4, False),
        ("float32", 1.2e-4, True),
        ("tf32", 0.009, False),
        ("tf32", 0.011, True),
        ("float16", 0.09, False),
        ("bfloat16", 0.11, True),
    ],
)
def test_half_precision_has_more_room(dtype, difference, fails):
    model = scoring(lambda texts: [-len(t) - difference * (len(texts) > 1) for t in texts])
    model.identity = replace(model.identity, dtype=dtype)
    assert ("batch invariance" in problems(model)) is fails


class BadMask(Sound):
    """A model whose mask does not work, in one way or another."""

    def __init__(self, given: ClozeScore) -> None:
        super().__init__()
        self.given = given

    def slot(self, clozes: Sequence[Cloze]) -> list[ClozeScore]:
        return [self.given] * len(clozes)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (ClozeScore((), (), "a word shares a token"), "a word shares a token"),
        (ClozeScore((0.0, 0.0), (1, 1)), "the probabilities of two words exceed one"),
        (ClozeScore((math.nan, -1.0), (1, 1)), "the probabilities of two words exceed one"),
    ],
    ids=["unreadable", "sum", "nan"],
)
def test_a_bad_mask_is_found_but_does_not_end_the_run(given, message):
    assert problems(BadMask(given)) == {"mask token": message}
    found = result(BadMask(given))
    assert found.status == "scored"
    assert found.headline.value == pytest.approx(500 / 6)


class Lossy(Sound):
    """A model whose tokenizer loses letters."""

    def round_trip(self, texts: Sequence[str]) -> list[str]:
        return [t.replace("w", "?") for t in texts]


def test_a_bad_round_trip_is_found_but_does_not_end_the_run():
    sentences = list(ITEMS[0].texts.values())
    n = sum("w" in t for t in sentences)
    assert problems(Lossy()) == {
        "round trip": f"{n} of 8 plain English sentences are not given back"
    }
    assert result(Lossy()).status == "scored"


class Encoder(Sound):
    """A model that only embeds."""

    def __init__(self, vectors: Callable[[str], Sequence[float]]) -> None:
        super().__init__()
        self.capabilities = frozenset({Capability.EMBED})
        self.vectors = vectors

    def embed(self, texts: Sequence[str]) -> Embeddings:
        vectors = np.array([self.vectors(t) for t in texts], dtype=np.float32)
        return Embeddings(vectors, (None,) * len(texts))


def test_an_encoder_is_checked_by_its_vectors_and_spared_the_mask():
    model = Encoder(lambda t: [len(t), -1000.0 * t.count("e")])
    assert problems(model) == {}
    assert checked(model)["mask token"].status == "excluded"
    assert "not applicable" in checked(model)["mask token"].reason
    assert (result(model).headline.value, result(model).headline.n) == (100.0, 5)


@pytest.mark.parametrize(
    ("vectors", "check"),
    [
        (lambda t: [1.0, 2.0], "sensible range"),
        (lambda t: [len(t), math.nan], "finite outputs"),
    ],
    ids=["constant", "nan"],
)
def test_defects_of_vectors_are_found(vectors, check):
    assert check in problems(Encoder(vectors))


def test_every_check_has_an_item_and_the_essential_ones_say_so():
    assert [i.id for i in ITEMS] == list(CHECKS)
    found = checked(Sound())
    essential = {n for n, r in found.items() if r.detail["essential"]}
    assert essential == set(DEFECTS)
