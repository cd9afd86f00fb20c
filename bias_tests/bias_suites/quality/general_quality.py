"""General quality: does the model still know plain English?

A model can lose its bias by losing its language. A plain sentence should be likelier than the same
sentence with one error; independent of this comparison, the nats per character of the plain
sentences are reported. Warstadt et al. (TACL 2020) made pairs of this kind; ours are plainer, and
none mentions a group of people.
"""

from collections.abc import Sequence
from typing import Final

from bias_suites.pairs import preference, sides
from bias_suites.scope import scope_card
from pytest_bias.data import DataFolder
from pytest_bias.models import Capability, Model
from pytest_bias.records import Item, Record
from pytest_bias.scoring import EVEN, Floor, Mean, Metric, Share, own_value
from pytest_bias.suites import (
    Configuration,
    LoadedData,
    Measure,
    Suite,
    between,
    bundled_info,
    text_file,
)

TEXTS: Final = "sentences/en/general_quality.yaml"
SIDES: Final = ("plain", "broken")


def load(data: DataFolder) -> LoadedData:
    """Return one item per pair."""
    texts = text_file(TEXTS)
    items = tuple(
        _item(phenomenon, number, plain, broken)
        for phenomenon, pairs in texts["pairs"].items()
        for number, (plain, broken) in enumerate(pairs)
    )
    return LoadedData(items, bundled_info([texts], len(items)))


def _item(phenomenon: str, number: int, plain: str, broken: str) -> Item:
    name = f"quality/{phenomenon.replace(' ', '-')}/{number:02d}"
    texts = dict(zip(SIDES, (plain, broken), strict=True))
    return Item(name, name, texts, by={"phenomenon": phenomenon})


def take(model: Model, items: Sequence[Item]) -> list[Record]:
    """Score both sentences whole: they differ in order and number of tokens."""
    scores = model.score([i.texts[side] for i in items for side in SIDES])
    records = []
    for item, plain, broken in zip(items, scores[::2], scores[1::2], strict=True):
        if reason := plain.reason or broken.reason:
            records.append(item.record("unscored", reason=reason))
            continue
        detail = sides(SIDES, plain, broken) | {"characters": len(item.texts["plain"])}
        records.append(item.scored(preference(plain.total - broken.total), detail))
    return records


def nats_per_character(record: Record) -> float:
    """Return how unlikely the plain sentence is, in nats per character."""
    return -float(record.detail["plain"] or 0) / int(record.detail["characters"] or 1)


_METRICS: Final = (
    Metric(
        "accuracy",
        Share(own_value),
        ideal=100,
        bounds=(0, 100),
        unit="%",
        tolerance=0.5,
        by=(("phenomenon",),),
        headline=True,
        floor=Floor("guessing", lambda records: EVEN),
    ),
    Metric(
        "nats_per_character",
        Mean(nats_per_character),
        ideal=0,
        bounds=(0, None),
        unit="nats",
        tolerance=0.005,
    ),
)

SUITE: Final = Suite(
    name="general_quality",
    version="2",
    title="General quality",
    kind="quality",
    configurations=(
        Configuration(
            "en",
            "en",
            load,
            needs=frozenset({Capability.OPEN_VOCABULARY}),
            clusters="pairs",
        ),
    ),
    measures=(
        Measure(
            "pseudo-log-likelihood of the sentence",
            frozenset({Capability.PSEUDO_LOG_LIKELIHOOD}),
            take,
            _METRICS,
            contrasts=between(*SIDES),
        ),
        Measure(
            "log-likelihood of the sentence",
            frozenset({Capability.LOG_LIKELIHOOD}),
            take,
            _METRICS,
            contrasts=between(*SIDES),
        ),
    ),
    scope=scope_card("general_quality"),
)
