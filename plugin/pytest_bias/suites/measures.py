"""What is measured of items, by which capabilities, and which numbers their records give."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from pytest_bias.models.interface import GAP, Capability, Model
from pytest_bias.records.report import Item, Record
from pytest_bias.scoring.finite import finite_record
from pytest_bias.scoring.metric import ALIKE, Metric

Sides: TypeAlias = Sequence[Collection[str]]
"""The texts of each side of a comparison."""


def nothing(item: Item) -> Iterable[Sides]:
    """Hold no texts of an item against one another."""
    return ()


def between(*roles: str) -> Callable[[Item], Iterable[Sides]]:
    """Return a function that holds the texts with these roles against one another."""
    return lambda item: ([(item.texts[role],) for role in roles if role in item.texts],)


@dataclass(frozen=True)
class Measure:
    """One way to measure a suite's items, for the models that have the capabilities it needs.

    Parameters
    ----------
    name : str
        What is measured, in a few words.
    needs : frozenset of Capability
        What the model must be able to do.
    measure_items : callable
        Asks the model about items; returns one record an item.
    metrics : tuple of Metric
        What the records give.
    adapted : bool
        Whether it was made for another kind of model.
    reads : str
        Role (`labels.ROLES`) in which the labels of the model itself, a classifier, are read.
    reads_also : tuple of str
        Concepts that have to have a label besides those that the role needs.
    scorer : str
        Role of the classifier, named by the user, that scores what the model writes, in every
        configuration that names no other.
    contrasts : callable
        Returns what an item holds against one another: the texts of each side, as the model reads
        them. An item of which two sides have the same tokens is unscored (`ALIKE`). Groups that a
        metric compares need none.
    """

    name: str
    needs: frozenset[Capability]
    measure_items: Callable[[Model, Sequence[Item]], Sequence[Record]]
    metrics: tuple[Metric, ...]
    adapted: bool = False
    reads: str = ""
    reads_also: tuple[str, ...] = ()
    scorer: str = ""
    contrasts: Callable[[Item], Iterable[Sides]] = nothing

    @property
    def compared(self) -> frozenset[tuple[str, str]]:
        """The `by` keys whose groups are held against one another, each behind what holds them."""
        found = [(getattr(m.estimate, "within", ""), m.estimate) for m in self.metrics]
        return frozenset((w, over) for w, e in found if (over := getattr(e, "between", "")))


def measure_items(measure: Measure, model: Model, items: Sequence[Item]) -> tuple[Record, ...]:
    """Measure items, clusters whole; what the data alone decide is not shown to the model."""
    alike = read_alike(measure, model, items)
    ready = [i for i in items if i.status is None]
    settled = [i.record(i.status, reason=i.reason) for i in items if i.status is not None]
    taken = measure.measure_items(model, ready) if ready else ()
    wanted = any(metric.alike for metric in measure.metrics)
    records = [
        replace(r, status="unscored", value=None, detail=r.detail if wanted else {}, reason=ALIKE)
        if r.item in alike and r.status == "scored"
        else r
        for r in taken
    ]
    return tuple(sorted(map(finite_record, [*settled, *records]), key=lambda r: r.item))


def read_alike(measure: Measure, model: Model, items: Sequence[Item]) -> frozenset[str]:
    """Return the names of items whose difference the model cannot see.

    Two sides of an item, or items of one cluster and two groups that are compared, are other texts
    and the same tokens: a word is unknown, or its accent or case is taken away. Such an item is a
    tie, which is the ideal of most measures, and says nothing of the model. Texts that are the same
    in the data are a matter of the suite, and texts of two clusters have no difference in common.
    """
    ready = [item for item in items if item.status is None]
    sides = {item.id: list(measure.contrasts(item)) for item in ready}
    keys = measure.compared
    grouped = [item for item in ready if any(over in item.by for _, over in keys)]
    texts = [text for of in sides.values() for each in of for side in each for text in side]
    texts += [text for item in grouped for text in item.texts.values()]
    asked = list(dict.fromkeys(texts))
    if not asked:
        return frozenset()
    # The mark of an open place is none of the tokenizer's.
    read = dict(zip(asked, model.as_read([t.replace(GAP, "_") for t in asked]), strict=True))
    found = {name for name, of in sides.items() if any(_sides_alike(each, read) for each in of)}
    for within, over in keys:
        found |= _groups_alike([i for i in grouped if over in i.by], within, over, read)
    return frozenset(found)


def _sides_alike(sides: Sides, read: Mapping[str, str]) -> bool:
    seen: dict[str, tuple[int, str]] = {}
    for number, side in enumerate(sides):
        for text in side:
            other, same = seen.setdefault(read[text], (number, text))
            if other != number and same != text:
                return True
    return False


def _groups_alike(
    items: Sequence[Item], within: str, over: str, read: Mapping[str, str]
) -> set[str]:
    together: dict[Hashable, list[Item]] = {}
    for item in items:
        seen = tuple(read[text] for text in item.texts.values())
        key = (item.cluster, item.by.get(within), *item.texts, seen)
        together.setdefault(key, []).append(item)
    return {
        item.id
        for same in together.values()
        if len({item.by[over] for item in same}) > 1
        for item in same
        if any(i.by[over] != item.by[over] and i.texts != item.texts for i in same)
    }
