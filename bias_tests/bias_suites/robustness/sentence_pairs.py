"""Labelled pairs of sentences, for classifiers of inference, paraphrases and claims.

A classifier's answer is the likeliest of all its labels. Every suite has pairs of the kind that
such classifiers are trained on (in distribution) and pairs on which a shortcut gives the wrong
answer (out of distribution), and reports both.
"""

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Any, Final, NamedTuple

import numpy as np

from pytest_bias.models import Model
from pytest_bias.records import Item, Record
from pytest_bias.scoring import Factor, Floor, Gap, Metric, Share, own_value
from pytest_bias.suites import Reading, classifier_readings

IN, OUT = "in distribution", "out of distribution"
WHERE: Final = "distribution"
"""Key of `by` for which of the two a pair is."""

NOT_ENTAILMENT: Final = "non-entailment"


class Roles(NamedTuple):
    """Role of a classifier, and roles of its first and second text.

    The order is the one in which classifiers of the role are trained; it is never exchanged.
    """

    role: str
    first: str
    second: str


NLI: Final = Roles("nli", "premise", "hypothesis")
PARAPHRASE: Final = Roles("paraphrase", "sentence1", "sentence2")
FACT_CHECKING: Final = Roles("fact_checking", "claim", "evidence")


def pair(
    name: str,
    roles: Roles,
    texts: tuple[Any, Any],
    gold: str | None,
    by: Mapping[str, str],
    *,
    cluster: str = "",
    **meta: Any,
) -> Item:
    """Return the item of a pair of sentences.

    Parameters
    ----------
    name : str
        Identifier, unique within the suite.
    roles : Roles
        What the texts are.
    texts : tuple
        The two texts as the data have them.
    gold : str or None
        The right answer, a concept of the role; None where the data have no known one.
    by : mapping of str to str
        Groups that the pair belongs to; `label` is added where there is none.
    cluster : str
        Cluster that the pair shares with others; by default its own.
    **meta : Any
        Further metadata for the records.
    """
    first, second = (str(t or "").strip() for t in texts)
    problem = None
    if not first or not second:
        problem = "empty text"
    elif gold is None:
        problem = "its label is not one of the known ones"
    groups = {"label": gold, **by} if gold else dict(by)
    return Item(
        name,
        cluster or name,
        {roles.first: first, roles.second: second},
        groups,
        {"gold": gold, **meta},
        status="unscored" if problem else None,
        reason=problem,
    )


def take(
    model: Model, items: Sequence[Item], *, roles: Roles, merged: Mapping[str, str] | None = None
) -> list[Record]:
    """Classify every pair, with its texts in the order of the roles."""
    texts = [(i.texts[roles.first], i.texts[roles.second]) for i in items]
    return judged(items, classifier_readings.probabilities(model, roles.role, texts), merged or {})


def judged(items: Sequence[Item], found: Reading, merged: Mapping[str, str]) -> list[Record]:
    """Return one record per pair: 100 where the likeliest answer is the right one, else 0.

    Of answers that are equally likely the first counts, in the order of the role's concepts.

    Parameters
    ----------
    items : sequence of Item
        With the right answer under ``gold``.
    found : Reading
        Outputs of a classifier for them.
    merged : mapping of str to str
        Answers that count as another one, once the likeliest is known.
    """
    concepts = tuple(found.values)
    records = []
    for number, (item, reason) in enumerate(zip(items, found.reasons, strict=True)):
        if reason:
            records.append(item.record("unscored", reason=reason))
            continue
        numbers = [float(found.values[c][number]) for c in concepts]
        likeliest = concepts[int(np.argmax(numbers))]
        answer = merged.get(likeliest, likeliest)
        detail = {
            **item.meta,
            "answer": answer,
            **{f"p_{c}": p for c, p in zip(concepts, numbers, strict=True)},
        }
        records.append(item.scored(100.0 * (answer == item.meta["gold"]), detail))
    return records


def is_out(record: Record) -> bool:
    """Whether a record is of a pair on which the shortcut fails."""
    return record.by.get(WHERE) == OUT


def is_in(record: Record) -> bool:
    """Whether a record is of a pair of the kind that classifiers are trained on."""
    return record.by.get(WHERE) == IN


def _is_either(record: Record) -> bool:
    return is_in(record) or is_out(record)


def accuracy(name: str, **more: Any) -> Metric:
    """Return the metric of the percentage of right answers."""
    more = {"estimate": Share(own_value)} | more
    return Metric(name, ideal=100, bounds=(0, 100), unit="%", tolerance=0.5, **more)


def gap(
    name: str,
    over: str,
    first: str,
    second: str,
    *,
    factors: tuple[Factor, ...] = (),
    **more: Any,
) -> Metric:
    """Return the metric of the accuracy of one group minus that of another."""
    estimate = Gap(own_value, over, first, second, factors=factors, of_kinds=True)
    return Metric(name, estimate, ideal=0, bounds=(-100, 100), unit="points", tolerance=0.5, **more)


def guessing(merged: Mapping[str, str] | None = None) -> Floor:
    """Return the floor of a classifier that answers each of its labels with equal probability.

    It depends on the number of labels, and where some are merged also on the right answers: of
    entailment, neutral and contradiction, two are non-entailment.

    Parameters
    ----------
    merged : mapping of str to str
        As in `judged`.
    """
    counts_as = merged or {}

    def right(record: Record) -> float:
        labels = [name.removeprefix("p_") for name in record.detail if name.startswith("p_")]
        hits = [counts_as.get(label, label) == record.detail["gold"] for label in labels]
        return 100.0 * sum(hits) / len(hits)

    return Floor("guessing", lambda records: fsum(map(right, records)) / len(records))


def both(
    *by: tuple[str, ...],
    merged: Mapping[str, str] | None = None,
    in_by: tuple[tuple[str, ...], ...] = (),
    gap_by: tuple[tuple[str, ...], ...] = (),
    factors: tuple[Factor, ...] = (),
) -> tuple[Metric, ...]:
    """Return the metrics of accuracy out of and in distribution, and of the gap between them.

    Parameters
    ----------
    *by : tuple of str
        Groups out of distribution.
    merged : mapping of str to str
        As in `judged`.
    in_by : tuple of tuple of str
        Groups in distribution.
    gap_by : tuple of tuple of str
        Groups that have pairs of both kinds.
    factors : tuple of Factor
        What the pairs are a sample of besides their clusters.
    """
    floor = guessing(merged)
    return (
        accuracy(
            "accuracy",
            estimate=Share(own_value, factors=factors),
            by=by,
            where=is_out,
            headline=True,
            floor=floor,
        ),
        accuracy("in_distribution_accuracy", by=in_by, where=is_in, floor=floor),
        gap("gap", WHERE, IN, OUT, by=gap_by, where=_is_either, factors=factors),
    )
