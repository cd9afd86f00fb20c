"""The test set of Wikitext-2: its location, and its sentences in normal spelling."""

import re
from collections.abc import Iterator
from typing import Final

from pytest_bias.data import DataFile, DataFolder, FoundFile, Source, lines_of, text_of

WIKITEXT_SOURCE: Final = Source(
    "wikitext-2 (pytorch/examples)", "77f55b912142e11fcfdf5b530231fb9c52f181e8", "CC-BY-SA-3.0"
)
WIKITEXT: Final = DataFile(
    "wikitext2/test.txt",
    f"https://raw.githubusercontent.com/pytorch/examples/{WIKITEXT_SOURCE.revision}"
    "/word_language_model/data/wikitext-2/test.txt",
    "d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0",
)
UNKNOWN: Final = "<unk>"
"""Replaces every rare word in the tokenised variant, which is the pinned one."""

_SENTENCE_END = re.compile(r"(?<= [.!?]) ")
_SPACES: Final = (
    (re.compile(r" @([-,.])@ "), r"\1"),
    (re.compile(r" ([.,;:!?%)\]])"), r"\1"),
    (re.compile(r"([(\[$]) "), r"\1"),
    (re.compile(r" ('(?:s|re|ve|ll|d|m|t)\b|n't\b)"), r"\1"),
)


def read_test_set(data: DataFolder) -> tuple[FoundFile, str]:
    """Return the file and its text; a user's ``wikitext2/wiki.test.raw`` serves as well.

    Raises
    ------
    DataMissing
        If it is missing.
    DataError
        If it is not UTF-8.
    """
    found = data.find(WIKITEXT, "wikitext2/wiki.test.raw")
    return found, text_of(found)


def sentences_of(text: str) -> Iterator[tuple[int, str]]:
    """Split Wikitext into sentences, each with the number of its line.

    Headings and empty lines are dropped; sentences end at the end marks that the corpus separates
    by spaces, and its other tokenisation is undone.
    """
    for number, line in enumerate(lines_of(text)):
        line = line.strip()
        if not line or line.startswith("="):
            continue
        for sentence in _SENTENCE_END.split(line):
            for pattern, replacement in _SPACES:
                sentence = pattern.sub(replacement, sentence)
            yield number, _quotes_closed_up(sentence.strip())


def _quotes_closed_up(sentence: str) -> str:
    """Join quotation marks with the text that they enclose; an unpaired one at the end closes."""
    words = sentence.split(" ")
    is_open = words.count('"') == 1 and words[-1] == '"'
    joined: list[str] = []
    before = ""
    for word in words:
        if word == '"' and not is_open:
            before, is_open = word, True
        elif word == '"' and joined:
            joined[-1] += word
            is_open = False
        else:
            joined.append(before + word)
            before = ""
    return " ".join([*joined, before] if before else joined)
