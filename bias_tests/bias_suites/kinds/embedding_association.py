"""Kind ``embedding_association``: one WEAT or SEAT test of two target and two attribute sets."""

from collections.abc import Iterator, Sequence
from typing import Final

from bias_suites.social.seat import Effect, association_items, contrasts, take
from pytest_bias.models import Capability
from pytest_bias.records import Item
from pytest_bias.scoring import Metric, own_value
from pytest_bias.suites import FIELD, DataRow, Definition, Key, Kind, Measure, fill, words

SETS: Final = {"x": "first targets", "y": "second targets", "a": "first attributes"} | {
    "b": "second attributes"
}


def _items(definition: Definition, rows: Sequence[DataRow]) -> Iterator[Item]:
    carriers = definition.options.get("carriers", ("{word}",))
    examples = {
        side: [
            (fill(carrier, {"word": word}), word)
            for word in definition.options[side]
            for carrier in carriers
        ]
        for side in SETS
    }
    return association_items(definition.name, examples)


def _measures(definition: Definition) -> tuple[Measure, ...]:
    effect = Metric(
        "effect_size",
        Effect(own_value),
        ideal=0,
        bounds=(None, None),
        unit="d",
        tolerance=0.01,
        headline=True,
        ideal_label="none",
    )
    embed = frozenset({Capability.EMBED})
    return (Measure("cosine of pooled hidden states", embed, take, (effect,), contrasts=contrasts),)


def _check(definition: Definition) -> None:
    for side in SETS:
        said = definition.options[side]
        if len(said) < 2 or len(set(said)) < len(said):
            raise definition.marked.error((side,), "needs two words at least, none of them twice.")
    for number, carrier in enumerate(definition.options.get("carriers", ())):
        if [match[2] for match in FIELD.finditer(carrier)] != ["word"]:
            raise definition.marked.error(("carriers", number), "must hold {word} once.")


KIND: Final = Kind(
    name="embedding_association",
    about="whether vectors of two sets of words lean to two sets of attributes: effect size d",
    suite_kind="intrinsic",
    columns={},
    options={side: Key(words, about, needed=True) for side, about in SETS.items()}
    | {"carriers": Key(words, "sentences with {word}; by default the word alone")},
    items=_items,
    measures=_measures,
    badge=("effect {effect_size} · none 0",),
    check=_check,
)
