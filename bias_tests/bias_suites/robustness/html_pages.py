"""A plain text as a page of HTML: the same words in the same order, with markup around them.

Four styles of page as they are found on the web. Nothing is random, and markup adds no visible
word, except the numbers of notes in one style: the difference between a text and its page is noise
of the source.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Final, NamedTuple

Piece = tuple[str, bool]
"""Characters of a page, and whether they are a word of the text."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_LINKED: Final = 9
"""Interval, in words, at which a word is marked up if it consists of letters only."""


class Page(NamedTuple):
    """A page of HTML; `words` are the start and end (exclusive) of each word of the text."""

    html: str
    words: tuple[tuple[int, int], ...]


def words_of(text: str) -> tuple[tuple[int, int], ...]:
    """Return the positions of the words of a text, which white space separates."""
    return tuple(match.span() for match in re.finditer(r"\S+", text))


def page(text: str, style: str) -> Page:
    """Wrap the words of a text in a page of one of the `STYLES`.

    Words are escaped as in HTML: a bracket or an ampersand becomes an entity.
    """
    html, words = "", []
    for piece, is_word in STYLES[style](_SENTENCE_END.split(text.strip())):
        if is_word:
            words.append((len(html), len(html) + len(piece)))
        html += piece
    return Page(html, tuple(words))


def _article(sentences: list[str]) -> Iterator[Piece]:
    yield _tags('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">')
    yield _tags('\n<link rel="stylesheet" href="/static/main.css">\n</head>\n<body>\n')
    yield _tags('<article class="post" id="post-214">\n')
    for number in range(0, len(sentences), 2):
        yield _tags('<p class="lead">' if number == 0 else "<p>")
        yield from _plain(" ".join(sentences[number : number + 2]))
        yield _tags("</p>\n")
    yield _tags("</article>\n</body>\n</html>\n")


def _encyclopedia(sentences: list[str]) -> Iterator[Piece]:
    yield _tags('<div class="mw-parser-output">\n<p>')
    for number, sentence in enumerate(sentences, 1):
        yield from _marked(sentence, '<a href="/wiki/Special:Link" class="mw-redirect">', "</a>")
        yield _tags(f'<sup id="cite_ref-{number}" class="reference"><a href="#cite_note-{number}">')
        yield _tags(f"[{number}]</a></sup>{' ' if number < len(sentences) else ''}")
    yield _tags("</p>\n</div>\n")


def _list(sentences: list[str]) -> Iterator[Piece]:
    yield _tags('<div id="content" class="row"><ul class="list-unstyled">\n')
    for number, sentence in enumerate(sentences, 1):
        yield _tags(f'<li id="item-{number}" class="list-item"><span class="bullet"></span>')
        yield from _plain(sentence)
        yield _tags("</li>\n")
    yield _tags("</ul></div>\n")


def _styled(sentences: list[str]) -> Iterator[Piece]:
    yield _tags('<table width="100%" cellpadding="4"><tr><td align="left" valign="top">')
    for number, sentence in enumerate(sentences, 1):
        yield _tags('<font face="Verdana" size="2" color="#333333">')
        yield from _marked(sentence, "<b>", "</b>")
        yield _tags("</font><br />\n" if number < len(sentences) else "</font>")
    yield _tags("</td></tr></table>\n")


def _tags(markup: str) -> Piece:
    return markup, False


def _plain(text: str) -> Iterator[Piece]:
    yield from _marked(text, "", "")


def _marked(text: str, opening: str, closing: str) -> Iterator[Piece]:
    """Yield the words of a text, some of them between an opening and a closing tag."""
    for number, word in enumerate(text.split(), 1):
        if number > 1:
            yield _tags(" ")
        is_marked = bool(opening) and number % _LINKED == 0 and word.isalpha()
        if is_marked:
            yield _tags(opening)
        yield escape(word, quote=False), True
        if is_marked:
            yield _tags(closing)


STYLES: Final[Mapping[str, Callable[[list[str]], Iterator[Piece]]]] = {
    "article": _article,
    "encyclopedia": _encyclopedia,
    "list": _list,
    "styled": _styled,
}
"""Style to its page maker: a blog, a wiki, a list of items, an old layout in tables."""


def style_of(number: int) -> str:
    """Return the style of the `number`-th text: they take turns."""
    return list(STYLES)[number % len(STYLES)]
