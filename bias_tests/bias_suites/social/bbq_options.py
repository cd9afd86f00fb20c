"""BBQ with its three answers as options in the prompt, in every cyclic order."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from bias_suites.social import bbq_family
from bias_suites.social.bbq_rows import ANSWERS
from pytest_bias.models import Capability, Model
from pytest_bias.records import Item, Record
from pytest_bias.scoring import Metric
from pytest_bias.suites import (
    Answers,
    Measure,
    MultipleChoice,
    choose_by_letters,
    choose_by_text,
    control_metrics,
    not_asked,
)

CONFIGURATIONS: Final = frozenset({"en-options", "en-sample"}) | bbq_family.NAMES

Choose = Callable[[Model, Sequence[MultipleChoice]], list[Answers]]
ToRecord = Callable[[Item, Answers], Record]


def question(item: Item) -> MultipleChoice:
    """Return the question of an item with its three options."""
    texts = item.texts
    return MultipleChoice(
        f"{texts['context']}\n{texts['question']}",
        tuple(texts[answer] for answer in ANSWERS),
        item.meta.get("language", "en"),
    )


def take(
    model: Model, items: Sequence[Item], *, choose: Choose, to_record: ToRecord
) -> list[Record]:
    """Ask every question in all orders of its options, and average the choices."""
    answers = choose(model, [question(item) for item in items])
    return [
        item.record("unscored", reason=reason) if (reason := not_asked(of)) else to_record(item, of)
        for item, of in zip(items, answers, strict=True)
    ]


def measures(to_record: ToRecord, metrics: Sequence[Metric]) -> tuple[Measure, ...]:
    """Return both ways of reading the choice: by the letters' probabilities, and from the text."""
    ways = (
        ("the likeliest letter of an option", Capability.CHOOSE, choose_by_letters, True),
        ("the option that the answer names", Capability.GENERATE, choose_by_text, False),
    )
    return tuple(
        Measure(
            f"{what}, averaged over the orders of the options",
            frozenset({needs}),
            partial(take, choose=choose, to_record=to_record),
            (*metrics, *control_metrics(len(ANSWERS), letters=letters)),
            configurations=CONFIGURATIONS,
        )
        for what, needs, choose, letters in ways
    )
