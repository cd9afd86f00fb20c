"""Reading the option that a generated answer to a multiple-choice question chooses."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple


class AnswerStatus(StrEnum):
    """What became of one presentation."""

    ANSWERED = "answered"
    REFUSED = "refused"
    UNPARSED = "unparsed"
    CUT = "cut"


class ChoiceReading(NamedTuple):
    """What a rule read in an answer."""

    status: AnswerStatus
    option: int | None = None
    rule: str = ""
    thoughts: int = 0


def read_choice(
    text: str, options: Sequence[str], *, finished: str | None = "eos", language: str = "en"
) -> ChoiceReading:
    """Read a letter."""
    letter = text.strip()[:1]
    place = "ABCDEFGHIJKLMNOPQRSTUVWXYZ".find(letter) if letter else -1
    if 0 <= place < len(options):
        return ChoiceReading(AnswerStatus.ANSWERED, place, "letter")
    return ChoiceReading(AnswerStatus.UNPARSED)
