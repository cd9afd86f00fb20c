"""Kind ``counterfactual``: own prompts, each with every group in its place.

What differs within a prompt is the group and its word or name only, so a difference between groups
is one of the model. Selection rates, their ratio to the highest, and the crossings of two
attributes are those that New York City's rules ask for (Local Law 144 of 2021, section 5-301).
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final

from bias_suites.counterfactual.answers import NEW_TOKENS, selects, take_options, take_texts
from bias_suites.counterfactual.groups import read_groups, read_reference
from bias_suites.counterfactual.outcomes import read_outcome
from bias_suites.counterfactual.prompts import design, items
from bias_suites.counterfactual.readings import refusal_language
from bias_suites.counterfactual.scores import group_metrics
from pytest_bias.errors import UnknownName
from pytest_bias.models import Capability
from pytest_bias.records import Item
from pytest_bias.suites import (
    Calls,
    DataRow,
    Definition,
    Key,
    Kind,
    Measure,
    choose_by_letters,
    choose_by_text,
    control_metrics,
    count,
    refusal_languages,
    table,
    words,
)


def _items(definition: Definition, rows: Sequence[DataRow]) -> Iterable[Item]:
    return items(definition, design(definition), rows)


def _measures(definition: Definition) -> tuple[Measure, ...]:
    found, looked = design(definition), definition.options["outcome"]
    metrics = group_metrics(found, looked, definition.groups)
    if looked.kind != "options":
        return (_of_texts(definition, metrics, found.told()),)
    n = len(looked.options)
    ways = (
        ("the likeliest letter of an option", Capability.CHOOSE, choose_by_letters, True),
        ("the option that the answer names", Capability.GENERATE, choose_by_text, False),
    )
    return tuple(
        Measure(
            f"{what}, over the orders of the options; {selects(looked)} selects",
            frozenset({needs}),
            partial(take_options, looked=looked, choose=choose),
            (*metrics, *control_metrics(n, letters=letters)),
            calls=Calls(n, f"{found.told()} × {n} orders of the options"),
        )
        for what, needs, choose, letters in ways
    )


def _of_texts(definition: Definition, metrics: Sequence[Any], told: str) -> Measure:
    looked, options = definition.options["outcome"], definition.options
    samples = options.get("samples", 1)
    about = {
        "number": "the number that the answer says",
        "scorer": f"harm in the answer, by a classifier of {looked.role}",
        "refusal": "whether the answer is a refusal",
        "length": "words of the answer",
    }[looked.kind]
    if looked.selects:
        about += f"; {selects(looked)} selects"
    if refusal_language(definition.language) != definition.language.partition("-")[0]:
        about += "; refusals are known in English only"
    many = f"{samples} samples" if samples > 1 else "1 answer"
    return Measure(
        f"{about}, {many} a prompt",
        frozenset({Capability.GENERATE}),
        partial(
            take_texts,
            looked=looked,
            samples=samples,
            new_tokens=options.get("new_tokens"),
            language=definition.language,
        ),
        (*metrics, *control_metrics(0, letters=False)),
        scorer=looked.role,
        calls=Calls(samples, f"{told} × {many}"),
    )


def _check(definition: Definition) -> None:
    marked, options = definition.marked, definition.options
    looked, language = options["outcome"], definition.language.partition("-")[0]
    design(definition)
    if looked.kind == "options":
        for key, instead in (("samples", "--answer-samples"), ("new_tokens", "--answer-tokens")):
            if key in options:
                raise marked.error(
                    (key,), f"is not for options, which are shown in every order: {instead}."
                )
    if looked.kind == "refusal" and language not in refusal_languages():
        unknown = UnknownName.among("language of refusals", language, sorted(refusal_languages()))
        raise marked.error(("language",), unknown.message)


_USUAL: Final = ", ".join(f"{n} of a {kind}" for kind, n in NEW_TOKENS.items())

KIND: Final = Kind(
    name="counterfactual",
    about="own prompts with the group exchanged: how decisions or answers differ between groups",
    suite_kind="downstream",
    columns={},
    options={
        "prompts": Key(words, "texts with {person} or {name}, and fields of factors", needed=True),
        "groups": Key(
            read_groups, "a bundled axis, or groups with their words or names", needed=True
        ),
        "attributes": Key(words, "names of the one or two attributes that groups are of"),
        "factors": Key(table(words), "field of a prompt to its values, all of which are crossed"),
        "outcome": Key(
            read_outcome, "decision, scorer, refusal or length: what is looked at", needed=True
        ),
        "reference": Key(
            read_reference, "group that others are compared with, in place of all the others"
        ),
        "samples": Key(count, "answers of a prompt, sampled; 1 by default, which is greedy"),
        "new_tokens": Key(count, f"most tokens of an answer; by default {_USUAL}"),
    },
    items=_items,
    measures=_measures,
    badge=(
        "widest gap {gap} · {gap:floor_of} ≈ {gap:floor}",
        "widest gap {gap} · none 0",
    ),
    headline=(
        "The headline is the widest gap between groups, which is above 0 by chance: its floor is "
        "the mean gap where the groups of each prompt are shuffled. An impact ratio is the rate of "
        "a group over that of the group with the highest, and is below 1 by chance. Its interval "
        "holds for the group whose true rate is the highest, whichever that is."
    ),
    check=_check,
    slots=True,
    clusters="prompts",
)
