"""How an application is asked: what every way of asking one has."""

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from pytest_bias.models.served.questions import Answer
from pytest_bias.models.spending import about_tokens
from pytest_bias.records.report import canonical_json, sha256

NOT_AWAITED: Final = "it is not waited for any more"


@dataclass(frozen=True)
class Prompt:
    """One call.

    Parameters
    ----------
    text : str
        The prompt.
    system : str or None
        System text.
    seed : int or None
        Seed of a sample; None where one text is asked for, without sampling.
    """

    text: str
    system: str | None = None
    seed: int | None = None
    weight: int = field(default=0, init=False, compare=False)
    new: int = field(default=1, init=False, compare=False)
    key: str = field(init=False, compare=False)
    """Digest of the call, under which its answer is stored."""

    @property
    def sends(self) -> int:
        """About how many tokens are sent."""
        return about_tokens(self.text) + about_tokens(self.system)

    @property
    def writes(self) -> None:
        """None: an application decides by itself how long its texts are."""

    def __post_init__(self) -> None:
        key = sha256(canonical_json(["application", self.text, self.system, self.seed]))
        object.__setattr__(self, "key", key)


class NoAnswer(Exception):
    """A call without a text; the message says why.

    Parameters
    ----------
    is_late : bool
        Whether there was no answer in time.
    hint : str, optional
        What helps if no call has a text: the application is then asked in a wrong way.
    """

    def __init__(self, why: str, *, is_late: bool = False, hint: str | None = None) -> None:
        super().__init__(why)
        self.is_late, self.hint = is_late, hint


class Transport(ABC):
    """Puts prompts to an application; safe to use from several threads.

    Attributes
    ----------
    accepts : frozenset of str
        Which of ``system`` and ``seed`` it passes on.
    advice : str
        What has to be changed so that it passes on a system text.
    """

    accepts: frozenset[str]
    advice: str

    @property
    def again(self) -> Counter[str]:
        """Reasons of calls that were made again, with their counts."""
        return Counter()

    @abstractmethod
    def ask(self, prompt: Prompt) -> Answer:
        """Return the answer to a prompt.

        Raises
        ------
        NoAnswer
            If it has no text.
        ModelError
            If no call can have an answer.
        """

    @abstractmethod
    def stop(self) -> None:
        """Begin no further call."""
