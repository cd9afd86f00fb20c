"""Statuses of a suite: scored, or one of the reasons why it has no score.

Three of them are distinguished everywhere. A suite is not applicable if the model lacks a
capability that it needs; skipped if the user has not enabled it (a licence that was not accepted, a
classifier that was not named, data that only the user can provide); and unavailable if its data
could not be obtained. Only the last one is a failure.
"""

from collections.abc import Iterable
from typing import Final, Literal, Protocol, TypeAlias

SuiteStatus: TypeAlias = Literal[
    "scored", "not_applicable", "skipped", "unavailable", "inconclusive", "error", "withheld"
]

FAILED: Final[tuple[SuiteStatus, ...]] = ("unavailable", "error", "inconclusive")
"""Statuses of suites that should have been measured and were not, in the order of display."""

MOST_SEVERE: Final[tuple[SuiteStatus, ...]] = (
    *FAILED,
    *("scored", "withheld", "skipped", "not_applicable"),
)
"""Every status, failures first, in the order of display."""


class _HasStatus(Protocol):
    @property
    def entry(self) -> str: ...
    @property
    def status(self) -> SuiteStatus: ...
    @property
    def reason(self) -> str | None: ...


def failures(
    suites: Iterable[_HasStatus], *, allow_missing_data: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which suites should have been measured and were not, and why.

    Returns
    -------
    tuple of two tuples of str
        Those that fail a run; and those with unavailable data, whether that fails the run or not.
    """
    failed = [(s.status, f"{s.entry}: {s.reason}") for s in suites if s.status in FAILED]
    failed.sort(key=lambda one: MOST_SEVERE.index(one[0]))
    missing = tuple(text for status, text in failed if status == "unavailable")
    allowed = missing if allow_missing_data else ()
    return tuple(text for _, text in failed if text not in allowed), missing
