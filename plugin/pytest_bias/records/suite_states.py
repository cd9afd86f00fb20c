"""What can become of a suite: a score, or one of the reasons why there is none.

Three of them are told apart everywhere. A suite is not applicable where the model cannot answer it;
skipped where the user has not asked for it (a licence that was not accepted, a classifier that was
not named, data that only the user can bring); and unavailable where its data could not be had. The
first two are choices, the last one is a failure.
"""

from collections.abc import Iterable
from typing import Final, Literal, Protocol, TypeAlias

SuiteStatus: TypeAlias = Literal[
    "scored", "not_applicable", "skipped", "unavailable", "inconclusive", "error", "withheld"
]

FAILED: Final[tuple[SuiteStatus, ...]] = ("unavailable", "error", "inconclusive")
"""What should have been measured and was not, in the order in which people are told."""

MOST_SEVERE: Final[tuple[SuiteStatus, ...]] = (
    *FAILED,
    *("scored", "withheld", "skipped", "not_applicable"),
)
"""Every status, those that went wrong first, in the order in which people are told."""


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
    """Say which suites should have been measured and were not, and why.

    Returns
    -------
    tuple of two tuples of str
        Those that fail a run; and those whose data could not be had, whether that fails it or not.
    """
    failed = [(s.status, f"{s.entry}: {s.reason}") for s in suites if s.status in FAILED]
    failed.sort(key=lambda one: MOST_SEVERE.index(one[0]))
    missing = tuple(text for status, text in failed if status == "unavailable")
    allowed = missing if allow_missing_data else ()
    return tuple(text for _, text in failed if text not in allowed), missing
