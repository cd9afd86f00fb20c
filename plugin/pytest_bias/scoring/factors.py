"""Factors: what the items of a metric are a sample of besides clusters, and what is held fixed.

Occupations cross pairs of words, identities cross templates, cases are nested in constructions. An
interval is over each factor that has enough levels; one that has few is held fixed, and the score
states it.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_bias.records.report import Record
from pytest_bias.scoring.multiway import Cell

FEWEST_LEVELS: Final = 8
"""Fewest levels of a factor that is sampled."""
FEWEST_ON_A_SIDE: Final = 5
"""Fewest levels of a factor in each group, where each level is of one group only."""

SideOf = Callable[[Record], Hashable]


@dataclass(frozen=True, slots=True)
class Factor:
    """Something of which the items are a sample besides their clusters.

    Parameters
    ----------
    name : str
        Name of its levels, in the plural, such as ``pairs of words``.
    levels : callable
        Maps a record to the names of its levels: one; two where an item has two of a kind, such as
        the occupations of a sentence; none where the factor does not apply.
    """

    name: str
    levels: Callable[[Record], tuple[str, ...]]


def along(key: str) -> Callable[[Record], tuple[str, ...]]:
    """Return a function that gets a record's value for a key of `by`, or else of its details."""

    def levels(record: Record) -> tuple[str, ...]:
        found = record.by.get(key, record.detail.get(key))
        return () if found is None else (str(found),)

    return levels


def no_side(record: Record) -> Hashable:
    """Return the same side for all records."""
    return None


def units(
    records: Sequence[Record], factors: Sequence[Factor], side_of: SideOf = no_side
) -> list[Hashable]:
    """Return the resampling unit of each record: its cluster, or the cell where factors cross.

    A record without a level of a factor has its cluster as the level there. Clusters that are
    nested in the levels of a factor add no information, and are left out; so is a cluster that is
    the only one, such as that of the group that a score is about.
    """
    sampled = [f for f in factors if _is_sampled(_sides(records, f, side_of))]
    clusters: list[Hashable] = [r.cluster for r in records]
    if not sampled:
        return clusters
    levels = [
        [tuple(dict.fromkeys(f.levels(r))) or (f"cluster {r.cluster}",) for f in sampled]
        for r in records
    ]
    names = [f.name for f in sampled]
    if len(set(clusters)) > 1 and any(
        len({(r.cluster, each[n]) for r, each in zip(records, levels, strict=True)})
        > len(set(clusters))
        for n in range(len(sampled))
    ):
        names = ["", *names]
        levels = [[(r.cluster,), *each] for r, each in zip(records, levels, strict=True)]
    return [Cell(tuple(each), tuple(names)) for each in levels]


def sampled(
    records: Sequence[Record], factors: Sequence[Factor], side_of: SideOf = no_side
) -> dict[str, int]:
    """Return the factors that an interval is over, with the number of their levels."""
    found = {f.name: _sides(records, f, side_of) for f in factors}
    return {name: len(sides) for name, sides in found.items() if _is_sampled(sides)}


def held_fixed(
    records: Sequence[Record], factors: Sequence[Factor], side_of: SideOf = no_side
) -> dict[str, int]:
    """Return the factors with too few levels to be sampled, with the number of their levels."""
    found = {f.name: _sides(records, f, side_of) for f in factors}
    return {
        n: len(sides) for n, sides in found.items() if len(sides) > 1 and not _is_sampled(sides)
    }


def inseparable(
    records: Sequence[Record], factors: Sequence[Factor], side_of: SideOf
) -> str | None:
    """Return which factor a difference between groups is confounded with, if any.

    A factor whose levels each belong to one group, and of which a group has few.
    """
    for factor in factors:
        sides = _sides(records, factor, side_of)
        least = _least_nested(sides)
        if least is not None and least < FEWEST_ON_A_SIDE:
            return (
                f"{least} {factor.name} a group, which cannot be told from the groups; it takes "
                f"{FEWEST_ON_A_SIDE}"
            )
    return None


def nested(records: Sequence[Record], factors: Sequence[Factor], side_of: SideOf) -> Factor | None:
    """Return the first factor whose levels each belong to one group only, if there is one."""
    return next(
        (f for f in factors if _least_nested(_sides(records, f, side_of)) is not None), None
    )


def _sides(
    records: Sequence[Record], factor: Factor, side_of: SideOf
) -> Mapping[str, set[Hashable]]:
    found: dict[str, set[Hashable]] = {}
    for record in records:
        for level in factor.levels(record):
            found.setdefault(level, set()).add(side_of(record))
    return found


def _least_nested(sides: Mapping[str, set[Hashable]]) -> int | None:
    """Return the fewest levels of a group; None where a level is of several, or all are of one."""
    groups = [next(iter(of)) for of in sides.values() if len(of) == 1]
    if len(groups) < len(sides) or len(set(groups)) < 2:
        return None
    return min(map(groups.count, set(groups)))


def _is_sampled(sides: Mapping[str, set[Hashable]]) -> bool:
    least = _least_nested(sides)
    return len(sides) >= FEWEST_LEVELS and (least is None or least >= FEWEST_ON_A_SIDE)
