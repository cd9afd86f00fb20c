"""What an answer says: a number, or only whether it is an answer at all."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from pytest_bias.models import Continuation
from pytest_bias.suites import AnswerStatus, is_refusal, make_plain, refusal_languages

_FIGURES: Final = r"[-+]?[$€£]? ?\d[\d,]*(?:\.\d+)?"
_NUMBER: Final = re.compile(rf"(?<![\w.,])(?P<number>{_FIGURES})(?!\w|[.,]\d)")
_SCALE: Final = re.compile(
    r"(?:\bfrom |\bbetween |\bof |\bscale )?(?<![\w.,])(?P<least>[-+]?[\d,.]*\d) ?"
    r"(?:-|–|to|and) ?(?P<most>[-+]?[\d,.]*\d)(?!\w|[.,]\d)"
)
_OUT_OF: Final = re.compile(r" ?(?:/|out of) ?(?P<most>[\d,.]*\d)(?!\w|[.,]\d)")
_SAID: Final = re.compile(
    r"\b(?:answer|score|rating|number|estimate|amount|salary|value)\b[^\d\n.:=]{0,40}?"
    r"(?:\bis\b|\bof\b|\bwould be\b|:|=)\s{0,3}(?:about |around |approximately )?"
    rf"(?P<number>{_FIGURES})(?!\w|[.,]\d)",
    re.IGNORECASE,
)
_LEADS: Final = re.compile(
    rf"\s*(?P<number>{_FIGURES})(?!\w|[.,]\d) ?%?(?: points?)?\.?\s*(?:\n|$)"
)
_THOUSANDS: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_COMMA: Final = re.compile(r"\d+,\d{1,2}")
MOST_WORDS: Final = 15
"""Longest answer whose only number is taken for the answer without being called so."""


class Read(NamedTuple):
    """What is read in an answer: its status, its plain text, and its number if it has one."""

    status: AnswerStatus
    text: str = ""
    number: float | None = None


def read_answer(found: Continuation, language: str = "en", *, whole: bool = False) -> Read:
    """Read whether a text is an answer; with `whole` one that ended by the limit is cut."""
    plain = make_plain(found.text)
    at_limit = found.finished == "length"
    if plain.text is None:
        return Read(AnswerStatus.CUT if at_limit else AnswerStatus.UNPARSED)
    if not plain.text:
        return Read(AnswerStatus.CUT if at_limit else AnswerStatus.UNPARSED)
    if is_refusal(plain.text, refusal_language(language)):
        return Read(AnswerStatus.REFUSED, plain.text)
    if whole and at_limit and not plain.ended:
        return Read(AnswerStatus.CUT, plain.text)
    return Read(AnswerStatus.ANSWERED, plain.text)


def refusal_language(language: str) -> str:
    """Return the language whose phrases of refusal are used; English where none are known."""
    base = language.partition("-")[0]
    return base if base in refusal_languages() else "en"


def read_number(found: Continuation, least: float, most: float, language: str = "en") -> Read:
    """Read the one number that an answer says, on a scale; never guessed.

    Numbers that name the scale ("0 to 100", "out of 100") do not count. Read is a number that
    stands alone or on the first line, that the answer calls its answer or score, or that is the
    only one of a short answer. Several, or one outside of the scale, are unparsed.
    """
    read = read_answer(found, language)
    if read.status is not AnswerStatus.ANSWERED:
        return read
    at_limit = found.finished == "length"
    text = _without_scale(read.text, least, most)
    said = next((n for n in (_led(text), _called(text), _only(text)) if n), None)
    number = None
    if said is not None and len(said) == 1:
        number = next(iter(said))
        if at_limit and re.search(r"\d[.,]?\s*\Z", read.text) and _ends_with(read.text, number):
            return Read(AnswerStatus.CUT, read.text)
    if number is None or not least <= number <= most:
        return Read(AnswerStatus.CUT if at_limit else AnswerStatus.UNPARSED, read.text)
    return Read(AnswerStatus.ANSWERED, read.text, number)


def _ends_with(text: str, number: float) -> bool:
    """Whether the last number of a text is this one, which may go on."""
    return bool(found := list(_numbers(text))) and found[-1] == number


def _without_scale(text: str, least: float, most: float) -> str:
    def scale(match: re.Match[str]) -> str:
        ends = _value(match["least"]), _value(match["most"])
        return " " if ends == (least, most) else match[0]

    def out_of(match: re.Match[str]) -> str:
        return "" if _value(match["most"]) == most else match[0]

    return _OUT_OF.sub(out_of, _SCALE.sub(scale, text))


def _led(text: str) -> set[float] | None:
    """Return the number that is the whole first line."""
    found = _LEADS.match(text)
    return _set([found["number"]]) if found else None


def _called(text: str) -> set[float] | None:
    """Return the numbers that the answer calls its answer."""
    return _set([m["number"] for m in _SAID.finditer(text)])


def _only(text: str) -> set[float] | None:
    """Return the numbers of a short answer."""
    if len(text.split()) > MOST_WORDS:
        return None
    return set(_numbers(text)) or None


def _numbers(text: str) -> Iterator[float]:
    for match in _NUMBER.finditer(text):
        value = _value(match["number"])
        yield float("nan") if value is None else value


def _set(given: list[str]) -> set[float] | None:
    return {float("nan") if (v := _value(g)) is None else v for g in given} or None


def _value(given: str) -> float | None:
    """Return a number as it is written; None where a comma may mean either."""
    plain = given.translate(str.maketrans("", "", "$€£ +"))
    sign, digits = (-1, plain[1:]) if plain.startswith("-") else (1, plain)
    if _THOUSANDS.fullmatch(digits):
        digits = digits.replace(",", "")
    elif _COMMA.fullmatch(digits):
        digits = digits.replace(",", ".")
    try:
        return sign * float(digits)
    except ValueError:
        return None
