"""Sampling of items: a sample is a prefix of one fixed order, so that samples are nested.

The order is of whole clusters, random given the seed, and does not depend on the size of the
sample. Every stretch of it has about the same proportions of groups as the whole, so that a sample
represents it. It begins with a few clusters that together have every group.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from pytest_bias.records.report import Item, canonical_json, sha256

QUICK_ITEMS: Final = 200
"""Items of a suite under ``--profile quick``; clusters stay whole, so there may be a few more."""

QUICK_CLUSTERS: Final = 30
"""Clusters under ``--profile quick``: an interval drawn over fewer would be too narrow."""

MOST_GROUPS: Final = 50
"""A `by` key with more values than this names single things, not groups to be represented."""

Cluster: TypeAlias = tuple[Item, ...]
Block: TypeAlias = Callable[[Item], Hashable]
Groups: TypeAlias = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Order:
    """Whole clusters in the order in which samples take them; the first `n_front` have all groups.

    An item that is decided by the data alone stays in its cluster and is not counted here: it takes
    no time and gives no information about the model.
    """

    clusters: tuple[Cluster, ...]
    n_front: int

    def quick(
        self, n_items: int = QUICK_ITEMS, n_clusters: int = QUICK_CLUSTERS
    ) -> tuple[Cluster, ...]:
        """Return the first clusters: those with all groups, and at least the given numbers."""
        items = clusters = 0
        for n, cluster in enumerate(self.clusters):
            enough = items >= n_items and clusters >= n_clusters and n >= self.n_front
            if enough and any(map(n_open, self.clusters[n:])):
                return self.clusters[:n]
            items += n_open(cluster)
            clusters += n_open(cluster) > 0
        return self.clusters


def in_order(items: Iterable[Item], seed: int) -> Order:
    """Put the clusters of a suite into their fixed order.

    Parameters
    ----------
    items : iterable of Item
        All items of a suite, in any order.
    seed : int
        Another seed gives another order.
    """
    members: dict[str, list[Item]] = defaultdict(list)
    for item in sorted(items, key=lambda i: i.id):
        members[item.cluster].append(item)
    keys = _keys(members.values())
    groups = {name: _groups(found, keys) for name, found in members.items()}
    strata: dict[tuple[bool, tuple[tuple[str, str], ...]], list[str]] = defaultdict(list)
    for name in sorted(members, key=lambda name: sha256(f"{seed}/{name}")):
        strata[n_open(members[name]) > 0, tuple(sorted(groups[name]))].append(name)
    # Cluster k of the n of its stratum is at the fraction (k + start) / n of the order.
    place: dict[str, float] = {}
    for stratum, names in strata.items():
        start = int(sha256(canonical_json([seed, stratum]))[:8], 16) / 16**8
        place |= {name: (k + start) / len(names) for k, name in enumerate(names)}
    front: list[str] = []
    rest: list[str] = []
    seen: set[tuple[str, str]] = set()
    for name in sorted(place, key=lambda name: (place[name], name)):
        brings = groups[name] - seen if n_open(members[name]) else frozenset()
        (front if brings else rest).append(name)
        seen |= brings
    return Order(tuple(tuple(members[name]) for name in [*front, *rest]), len(front))


def quick_items(items: Sequence[Item], seed: int, block: Block | None) -> Sequence[Item]:
    """Return the items that ``--profile quick`` samples: with blocks, one block of each cluster.

    The block is random given the seed, among those with items that need the model if there are any;
    items of the block None are in no sample.
    """
    if block is None:
        return items
    blocks: dict[tuple[str, Hashable], list[Item]] = defaultdict(list)
    for item in items:
        if (name := block(item)) is not None:
            blocks[item.cluster, name].append(item)

    def rank(key: tuple[str, Hashable]) -> tuple[bool, str]:
        return not n_open(blocks[key]), sha256(f"{seed}/{key}")

    first: dict[str, tuple[str, Hashable]] = {}
    for key in sorted(blocks, key=rank):
        first.setdefault(key[0], key)
    return [item for key in first.values() for item in blocks[key]]


def n_open(cluster: Sequence[Item]) -> int:
    """Return how many items need the model."""
    return sum(item.status is None for item in cluster)


def extent(items: Sequence[Item], taken: Collection[str]) -> tuple[int | None, int | None]:
    """Return how many items were taken, and of how many; None and None for the whole suite.

    Items that the suite's own rule drops are counted in neither number.
    """
    if all(item.id in taken for item in items):
        return None, None
    counted = [item.id for item in items if item.status != "excluded"]
    return sum(name in taken for name in counted), len(counted)


def _keys(clusters: Iterable[Sequence[Item]]) -> list[str]:
    values: dict[str, set[str]] = defaultdict(set)
    for item in (item for cluster in clusters for item in cluster):
        for key, value in item.by.items():
            values[key].add(value)
    return sorted(key for key, found in values.items() if len(found) <= MOST_GROUPS)


def _groups(cluster: Sequence[Item], keys: Sequence[str]) -> Groups:
    """Return the groups of a cluster's items: of those to be measured, if it has any."""
    asked = [item for item in cluster if item.status is None] or cluster
    return frozenset((k, item.by[k]) for item in asked for k in keys if k in item.by)
