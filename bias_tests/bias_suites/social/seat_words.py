"""Source words of the sentences of a published association test.

The files hold sentences only, several per word ("This is science.", "Science is here."), and
sentences of one word are not independent targets.
"""

import re
from collections.abc import Sequence
from typing import Final

_TOKEN: Final = re.compile(r"\w+(?:[-.’']\w+)*")
_FRAME: Final = frozenset(
    ("a", "an", "the", "this", "that", "these", "those", "it", "they", "is", "are", "was")
) | {"were", "here", "there", "person", "thing"}
_WHOLE: Final = _FRAME | {"his", "hers", "theirs"}
_PLURALS: Final = ((re.compile(r"men$"), "man"), (re.compile(r"(?<=..)ies$"), "y"))
_ENDING: Final = re.compile(r"(?<=...)[se]+$")


def words_of(first: Sequence[str], second: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the word of each sentence of the two sets of targets of a test.

    It is the word that the sentence has and no sentence of the other set, without a plural ending;
    a sentence without any such word is its own source.

    Examples
    --------
    >>> words_of(["This is science.", "Sciences are here."], ["This is an art."])
    (['scienc', 'scienc'], ['art'])
    """
    stems = [[_stems(text) for text in of] for of in (first, second)]
    there = [{stem for text in of for stem in text} for of in stems]
    found = []
    for texts, of, other in zip((first, second), stems, reversed(there), strict=True):
        alone = [" ".join(s for s in text if s not in other) for text in of]
        found.append([word or text for word, text in zip(alone, texts, strict=True)])
    return found[0], found[1]


def _stems(text: str) -> list[str]:
    """Return the words of a text without endings; frame words only where there are no others."""
    found = [_stem(word) for word in _TOKEN.findall(text.lower())]
    return [word for word in found if word not in _FRAME] or found


def _stem(word: str) -> str:
    if word in _WHOLE:
        return word
    for pattern, ending in _PLURALS:
        word = pattern.sub(ending, word)
    return _ENDING.sub("", word)
