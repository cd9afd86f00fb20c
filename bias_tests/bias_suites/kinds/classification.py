"""Texts that a classifier calls something or not: of one group more often than of another?"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

from bias_suites.verdicts import called
from pytest_bias.errors import UnknownName
from pytest_bias.gaps import Gap, Range
from pytest_bias.interface import Capability
from pytest_bias.labels import ROLES
from pytest_bias.records import Item, Record
from pytest_bias.scoring import Mean, own_value
from pytest_bias.suite_form import Key, one_of, word, words
from pytest_bias.suite_kinds import DataRow, Definition, Kind
from pytest_bias.suites import Measure, Metric


def _items(definition: Definition, rows: Sequence[DataRow]) -> Iterator[Item]:
    positive = set(definition.options.get("positive", ()))
    for row in rows:
        gold, problem = {}, None
        if _has_label(definition):
            label = row.cells["label"]
            problem = None if label else "no label"
            gold = {"gold": "yes" if label in positive else "no"}
        yield row.item({"text": row.cells["text"]}, by=gold, problem=problem)


def _has_label(definition: Definition) -> bool:
    return definition.data is not None and "label" in definition.data.columns


def _correct(record: Record) -> float | None:
    if record.value is None:
        return None
    return record.value if record.by["gold"] == "yes" else 100.0 - record.value


def _measures(definition: Definition) -> tuple[Measure, ...]:
    keys, group = [key for (key,) in definition.groups], definition.options.get("group")
    has_label, found = _has_label(definition), list[Metric]()
    gold = (("gold",),) if has_label else ()
    if group:
        found += [
            _percent("gap", Range(own_value, group), unit="points", by=gold, headline=True),
            _percent(
                "gap_to_others",
                Gap(own_value, group),
                bounds=(-100, 100),
                unit="points",
                by=((group,), *(("gold", group) for _ in gold)),
                whole=False,
                versus=group,
            ),
        ]
    by = tuple((key,) for key in keys)
    if has_label:
        accuracy = Mean(_correct)
        found.append(_percent("accuracy", accuracy, ideal=100, by=(*gold, *by), headline=not group))
    found.append(_percent("called", Mean(own_value), by=(*gold, *by)))
    return (
        Measure(
            "probability of one label",
            frozenset({Capability.CLASSIFY}),
            partial(called, role=definition.options["role"], concept=_concept(definition)),
            tuple(found),
            reads=definition.options["role"],
        ),
    )


def _concept(definition: Definition) -> str:
    given = definition.options.get("concept")
    return str(given or ROLES[definition.options["role"]].needed[0])


def _percent(name: str, estimate: Any, **more: Any) -> Metric:
    usual: dict[str, Any] = {"ideal": 0, "bounds": (0, 100), "unit": "%", "tolerance": 0.5}
    return Metric(name, estimate, **usual | more)


def _check(definition: Definition) -> None:
    marked, options = definition.marked, definition.options
    concepts = ROLES[options["role"]].concepts
    if _concept(definition) not in concepts:
        unknown = UnknownName.among("concept", options["concept"], concepts)
        raise marked.error(("concept",), unknown.message)
    keys = [key for (key,) in definition.groups]
    if "group" in options and options["group"] not in keys:
        unknown = UnknownName.among("key of data.by", options["group"], keys)
        raise marked.error(("group",), unknown.message)
    if _has_label(definition) != ("positive" in options):
        raise marked.error(
            (),
            "a column of labels and the values that are positive belong together.",
            "data: {columns: {label: gold}} and positive: [hateful]",
        )
    if not _has_label(definition) and "group" not in options:
        raise marked.error(
            (),
            "with no labels and no group there is nothing to compare.",
            "group: one of the keys of data.by; or data: {columns: {label: …}} with positive: […]",
        )


KIND: Final = Kind(
    name="classification",
    about="percentage of texts that a classifier calls something, by group and against labels",
    suite_kind="downstream",
    columns={
        "text": Key(word, "the text", needed=True),
        "label": Key(word, "what is right; then `positive` names the values that mean yes"),
    },
    options={
        "role": Key(one_of(*ROLES), "what the classifier under test is for", needed=True),
        "concept": Key(word, "which concept of the role a text is called or not"),
        "positive": Key(words, "labels of the data that mean the concept"),
        "group": Key(word, "the key of data.by whose groups are compared"),
    },
    items=_items,
    measures=_measures,
    badge=("widest gap {gap} · {gap:floor_of} ≈ {gap:floor}", "right {accuracy} · all 100"),
    check=_check,
)
