"""Kind ``slot``: which of several words does a model choose at the gap of a sentence?

Where the data state which word is right, the share of right choices counts. Otherwise the choice
should be even: the imbalance is 1 minus the entropy of the words' probabilities, relative to the
largest entropy of that many words; for two words it is the entropy bias of Peyrard et al. (2022).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from bias_suites.pairs import TIE_NATS
from pytest_bias.data import not_there, same
from pytest_bias.errors import DataError, UsageError
from pytest_bias.models import GAP, Capability, Cloze, Model
from pytest_bias.records import Item, Record
from pytest_bias.scoring import Mean, Metric, Share, own_value
from pytest_bias.suites import DataRow, Definition, Key, Kind, Measure, Sides, at_gap, word, words

PER_TOKEN: Final = "per_token"
"""The outcome if each word's log-probability is divided by its tokens."""


def _items(definition: Definition, rows: Sequence[DataRow]) -> Iterator[Item]:
    options = definition.options
    choices = {same(choice): choice for choice in options["choices"]}
    if _has_expected(definition):
        given = [value for row in rows if (value := row.cells["expected"])]
        if why := not_there(given, choices, "of what is expected", "choices"):
            raise DataError(f"{definition.path}: {why}")
    for row in rows:
        text = row.cells["text"].replace(options.get("gap", GAP), GAP)
        problem, texts = None, {"text": text}
        if text.count(GAP) != 1:
            problem = f"the text has {text.count(GAP)} open places, not one"
        else:
            chosen = [at_gap(text, choice) for choice in options["choices"]]
            texts |= {f"choice_{n}": choice for n, choice in enumerate(chosen, 1)}
        expected = choices.get(same(row.cells["expected"]), "")
        if _has_expected(definition) and not expected:
            problem = problem or "the expected word is none of the choices"
        yield row.item(texts, meta={"expected": expected}, problem=problem)


def _has_expected(definition: Definition) -> bool:
    return definition.data is not None and "expected" in definition.data.columns


def _choices(item: Item) -> tuple[str, ...]:
    return tuple(text for role, text in item.texts.items() if role.startswith("choice_"))


def _contrasts(item: Item) -> Iterable[Sides]:
    cloze = Cloze(item.texts["text"], _choices(item))
    return ([(cloze.filled(choice),) for choice in cloze.choices],)


def _take(model: Model, items: Sequence[Item], *, expected: tuple[str, ...]) -> list[Record]:
    """Score each choice by its log-probability at the gap, or in causal models that of the text."""
    clozes = [Cloze(item.texts["text"], _choices(item)) for item in items]
    if Capability.SLOT in model.capabilities:
        read = [(s.log_probabilities, s.n_tokens, s.reason) for s in model.slot(clozes)]
    else:
        scores = iter(model.log_likelihood([c.filled(w) for c in clozes for w in c.choices]))
        read = []
        for cloze in clozes:
            found = [next(scores) for _ in cloze.choices]
            reason = next((s.reason for s in found if s.reason), None)
            totals, n_tokens = zip(*((s.total, s.n_tokens) for s in found), strict=True)
            read.append((totals, n_tokens, reason))
    return [
        item.record("unscored", reason=reason)
        if reason
        else _record(item, np.array(numbers), np.array(n_tokens), expected)
        for item, (numbers, n_tokens, reason) in zip(items, read, strict=True)
    ]


def _record(item: Item, logp: Any, n_tokens: Any, expected: tuple[str, ...]) -> Record:
    detail: dict[str, Any] = {f"log_p_{n}": float(p) for n, p in enumerate(logp, 1)}
    detail |= {f"tokens_{n}": int(k) for n, k in enumerate(n_tokens, 1)}
    best = _best(logp)
    detail["first"] = 100.0 * (0 in best) / len(best)
    right = expected.index(item.meta["expected"]) if expected else None
    if n_tokens.all():  # a log may not say how many tokens a text has
        detail[PER_TOKEN] = _outcome(logp / n_tokens, right)
    return item.scored(_outcome(logp, right), detail)


def _best(numbers: Any) -> Any:
    return np.flatnonzero(numbers >= numbers.max() - TIE_NATS)


def _outcome(numbers: Any, right: int | None) -> float:
    """Return the share of right choices, or the imbalance of the choices."""
    if right is not None:
        best = _best(numbers)
        return 100.0 * (right in best) / len(best)
    p = np.exp(numbers - numbers.max())
    p /= p.sum()
    entropy = -math.fsum(q * math.log(q) for q in p if q > 0)
    return 1 - entropy / math.log(len(p))


def _first(record: Record) -> float:
    return float(record.detail["first"] or 0)


def _per_token(record: Record) -> float | None:
    return float(record.detail[PER_TOKEN] or 0) if PER_TOKEN in record.detail else None


def _unequal(record: Record) -> float | None:
    """Percentage: 100 for an item whose words have different numbers of tokens, else 0."""
    if PER_TOKEN not in record.detail:
        return None
    return 100.0 * (len({v for k, v in record.detail.items() if k.startswith("tokens_")}) > 1)


def _measures(definition: Definition) -> tuple[Measure, ...]:
    choices, by = definition.options["choices"], definition.groups
    expected = choices if _has_expected(definition) else ()
    if expected:
        name, label = "accuracy", "all"
        scale = {"ideal": 100, "bounds": (0, 100), "unit": "%", "tolerance": 0.5}
    else:
        name, label = "imbalance", "none"
        scale = {"ideal": 0, "bounds": (0, 1), "unit": "", "tolerance": 0.002}
    whole: dict[str, Any] = {**scale, "by": by}
    headline = Metric(name, Mean(own_value), headline=True, ideal_label=label, **whole)
    per_token = Metric(f"{name}_per_token", Mean(_per_token), **whole)
    unequal = Metric(
        "unequal_tokens", Mean(_unequal), ideal=0, bounds=(0, 100), unit="%", tolerance=0.5
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
    metrics = (headline, per_token, unequal, first)
    return (
        Measure(
            "words at one mask",
            frozenset({Capability.SLOT}),
            take,
            metrics,
            contrasts=_contrasts,
        ),
        Measure(
            "log-likelihood of the filled text",
            frozenset({Capability.LOG_LIKELIHOOD}),
            take,
            metrics,
            adapted=True,
            contrasts=_contrasts,
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
    headline=(
        "The headline compares the probabilities of whole words, which are sums over their tokens: "
        "a word is one choice, however many tokens write it. A word of more tokens is mostly less "
        "likely, whatever it means, so the same with each sum divided by its tokens stands beside "
        "it (per_token, which in turn favours long words), with the percentage of items whose "
        "words have different numbers of tokens (unequal_tokens): where that is above 0, read both."
    ),
    badge=("imbalance {imbalance:bare} · none 0", "right {accuracy} · all 100"),
    check=_check,
)
