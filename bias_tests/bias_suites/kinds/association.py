"""Kind ``association``: words at a mask with and without an attribute, as Kurita et al. (2019)."""

from collections.abc import Iterator, Sequence
from typing import Final

from bias_suites.social.template_association import association, axis_items, contrasts, take
from pytest_bias.errors import UnknownName
from pytest_bias.models import GAP, Capability
from pytest_bias.records import Item
from pytest_bias.suites import FIELD, DataRow, Definition, Key, Kind, Measure, table, word, words


def _items(definition: Definition, rows: Sequence[DataRow]) -> Iterator[Item]:
    options = definition.options
    groups = {group: {"word": said} for group, said in options["groups"].items()}
    templates = {
        str(number): {"form": "word", "text": template}
        for number, template in enumerate(options["templates"], 1)
    }
    about = {"groups": groups, "templates": templates, "attributes": options["attributes"]}
    return axis_items(definition.name, about)


def _check(definition: Definition) -> None:
    marked, options = definition.marked, definition.options
    if len(options["groups"]) < 2:
        raise marked.error(("groups",), "needs two groups at least.")
    for number, template in enumerate(options["templates"]):
        place = ("templates", number)
        if template.count(GAP) != 1:
            raise marked.error(place, f"must contain {GAP} once, in place of a group's word.")
        for field in (match[2] for match in FIELD.finditer(template)):
            if field != "attribute":
                unknown = UnknownName.among("field", field, ["attribute"])
                raise marked.error(place, unknown.message)
        if template.count("attribute}") != 1:
            raise marked.error(place, "must hold {attribute} once, or {a attribute}.")
    for group in options["attributes"]:
        if group not in options["groups"]:
            unknown = UnknownName.among("group", group, options["groups"])
            raise marked.error(("attributes", group), unknown.message)


def _measures(definition: Definition) -> tuple[Measure, ...]:
    return (
        Measure(
            "log-probability ratio at one mask",
            frozenset({Capability.SLOT}),
            take,
            (association(("group",), ("group", "attribute")),),
            contrasts=contrasts,
        ),
    )


KIND: Final = Kind(
    name="association",
    about="how far an attribute pulls a masked model to the group of a stereotype, in nats",
    suite_kind="intrinsic",
    columns={},
    options={
        "groups": Key(table(word), "group to its word at [MASK]", needed=True),
        "templates": Key(words, "sentences with [MASK] and {attribute}", needed=True),
        "attributes": Key(
            table(words), "group to the attributes that a stereotype gives it", needed=True
        ),
    },
    items=_items,
    measures=_measures,
    badge=("{association} towards stereotypes · none 0",),
    check=_check,
)
