"""Asking a model every filled prompt, and what a record keeps of its answers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from bias_suites.continuations import HARM, judge
from bias_suites.counterfactual.outcomes import Looked
from bias_suites.counterfactual.readings import Read, read_answer, read_number
from pytest_bias.models import Model
from pytest_bias.records import Item, Record, Value
from pytest_bias.suites import (
    Answers,
    AnswerStatus,
    MultipleChoice,
    details,
    not_asked,
    times_chosen,
)

NEW_TOKENS: Final[Mapping[str, int]] = {"scorer": 100, "refusal": 100, "length": 500}
"""Usual limit of a text, by what is looked at; of a number it is that of any answer."""
KNOWN: Final = "known"
"""Detail of a record: how many of the answers that were asked for have a value."""
_MOST_TEXT: Final = 2_000

Choose = Callable[[Model, Sequence[MultipleChoice]], list[Answers]]


def take_options(
    model: Model, items: Sequence[Item], *, looked: Looked, choose: Choose
) -> list[Record]:
    """Ask every prompt with its options in all orders; the value is the % that selects."""
    questions = [MultipleChoice(i.texts["prompt"].rstrip(), looked.options) for i in items]
    found = choose(model, questions)
    return [_of_options(item, of, looked) for item, of in zip(items, found, strict=True)]


def _of_options(item: Item, answers: Answers, looked: Looked) -> Record:
    if reason := not_asked(answers):
        return item.record("unscored", reason=reason)
    told = details(answers)
    n = int(told[AnswerStatus.ANSWERED] or 0)
    selected = sum(times_chosen(answers, option) for option in looked.favourable)
    detail = {**item.meta, **told, KNOWN: n, "selected": selected}
    return item.scored(100 * selected / n, detail) if n else item.record("scored", None, detail)


def take_texts(
    model: Model,
    items: Sequence[Item],
    *,
    looked: Looked,
    samples: int,
    new_tokens: int | None,
    language: str,
) -> list[Record]:
    """Let the model answer every prompt, and look at each text."""
    is_number = looked.kind == "number"
    usual = model.answer_tokens if is_number else NEW_TOKENS[looked.kind]
    prompts = [i.texts["prompt"].rstrip() for i in items]
    if is_number:
        prompts = [_asking(p, looked, chat=model.chat) for p in prompts]
    found = model.generate(
        prompts,
        max_new_tokens=new_tokens or usual,
        sample=samples > 1,
        n=samples,
        seed=model.seed,
        stop=() if model.chat or not is_number else ("\n",),
    )
    texts = [found[n * samples : (n + 1) * samples] for n in range(len(items))]
    why = [next((t.reason for t in of if t.reason), None) for of in texts]
    reads = [
        []
        if reason
        else [
            read_number(t, looked.least, looked.most, language)
            if is_number
            else read_answer(t, language, whole=looked.kind == "length")
            for t in of
        ]
        for of, reason in zip(texts, why, strict=True)
    ]
    values = _values(model, reads, looked)
    return [
        item.record("unscored", reason=reason or not_judged)
        if reason or not_judged
        else _of_texts(item, read, value, looked)
        for item, reason, read, (value, not_judged) in zip(items, why, reads, values, strict=True)
    ]


def _asking(prompt: str, looked: Looked, *, chat: bool) -> str:
    scale = f"a number from {looked.least:g} to {looked.most:g}"
    return f"{prompt}\nAnswer with {scale} only." if chat else f"{prompt}\nAnswer ({scale}):"


def _values(
    model: Model, reads: Sequence[Sequence[Read]], looked: Looked
) -> list[tuple[list[float], str | None]]:
    """Return for each item the value of every answer that has one, or why there is none."""
    answered = [[r for r in of if r.status is AnswerStatus.ANSWERED] for of in reads]
    if looked.kind == "scorer":
        # The prompt names the group, so a classifier that saw it would be measured as well.
        judged = judge(model, looked.role, [[r.text for r in of] for of in answered])
        concept = HARM[looked.role]
        return [
            ([100 * float(p) for p in np.asarray(j.values[concept])] if j.values else [], j.reason)
            for j in judged
        ]
    if looked.kind == "refusal":
        known = (AnswerStatus.ANSWERED, AnswerStatus.REFUSED)
        return [
            ([100.0 * (r.status is known[1]) for r in of if r.status in known], None)
            for of in reads
        ]
    if looked.kind == "length":
        return [([float(len(r.text.split())) for r in of], None) for of in answered]
    numbers = [[r.number for r in of if r.number is not None] for of in answered]
    at = looked.threshold
    return [([n if at is None else 100.0 * (n >= at) for n in of], None) for of in numbers]


def _of_texts(item: Item, reads: Sequence[Read], values: Sequence[float], looked: Looked) -> Record:
    detail: dict[str, Value] = {**item.meta, "asked": len(reads), KNOWN: len(values)}
    for status in AnswerStatus:
        detail[status.value] = sum(r.status is status for r in reads)
    for number, read in enumerate(reads):
        detail[f"status_{number}"] = read.status.value
        detail[f"text_{number}"] = read.text[:_MOST_TEXT]
        if read.number is not None:
            detail[f"number_{number}"] = read.number
    if not values:
        return item.record("scored", None, detail)
    return item.scored(sum(values) / len(values), detail)


def selects(looked: Looked) -> str:
    """Return what a selected prompt is, in words."""
    if looked.kind == "number":
        return f"{looked.threshold:g} or more"
    return " or ".join(looked.options[n] for n in looked.favourable)
