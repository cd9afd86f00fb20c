"""Scope cards of the built-in suites: one YAML file per suite."""

from functools import cache
from typing import Any

from bias_suites.own_files import own_file
from pytest_bias.suites import check_card


@cache
def scope_card(name: str) -> dict[str, Any]:
    """Read the scope card of a suite and check that no field is missing or without content.

    Raises
    ------
    ValueError
        If a field is missing, unknown or empty, or `validity_in_short` is too long.
    """
    card: dict[str, Any] = own_file("scope", name)
    check_card(card, name)
    return card
