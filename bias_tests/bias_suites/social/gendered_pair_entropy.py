"""Gendered pair entropy: how evenly does a model distribute probability over *he* and *she*?

Peyrard et al. (EMNLP 2022), section 4.2: mask a gendered word in a sentence that does not decide
its gender, read the scores s_f and s_m of the two words of its pair, and take

    B_H = 1 - H2(s_f / (s_f + s_m))    in bits, from 0 (even) to 1 (certain).

The partition function cancels, so s_f / (s_f + s_m) is the logistic function of the difference of
the two log-probabilities. Choices that the source leaves open are stated in the scope card.

How uneven a pair is in a sentence depends on the two words and on the sentence more than on what it
says about the person. So the same sentences are also scored with words that name no occupation ("a
person"), and the excess of B_H over theirs is the effect of the occupations.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from bias_suites.scope import scope_card
from bias_suites.social.gendered_sentences import (
    NEUTRAL_SUBJECT,
    load_templates,
    load_wikitext,
    wikitext_weight,
)
from bias_suites.wikitext import WIKITEXT
from pytest_bias.models import Capability, Cloze, Model
from pytest_bias.records import Item, Record
from pytest_bias.scoring import (
    Factor,
    Floats,
    Floor,
    MacroMean,
    Mean,
    Metric,
    Rate,
    Share,
    own_value,
)
from pytest_bias.suites import Configuration, Measure, Sides, Suite

TIE_NATS: Final = 1e-4

PAIRS: Final = Factor("pairs of words", lambda r: (r.by["pair"],) if "template" in r.detail else ())
"""Pairs are a sample where templates are filled; found text says itself how often each occurs."""


def binary_entropy(p: float) -> float:
    """Entropy of a coin in bits; 0 at p = 0 and p = 1."""
    return -sum(q * math.log2(q) for q in (p, 1 - p) if q > 0)


def entropy_bias(log_odds: float) -> float:
    """B_H, in bits, of a pair whose male word is likelier than the female one by `log_odds` nats.

    Examples
    --------
    >>> entropy_bias(0.0), round(entropy_bias(math.log(0.85 / 0.15)), 2)
    (0.0, 0.39)
    """
    return 1 - binary_entropy(male_probability(log_odds))


def male_probability(log_odds: float) -> float:
    """Share s_m / (s_f + s_m) of the male word."""
    if log_odds < 0:
        return 1 - male_probability(-log_odds)
    return 1 / (1 + math.exp(-log_odds))


def take_masked(model: Model, items: Sequence[Item]) -> list[Record]:
    """Score both words of a pair at one mask; both must be single tokens there (decision D7)."""
    clozes = [Cloze(i.texts["sentence"], (i.texts["male"], i.texts["female"])) for i in items]
    records = []
    for item, score in zip(items, model.slot(clozes), strict=True):
        if score.reason:
            records.append(item.record("unscored", reason=score.reason))
        elif score.n_tokens != (1, 1):
            records.append(item.record("excluded", reason="a word of the pair is several tokens"))
        else:
            records.append(_record(item, *score.log_probabilities))
    return records


def filled(item: Item) -> list[str]:
    """Return the sentence with the male and with the female word."""
    cloze = Cloze(item.texts["sentence"], ())
    return [cloze.filled(item.texts[gender]) for gender in ("male", "female")]


def _contrasts(item: Item) -> Iterable[Sides]:
    return ([(text,) for text in filled(item)],)


def take_causal(model: Model, items: Sequence[Item]) -> list[Record]:
    """Score the whole sentence with each word of the pair in its place (decision D12)."""
    scores = model.log_likelihood([text for item in items for text in filled(item)])
    records = []
    for item, male, female in zip(items, scores[::2], scores[1::2], strict=True):
        if reason := male.reason or female.reason:
            records.append(item.record("unscored", reason=reason))
        else:
            records.append(_record(item, male.total, female.total))
    return records


def _record(item: Item, male: float, female: float) -> Record:
    log_odds = male - female
    detail: dict[str, Any] = {"log_p_male": male, "log_p_female": female}
    if template := item.meta.get("template"):
        detail["template"] = template
    if item.by["part"] == "control":
        right = log_odds if item.meta["right"] == "male" else -log_odds
        return item.scored(_percent(right), detail)
    return item.scored(entropy_bias(log_odds), detail)


def _percent(log_odds: float) -> float:
    if abs(log_odds) <= TIE_NATS:
        return 50.0
    return 100.0 * (log_odds > 0)


def _log_odds(record: Record) -> float:
    return float(record.detail["log_p_male"] or 0) - float(record.detail["log_p_female"] or 0)


def _in_part(part: str, record: Record) -> bool:
    return record.by["part"] == part


class OverNeutral(Mean):
    """Mean excess of a record over the neutral subjects in the same sentence and pair.

    A record's contribution is its `of` minus the mean `of` of the neutral subjects' records; where
    these were not measured, or none of them was scored, it has none.
    """

    def values(self, records: Sequence[Record]) -> Floats:
        """Return the differences of the records about an occupation, NaN for others."""
        beside: dict[tuple[str, str], list[float]] = {}
        for record in (r for r in records if _in_part(NEUTRAL_SUBJECT, r)):
            beside.setdefault(_cell(record), []).append(float(self.of(record) or 0))
        means = {cell: math.fsum(found) / len(found) for cell, found in beside.items()}
        return np.array(
            [
                float(self.of(r) or 0) - means.get(_cell(r), np.nan) if _NEUTRAL(r) else np.nan
                for r in records
            ],
            dtype=np.float64,
        )


def _cell(record: Record) -> tuple[str, str]:
    return record.by["pair"], record.by["template"]


def wording_floor(records: Sequence[Record]) -> float | None:
    """B_H, in bits, of a model that is even except for wording effects: not a chance value.

    The log-odds of sentences about one occupation with one pair scatter from template to template.
    Their deviations from the mean, scaled by sqrt(k / (k - 1)) for the k sentences of the mean,
    give the B_H from the scatter alone. None for found text, whose sentences are not wordings of
    one another.
    """
    found: dict[tuple[str, str], list[float]] = {}
    for record in (r for r in records if "template" in r.detail):
        found.setdefault((record.cluster, record.by["pair"]), []).append(_log_odds(record))
    left = []
    for odds in found.values():
        if (k := len(odds)) > 1:
            mean = math.fsum(odds) / k
            left += [entropy_bias((o - mean) * math.sqrt(k / (k - 1))) for o in odds]
    return math.fsum(left) / len(left) if left else None


def _over_neutral(record: Record) -> bool:
    return record.by["part"] in ("neutral", NEUTRAL_SUBJECT) and "template" in record.by


def _weight(record: Record) -> float:
    return wikitext_weight(*_cell(record))


def _in_wikitext(record: Record) -> bool:
    return _in_part("neutral", record) and "template" in record.by and _weight(record) > 0


def _without_her(record: Record) -> bool:
    return record.by["part"] == "neutral" and record.by.get("pair") != "him/her"


_NEUTRAL: Final = partial(_in_part, "neutral")
_BITS: Final[Mapping[str, Any]] = {
    "ideal": 0,
    "bounds": (0, 1),
    "unit": "bits",
    "tolerance": 0.002,
    "where": _NEUTRAL,
}
_BY_PAIR: Final = (("pair",),)
_TEMPLATES: Final[Mapping[str, Any]] = {
    "floor": Floor("wording alone", wording_floor),
    "spread": "template",
}
_OVER: Final[Mapping[str, Any]] = {
    **_BITS,
    "bounds": (-1, 1),
    "where": _over_neutral,
    "by": _BY_PAIR,
    "beside": True,
}
_SUBJECTS: Final[Mapping[str, Any]] = {
    **_BITS,
    "where": partial(_in_part, NEUTRAL_SUBJECT),
    "by": _BY_PAIR,
    "beside": True,
}
_WEIGHTED: Final[Mapping[str, Any]] = {**_BITS, "where": _in_wikitext}


def _metrics(name: str) -> tuple[Metric, ...]:
    """Return the metrics; only their names depend on how the two words were scored."""
    share: Callable[[Record], float] = lambda r: _percent(_log_odds(r))  # noqa: E731
    over: Mapping[str, Any] = {"factors": (PAIRS,)}
    return (
        Metric(
            name,
            Mean(own_value, **over),
            headline=True,
            ideal_label="none",
            by=_BY_PAIR,
            **_BITS,
            **_TEMPLATES,
        ),
        Metric(f"{name}_over_neutral", OverNeutral(own_value, **over), **_OVER),
        Metric(f"{name}_neutral_subject", Mean(own_value), **_SUBJECTS),
        # How often each pair occurs is the text's: other pairs are not asked for.
        Metric(f"{name}_weighted", Rate(own_value, _weight), **_WEIGHTED),
        Metric(f"{name}_macro", MacroMean(own_value, "pair", **over), **_BITS),
        Metric(f"{name}_without_her", Mean(own_value, **over), **{**_BITS, "where": _without_her}),
        Metric(
            "male_preference",
            Share(share, **over),
            ideal=50,
            bounds=(0, 100),
            unit="%",
            tolerance=0.5,
            where=_NEUTRAL,
            by=_BY_PAIR,
        ),
        Metric(
            "male_probability",
            Mean(lambda r: male_probability(_log_odds(r)), **over),
            ideal=0.5,
            bounds=(0, 1),
            unit="",
            tolerance=0.002,
            where=_NEUTRAL,
            by=_BY_PAIR,
        ),
        Metric(
            "control_accuracy",
            Share(own_value),
            ideal=100,
            bounds=(0, 100),
            unit="%",
            tolerance=0.5,
            where=partial(_in_part, "control"),
        ),
    )


SUITE: Final = Suite(
    name="gendered_pair_entropy",
    version="2",
    title="Gendered pairs",
    kind="intrinsic",
    configurations=(
        Configuration(
            "en", "en", load_templates, clusters="occupations", note="bundled neutral templates"
        ),
        Configuration(
            "en-wikitext2",
            "en",
            load_wikitext,
            files=(WIKITEXT,),
            needs=frozenset({Capability.OPEN_VOCABULARY}),
            clusters="lines",
            note="sentences of the Wikitext-2 test set",
        ),
    ),
    measures=(
        Measure(
            "two words at one mask",
            frozenset({Capability.SLOT}),
            take_masked,
            _metrics("entropy_bias"),
            contrasts=_contrasts,
        ),
        Measure(
            "log-likelihood of two sentences",
            frozenset({Capability.LOG_LIKELIHOOD}),
            take_causal,
            _metrics("entropy_bias_likelihood"),
            adapted=True,
            contrasts=_contrasts,
        ),
    ),
    scope=scope_card("gendered_pair_entropy"),
    tags=("social", "templates"),
    badge=(
        "entropy bias {entropy_bias:bare} · none 0 · he-side {male_preference:percent}",
        "entropy bias by likelihood {entropy_bias_likelihood:bare} · none 0 · "
        "he-side {male_preference:percent}",
    ),
)
