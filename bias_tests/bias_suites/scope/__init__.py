"""Scope cards of the built-in suites: one YAML file a suite."""

from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from pytest_bias.scope_cards import check_card


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
    check_card(card, name)
    return card
