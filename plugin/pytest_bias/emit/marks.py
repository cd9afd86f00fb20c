"""Marks beside a score: one or two words on what is special about its measurement."""

from typing import Final

from pytest_bias.emit.wording import sample
from pytest_bias.records.report import SuiteResult

HIDDEN: Final = "hidden items"


def marks(suite: SuiteResult) -> list[str]:
    """Return the marks of a suite's scores: adapted, draft, hidden, a sample."""
    found = {
        "adapted": suite.adapted,
        "draft": suite.draft,
        HIDDEN: suite.is_hidden,
        sample(suite): suite.sampled is not None,
    }
    return [mark for mark, is_so in found.items() if is_so]
