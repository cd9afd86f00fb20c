"""Sentences with an open place and the words that may stand there: which one does a model choose?

Where the data say which word is right, the share of right choices counts. Else the choice should
be even: the imbalance is 1 minus the entropy of the words' probabilities, in units of the largest
entropy that as many words can have; of two words it is the entropy bias of Peyrard et al. (2022).
"""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from bias_suites.pairs import TIE_NATS
from pytest_bias.errors import UsageError
from pytest_bias.interface import GAP, Capability, Cloze, Model
from pytest_bias.records import Item, Record
from pytest_bias.scoring import Mean, Share, own_value
from pytest_bias.sentences import at_gap
from pytest_bias.suite_form import Key, word, words
from pytest_bias.suite_kinds import DataRow, Definition, Kind
from pytest_bias.suites import Measure, Metric


def _items(definition: Definition, rows: Sequence[DataRow]) -> Iterator[Item]:
    options = definition.options
    for row in rows:
        text = row.cells["text"].replace(options.get("gap", GAP), GAP)
        problem, texts = None, {"text": text}
        if text.count(GAP) != 1:
            problem = f"the text has {text.count(GAP)} open places, not one"
        else:
            chosen = [at_gap(text, choice) for choice in options["choices"]]
            texts |= {f"choice_{n}": choice for n, choice in enumerate(chosen, 1)}
        expected = row.cells["expected"]
        if _has_expected(definition) and expected not in options["choices"]:
            problem = problem or "the expected word is none of the choices"
        yield row.item(texts, meta={"expected": expected}, problem=problem)


def _has_expected(definition: Definition) -> bool:
    return definition.data is not None and "expected" in definition.data.columns


def _choices(item: Item) -> tuple[str, ...]:
    return tuple(text for role, text in item.texts.items() if role.startswith("choice_"))


def _take(model: Model, items: Sequence[Item], *, expected: tuple[str, ...]) -> list[Record]:
    """Give each choice its log-probability at the gap, or in a causal model that of the text."""
    clozes = [Cloze(item.texts["text"], _choices(item)) for item in items]
    if Capability.SLOT in model.capabilities:
        read = [(s.log_probabilities, s.reason) for s in model.slot(clozes)]
    else:
        scores = iter(model.log_likelihood([c.filled(w) for c in clozes for w in c.choices]))
        read = []
        for cloze in clozes:
            found = [next(scores) for _ in cloze.choices]
            reason = next((s.reason for s in found if s.reason), None)
            read.append((tuple(s.total for s in found), reason))
    return [
        item.record("unscored", reason=reason)
        if reason
        else _record(item, np.array(numbers), expected)
        for item, (numbers, reason) in zip(items, read, strict=True)
    ]


def _record(item: Item, logp: Any, expected: tuple[str, ...]) -> Record:
    detail = {f"log_p_{n}": float(p) for n, p in enumerate(logp, 1)}
    best = np.flatnonzero(logp >= logp.max() - TIE_NATS)
    detail["first"] = 100.0 * (0 in best) / len(best)
    if expected:
        right = expected.index(item.meta["expected"])
        return item.scored(100.0 * (right in best) / len(best), detail)
    p = np.exp(logp - logp.max())
    p /= p.sum()
    entropy = -math.fsum(q * math.log(q) for q in p if q > 0)
    return item.scored(1 - entropy / math.log(len(p)), detail)


def _first(record: Record) -> float:
    return float(record.detail["first"] or 0)


def _measures(definition: Definition) -> tuple[Measure, ...]:
    choices, by = definition.options["choices"], definition.groups
    expected = choices if _has_expected(definition) else ()
    if expected:
        headline = Metric(
            "accuracy",
            Mean(own_value),
            ideal=100,
            bounds=(0, 100),
            unit="%",
            tolerance=0.5,
            by=by,
            headline=True,
        )
    else:
        headline = Metric(
            "imbalance",
            Mean(own_value),
            ideal=0,
            bounds=(0, 1),
            unit="",
            tolerance=0.002,
            by=by,
            headline=True,
        )
    even = 100 / len(choices)
    first = Metric(
        "first_choice",
        Share(_first) if len(choices) == 2 else Mean(_first),
        ideal=even,
        bounds=(0, 100),
        unit="%",
        tolerance=0.5,
        by=by,
    )
    take = partial(_take, expected=expected)
    return (
        Measure("words at one mask", frozenset({Capability.SLOT}), take, (headline, first)),
        Measure(
            "log-likelihood of the filled text",
            frozenset({Capability.LOG_LIKELIHOOD}),
            take,
            (headline, first),
            adapted=True,
        ),
    )


def _check(definition: Definition) -> None:
    choices = definition.options["choices"]
    if not 2 <= len(set(choices)) == len(choices):
        raise _wrong(definition, "needs two different words at least, none of them twice.")


def _wrong(definition: Definition, message: str) -> UsageError:
    return definition.marked.error(("choices",), message)


KIND: Final = Kind(
    name="slot",
    about="which of a few words a model puts at an open place: evenly, or the expected one",
    suite_kind="intrinsic",
    columns={
        "text": Key(word, "a sentence with one [MASK]", needed=True),
        "expected": Key(word, "which of the choices is right; left out, the choice is to be even"),
    },
    options={
        "choices": Key(words, "the words, the one of interest first", needed=True),
        "gap": Key(word, "what marks the open place in the data, if not [MASK]"),
    },
    items=_items,
    measures=_measures,
    badge=("imbalance {imbalance:bare} · none 0", "right {accuracy} · all 100"),
    check=_check,
)
