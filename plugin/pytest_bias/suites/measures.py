"""Measures: how items are measured, the capabilities this needs, and the resulting metrics."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from pytest_bias.models.interface import GAP, Capability, Model
from pytest_bias.records.report import Item, Record
from pytest_bias.scoring.finite import finite_record
from pytest_bias.scoring.metric import ALIKE, Metric

Sides: TypeAlias = Sequence[Collection[str]]
"""The texts of each side of a comparison."""


def nothing(item: Item) -> Iterable[Sides]:
    """Compare no texts of an item with one another."""
    return ()


def between(*roles: str) -> Callable[[Item], Iterable[Sides]]:
    """Return a function that compares the texts with these roles with one another."""
    return lambda item: ([(item.texts[role],) for role in roles if role in item.texts],)


class Calls(NamedTuple):
    """How many answers a model gives for each item, and in words what they are made of."""

    each: int
    how: str


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
        Measures items with the model; returns one record per item.
    metrics : tuple of Metric
        The numbers that are computed from the records.
    adapted : bool
        Whether the method was adapted from one for another kind of model.
    reads : str
        Role (`models.labels.ROLES`) in which the labels of the model, a classifier, are read.
    reads_also : tuple of str
        Concepts that need a label besides those that the role requires.
    scorer : str
        Role of the classifier, named by the user, that scores generated text, in every
        configuration that names no other.
    contrasts : callable
        Returns the comparisons of an item: the texts of each side. An item with two sides that have
        the same tokens is unscored (`ALIKE`). Groups that a metric compares need not be listed.
    configurations : frozenset of str
        Names of the configurations that are measured this way; empty for all of them.
    calls : Calls, optional
        How often an item is asked, where a preview is to say so.
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
    configurations: frozenset[str] = frozenset()
    calls: Calls | None = None

    @property
    def compared(self) -> frozenset[tuple[str, str]]:
        """The `by` keys whose groups are compared, each after the key within which they are."""
        found = [(getattr(m.estimate, "within", ""), m.estimate) for m in self.metrics]
        return frozenset((w, over) for w, e in found if (over := getattr(e, "between", "")))


def measure_items(measure: Measure, model: Model, items: Sequence[Item]) -> tuple[Record, ...]:
    """Measure items of whole clusters; those with a status from the data skip the model."""
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
    """Return the ids of items whose sides have the same tokens, so that the model cannot differ.

    Two sides of an item, or items of one cluster and two groups that are compared, are different
    texts with the same tokens: a word is unknown, or its accent or case is removed. Such an item is
    a tie, which is the ideal of most measures, and gives no information on the model. Identical
    texts in the data are handled by the suite, and texts of two clusters are not compared.
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
    # The marker of a gap is not one of the tokenizer's tokens.
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
