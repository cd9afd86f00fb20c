"""What sets the measurement of a suite apart, in a word or two beside its score."""

from typing import Final

from pytest_bias.emit.wording import sample
from pytest_bias.records.report import SuiteResult

HIDDEN: Final = "hidden items"


def marks(suite: SuiteResult) -> list[str]:
    """Return what stands beside a score: adapted, draft, hidden, a sample."""
    found = {
        "adapted": suite.adapted,
        "draft": suite.draft,
        HIDDEN: suite.is_hidden,
        sample(suite): suite.sampled is not None,
    }
    return [mark for mark, is_so in found.items() if is_so]
