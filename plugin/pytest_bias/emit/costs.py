"""What a run cost, in words: time, calls, tokens, money and energy."""

import math
from collections.abc import Mapping
from typing import Any

from pytest_bias.emit.wording import MOST, counted
from pytest_bias.records.report import Report
from pytest_bias.untrusted import clean


def duration(seconds: float) -> str:
    """Return a time in seconds, minutes or hours, two units at most."""
    whole = round(seconds)
    if whole < 100:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 100:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def cost(report: Report) -> str:
    """Return the cost of a run: time, tokens, calls and money, and energy where it was measured."""
    spent = report.run.get("cost") or {}
    if not _numbers(spent, "wall_s", "model_s", "tokens"):
        return ""
    text = f"Took {duration(spent['wall_s'])}, {duration(spent['model_s'])} of it in the model"
    text += f" ({_asked(spent)}{spent['tokens']:,} tokens{_paid(spent)})"
    if not _numbers(spent, "energy_kwh", "co2e_g"):
        return f"{text}."
    about = spent.get("energy") or {}
    text += f"; {spent['energy_kwh']:.2g} kWh, {spent['co2e_g']:.2g} g CO2e"
    if _numbers(about, "pue", "grid_g_per_kwh"):
        text += f" (GPUs, PUE {about['pue']:g}, {about['grid_g_per_kwh']:g} g/kWh)"
    return f"{text}."


def _asked(spent: Mapping[str, Any]) -> str:
    """Return the calls of a run, with the beginning of what is said about their tokens."""
    if not _numbers(spent, "calls", "estimated"):
        return ""
    return f"{counted(spent['calls'], 'calls')}, {'about ' if spent['estimated'] else ''}"


def _paid(spent: Mapping[str, Any]) -> str:
    text = ""
    if _numbers(spent, "tokens_in", "tokens_out"):
        text = f": {spent['tokens_in']:,} sent, {spent['tokens_out']:,} written"
    if _numbers(spent, "money"):
        about = "about " if spent.get("estimated") else ""
        text += f"; {about}{money(spent['money'], clean(str(spent.get('currency', '')), 3))}"
    return text


def money(amount: float, currency: str) -> str:
    """Return a price: two decimals, or two digits of a small one.

    Examples
    --------
    >>> money(12.345, "USD"), money(0.00123, "EUR")
    ('12.35 USD', '0.0012 EUR')
    """
    if 0 < amount < 0.01:
        return f"{float(f'{amount:.2g}'):.{max(2, 1 - math.floor(math.log10(amount)))}f} {currency}"
    return f"{amount:,.2f} {currency}"


def _numbers(given: Mapping[str, Any], *names: str) -> bool:
    found = [given.get(name) for name in names]
    return all(isinstance(v, int | float) and abs(v) < MOST for v in found)
