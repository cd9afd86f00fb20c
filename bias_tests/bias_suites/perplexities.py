"""How well a model predicts texts of several domains: perplexities, rates in nats, their ratio.

A perplexity is exp of the nats of the texts divided by their number of words: a ratio of sums, so
that a long text counts more than a short one. Words are separated by white space, as in the word
perplexity of lm-evaluation-harness, so that tokenizers can be compared; the rate per token is
reported beside it.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final

from pytest_bias.models import SequenceScore
from pytest_bias.records import Item, Record, Value
from pytest_bias.scoring import Metric, Perplexity, PerplexityRatio, Rate, RateGap, own_cluster

BY_DOMAIN: Final = (("domain",),)


def measured(item: Item, score: SequenceScore, text: str, **more: Value) -> Record:
    """Return the record of a text: its nats, and the denominators of its rates.

    Parameters
    ----------
    item : Item
        What was scored.
    score : SequenceScore
        Of the tokens that count.
    text : str
        The text whose words and characters are counted.
    **more : float or int
        Further numbers of the record.
    """
    if score.reason:
        return item.record("unscored", reason=score.reason)
    nats, words = -score.total, len(text.split())
    detail: dict[str, Value] = {
        "nats": nats,
        "words": words,
        "characters": len(text),
        "tokens": score.n_tokens,
        "first_tokens_unscored": score.n_unscored,
        **more,
    }
    return item.scored(nats / words, detail)


def per(unit: str, nats: str = "nats") -> Callable[[Record], float | None]:
    """Return a function that gives a record's rate: nats per word, character or token."""

    def rate(record: Record) -> float | None:
        if nats not in record.detail:
            return None
        return float(record.detail[nats] or 0) / (number(unit)(record) or 1)

    return rate


def number(unit: str) -> Callable[[Record], float | None]:
    """Return a function that gives a record's number of words, characters or tokens."""
    return lambda record: float(record.detail.get(unit) or 0)


def metrics(
    key: str,
    first: str = "",
    second: str = "",
    *by: tuple[str, ...],
    block: Callable[[Record], Hashable] = own_cluster,
) -> tuple[Metric, ...]:
    """Return the metrics of texts of two kinds, the first of which is noisy or out of domain.

    Parameters
    ----------
    key, first, second : str
        The two kinds, as in `RateGap`; without `second`, each group of the key is also compared
        with all texts that have none.
    *by : tuple of str
        Groups by which ratio and gap are reported.
    block : callable
        Block within which the two kinds are compared (`Metric.block`).
    """
    versus = "" if second else key
    groups = by if second else ((key,),)
    sides: dict[str, Any] = {"over": key, "first": first, "second": second}
    return (
        Metric(
            "perplexity_ratio",
            PerplexityRatio(per("words"), weight=number("words"), **sides),
            ideal=1,
            bounds=(0, None),
            unit="",
            tolerance=0.005,
            by=groups,
            headline=True,
            ideal_label="unmoved",
            versus=versus,
            block=block,
        ),
        Metric(
            "gap",
            RateGap(per("characters"), weight=number("characters"), **sides),
            ideal=0,
            bounds=(None, None),
            unit="nats",
            tolerance=0.005,
            by=groups,
            versus=versus,
            block=block,
        ),
        _of_domain("perplexity", Perplexity(per("words"), number("words")), **_PERPLEXITY),
        _of_domain(
            "nats_per_character",
            Rate(per("characters"), number("characters")),
            ideal=0,
            unit="nats",
            tolerance=0.005,
        ),
        _of_domain("token_perplexity", Perplexity(per("tokens"), number("tokens")), **_PERPLEXITY),
    )


_PERPLEXITY: Final[Mapping[str, Any]] = {"ideal": 1, "unit": "", "tolerance": 0.05}


def _of_domain(name: str, rate: Rate, *, ideal: float, **more: Any) -> Metric:
    """Return a metric per domain, whose ideal is its smallest possible value."""
    return Metric(name, rate, ideal, bounds=(ideal, None), by=BY_DOMAIN, whole=False, **more)
