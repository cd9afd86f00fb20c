"""Permutation test of two sides, over the groups within clusters and over whole clusters."""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pytest_bias.scoring.drawing import alike_units, chunks
from pytest_bias.scoring.resampling import Sums
from pytest_bias.scoring.statistics import Floats, Sampling, Test

FEWEST_ARRANGEMENTS: Final = 20
"""Fewest arrangements of a permutation test: with fewer, no p-value is at most 0.05."""
MOST_CHOICES: Final = 1_000
"""Most arrangements of one cluster; where it has more, a sample of this size is used."""


def sides_test(sums: Sums, choices: Sequence[Floats], alone: Floats, sampling: Sampling) -> Test:
    """Test whether the side of an item makes a difference, two-sided.

    In a cluster with items on both sides, its groups are permuted between the sides, with as many
    on each as observed; clusters on one side only are permuted as wholes, with as many on each side
    as observed. Were each of these to change sides independently, the sides would become equally
    large, and a small side would seem to differ too often.

    Parameters
    ----------
    sums : Sums
        With one sample of shape (n_clusters, 4): the sum of either side, then the count of either.
    choices : sequence of array, each of shape (n_choices, 4)
        The same for each cluster with both sides, in all arrangements of its groups;
        the first is as observed.
    alone : array of shape (n_clusters, 4)
        The same for the clusters on one side only.
    """
    if len(choices) + len(alone) < 2:
        return Test(reason="fewer than two clusters")
    fixed = sum((c[0] for c in choices), np.zeros(4))
    choices = [c - c[0] for c in choices]
    choices = [c for c in choices if c.any()]
    units, is_first = alone.reshape(-1, 2, 2).sum(axis=2), alone[:, 2] > 0

    def apart(moved: Floats, first: Floats) -> Floats:
        second = units.sum(axis=0) - first
        drawn = np.stack([first[:, 0], second[:, 0], first[:, 1], second[:, 1]], axis=1)
        totals = fixed + moved + drawn
        return np.abs(sums.at(totals) - sums.at(totals[:, [1, 0, 3, 2]]))

    observed = float(apart(np.zeros((1, 4)), units[is_first].sum(axis=0)[None])[0])
    if not math.isfinite(observed):
        return Test(reason="no value")
    n_first = int(is_first.sum())
    ways = math.comb(len(units), n_first) * math.prod(map(len, choices))
    if ways < FEWEST_ARRANGEMENTS:
        which = "no other arrangement" if ways == 1 else f"only {ways} arrangements"
        return Test(reason=f"{which} of the groups, of which no p-value is at most 0.05")
    exact = ways <= sampling.draws.arrangements
    at_least = n = 0
    draws = _every_side if exact else _drawn_sides
    for moved, first in draws(choices, units, n_first, sampling):
        at_least += int((apart(moved, first) >= observed * (1 - 1e-12)).sum())
        n += len(moved)
    if exact:
        return Test("exact permutation of groups", at_least / n)
    return Test(f"{n:,} permutations of groups", (at_least + 1) / (n + 1))


def _every_side(
    choices: Sequence[Floats], units: Floats, n_first: int, sampling: Sampling
) -> Iterator[tuple[Floats, Floats]]:
    """Yield all draws at once: the change from clusters with both sides, and the first side."""
    moved = np.zeros((1, 4))
    for choice in choices:
        moved = (moved[:, None] + choice[None]).reshape(-1, 4)
    chosen = list(combinations(range(len(units)), n_first))
    first = units[np.array(chosen, dtype=np.int64).reshape(len(chosen), n_first)].sum(axis=1)
    yield np.repeat(moved, len(first), axis=0), np.tile(first, (len(moved), 1))


def _drawn_sides(
    choices: Sequence[Floats], units: Floats, n_first: int, sampling: Sampling
) -> Iterator[tuple[Floats, Floats]]:
    """Yield random draws in chunks; where clusters are identical, only counts are drawn."""
    pairs = np.array([c[1] for c in choices if len(c) == 2]).reshape(-1, 4)
    larger = [c for c in choices if len(c) > 2]
    n_choices = np.array([len(c) for c in larger])
    start = np.concatenate([[0], np.cumsum(n_choices)[:-1]]).astype(np.int64)
    table = np.concatenate([*larger, np.zeros((0, 4))])
    pairs, n_pairs = _counted(pairs)
    units, n_units = _counted(units)
    are_alike = len(units) < n_units.sum()
    rng, n = sampling.rng, sampling.draws.resamples
    for size in chunks(n, max(1, 2**21 // max(1, len(pairs), len(units), 4 * len(larger)))):
        moved = rng.binomial(n_pairs, 0.5, size=(size, len(pairs))) @ pairs
        if larger:
            drawn = (rng.random((size, len(larger))) * n_choices).astype(np.int64)
            moved = moved + table[start + drawn].sum(axis=1)
        if are_alike:
            each = rng.multivariate_hypergeometric(n_units, n_first, size, method="marginals")
            first = each @ units
        else:
            each = np.tile(np.arange(len(units)), (size, 1))
            first = units[rng.permuted(each, axis=1)[:, :n_first]].sum(axis=1)
        yield moved, first


def arrangements(sums: Floats, counts: Floats, n_first: int, rng: np.random.Generator) -> Floats:
    """Return the arrangements of a cluster's groups on two sides, the observed one first.

    Parameters
    ----------
    sums, counts : array of shape (n,)
        Sum and count of each group, those of the first side first.
    n_first : int
        Number of groups on the first side.

    Returns
    -------
    array of shape (n_arrangements, 4)
        Sum of either side, then count of either; `MOST_CHOICES` random ones where there are more.
    """
    n = len(sums)
    if math.comb(n, n_first) <= MOST_CHOICES:
        chosen = np.array(list(combinations(range(n), n_first)), dtype=np.int64)
    else:
        each = np.tile(np.arange(n), (MOST_CHOICES, 1))
        chosen = rng.permuted(each, axis=1)[:, :n_first]
        chosen[0] = np.arange(n_first)
    first = np.stack([sums[chosen].sum(axis=1), counts[chosen].sum(axis=1)], axis=1)
    second = np.array([sums.sum(), counts.sum()]) - first
    return np.stack([first[:, 0], second[:, 0], first[:, 1], second[:, 1]], axis=1)


def _counted(rows: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return rows and the count of each: distinct rows where many are identical."""
    if found := alike_units([rows]):
        ((kinds, counts),) = found
        return kinds, counts
    return rows, np.ones(len(rows), dtype=np.int64)
