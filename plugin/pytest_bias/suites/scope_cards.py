"""The scope card of a suite: what it measures, for which groups, and what it does not show."""

import re
from collections.abc import Mapping
from typing import Any, Final

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
    "discretisation",
    "generality",
    "task_link",
    "contamination",
    "does_not_show",
)
"""What the position paper on multilingual bias evaluation asks a bias measure to state, and what
readers of a score also need. What differs between runs (cost, versions) is in the report."""

NOT_STATED: Final = "Not stated by the author of the suite."
"""Value of a field that a suite file does not give."""

PROSE: Final = (
    *("measures", "construct", "proxy", "bias_definition", "architecture", "validity_evidence"),
    *("discretisation", "generality", "task_link", "contamination", "does_not_show"),
)
LEAST_WORDS: Final = 3
"""Fewest words of a field that has to explain something, and of each defect and decision."""
VALIDITY: Final = ("contested", "partial", "supported")
MOST_IN_SHORT: Final = 90
"""Most characters of `validity_in_short`, which is shown on one line under every score."""


def check_card(card: Mapping[str, Any], name: str) -> None:
    """Check that no field of a scope card is missing, unknown or without content.

    Parameters
    ----------
    card : mapping
        `FIELDS`, each with a text, or a list of texts.
    name : str
        The suite, for the message.

    Raises
    ------
    ValueError
        If a field is missing, unknown or empty, or `validity_in_short` is too long.
    """
    wrong = sorted(set(FIELDS) ^ set(card)) or [f for f in FIELDS if says_nothing(f, card[f])]
    if wrong:
        what = "missing, unknown, or says nothing"
        raise ValueError(f"scope card of {name}: {what}: {', '.join(wrong)}")
    if card["validity"] not in VALIDITY:
        raise ValueError(f"scope card of {name}: validity is one of {', '.join(VALIDITY)}")
    if len(card["validity_in_short"]) > MOST_IN_SHORT:
        raise ValueError(
            f"scope card of {name}: validity_in_short has {len(card['validity_in_short'])} "
            f"characters, at most {MOST_IN_SHORT} are shown with a score"
        )


def says_nothing(field: str, content: Any) -> bool:
    """Whether a field is empty, a placeholder such as a dash, or has too few words."""
    if isinstance(content, list):
        prose = field in ("known_defects", "decisions")
        return not content or any(_is_void(c, LEAST_WORDS if prose else 1) for c in content)
    return _is_void(content, LEAST_WORDS if field in PROSE else 1)


def _is_void(content: Any, least: int) -> bool:
    words = re.findall(r"\w+", str(content).casefold()) if content is not None else []
    return len(words) < least or words[0] in UNWRITTEN or " ".join(words) in STAND_INS


UNWRITTEN: Final = ("tbd", "todo", "xxx", "fixme")
STAND_INS: Final = ("n a", "na", "null", "unknown")
