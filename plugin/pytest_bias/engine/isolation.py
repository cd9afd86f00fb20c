"""What goes wrong with one suite costs that suite alone, and the report says what it was."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

from pytest_bias.errors import BiasError
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.scoring.families import with_decision_family
from pytest_bias.suites.hiding import NOT_TOLD

DEBUG: Final = "PYTEST_BIAS_DEBUG"

Made = TypeVar("Made")


def told(error: BaseException) -> str:
    """Return what an exception is called and the first line of what it says.

    Called while it is handled: whoever looks for a fault wants it raised.
    """
    if os.environ.get(DEBUG):
        raise error
    first = str(error).strip().splitlines()[:1]
    return ": ".join([type(error).__name__, *first])


def failed(result: SuiteResult, error: BaseException, doing: str) -> SuiteResult:
    """Return a result in which a suite has failed; `doing` says what went on, as ``it was …``."""
    # The message of an exception may quote an item.
    hidden = result.is_hidden
    what = f"{type(error).__name__}, more of which is {NOT_TOLD}," if hidden else told(error)
    why = f"{what} while {doing}"
    return replace(result, status="error", reason=why, scores=(), records=(), records_sha256=None)


def isolated(report: Report, make: Callable[[Report], Made]) -> Made:
    """Return what is made of a report; suites that make it fail are errors in it.

    Which ones these are is found by making the same of each suite alone, so that nothing is made
    twice where nothing goes wrong.

    Parameters
    ----------
    make : callable
        Has no effect outside; what it raises besides `BiasError` is a fault of suites, if any of
        them raises the same alone.
    """
    try:
        return make(report)
    except BiasError:
        raise
    except Exception as error:
        first = error
    suites = [_alone(report, suite, make) for suite in report.suites]
    if all(s is suite for s, suite in zip(suites, report.suites, strict=True)):
        raise first
    return make(replace(report, suites=with_decision_family(suites)))


def _alone(report: Report, suite: SuiteResult, make: Callable[[Report], object]) -> SuiteResult:
    try:
        make(replace(report, suites=(suite,)))
    except BiasError:
        return suite
    except Exception as error:
        return failed(suite, error, "it was written")
    return suite
