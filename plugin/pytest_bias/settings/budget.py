"""Budget of a run: time, calls, money, or several of them."""

import re
from dataclasses import dataclass, field
from typing import Final

from pytest_bias.errors import UsageError

EXAMPLES: Final = "For instance 10m, 90s, 1h30m, or 600 for 600 seconds; 500calls; 5USD; 10m,5USD."

_NO_CURRENCY: Final = ("min", "sec", "hrs")


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a whole run; None where there is none.

    Parameters
    ----------
    seconds : float or None
        Time.
    calls : int or None
        Calls of a server or an application.
    money : float or None
        Price of these calls, in a `currency` of three letters.
    """

    seconds: float | None = None
    calls: int | None = None
    money: float | None = None
    currency: str = field(default="")

    @property
    def is_of_calls(self) -> bool:
        """Whether it limits calls or money."""
        return self.calls is not None or self.money is not None

    def __str__(self) -> str:
        seconds = "" if self.seconds is None else f"{self.seconds!r}s"
        calls = "" if self.calls is None else f"{self.calls}calls"
        money = "" if self.money is None else f"{self.money!r}{self.currency}"
        return ",".join(filter(None, (seconds, calls, money))).replace(".0s", "s")


def seconds(value: str | float, where: str) -> float:
    """Read a duration: seconds, or numbers with ``h``, ``m`` and ``s``, such as ``1h30m``.

    Raises
    ------
    UsageError
        If it is not a duration above zero; `where` states where it was set.
    """
    found = _seconds(str(value))
    if not found:
        raise UsageError(
            f"{where} {value!r} is not a time above zero.",
            "For instance 10m, 90s, 1h30m, or 600 for 600 seconds.",
        )
    return found


def budget(value: str | float, where: str) -> Budget:
    """Read a budget, such as ``10m``, ``500calls``, ``5USD``, or several with commas.

    Raises
    ------
    UsageError
        If a part is none of these, or two are of one kind; `where` states where it was set.
    """
    found = Budget()
    for part in str(value).split(","):
        one = _one(part.strip())
        if one is None:
            what = "is not a time above zero, a number of calls, or a sum of money"
            raise UsageError(f"{where} {value!r} {what}.", EXAMPLES)
        names = [n for n in ("seconds", "calls", "money") if getattr(one, n) is not None]
        if getattr(found, names[0]) is not None:
            raise UsageError(f"{where} {value!r} has two limits of one kind.", EXAMPLES)
        pairs = ((n, getattr(found, n), getattr(one, n)) for n in Budget.__dataclass_fields__)
        found = Budget(**{n: b if a in (None, "") else a for n, a, b in pairs})
    return found


def _one(part: str) -> Budget | None:
    if match := re.fullmatch(r"(\d+)\s*calls?", part, re.I):
        return Budget(calls=int(match[1])) if int(match[1]) else None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]{3})", part)
    if match and match[2].lower() not in _NO_CURRENCY:
        money = float(match[1])
        return Budget(money=money, currency=match[2].upper()) if money else None
    time = _seconds(part)
    return Budget(seconds=time) if time else None


def _seconds(said: str) -> float:
    """Return a number of seconds; 0 if it is none."""
    text = said.replace(" ", "").lower()
    number = r"(\d+(?:\.\d+)?)"
    if re.fullmatch(number, text):
        return float(text)
    parts = re.fullmatch(rf"(?:{number}h)?(?:{number}m)?(?:{number}s)?", text)
    if not parts:
        return 0.0
    sizes = (3600, 60, 1)
    return sum(float(n or 0) * size for n, size in zip(parts.groups(), sizes, strict=True))
