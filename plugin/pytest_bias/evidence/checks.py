"""One thing that was checked, and what became of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Outcome: TypeAlias = Literal["holds", "fails", "unknown", "unverified"]
"""`unknown` could not be checked here; `unverified` is a claim that nobody has signed."""

FAILED: Final = 1
NOT_CHECKED: Final = 3


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked; `about` is what it belongs to, such as a suite."""

    what: str
    outcome: Outcome
    detail: str = ""
    about: str = ""


def exit_code(checks: Iterable[Check], *, published: bool) -> int:
    """Return 1 if something does not hold, 3 if something could not be checked, else 0.

    What is `published` is a claim to others, so that a missing signature counts as not checked; a
    report in one's own folder needs none.
    """
    outcomes = {c.outcome for c in checks}
    if "fails" in outcomes:
        return FAILED
    open_ones = {"unknown", "unverified"} if published else {"unknown"}
    return NOT_CHECKED if outcomes & open_ones else 0
