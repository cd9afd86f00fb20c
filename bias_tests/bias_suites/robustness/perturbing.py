"""Texts with small changes that leave their meaning alone: typing errors, casing, look-alikes.

A severity is the share of the places of a text that are changed, of those that a perturbation may
change, and the places of a lower severity are among those of a higher one. What is drawn is a hash
of the text and the perturbation: neither order nor machine nor any other text matters. A protected
token is never changed: every number, and the words that the caller names.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from bias_suites.robustness.perturbation_kinds import PERTURBATIONS, Place, shape

SEED: Final = "pytest-bias perturbation 1"
"""Raised with the version of the suite, where texts would come out otherwise."""

SHARES: Final[Mapping[int, int]] = {1: 10, 2: 30, 3: 60}
"""Severity to the percentage of places that are changed, rounded up: one place at least."""

_RUN = re.compile("[amnj]+")
_PART_OF_WORD: Final = "amn"


class Change(NamedTuple):
    """What stands in the place of ``text[start:end]``."""

    start: int
    end: int
    new: str


def changes(
    text: str, name: str, severity: int, protected: Iterable[str] = ()
) -> tuple[Change, ...]:
    """Return the changes of a text, from left to right.

    Parameters
    ----------
    text : str
        Any text.
    name : str
        Key of `PERTURBATIONS`.
    severity : int
        Key of `SHARES`.
    protected : iterable of str
        Words that stay as they are, in any casing, wherever they stand as whole words; numbers
        do in any case.

    Returns
    -------
    tuple of Change
        Empty where the text has no place to be changed. The changes of a lower severity are among
        those of a higher one.
    """
    places = _places(text, name, tuple(protected))
    n = -(-SHARES[severity] * len(places) // 100)
    chosen = sorted((_drawn(text, name, place) for place in places), key=lambda c: c[0])[:n]
    return tuple(sorted(change for _, change in chosen))


def perturbed(text: str, name: str, severity: int, protected: Iterable[str] = ()) -> str | None:
    """Return a text with the `changes` made, null where nothing can be changed.

    Examples
    --------
    >>> perturbed("We do not open on May 3.", "contractions", 1)
    "We don't open on May 3."
    >>> perturbed("We do not open on May 3.", "contractions", 1, ["not"])
    """
    parts, at = [], 0
    for start, end, new in changes(text, name, severity, protected):
        parts += [text[at:start], new]
        at = end
    found = "".join([*parts, text[at:]])
    return None if found == text else found


def _drawn(text: str, name: str, place: Place) -> tuple[str, Change]:
    """Return the turn of a place, and what becomes of it when its turn comes."""
    about = f"{SEED}\n{name}\n{place[0].start}\n{text}"
    drawn = hashlib.sha256(about.encode("utf-8", "surrogatepass")).hexdigest()
    turn, first, second = drawn[:32], int(drawn[32:48], 16), int(drawn[48:], 16)
    start, end, news = place[first % len(place)]
    return turn, Change(start, end, news[second % len(news)])


@lru_cache(maxsize=8)
def _places(text: str, name: str, protected: tuple[str, ...]) -> tuple[Place, ...]:
    """Return the places of a text that do not touch what is protected."""
    kinds = shape(text)
    spans = _spans(text, kinds, protected)
    found = (
        [s for s in place if not any(s.start <= end and start <= s.end for start, end in spans)]
        for place in PERTURBATIONS[name].places(text, kinds)
    )
    return tuple(place for place in found if place)


@lru_cache(maxsize=2)
def _spans(text: str, kinds: str, protected: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return where numbers and protected words stand."""
    found = [match.span() for match in _RUN.finditer(kinds) if "n" in match[0]]
    for word in protected:
        if pieces := list(map(re.escape, word.split())):
            # Looking ahead finds those that overlap, too.
            spans = re.finditer("(?=(" + r"\s+".join(pieces) + "))", text, re.IGNORECASE)
            found += [s.span(1) for s in spans if _whole(kinds, *s.span(1))]
    return found


def _whole(kinds: str, start: int, end: int) -> bool:
    """Whether a part of a text is not in the midst of a word at either end."""
    ends = ((start - 1, start), (end - 1, end))
    return not any(
        before >= 0
        and after < len(kinds)
        and kinds[before] in _PART_OF_WORD
        and kinds[after] in _PART_OF_WORD
        for before, after in ends
    )
