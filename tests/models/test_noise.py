"""The noise of samples: uniform, independent, the same everywhere, and named by its key alone."""

import numpy as np
import pytest
import torch
from scipy import stats

from pytest_bias.models.noise import gumbel, key, uniform

KEYS = [key(0, k, "a prompt") for k in range(64)]


def test_numbers_are_uniform() -> None:
    found = uniform(KEYS, 5000).numpy()
    assert found.dtype == np.float32
    assert 0 < found.min() < found.max() < 1
    assert stats.kstest(found.ravel(), "uniform").pvalue > 0.01
    each = [stats.kstest(row, "uniform").pvalue for row in found]
    assert stats.kstest(each, "uniform").pvalue > 0.01


@pytest.mark.parametrize("axis", [0, 1], ids=["keys", "tokens"])
def test_neighbours_are_independent(axis: int) -> None:
    found = uniform(KEYS, 5000).numpy()
    first, second = (np.delete(found, end, axis).ravel() for end in (-1, 0))
    counts = np.histogram2d(first, second, bins=16, range=((0, 1), (0, 1)))[0]
    assert stats.chisquare(counts.ravel()).pvalue > 0.01


def test_every_bit_of_a_key_counts() -> None:
    (first,) = uniform(KEYS[:1], 4000).numpy()
    for bit in range(64):
        (other,) = uniform([KEYS[0] ^ (1 << bit)], 4000).numpy()
        assert abs(np.corrcoef(first, other)[0, 1]) < 0.08, bit


def test_noise_is_gumbels() -> None:
    found = gumbel(KEYS, 5000).numpy()
    assert np.isfinite(found).all()
    assert stats.kstest(found.ravel(), "gumbel_r").pvalue > 0.01


def test_noise_of_a_key_does_not_depend_on_its_company() -> None:
    together = gumbel(KEYS, 300)
    assert torch.equal(gumbel(KEYS[5:6], 300)[0], together[5])
    assert torch.equal(gumbel(KEYS[5:6], 40)[0], together[5, :40])


def test_noise_is_what_it_was() -> None:
    # Another number here means that every sample of every report changes.
    assert key(0, 1, 2, "He is") == 6165663092423746770
    expected = [0.7734, 0.6675, 0.6136]
    assert uniform([key(0, 1, 2, "He is")], 3)[0].tolist() == pytest.approx(expected, abs=1e-4)


def test_words_of_a_key_do_not_run_into_one_another() -> None:
    assert len({key(1, 23, "4"), key(12, 3, "4"), key(1, 2, "34"), key("1", "23", "4", "")}) == 4
    assert key(0, "lone surrogate \ud800") != key(0, "lone surrogate \ud801")
