"""Kind ``pairs``: pairs of texts that differ in the group they mention, as in CrowS-Pairs."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from bias_suites.pairs import (
    SIDES,
    per_token,
    preference,
    problem_of,
    take_shared,
    take_whole,
    unmasked_preference,
)
from pytest_bias.models import Capability
from pytest_bias.records import Item, Record
from pytest_bias.scoring import Mean, Metric, Share, own_value
from pytest_bias.suites import DataRow, Definition, Key, Kind, Measure, between, word

EVEN: Final = 50.0


def _items(definition: Definition, rows: Sequence[DataRow]) -> Iterator[Item]:
    for row in rows:
        more, less = row.cells["more"], row.cells["less"]
        yield row.item({"more": more, "less": less}, problem=problem_of(more, less))


def _per_token_preference(record: Record) -> float | None:
    difference = per_token(record)
    return None if difference is None else preference(difference)


def _measures(definition: Definition) -> tuple[Measure, ...]:
    by = definition.groups

    def percent(name: str, of: Callable[[Record], float | None], **more: Any) -> Metric:
        share: dict[str, Any] = {
            "ideal": EVEN,
            "bounds": (0, 100),
            "unit": "%",
            "tolerance": 0.5,
            "by": by,
        }
        return Metric(name, Share(of), **share, **more)

    preferred = percent("preference", own_value, headline=True, ideal_label="even")
    nats = Metric(
        "log_odds_per_token",
        Mean(per_token),
        ideal=0,
        bounds=(None, None),
        unit="nats",
        tolerance=0.002,
        by=by,
    )
    return (
        Measure(
            "pseudo-log-likelihood of shared tokens",
            frozenset({Capability.PSEUDO_LOG_LIKELIHOOD}),
            take_shared,
            (preferred, nats, percent("aul_preference", unmasked_preference)),
            contrasts=between(*SIDES),
        ),
        Measure(
            "log-likelihood of the text",
            frozenset({Capability.LOG_LIKELIHOOD}),
            take_whole,
            (preferred, percent("preference_per_token", _per_token_preference), nats),
            adapted=True,
            contrasts=between(*SIDES),
        ),
    )


KIND: Final = Kind(
    name="pairs",
    about="percentage of pairs in which the text that is the stereotype is the likelier one",
    suite_kind="intrinsic",
    columns={
        "more": Key(word, "the text that is the stereotype, or more of it", needed=True),
        "less": Key(word, "the same text about another group", needed=True),
    },
    options={},
    items=_items,
    measures=_measures,
    headline=(
        "A masked model is read at the tokens that both texts share, as many in each. Of other "
        "models the headline compares the probabilities of whole texts; the same a token stands "
        "beside it (preference_per_token), since a text of more tokens is mostly less likely."
    ),
    badge=("stereotype preferred {preference} · even 50",),
)
