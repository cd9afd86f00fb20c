"""Rules of a limit: what ``limits`` in a settings file may contain."""

from typing import Any, Final

from pytest_bias.forms.keys import Key, keyed, number, one_of, optional, table
from pytest_bias.forms.yaml_with_lines import Marked, Place, Plain

FORM: Final = "crows_pairs.stereotype_preference: {max_distance: 10, undecided: warn}"

_POINTS: Final = {"points": Key(number(0), "how much worse, in the metric's unit", needed=True)}
_RULES: Final = {
    "max_distance": Key(optional(number(0)), "largest distance from the ideal"),
    "max_regression": Key(optional(keyed(_POINTS)), "largest worsening, as in {points: 2}"),
    "undecided": Key(one_of("warn", "fail"), "whether an undecided limit fails the run"),
}


def read_rules(marked: Marked, place: Place, given: Plain) -> dict[str, Any]:
    """Read the rules of one limit.

    Raises
    ------
    UsageError
        If a rule is unknown or malformed, or there is none.
    """
    rules: dict[str, Any] = keyed(_RULES)(marked, place, given)
    if not rules.keys() - {"undecided"}:
        raise marked.error(place, "sets no limit.", f"For instance: {FORM}")
    return rules


LIMITS: Final = table(read_rules, least=0)
"""Reads each limit's name and rules; the scores that they name are checked with the suites."""
