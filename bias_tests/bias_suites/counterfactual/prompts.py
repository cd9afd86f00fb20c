"""Prompts of a counterfactual suite, filled with every group, name and value of a factor."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from bias_suites.counterfactual.groups import Groups, made, references
from pytest_bias.errors import DataError, UnknownName
from pytest_bias.records import Item
from pytest_bias.scoring import Factor, along
from pytest_bias.suites import FIELD, DataRow, Definition, Place, fill

SLOTS = ("person", "name")
"""Fields of a prompt in which a group's words or names stand."""
PROMPT, WORD, ROW = "prompt", "word", "row"
"""Details of a record: number of its prompt, word of its group, and row of the data."""
MOST_ITEMS = 200_000


@dataclass(frozen=True)
class Design:
    """What a file crosses: prompts, factors, rows of the data, groups and their words.

    A prompt is crossed with the factors that it has as fields only.
    """

    prompts: tuple[str, ...]
    factors: Mapping[str, tuple[str, ...]]
    groups: Groups
    references: Mapping[str, str]
    columns: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What the words of a group are called, in the plural."""
        return "names" if any("name" in fields(p) for p in self._texts) else "words"

    @property
    def _texts(self) -> Iterator[str]:
        yield from self.prompts
        for values in self.factors.values():
            yield from values

    def used(self, prompt: str) -> tuple[str, ...]:
        """Return the factors that a prompt has as fields."""
        return tuple(name for name in self.factors if name in fields(prompt))

    def has_rows(self, prompt: str) -> bool:
        """Whether a prompt has a field that a column of the data fills."""
        return not fields(prompt).isdisjoint(self.columns)

    def n_filled(self, prompt: str, n_rows: int = 1) -> int:
        """Return how many texts a prompt is, apart from the groups."""
        n = math.prod(len(self.factors[name]) for name in self.used(prompt))
        return n * n_rows if self.has_rows(prompt) else n

    @property
    def sampled(self) -> tuple[Factor, ...]:
        """What the prompts are a sample of besides their clusters."""
        found = [Factor(self.words, along(WORD)), Factor("prompts", along(PROMPT))]
        found += [Factor(f"values of {name}", along(name)) for name in self.factors]
        return (*found, Factor("rows", along(ROW))) if self.columns else tuple(found)

    def told(self) -> str:
        """Return the numbers that are multiplied, in words."""
        n = sum(self.n_filled(p) for p in self.prompts)
        groups = self.groups.members
        sizes = sorted({len(g.words) for g in groups})
        each = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        rows = " × rows of the data" if self.columns else ""
        return f"{n:,} prompts{rows} × {len(groups)} groups × {each} {self.words}"


def fields(text: str) -> set[str]:
    """Return the names of the fields of a text."""
    return {match[2] for match in FIELD.finditer(text)}


def design(definition: Definition) -> Design:
    """Return what a file crosses, checked.

    Raises
    ------
    UsageError
        With the line of what is wrong.
    """
    marked, options = definition.marked, definition.options
    groups = made(marked, options["groups"], options.get("attributes", ()))
    axis, _ = options["groups"]
    if axis and definition.language.partition("-")[0] != "en":
        raise marked.error(("groups",), f"the phrases of the bundled axis {axis} are English.")
    columns = tuple(definition.data.columns) if definition.data else ()
    found = Design(
        options["prompts"],
        options.get("factors", {}),
        groups,
        references(marked, options.get("reference", {}), groups),
        columns,
    )
    _check_names(definition, found)
    _check_values(definition, found)
    _check_fields(definition, found)
    return found


def _check_names(definition: Definition, found: Design) -> None:
    marked = definition.marked
    if definition.data and not found.columns:
        raise marked.error(
            ("data",), "says no slot of a prompt that a column fills.", "columns: {cv: text}"
        )
    if definition.data and definition.data.cluster:
        raise marked.error(
            ("data", "cluster"), "a cluster is a prompt with its values apart from the group."
        )
    taken = {*SLOTS, *found.groups.keys, PROMPT, WORD, ROW}
    own = found.groups.attributes
    names: list[tuple[Place, str]] = [
        (("attributes",), a) for a in own if a in (*SLOTS, PROMPT, WORD, ROW)
    ]
    names += [(("factors", n), n) for n in found.factors if n in {*taken, *found.columns}]
    names += [(("data", "columns", n), n) for n in found.columns if n in taken]
    by = definition.data.by if definition.data else ()
    names += [(("data", "by", n), n) for n in by if n in taken]
    for place, name in names:
        raise marked.error(place, f"the name {name} has a meaning of its own here; choose another.")


def _check_values(definition: Definition, found: Design) -> None:
    marked = definition.marked
    for name, values in [("", found.prompts), *found.factors.items()]:
        place = ("factors", name) if name else ("prompts",)
        seen: dict[str, int] = {}
        for number, value in enumerate(values):
            first = seen.setdefault(" ".join(value.split()), number)
            if first != number:
                raise marked.error((*place, number), f"repeats text {first + 1} of the list.")
            inside = (*SLOTS, *found.groups.attributes)
            if name and (wrong := sorted(fields(value) - {*inside})):
                unknown = UnknownName.among("field", wrong[0], inside)
                raise marked.error((*place, number), unknown.message)


def _check_fields(definition: Definition, found: Design) -> None:
    marked, columns = definition.marked, found.columns
    allowed = (*SLOTS, *found.groups.attributes, *found.factors, *columns)
    for number, prompt in enumerate(found.prompts):
        place = ("prompts", number)
        if wrong := sorted(fields(prompt) - {*allowed}):
            raise marked.error(place, UnknownName.among("field", wrong[0], allowed).message)
        texts = [(prompt,), *(found.factors[name] for name in found.used(prompt))]
        if not any(all(not fields(v).isdisjoint(SLOTS) for v in values) for values in texts):
            raise marked.error(
                place,
                "has no place for the words of a group: {person} or {name}.",
                '"Should {name} get the loan?"; {a person} adds the English article',
            )
    for name in (*found.factors, *columns):
        if not any(name in fields(prompt) for prompt in found.prompts):
            of = ("factors", name) if name in found.factors else ("data", "columns", name)
            raise marked.error(of, f"no prompt has {{{name}}}.")
    n_words = sum(len(g.words) for g in found.groups.members)
    if (n := n_words * sum(found.n_filled(p) for p in found.prompts)) > MOST_ITEMS:
        raise marked.error(
            ("prompts",), f"they make {n:,} filled prompts ({found.told()}), over {MOST_ITEMS:,}."
        )
    if not columns:
        tuple(items(definition, found, ()))


def items(definition: Definition, found: Design, rows: Sequence[DataRow]) -> Iterator[Item]:
    """Yield every filled prompt; those that differ in the group or its word only are a cluster.

    Raises
    ------
    UsageError
        If two of them are the same text.
    """
    seen: dict[str, str] = {}
    for row in rows:
        if row.problem:
            yield row.item({}, problem=row.problem)
    sound = [row for row in rows if not row.problem]
    for item in _filled(definition.name, found, sound):
        text = " ".join(item.texts["prompt"].split())
        if (other := seen.setdefault(text, item.id)) != item.id:
            message = f"two filled prompts are the same text: {other} and {item.id}."
            if rows:
                raise DataError(f"{definition.path}: {message}")
            raise definition.marked.error(("prompts",), message)
        yield item


def _filled(name: str, found: Design, rows: Sequence[DataRow]) -> Iterator[Item]:
    for number, prompt in enumerate(found.prompts, 1):
        used = found.used(prompt)
        choices = product(*(range(len(found.factors[f])) for f in used))
        crossed = product(choices, rows if found.has_rows(prompt) else [None])
        for chosen, row in crossed:
            numbers = ".".join(str(n) for n in (number, *(c + 1 for c in chosen)))
            own = row.id.removeprefix(f"{name}/") if row else ""
            cluster = f"{name}/{numbers}{f'.{own}' if own else ''}"
            values = {f: found.factors[f][c] for f, c in zip(used, chosen, strict=True)}
            cells = dict(row.cells) if row else {}
            empty = next((slot for slot in fields(prompt) & {*cells} if not cells[slot]), None)
            levels = {f: str(c + 1) for f, c in zip(used, chosen, strict=True)}
            levels |= {PROMPT: f"prompt {number}"} | ({ROW: own} if row else {})
            by = dict(row.by) if row else {}
            by |= {PROMPT: f"prompt {number}"} if len(found.prompts) > 1 else {}
            for g, group in enumerate(found.groups.members, 1):
                labels = dict(zip(found.groups.attributes, group.values, strict=True))
                for w, own_word in enumerate(group.words, 1):
                    slots = labels | dict.fromkeys(SLOTS, own_word)
                    inside = {f: fill(text, slots) for f, text in values.items()}
                    yield Item(
                        f"{cluster}/{g}.{w}",
                        cluster,
                        {"prompt": fill(prompt, {**slots, **inside, **cells})},
                        by | found.groups.by(group),
                        levels | {WORD: f"{group.name}/{w}"},
                        "unscored" if empty else None,
                        f"no {empty}" if empty else None,
                    )
