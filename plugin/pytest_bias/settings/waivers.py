"""Waivers: known excesses of limits that do not fail a run, up to a last day.

A waiver hides nothing: verdict, value and interval stay as they are, and its reason and last day
are shown beside them. It is for a known excess, so it never excuses a missing measurement.
"""

import re
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal, TypeAlias

from pytest_bias.forms.keys import Key, keyed, one_of, optional, several, shown, text, word
from pytest_bias.forms.yaml_with_lines import Marked, Place, Plain

State: TypeAlias = Literal["waives", "expired", "unneeded", "idle"]

SOON: Final = 14
"""Number of days before its end at which a waiver is reported as ending soon."""

RULES: Final = ("max_distance", "max_regression")


@dataclass(frozen=True, slots=True)
class Waiver:
    """A project's statement on a known excess of a limit.

    Parameters
    ----------
    limit : str
        The limit as it is named under ``limits``.
    reason : str
        Why it is exceeded.
    until : date
        The last day on which it is waived.
    rule : str, optional
        Which of the limit's rules is waived; by default all.
    """

    limit: str
    reason: str
    until: date
    rule: str | None = None

    def became(self, verdict: str, today: date, *, would_fail: bool) -> "OfWaiver":
        """Return the waiver's state on a day, given the verdict on its limit."""
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
        """Return the waiver as a table of the settings."""
        plain = {"limit": self.limit, "reason": self.reason, "until": self.until.isoformat()}
        return plain if self.rule is None else {**plain, "rule": self.rule}


@dataclass(frozen=True, slots=True)
class OfWaiver:
    """The state of a limit's waiver on the day of a decision.

    Parameters
    ----------
    reason, until : str
        As the project states them; `until` is the last day.
    days_left : int
        Days until then from the day of the decision; negative afterwards.
    state : str
        It ``waives`` an excess, or an undecided limit that fails; it has ``expired``; it is
        ``unneeded``, since the limit is held; or ``idle``, since it applies to nothing.
    """

    reason: str
    until: str
    days_left: int
    state: State


def _day(marked: Marked, place: Place, given: Plain) -> date:
    said = text(marked, place, given).strip()
    why = "as in 2027-03-01"
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", said):
            return date.fromisoformat(said)
    except ValueError as error:
        why = str(error)
    raise marked.error(place, f"must be a day, not {shown(said)}: {why}.", "until: 2027-03-01")


_KEYS: Final = {
    "limit": Key(word, "the limit as it is named under limits", needed=True),
    "reason": Key(word, "why it is exceeded", needed=True),
    "until": Key(_day, "the last day on which it is waived, such as 2027-03-01", needed=True),
    "rule": Key(optional(one_of(*RULES)), "which of the limit's rules is waived"),
}


def _waiver(marked: Marked, place: Place, given: Plain) -> Waiver:
    said = keyed(_KEYS, "a waiver")(marked, place, given)
    limit, reason = said["limit"].strip(), " ".join(said["reason"].split())
    return Waiver(limit, reason, said["until"], said.get("rule"))


WAIVERS: Final = several(_waiver, "waivers, each with limit, reason and until", least=0)
"""Reads waivers; the limits that they name are checked with the limits."""
