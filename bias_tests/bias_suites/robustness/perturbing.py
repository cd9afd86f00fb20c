"""Texts with small changes that preserve their meaning: typing errors, casing, look-alikes.

A severity is the share of the places of a text that are changed, of those that a perturbation may
change, and the places of a lower severity are among those of a higher one. The choice is a hash of
the text and the perturbation: neither order nor machine nor any other text matters. A protected
token is never changed: every number, and the words that the caller names.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from bias_suites.robustness.perturbation_kinds import PERTURBATIONS, shape

SEED: Final = "pytest-bias perturbation 1"
"""Raised, with the version of the suite, when changed texts would differ."""

SHARES: Final[Mapping[int, int]] = {1: 10, 2: 30, 3: 60}
"""Severity to the percentage of places that are changed, rounded up: one place at least."""

_RUN = re.compile("[amnj]+")
_PART_OF_WORD: Final = "amn"


class Change(NamedTuple):
    """Replacement of ``text[start:end]``."""

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
        Words that stay unchanged, in any casing, wherever they occur as whole words; numbers
        always do.

    Returns
    -------
    tuple of Change
        Empty where the text has no place to be changed. The changes of a lower severity are among
        those of a higher one.
    """
    drawn = _in_turn(text, name, tuple(protected))
    return tuple(sorted(drawn[: -(-SHARES[severity] * len(drawn) // 100)]))


def perturbed(text: str, name: str, severity: int, protected: Iterable[str] = ()) -> str | None:
    """Return a text with its `changes` made, None where nothing can be changed.

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


@lru_cache(maxsize=8)
def _in_turn(text: str, name: str, protected: tuple[str, ...]) -> tuple[Change, ...]:
    """Return a possible change of each place of a text, in the order in which they are applied."""
    seed = _hash(f"{SEED}\n{name}\n{text}")
    places = PERTURBATIONS[name].places(text, shape(text))
    drawn = sorted((_hash(f"{seed} {place[0].start}"), place) for place in places)
    spans = _spans(text, protected)
    found = []
    for hashed, place in drawn:
        free = [
            s for s in place if not any(s.start <= end and start <= s.end for start, end in spans)
        ]
        if free:
            start, end, news = free[int(hashed[32:48], 16) % len(free)]
            found.append(Change(start, end, news[int(hashed[48:], 16) % len(news)]))
    return tuple(found)


def _hash(about: str) -> str:
    return hashlib.sha256(about.encode("utf-8", "surrogatepass")).hexdigest()


@lru_cache(maxsize=2)
def _spans(text: str, protected: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return the positions of numbers and protected words."""
    kinds = shape(text)
    found = [match.span() for match in _RUN.finditer(kinds) if "n" in match[0]]
    for word in protected:
        if pieces := list(map(re.escape, word.split())):
            # A lookahead finds overlapping ones, too.
            spans = re.finditer("(?=(" + r"\s+".join(pieces) + "))", text, re.IGNORECASE)
            found += [s.span(1) for s in spans if _whole(kinds, *s.span(1))]
    return found


def _whole(kinds: str, start: int, end: int) -> bool:
    """Whether a part of a text does not start or end within a word."""
    ends = ((start - 1, start), (end - 1, end))
    return not any(
        before >= 0
        and after < len(kinds)
        and kinds[before] in _PART_OF_WORD
        and kinds[after] in _PART_OF_WORD
        for before, after in ends
    )
