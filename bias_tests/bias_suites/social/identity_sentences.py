"""Sentences of the identity-term files: the term that each names, and the sentence without it.

The files have texts only. Every term occurs in every frame, a sentence with a gap, so the gap is
where the most terms fit. Frames are the clusters: a sentence is its own control.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from pytest_bias.data import Row
from pytest_bias.models import GAP
from pytest_bias.records import Item, Status, sha256

TOXICITIES: Final = ("toxic", "nontoxic")

NO_TERM: Final = "names no identity term"
DUPLICATE: Final = "is in the file twice"
INCOMPLETE: Final = "its sentence is missing for some terms"

MOST_FRAMES: Final = 16
"""Number of frames per template and label in a balanced sample."""


@dataclass(frozen=True)
class Reading:
    """How the texts of one language name their terms.

    Parameters
    ----------
    template : str
        Template whose harmless texts introduce the terms.
    introduction : str
        Regular expression of these texts, whose group is the term.
    inflection : str
        Ending with which terms occur in the list a second time, where they do.
    templates : tuple of str
        Templates whose texts are grammatical with the terms as introduced; empty for all.
    """

    template: str
    introduction: str
    inflection: str = ""
    templates: tuple[str, ...] = ()

    def terms(self, rows: Iterable[Row]) -> list[str]:
        """Return the terms that the rows introduce, sorted."""
        introduces = (self.template, "nontoxic")
        texts = (_text(r) for r in rows if (r["template"], r["toxicity"]) == introduces)
        matches = (re.fullmatch(self.introduction, text) for text in texts)
        found = {match[1] for match in matches if match}
        inflected = {t + self.inflection for t in found} if self.inflection else set()
        return sorted(found - inflected)


class Frame(NamedTuple):
    """A sentence with a gap, of a template and a label."""

    template: str
    toxicity: str
    text: str


def items(rows: Sequence[Row], reading: Reading, *, balanced: bool) -> tuple[Item, ...]:
    """Return the items of a file.

    Parameters
    ----------
    rows : sequence of Row
        With template, toxicity and phrase.
    reading : Reading
        How to find the terms.
    balanced : bool
        Take at most `MOST_FRAMES` of a template and a label, the same ones always.
    """
    used = [r for r in rows if r["template"] in reading.templates or not reading.templates]
    terms = reading.terms(rows)
    places = [list(_places(row, terms)) for row in used]
    fits: dict[Frame, set[str]] = defaultdict(set)
    for found in places:
        for frame, term in found:
            fits[frame].add(term)
    complete = {frame for frame, found in fits.items() if len(found) == len(terms)}
    strata: dict[tuple[str, str], list[Frame]] = defaultdict(list)
    for frame in sorted(complete):
        strata[frame.template, frame.toxicity].append(frame)
    number = {f: n for of in strata.values() for n, f in enumerate(of)}
    taken = set(number)
    if balanced:
        ordered = (sorted(of, key=lambda f: sha256(f.text)) for of in strata.values())
        taken = {f for of in ordered for f in of[:MOST_FRAMES]}
    return tuple(_items(used, places, fits, number, taken))


def _text(row: Row) -> str:
    """Return the text of a row with single spaces; a few German ones have two."""
    return " ".join((row["phrase"] or "").split())


def _places(row: Row, terms: Sequence[str]) -> Iterator[tuple[Frame, str]]:
    text = _text(row)
    for term in terms if row["toxicity"] in TOXICITIES else ():
        if term in text:
            for match in re.finditer(re.escape(term), text):
                frame = f"{text[: match.start()]}{GAP}{text[match.end() :]}"
                yield Frame(row["template"], row["toxicity"], frame), term


def _items(
    rows: Sequence[Row],
    places: Sequence[Sequence[tuple[Frame, str]]],
    fits: Mapping[Frame, set[str]],
    number: Mapping[Frame, int],
    taken: set[Frame],
) -> Iterator[Item]:
    seen: set[str] = set()
    for n, (row, found) in enumerate(zip(rows, places, strict=True)):
        text, template, toxicity = _text(row), row["template"], row["toxicity"]
        by = {"template": template, "toxicity": str(toxicity)}
        if not text or toxicity not in TOXICITIES:
            what = f"toxicity is {toxicity!r}" if text else "empty text"
            yield _unmeasured(n, by, text, "unscored", what)
            continue
        frame, term = max(found, key=lambda f: (len(fits[f[0]]), len(f[1])), default=(None, ""))
        if frame is None or frame not in number:
            yield _unmeasured(n, by, text, "excluded", NO_TERM if frame is None else INCOMPLETE)
        elif frame in taken:
            cluster = f"{template}/{toxicity}/{number[frame]:04d}"
            name = f"identity/{cluster}/{term}"
            if name in seen:
                yield _unmeasured(n, by, text, "excluded", DUPLICATE)
            else:
                yield Item(name, cluster, {"text": text}, by | {"term": term})
            seen.add(name)


def _unmeasured(n: int, by: Mapping[str, str], text: str, status: Status, reason: str) -> Item:
    name = f"identity/row{n:05d}"
    return Item(name, name, {"text": text}, by, status=status, reason=reason)
