"""Which items a partial log is a sample of: whole clusters, as in every sample."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Sequence

from pytest_bias.records.report import Item


def within(
    items: Sequence[Item],
    answered: Collection[str],
    block: Callable[[Item], Hashable] | None,
    least: float,
) -> tuple[Item, ...]:
    """Return the items of clusters, or of blocks of them, that are answered as a whole.

    What is compared lies within them. Incomplete ones are added, the most complete first, while at
    least a share of `least` of all items that need an answer has one.
    """
    units: dict[Hashable, list[Item]] = defaultdict(list)
    for item in items:
        units[item.cluster, block(item) if block else None].append(item)
    open_of = {u: [i for i in of if i.status is None] for u, of in units.items()}
    lacks = {u: sum(i.id not in answered for i in of) for u, of in open_of.items()}
    kept = set[Hashable]()
    n = without = 0
    for unit in sorted(
        (u for u, of in open_of.items() if lacks[u] < len(of)),
        key=lambda u: lacks[u] / len(open_of[u]),
    ):
        if without + lacks[unit] > (1 - least) * (n + len(open_of[unit])):
            break
        kept.add(unit)
        n, without = n + len(open_of[unit]), without + lacks[unit]
    return tuple(i for u, of in units.items() if u in kept for i in of)
