"""Shuffled groups of items, for tests of whether the group makes a difference."""

from collections.abc import Hashable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pytest_bias.scoring.statistics import Floats, Sampling

Places: TypeAlias = NDArray[np.int64]


def relabelled(
    group: Places, clusters: Sequence[Hashable], blocks: Sequence[Hashable], sampling: Sampling
) -> Iterator[Places]:
    """Yield shuffled groups of items, once per shuffle.

    The items of one group in a cluster stay together: within a cluster of several groups, labels
    are exchanged among these parts; clusters of one group exchange theirs within their block.

    Parameters
    ----------
    group : array of shape (n,)
        Number of the group of each item.
    clusters, blocks : sequence of length n
        Cluster and block of each item; a cluster has items of one block only.
    """
    homes = list(zip(blocks, clusters, strict=True))
    number = {home: n for n, home in enumerate(sorted(set(homes), key=repr))}
    block_of = {name: n for n, name in enumerate(sorted(set(blocks), key=repr))}
    cluster = np.array([number[home] for home in homes], dtype=np.int64)
    parts, part = np.unique(np.stack([cluster, group], axis=1), axis=0, return_inverse=True)
    of_cluster, of_group = parts.T
    block = np.array([block_of[name] for name, _ in number], dtype=np.int64)[of_cluster]
    is_mixed = (np.bincount(of_cluster) > 1)[of_cluster]
    # Where parts exchange their groups: within a mixed cluster, or among the others of a block.
    home = np.where(is_mixed, of_cluster, -1 - block)
    in_order = np.argsort(home, kind="stable")
    new, is_one = np.empty_like(of_group), bool((home == home[:1]).all())
    for _ in range(sampling.draws.shuffles):
        new[in_order] = of_group[_shuffled(sampling.rng.random(len(home)), home, is_one)]
        yield new[part.ravel()]


def _shuffled(keys: Floats, home: Places, is_one: bool) -> Places:
    """Return the order of random keys within homes; all in one home are sorted faster."""
    if is_one:
        order = np.argsort(keys)
        if (np.diff(keys[order]) > 0).all():
            return order
    return np.lexsort((keys, home))
