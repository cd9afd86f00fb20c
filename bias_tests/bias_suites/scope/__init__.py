"""Scope cards: what each suite measures, of whom, and what a score does not show."""

from functools import cache
from importlib.resources import files
from typing import Any, Final

import yaml

FIELDS: Final = (
    "summary",
    "source",
    "measures",
    "construct",
    "proxy",
    "harm_type",
    "bias_definition",
    "dimensions",
    "groups",
    "beyond_gender",
    "intersectional",
    "languages",
    "variety_and_culture",
    "data_origin",
    "made_by",
    "annotators",
    "community_involvement",
    "fairness_notion",
    "licence",
    "access",
    "architecture",
    "kind",
    "validity",
    "validity_in_short",
    "validity_evidence",
    "known_defects",
    "decisions",
    "cross_lingual",
    "does_not_show",
)
VALIDITY: Final = ("contested", "partial", "supported")
MOST_IN_SHORT: Final = 90
"""Characters of `validity_in_short`: it stands on one line under every score."""


@cache
def scope_card(name: str) -> dict[str, Any]:
    """Read the scope card of a suite and check that no field is missing or says nothing.

    Raises
    ------
    ValueError
        If a field is missing, unknown or empty, or what stands beside every score is too long.
    """
    text = files("bias_suites").joinpath("scope", f"{name}.yaml").read_text(encoding="utf-8")
    card: dict[str, Any] = yaml.safe_load(text)
    wrong = sorted(set(FIELDS) ^ set(card)) or [f for f in FIELDS if card[f] in (None, "", [], {})]
    if wrong:
        raise ValueError(f"scope card of {name}: missing, unknown or empty: {', '.join(wrong)}")
    if card["validity"] not in VALIDITY:
        raise ValueError(f"scope card of {name}: validity is one of {', '.join(VALIDITY)}")
    if len(card["validity_in_short"]) > MOST_IN_SHORT:
        raise ValueError(
            f"scope card of {name}: validity_in_short has {len(card['validity_in_short'])} "
            f"characters, at most {MOST_IN_SHORT} stand beside a score"
        )
    return card
