"""Groups of a counterfactual suite: a bundled axis, or the user's own words or names."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from pytest_bias.errors import UnknownName
from pytest_bias.suites import Marked, Place, Plain, shown, text_file, word, words

WORDS: Final = "words/en/described_groups.yaml"
GROUP: Final = "group"
"""Key of `by` with the group of a prompt; of two attributes it is their crossing."""
CROSSED: Final = "/"
"""Between the groups of two attributes, in the name of their crossing."""


@dataclass(frozen=True, slots=True)
class Group:
    """One group, or one crossing of two: its value of each attribute, and its words or names."""

    values: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name, such as ``women`` or ``women/Black``."""
        return CROSSED.join(self.values)


@dataclass(frozen=True, slots=True)
class Groups:
    """All groups, with the names of their one or two attributes."""

    attributes: tuple[str, ...]
    members: tuple[Group, ...]

    @property
    def key(self) -> str:
        """Key of `by` along which all groups are compared."""
        return self.attributes[0] if len(self.attributes) == 1 else GROUP

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys of `by`: of the groups, and of each attribute by itself."""
        return tuple(dict.fromkeys((self.key, *self.attributes)))

    def by(self, group: Group) -> dict[str, str]:
        """Return what a prompt of a group belongs to."""
        return {self.key: group.name} | dict(zip(self.attributes, group.values, strict=True))

    def named(self, key: str) -> tuple[str, ...]:
        """Return the groups of a key."""
        return tuple(dict.fromkeys(self.by(g)[key] for g in self.members))


def read_groups(marked: Marked, place: Place, given: Plain) -> tuple[str, Any]:
    """Read a bundled axis, or a table of groups; `made` names the attributes."""
    if isinstance(given, str):
        axes = text_file(WORDS)["axes"]
        if given not in axes:
            unknown = UnknownName.among("bundled axis", given, axes)
            raise marked.error(
                place, unknown.message, "Or your own words: groups: {women: [Ann], men: [Tom]}"
            )
        return given, {group: tuple(phrases) for group, phrases in axes[given].items()}
    if not isinstance(given, dict) or not given:
        hint = "groups: gender, a bundled axis; or {women: [Ann, Eve], men: [Tom, Jim]}"
        raise marked.error(place, f"must be a table of groups, not {shown(given)}.", hint)
    return "", {
        group: {name: _words(marked, (*place, group, name), own) for name, own in inside.items()}
        if isinstance(inside, dict) and inside
        else _words(marked, (*place, group), inside)
        for group, inside in given.items()
    }


def _words(marked: Marked, place: Place, given: Plain) -> tuple[str, ...]:
    if given is None or given in ([], {}, ""):
        raise marked.error(place, "this group has no word or name.")
    found: tuple[str, ...] = words(marked, place, given)
    return found


def made(marked: Marked, said: tuple[str, Any], attributes: Sequence[str]) -> Groups:
    """Return the groups of a file, checked.

    Raises
    ------
    UsageError
        If they are fewer than two, a word is there twice, or two attributes do not cross.
    """
    axis, table = said
    nested = [isinstance(inside, dict) for inside in table.values()]
    if any(nested) and not all(nested):
        flat = next(g for g, is_nested in zip(table, nested, strict=True) if not is_nested)
        raise marked.error(
            ("groups", flat), "has words, and another group is a table of groups of a second kind."
        )
    n = 2 if any(nested) else 1
    names = tuple(attributes) or ((axis or GROUP,) if n == 1 else ("first", "second"))
    if len(names) != n:
        depth = "one attribute" if n == 1 else "two attributes, one within the other"
        raise marked.error(("attributes",), f"names {len(names)}; the groups are of {depth}.")
    if len(set(names)) < len(names) or (n == 2 and GROUP in names):
        raise marked.error(
            ("attributes",), f"must be different, and none of two is {GROUP}: their crossing is."
        )
    members = tuple(
        Group((group, *more), own) for group, inside in table.items() for more, own in _in(inside)
    )
    _check_words(marked, members)
    if n == 2:
        _check_crossing(marked, table)
    found = Groups(names, members)
    for key in found.keys:
        if len(found.named(key)) < 2:
            raise marked.error(("groups",), f"needs two groups of {key} at least.")
    return found


def _in(inside: Any) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    if isinstance(inside, Mapping):
        yield from (((name,), own) for name, own in inside.items())
    else:
        yield (), inside


def _check_words(marked: Marked, members: Sequence[Group]) -> None:
    seen: dict[str, Group] = {}
    for group in members:
        for number, own in enumerate(group.words):
            plain = " ".join(own.split()).casefold()
            if (other := seen.get(plain)) is not None:
                where = "twice" if other == group else f"in {other.name} as well"
                at: Place = ("groups", *group.values, number)
                raise marked.error(at, f"{own!r} is {where}; a word is of one group.")
            seen[plain] = group


def _check_crossing(marked: Marked, table: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
    """Require that no group of one attribute stands for groups of the other."""
    for (first, inside), (other, also) in pairwise(table.items()):
        if missing := [name for name in (*inside, *also) if name not in also or name not in inside]:
            lacks = first if missing[0] in also else other
            raise marked.error(
                ("groups", lacks),
                f"has no group {missing[0]!r}: every group of one attribute crosses every group of "
                "the other, so that neither stands for the other.",
            )
    sizes = {(g, name): len(own) for g, inside in table.items() for name, own in inside.items()}
    most, least = max(sizes, key=lambda k: sizes[k]), min(sizes, key=lambda k: sizes[k])
    if sizes[most] != sizes[least]:
        raise marked.error(
            ("groups", *least),
            f"has {sizes[least]} words, {CROSSED.join(most)} has {sizes[most]}: every crossing "
            "needs as many, so that neither attribute stands for the other.",
        )


def read_reference(marked: Marked, place: Place, given: Plain) -> dict[str, str]:
    """Read the group that others are compared with: its name, or one for each attribute."""
    if isinstance(given, dict):
        return {key: word(marked, (*place, key), name) for key, name in given.items()}
    return {"": word(marked, place, given)}


def references(marked: Marked, given: Mapping[str, str], groups: Groups) -> dict[str, str]:
    """Return for each key of `by` the group that others are compared with, where there is one."""
    place: Place = ("reference",)
    said = dict(given)
    if "" in said:
        if len(groups.attributes) > 1:
            example = ", ".join(f"{a}: {groups.named(a)[0]}" for a in groups.attributes)
            raise marked.error(place, "needs a group of each attribute.", f"{{{example}}}")
        said = {groups.key: said[""]}
    for key, name in said.items():
        if key not in groups.keys:
            raise marked.error(
                (*place, key), UnknownName.among("attribute", key, groups.keys).message
            )
        if name not in groups.named(key):
            unknown = UnknownName.among("group", name, groups.named(key))
            raise marked.error((*place, key) if "" not in given else place, unknown.message)
    if len(groups.attributes) > 1 and all(a in said for a in groups.attributes):
        said.setdefault(groups.key, CROSSED.join(said[a] for a in groups.attributes))
    return said
