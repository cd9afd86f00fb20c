"""Waivers: known excesses of limits that do not fail a run, until a day.

A waiver hides nothing: verdict, value and interval stay as they are, and its reason and last day
stand beside them. It is for a known excess, so it never makes up for what could not be measured.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final, Literal, TypeAlias

from pytest_bias.errors import UnknownName, UsageError

State: TypeAlias = Literal["waives", "expired", "unneeded", "idle"]

SOON: Final = 14
"""Days before its end from which on a waiver is said to end."""

KEYS: Final = ("limit", "reason", "until", "rule")
RULES: Final = ("max_distance", "max_regression")
_FORM: Final = (
    'For instance: {limit: crows_pairs.stereotype_preference, reason: "…", until: 2027-03-01}'
)


@dataclass(frozen=True, slots=True)
class Waiver:
    """What a project says of an excess that it knows.

    Parameters
    ----------
    limit : str
        The limit as it stands under ``limits``.
    reason : str
        Why it is exceeded.
    until : date
        The last day on which it is waived.
    rule : str, optional
        Which of the limit's rules is waived; by default each.
    """

    limit: str
    reason: str
    until: date
    rule: str | None = None

    def became(self, verdict: str, today: date, *, would_fail: bool) -> "OfWaiver":
        """Return what becomes of the waiver where its limit has a verdict, on a day."""
        days = (self.until - today).days
        state: State = "idle"
        if verdict == "held":
            state = "unneeded"
        elif verdict in ("exceeded", "undecided") and days < 0:
            state = "expired"
        elif verdict in ("exceeded", "undecided") and would_fail:
            state = "waives"
        return OfWaiver(self.reason, self.until.isoformat(), days, state)

    def to_plain(self) -> dict[str, str]:
        """Return the waiver as settings hold it."""
        plain = {"limit": self.limit, "reason": self.reason, "until": self.until.isoformat()}
        return plain if self.rule is None else {**plain, "rule": self.rule}


@dataclass(frozen=True, slots=True)
class OfWaiver:
    """What became of the waiver of a limit.

    Parameters
    ----------
    reason, until : str
        As the project says them; `until` is the last day.
    days_left : int
        Until then, on the day of the decision; negative afterwards.
    state : str
        It ``waives`` an excess, or what fails as undecided; it has ``expired``; it is ``unneeded``,
        since the limit is held; or ``idle``, since there is nothing that it is for.
    """

    reason: str
    until: str
    days_left: int
    state: State


def read_waivers(given: Any, where: str = "waive") -> tuple[Waiver, ...]:
    """Read the waivers of settings; which limits they name is checked with the limits.

    Parameters
    ----------
    given : list of mapping
        ``limit``, ``reason``, ``until`` and perhaps ``rule`` of each.
    where : str
        Where it was set, for messages.

    Raises
    ------
    UsageError
        If it is no such list, or something is missing or malformed.
    """
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise UsageError(f"{where} is {given!r:.200}; it must be a list of waivers.", _FORM)
    return tuple(_waiver(one, f"{where}[{number}]") for number, one in enumerate(given, 1))


def _waiver(given: Any, where: str) -> Waiver:
    if not isinstance(given, Mapping):
        raise UsageError(f"{where} is {given!r:.200}, no waiver.", _FORM)
    for key in given:
        if key not in KEYS:
            raise UnknownName.among(where, str(key), KEYS, _FORM)
    for key in ("limit", "reason"):
        if not isinstance(given.get(key), str) or not given[key].strip():
            missing = "is missing" if given.get(key) is None else f"is {given[key]!r:.200}, no text"
            raise UsageError(f"{where}: {key} {missing}.", _FORM)
    rule = given.get("rule")
    if rule is not None and rule not in RULES:
        raise UnknownName.among(f"{where}: rule", str(rule), RULES)
    limit, reason = given["limit"].strip(), " ".join(given["reason"].split())
    return Waiver(limit, reason, _day(given.get("until"), where), rule)


def _day(given: Any, where: str) -> date:
    """Read a day, which YAML and TOML may have read already."""
    if given is None:
        raise UsageError(
            f"{where}: until is missing: the last day on which the limit is waived.", _FORM
        )
    if isinstance(given, date) and not isinstance(given, datetime):
        return given
    wrong = f"{where}: until is {str(given)[:100]!r}, no day."
    if not isinstance(given, str) or not re.fullmatch(r"\d{4}-\d\d-\d\d", given.strip()):
        raise UsageError(wrong, "Year, month and day: until: 2027-03-01")
    try:
        return date.fromisoformat(given.strip())
    except ValueError as error:
        raise UsageError(f"{wrong[:-1]}: {error}.", "As in until: 2027-03-01") from None
