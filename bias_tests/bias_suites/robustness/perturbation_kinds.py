"""Kinds of perturbation: the places of a text that may be changed, and their replacements."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

MARKS: Final = ".,;:!?"
LEAST_LETTERS: Final = 4
"""Fewest letters of a word to mistype; its first and last one stay (Pruthi et al. 2019)."""


class Spot(NamedTuple):
    """A part of a text, ``text[start:end]``, and its possible replacements."""

    start: int
    end: int
    news: tuple[str, ...]


Place: TypeAlias = Sequence[Spot]
"""Spots close together, of which at most one is changed, such as the letters of a word."""

Finder: TypeAlias = Callable[[str, str], Iterator[Place]]
"""Maps a text and its `shape` to the places that may be changed, from left to right."""


@dataclass(frozen=True, slots=True)
class Perturbation:
    """One kind of change.

    Parameters
    ----------
    places : callable
        Finds the places of a text.
    scope : str
        What the change represents, and what it does not.
    """

    places: Finder
    scope: str


_SINGLE: Final[Mapping[str, str]] = {
    **dict.fromkeys(MARKS, "p"),
    **{"'": "q", "’": "q", " ": "s", "_": "j"},
}
_CATEGORIES: Final[Mapping[str, str]] = {"L": "a", "M": "m", "N": "n", "Z": "w"}


@lru_cache(maxsize=8192)
def _kind(char: str) -> str:
    if char.isnumeric():
        return "n"
    category = unicodedata.category(char)
    other = "j" if category == "Cf" else "w" if char.isspace() else "o"
    return _SINGLE.get(char) or _CATEGORIES.get(category[0], other)


@lru_cache(maxsize=2)
def shape(text: str) -> str:
    """Return the kind of every character, so that one pattern serves all scripts.

    ``a`` is a letter, ``m`` a combining mark, ``j`` a joiner or an underscore, ``n`` a number,
    ``q`` an apostrophe, ``p`` one of `MARKS`, ``s`` a space, ``w`` other white space, ``o`` any
    other.

    Examples
    --------
    >>> shape("It's 5 o'clock!")
    'aaqasnsaqaaaaap'
    """
    return "".join(map(_kind, text))


_WORD = re.compile("a[amnj]*(?:q[amnj]+)*")


def _words(kinds: str) -> Iterator[tuple[int, int]]:
    for match in _WORD.finditer(kinds):
        yield match.span()


def _alone(kinds: str, end: int) -> bool:
    """Whether no mark or joiner after `end` combines with the character before it."""
    return kinds[end : end + 1] not in ("m", "j")


def _letters(text: str, kinds: str, table: Mapping[str, tuple[str, ...]]) -> Iterator[Place]:
    """Yield the words, with their letters that have an entry in a table."""
    for start, end in _words(kinds):
        found = [
            Spot(i, i + 1, table[text[i]])
            for i in range(start, end)
            if text[i] in table and _alone(kinds, i + 1)
        ]
        if found:
            yield found


_ROWS: Final = (("qwertyuiop", 0.0), ("asdfghjkl", 0.25), ("zxcvbnm", 0.75))
"""Rows of keys, and how far each is moved to the right, in keys."""


def _beside() -> dict[str, tuple[str, ...]]:
    keys = {
        key: (row, place + moved)
        for row, (letters, moved) in enumerate(_ROWS)
        for place, key in enumerate(letters)
    }
    found = {}
    for key, (row, at) in keys.items():
        near = [
            other
            for other, (row_of, where) in keys.items()
            if (row_of == row and abs(where - at) == 1)
            or (abs(row_of - row) == 1 and abs(where - at) < 1)
        ]
        found[key] = tuple(sorted(near))
        found[key.upper()] = tuple(sorted(n.upper() for n in near))
    return found


NEIGHBOURS: Final = _beside()
"""Letter to the letters of the keys beside it on a QWERTY keyboard, in its casing."""


def keyboard(text: str, kinds: str) -> Iterator[Place]:
    """Find words of four letters or more; one of their inner letters may be mistyped."""
    for start, end in _words(kinds):
        letters = [i for i in range(start, end) if kinds[i] == "a"]
        inner = letters[1:-1] if len(letters) >= LEAST_LETTERS else ()
        found = [
            Spot(i, i + 1, NEIGHBOURS[text[i]])
            for i in inner
            if text[i] in NEIGHBOURS and _alone(kinds, i + 1)
        ]
        if found:
            yield found


def casing(text: str, kinds: str) -> Iterator[Place]:
    """Find words that can be written in lower case, in capitals, or with one capital."""
    for start, end in _words(kinds):
        word = text[start:end]
        ways = (word.lower(), word.upper(), word[:1].upper() + word[1:].lower())
        # A word whose casing cannot be undone, such as "Straße" in capitals, has another spelling.
        news = tuple(
            sorted({w for w in ways if len(w) == len(word) and w.lower() == word.lower()} - {word})
        )
        if news:
            yield [Spot(start, end, news)]


def punctuation(text: str, kinds: str) -> Iterator[Place]:
    """Find marks at the end of a word; one may be left out, doubled, or put after a space."""
    for match in re.finditer(r"(?<=[^psw])p(?=[sw]|$)", kinds):
        mark = match.start()
        yield [Spot(mark, mark + 1, ("", text[mark] * 2, f" {text[mark]}"))]


def whitespace(text: str, kinds: str) -> Iterator[Place]:
    """Find single spaces before a word; one may be doubled, a line's end, or left out."""
    for match in re.finditer(r"(?<=[amnpq])s(?=[an])", kinds):
        gap = match.start()
        joined = ("",) if _cased(text[gap + 1]) and _cased_or_mark(text, kinds, gap - 1) else ()
        yield [Spot(gap, gap + 1, ("  ", "\n", *joined))]


def _cased(char: str) -> bool:
    # Letters of other scripts may become one character with their neighbour.
    return char.lower() != char.upper()


def _cased_or_mark(text: str, kinds: str, at: int) -> bool:
    return kinds[at] == "p" or _cased(text[at])


_NOT: Final = (
    *("do", "does", "did", "is", "are", "was", "were"),
    *("have", "has", "had", "would", "could", "should", "must"),
)
_SUBJECTS: Final = ("i", "you", "he", "she", "it", "we", "they")
_TO_SHORT: Final[Mapping[str, str]] = {
    **{f"{verb} not": f"{verb}n't" for verb in _NOT},
    "will not": "won't",
    "cannot": "can't",
}
_SUBJECT_TO_SHORT: Final[Mapping[str, str]] = {
    "i am": "i'm",
    **{f"{who} are": f"{who}'re" for who in ("you", "we", "they")},
    **{f"{who} is": f"{who}'s" for who in ("he", "she", "it", "that", "there", "here", "what")},
    **{f"{who} will": f"{who}'ll" for who in (*_SUBJECTS, "that", "there")},
    **{f"{who} would": f"{who}'d" for who in _SUBJECTS},
}
"""These need a word after them: "I know what it is" has no short form."""
_TO_FULL: Final[Mapping[str, str]] = {
    **{short: full for full, short in _TO_SHORT.items()},
    **{s: f for f, s in _SUBJECT_TO_SHORT.items() if not s.endswith(("'s", "'d"))},
    **{f"{who}'ve": f"{who} have" for who in ("i", "you", "we", "they")},
}
"""Words in 's or 'd have several full forms, and are left unchanged."""
_FORMS: Final[Mapping[str, str]] = {**_TO_SHORT, **_SUBJECT_TO_SHORT, **_TO_FULL}
_BEFORE_NOT: Final = {f for f in _SUBJECT_TO_SHORT if f != "i am"}
"""In "it is not" the verb is contracted with the word after it."""
_FORM = re.compile(
    r"(?<![\w'])(?:{}|(?:{})(?! not\b))(?![\w'])".format(
        *("|".join(map(re.escape, sorted(f))) for f in (_FORMS.keys() - _BEFORE_NOT, _BEFORE_NOT))
    ),
    re.IGNORECASE,
)
_QUESTION = re.compile(rf" (?:{'|'.join(_SUBJECTS)}|this|that|there|the)\b", re.IGNORECASE)


def contractions(text: str, kinds: str) -> Iterator[Place]:
    """Find English verbs that can be written out, such as "don't", or shortened, "do not"."""
    plain = text.replace("’", "'")
    apostrophe = "’" if "’" in text and "'" not in text else "'"
    for match in _FORM.finditer(plain):
        found, end = match[0], match.end()
        key = found.lower()
        if key not in _FORMS or found not in (key, key[:1].upper() + key[1:]):
            continue
        if not _alone(kinds, end):
            continue
        if key in _SUBJECT_TO_SHORT and not re.match("sa", kinds[end : end + 2]):
            continue
        # "Don't you see" written out would not be English.
        if key.endswith("n't") and _QUESTION.match(plain, end):
            continue
        new = _FORMS[key].replace("'", apostrophe)
        yield [Spot(match.start(), end, (found[0] + new[1:],))]


LOOKALIKES: Final[Mapping[str, tuple[str, ...]]] = {
    latin: (other,)
    for latin, other in zip("aceijopsxyABCEHIKMOPTX", "асеіјорѕхуАВСЕНІКМОРТХ", strict=True)
}
"""Latin letter to the Cyrillic one that looks like it."""


def lookalikes(text: str, kinds: str) -> Iterator[Place]:
    """Find words with Latin letters that a Cyrillic one looks like."""
    yield from _letters(text, kinds, LOOKALIKES)


_ACCENTS: Final[Mapping[str, str]] = {
    **{"a": "áàâä", "c": "ç", "e": "éèêë", "i": "íìîï", "n": "ñ", "o": "óòôö", "u": "úùûü"}
}


def _accents() -> dict[str, tuple[str, ...]]:
    found = {letter: tuple(accented) for letter, accented in _ACCENTS.items()}
    found |= {a: (letter,) for letter, accented in _ACCENTS.items() for a in accented}
    return found | {k.upper(): tuple(n.upper() for n in news) for k, news in found.items()}


ACCENTS: Final = _accents()
"""Letter to the same letter with an accent, and back."""


def accents(text: str, kinds: str) -> Iterator[Place]:
    """Find words with letters that may get an accent, or lose it."""
    yield from _letters(text, kinds, ACCENTS)


CONFUSIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "rn": ("m",),
    "m": ("rn",),
    "cl": ("d",),
    "d": ("cl",),
    "vv": ("w",),
    "w": ("vv",),
    "li": ("h",),
    "h": ("li",),
    "l": ("1", "I"),
    "I": ("l", "1"),
    "o": ("0",),
    "O": ("0",),
    "S": ("5",),
    "B": ("8",),
    "e": ("c",),
    "c": ("e",),
}
"""Letters to those that character recognition may confuse them with."""


def ocr(text: str, kinds: str) -> Iterator[Place]:
    """Find words with letters that character recognition confuses with others."""
    for start, end in _words(kinds):
        found = [
            Spot(i, i + len(old), news)
            for i in range(start, end)
            for old, news in CONFUSIONS.items()
            if text.startswith(old, i, end) and _alone(kinds, i + len(old))
        ]
        if found:
            yield found


PERTURBATIONS: Final[Mapping[str, Perturbation]] = {
    "keyboard": Perturbation(
        keyboard,
        "A slip to a key beside the right one, on a QWERTY keyboard, one a word; not a letter left "
        "out or swapped, nor a slip that a spelling checker would have put right.",
    ),
    "casing": Perturbation(
        casing,
        "Words in capitals, in lower case or with one capital, as in headings and hasty messages; "
        "an acronym in lower case can be another word.",
    ),
    "punctuation": Perturbation(
        punctuation,
        "A mark left out, doubled or behind a space, as in hasty messages; marks inside of numbers "
        "and words stay, and none is put where there was none.",
    ),
    "whitespace": Perturbation(
        whitespace,
        "Two spaces, a line's end or no space between two words, as in copied text; words are not "
        "split, and two that are joined may be read as a third.",
    ),
    "contractions": Perturbation(
        contractions,
        "English verbs written out or shortened, as another writer or editor would have them; what "
        "has several full forms stays.",
    ),
    "lookalikes": Perturbation(
        lookalikes,
        "One Latin letter a word replaced by the Cyrillic one that looks the same, as in spam that "
        "evades a filter; nobody types so by mistake.",
    ),
    "accents": Perturbation(
        accents,
        "A letter that gets an accent or loses it, as with a keyboard of another language; in some "
        "languages this makes another word.",
    ),
    "ocr": Perturbation(
        ocr,
        "Letters taken for others of like shape, one a word, as on scanned pages; no engine's own "
        "rates of error, and no lines or columns out of order.",
    ),
}
"""Every perturbation by name."""
