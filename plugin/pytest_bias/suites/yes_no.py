"""Questions for yes or no, asked in both orders of the two words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from pytest_bias.models.interface import Presented
from pytest_bias.suites.choice_rules import ChoiceReading
from pytest_bias.suites.choosing import LAST_LINES, MultipleChoice
from pytest_bias.suites.yes_no_rules import NO, YES, read_yes_no

WORDS: Final = ("yes", "no")


@dataclass(frozen=True, slots=True)
class YesNo(MultipleChoice):
    """A question whose options are the words yes and no, which are their own labels.

    A model may prefer the word that is named first, so the instruction names them in either order.

    Parameters
    ----------
    text : str
        Everything before the instruction.
    """

    options: tuple[str, ...] = WORDS
    label: ClassVar[str] = "yes or no"

    def prompt(self, order: Sequence[int], *, chat: bool) -> str:
        """Return the question with the instruction, which names the words in an order.

        Examples
        --------
        >>> print(YesNo("Is it late?").prompt((1, 0), chat=False))
        Is it late?
        Answer with one word, no or yes.
        Answer:
        """
        first, second = (self.options[n] for n in order)
        lines = (self.text, f"Answer with one word, {first} or {second}.")
        return "\n".join(lines if chat else (*lines, LAST_LINES[self.language][1]))

    def labels(self, order: Sequence[int]) -> tuple[str, ...]:
        """Return the two words in an order."""
        return tuple(self.options[n] for n in order)

    def read(self, text: str, order: Sequence[int], finished: str | None) -> ChoiceReading:
        """Read which of the words, as named, a generated answer says."""
        found = read_yes_no(text, finished=finished)
        if found.option is None:
            return found
        return found._replace(option=order.index({YES: 0, NO: 1}[found.option]))

    def read_as_shown(self, found: Presented) -> ChoiceReading:
        """Read which of the words an answer of others says; the order does not matter for it."""
        return self.read(found.text or "", (0, 1), found.finished)
