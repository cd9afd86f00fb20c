"""Calls and money of a run: what is left of a budget, and what was spent."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_bias.errors import UsageError
from pytest_bias.models.interface import Model
from pytest_bias.models.reference import ModelRef
from pytest_bias.models.spending import Price, Spent, price_of
from pytest_bias.settings.settings import Settings

MARGIN: Final = 1.1
"""A part is started if this many times its expected price is left; calls are counted exactly."""

COUNTS: Final = ("calls", "tokens_in", "tokens_out", "estimated", "retried", "money")
"""Numbers below ``run.cost`` of a model that is asked elsewhere."""


@dataclass(frozen=True)
class Allowance:
    """An amount of calls and of money; infinite where there is no limit.

    Parameters
    ----------
    calls, money : float
        The amounts.
    price : Price or None
        What calls cost.
    """

    calls: float = math.inf
    money: float = math.inf
    price: Price | None = None

    def of(self, asked: Spent) -> tuple[float, float]:
        """Return the calls and the money that questions take."""
        return asked.calls, self.price.of(asked) if self.price else 0.0

    def without(self, asked: Spent) -> "Allowance":
        """Return what is left after questions."""
        calls, money = self.of(asked)
        return Allowance(self.calls - calls, self.money - money, self.price)

    def share(self, n: float) -> "Allowance":
        """Return one of `n` equal shares."""
        return Allowance(self.calls / n, self.money / n, self.price)

    def holds(self, asked: Spent) -> bool:
        """Whether there is enough for questions."""
        calls, money = self.of(asked)
        # Sums of prices are rounded.
        return calls <= self.calls and (not money or MARGIN * money <= self.money + 1e-12)

    def fitting(self, n: int, needs: Callable[[int], Spent]) -> int:
        """Return how many of `n` things there is enough for; `needs` of the first so many."""
        if n == 0 or self.holds(needs(n)):
            return n
        fits, too_many = 0, n
        while too_many - fits > 1:
            middle = (fits + too_many) // 2
            fits, too_many = (middle, too_many) if self.holds(needs(middle)) else (fits, middle)
        return fits


def price_for(settings: Settings, ref: ModelRef) -> Price | None:
    """Return what calls of a model cost, as the settings say; None if they do not."""
    own = settings.application.get("cost") if ref.source == "application" else None
    if ref.calls_code:
        own = None
    return price_of(own or settings.cost)


def allowance_for(settings: Settings, ref: ModelRef) -> Allowance | None:
    """Return the calls and the money of a budget; None if it limits neither.

    Raises
    ------
    UsageError
        If the model is not asked elsewhere, or the price is not known in this currency.
    """
    budget, price = settings.budget, price_for(settings, ref)
    if budget is None or not budget.is_of_calls:
        return None
    if not ref.asked:
        raise UsageError(
            f"--budget {budget}: {ref} is measured here, by no calls that could be counted.",
            "A limit of time, such as --budget 10m",
        )
    if budget.money is not None and (price is None or price.currency != budget.currency):
        known = f"the settings state a cost in {price.currency}" if price else "no cost is stated"
        raise UsageError(
            f"--budget {budget}: {known}.",
            "In pytest-bias.yaml, a million tokens: "
            f"cost: {{input: 0.5, output: 1.5, currency: {budget.currency}}}",
        )
    calls = math.inf if budget.calls is None else budget.calls
    money = math.inf if budget.money is None else budget.money
    return Allowance(calls, money, price)


def costs(asked: Spent, price: Price | None, n_again: int | None = None) -> dict[str, Any]:
    """Return what was spent, as it stands below ``run.cost``."""
    found: dict[str, Any] = {
        "calls": round(asked.calls),
        "tokens_in": round(asked.sent),
        "tokens_out": round(asked.written),
        # Calls whose tokens were not counted by who answered.
        "estimated": round(asked.estimated),
    }
    if n_again is not None:
        found["retried"] = n_again
    if price:
        found["money"] = round(price.of(asked), 9)
    return found


def costs_of(model: Model, price: Price | None) -> dict[str, Any]:
    """Return what questions to a model took; empty for one that is measured here."""
    if not model.identity.asked:
        return {}
    again = sum(getattr(model, "again", {}).values())
    currency = {"currency": price.currency} if price else {}
    return {**costs(model.meter.asked, price, again), **currency}


def summed(costs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the parts of a run spent together."""
    found: dict[str, Any] = {}
    for name in COUNTS:
        values = [cost[name] for cost in costs if name in cost]
        if values:
            found[name] = sum(values)
    return found
