"""Isolation of suites: an error in one suite fails that suite alone, and the report states it."""

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
    """Return the type of an exception and the first line of its message.

    Called while the exception is handled; for debugging (``PYTEST_BIAS_DEBUG``) it is raised again.
    """
    if os.environ.get(DEBUG):
        raise error
    first = str(error).strip().splitlines()[:1]
    return ": ".join([type(error).__name__, *first])


def failed(result: SuiteResult, error: BaseException, doing: str) -> SuiteResult:
    """Return a result of a suite that failed; `doing` says at which step, as in ``it was …``."""
    # The message of an exception may quote an item.
    hidden = result.is_hidden
    what = f"{type(error).__name__}, more of which is {NOT_TOLD}," if hidden else told(error)
    why = f"{what} while {doing}"
    return replace(result, status="error", reason=why, scores=(), records=(), records_sha256=None)


def isolated(report: Report, make: Callable[[Report], Made]) -> Made:
    """Return what `make` makes of a report; suites that cause it to fail become errors in it.

    These suites are found by calling `make` for each suite alone, and only after a failure, so that
    nothing is made twice where nothing fails.

    Parameters
    ----------
    make : callable
        Has no side effects. An exception other than `BiasError` is attributed to the suites that
        raise it alone, if there are any.
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
