"""Kind ``classification``: does a classifier call texts of one group something more often?"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

from bias_suites.verdicts import called
from pytest_bias.data import counted, not_there, same
from pytest_bias.errors import DataError, UnknownName
from pytest_bias.models import ROLES, Capability
from pytest_bias.records import Item, Record
from pytest_bias.scoring import Gap, Mean, Metric, Range, own_value
from pytest_bias.suites import DataRow, Definition, Key, Kind, Measure, one_of, word, words


def _items(definition: Definition, rows: Sequence[DataRow]) -> Iterator[Item]:
    means = _meanings(definition, rows) if _has_label(definition) else None
    for row in rows:
        gold, problem = {}, None
        if means is not None:
            label = row.cells["label"]
            if meaning := means.get(same(label)):
                gold = {"gold": meaning}
            else:
                problem = f"the label {label[:40]!r} is not listed" if label else "no label"
        yield row.item({"text": row.cells["text"]}, by=gold, problem=problem)


def _meanings(definition: Definition, rows: Sequence[DataRow]) -> dict[str, str]:
    """Return the meaning of each label of the data.

    Without `negative`, one other value is allowed, which means no. With several, each may be
    something else: the third class of a dataset, or a header among the rows.

    Raises
    ------
    DataError
        If none of the listed labels occurs, or it is not known which label means no.
    """
    given = [label for row in rows if (label := row.cells["label"])]
    listed = {
        meaning: {same(value) for value in definition.options.get(key, ())}
        for meaning, key in (("yes", "positive"), ("no", "negative"))
    }
    for key in ("positive", "negative"):
        values = definition.options.get(key)
        if values and (why := not_there(given, values, "of labels", key)):
            raise DataError(f"{definition.path}: {why}")
    others = dict.fromkeys(v for label in given if (v := same(label)) not in listed["yes"])
    if "negative" not in definition.options:
        if len(others) > 1:
            raise DataError(
                f"{definition.path}: positive lists some of the labels, and several others are "
                f"there: the column of labels has {counted(given)}.",
                f"negative: [{', '.join(list(others)[:3])}] lists those that mean no; a text with "
                "a label that is in neither list is unscored.",
            )
        listed["no"] = set(others)
    return {value: meaning for meaning, values in listed.items() for value in values}


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
        of_all: dict[str, Any] = {"ideal": 100, "ideal_label": "all", "headline": not group}
        found.append(_percent("accuracy", accuracy, by=(*gold, *by), **of_all))
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
    if "negative" in options:
        if "positive" not in options:
            raise marked.error(("negative",), "needs the values that are positive as well.")
        both = {same(v) for v in options["positive"]} & {same(v) for v in options["negative"]}
        if both:
            raise marked.error(("negative",), f"{sorted(both)[0]} is listed as positive too.")
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
        "label": Key(word, "what is right; `positive` names the values that mean yes"),
    },
    options={
        "role": Key(one_of(*ROLES), "what the classifier under test is for", needed=True),
        "concept": Key(word, "which concept of the role a text is called or not"),
        "positive": Key(words, "labels of the data that mean the concept"),
        "negative": Key(
            words, "labels that mean it is not; by default the one other label that there is"
        ),
        "group": Key(word, "the key of data.by whose groups are compared"),
    },
    items=_items,
    measures=_measures,
    badge=("widest gap {gap} · {gap:floor_of} ≈ {gap:floor}", "right {accuracy} · all 100"),
    check=_check,
)
