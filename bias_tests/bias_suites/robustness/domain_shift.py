"""Domain shift: how much worse does a model predict texts from other domains than from its own?

Peyrard et al. (2022, Invariant Language Modeling, section 4.3) report perplexity in domain and out
of domain side by side. The user specifies the domains: what is in domain for one model is not for
another.
"""

from collections.abc import Sequence
from typing import Final

from bias_suites.perplexities import measured, metrics
from bias_suites.scope import scope_card
from pytest_bias.data import DataFolder
from pytest_bias.errors import UsageError
from pytest_bias.models import Capability, Model
from pytest_bias.records import Item, Record
from pytest_bias.suites import (
    Configuration,
    LoadedData,
    Measure,
    OwnTexts,
    Suite,
    describe_texts,
    load_texts,
)

OUT: Final = "out_of_domain"
"""Key of texts out of domain, with the name of their source; texts in domain do not have it."""


def load(data: DataFolder) -> LoadedData:
    """Return the texts of all domains that the user names, each a cluster.

    Raises
    ------
    UsageError
        If no source is in domain, or none is out of domain.
    """
    found = load_texts(data)
    _check_sides(found)
    items = tuple(
        Item(
            f"domain/{source.name}/{row.row:06d}",
            f"domain/{source.name}/{row.row:06d}",
            {"text": row.text},
            {"domain": source.name} | ({} if source.in_domain else {OUT: source.name}),
            status=None if row.text else "unscored",
            reason=None if row.text else texts.why_empty(row),
        )
        for texts in found
        for source in (texts.source,)
        for row in texts.rows
    )
    return LoadedData(items, describe_texts(found, len(items)))


def _check_sides(found: Sequence[OwnTexts]) -> None:
    sides = {texts.source.in_domain for texts in found}
    if len(sides) == 2:
        return
    there, lacking = ("in", "out of") if True in sides else ("out of", "in")
    names = ", ".join(texts.source.name for texts in found)
    raise UsageError(
        f"domain_shift holds texts in domain against texts out of domain; all that the settings "
        f"name ({names}) are {there} domain, none is {lacking} domain.",
        "In pytest-bias.yaml: texts: {domain_shift: {home: {path: home.txt, in_domain: true}, "
        "away: {path: away.txt}}}",
    )


def take(model: Model, items: Sequence[Item]) -> list[Record]:
    """Score every text whole, a long one in windows."""
    texts = [i.texts["text"] for i in items]
    scores = model.score_long(texts)
    return [measured(*one) for one in zip(items, scores, texts, strict=True)]


_METRICS: Final = metrics(OUT)

SUITE: Final = Suite(
    name="domain_shift",
    version="1",
    title="Domain shift",
    kind="robustness",
    configurations=(
        Configuration(
            "own",
            "",
            load,
            needs=frozenset({Capability.OPEN_VOCABULARY}),
            own_texts=True,
            clusters="texts",
            note="domains of your own texts",
        ),
    ),
    measures=(
        Measure(
            "pseudo-log-likelihood of the text",
            frozenset({Capability.PSEUDO_LOG_LIKELIHOOD}),
            take,
            _METRICS,
        ),
        Measure(
            "log-likelihood of the text",
            frozenset({Capability.LOG_LIKELIHOOD}),
            take,
            _METRICS,
        ),
    ),
    scope=scope_card("domain_shift"),
    tags=("robustness",),
    badge=("perplexity out of domain {perplexity_ratio:bare} of in domain · unmoved 1",),
)
