"""Calls, tokens and money that questions to a server or an application take."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from pytest_bias.forms.keys import Key, keyed, number, optional, shown, text
from pytest_bias.forms.yaml_with_lines import Marked, Place, Plain

BYTES_OF_A_TOKEN: Final = 4
"""Bytes of UTF-8 that are taken for one token where there is no tokenizer.

That is four letters of English, as tokenizers of tens of thousands of tokens have it, and fewer in
scripts whose letters take several bytes.
"""

MILLION: Final = 1_000_000


def about_tokens(text: str | None) -> int:
    """Return about how many tokens a text has, from its bytes."""
    return -(-len((text or "").encode("utf-8", "replace")) // BYTES_OF_A_TOKEN)


@dataclass(slots=True)
class Spent:
    """What questions took, or will take; answers that were kept take nothing.

    Parameters
    ----------
    calls : float
        Questions that were asked.
    sent, written : float
        Tokens of what was sent, and of the texts that came back.
    estimated : float
        Calls of which tokens were not counted by the server or application: `about_tokens`.
    """

    calls: float = 0
    sent: float = 0
    written: float = 0
    estimated: float = 0

    def add(self, sent: float, written: float, *, estimated: bool = False) -> None:
        """Add one call."""
        self.calls += 1
        self.sent += sent
        self.written += written
        self.estimated += estimated

    def __add__(self, other: "Spent") -> "Spent":
        theirs = asdict(other)
        return Spent(**{name: value + theirs[name] for name, value in asdict(self).items()})

    def __sub__(self, other: "Spent") -> "Spent":
        theirs = asdict(other)
        return Spent(**{name: value - theirs[name] for name, value in asdict(self).items()})

    def times(self, share: float) -> "Spent":
        """Return a share of it."""
        return Spent(*(value * share for value in asdict(self).values()))


@dataclass(frozen=True, slots=True)
class Price:
    """What questions cost.

    Parameters
    ----------
    input, output : float
        Price of a million tokens that are sent, or written.
    call : float
        Price of a call, whatever its length.
    currency : str
        Three letters.
    """

    currency: str
    input: float = 0.0
    output: float = 0.0
    call: float = 0.0

    def of(self, spent: Spent) -> float:
        """Return the price of questions."""
        tokens = self.input * spent.sent + self.output * spent.written
        return tokens / MILLION + self.call * spent.calls


def price_of(given: Mapping[str, Any]) -> Price | None:
    """Return the price that a table ``cost`` states; None if there is none."""
    return Price(**given) if given else None


def _currency(marked: Marked, place: Place, given: Plain) -> str:
    found = text(marked, place, given).strip()
    if not (len(found) == 3 and found.isascii() and found.isalpha()):
        raise marked.error(place, f"must be three letters such as USD, not {shown(given)}.")
    return found.upper()


_KEYS: Final = {
    "input": Key(optional(number(0)), "price of a million tokens that are sent"),
    "output": Key(optional(number(0)), "price of a million tokens that come back"),
    "call": Key(optional(number(0)), "price of a call"),
    "currency": Key(_currency, "three letters, such as USD", needed=True),
}


def read_cost(marked: Marked, place: Place, given: Plain) -> dict[str, Any]:
    """Read a table ``cost``.

    Raises
    ------
    UsageError
        If a key is unknown or malformed, or there is no price in it.
    """
    found: dict[str, Any] = keyed(_KEYS)(marked, place, given)
    if found.keys() == {"currency"}:
        example = "cost: {input: 0.5, output: 1.5, currency: USD}"
        raise marked.error(place, "has no price: input, output or call.", example)
    return found
