"""The outcome of a check, and the exit code of several."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Outcome: TypeAlias = Literal["holds", "fails", "unknown", "unverified"]
"""`unknown`: it could not be checked here; `unverified`: a claim without a signature."""

FAILED: Final = 1
NOT_CHECKED: Final = 3


@dataclass(frozen=True, slots=True)
class Check:
    """One check and its outcome; `about` is its subject, such as a suite."""

    what: str
    outcome: Outcome
    detail: str = ""
    about: str = ""


def exit_code(checks: Iterable[Check], *, published: bool) -> int:
    """Return 1 if something does not hold, 3 if something could not be checked, else 0.

    A report that is `published` is a claim to others, so a missing signature counts as not checked;
    a report in the user's own folder needs no signature.
    """
    outcomes = {c.outcome for c in checks}
    if "fails" in outcomes:
        return FAILED
    open_ones = {"unknown", "unverified"} if published else {"unknown"}
    return NOT_CHECKED if outcomes & open_ones else 0
