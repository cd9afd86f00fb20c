"""A document of numbered points, written as Markdown and as HTML from the same blocks.

Texts in blocks are plain words on one line: each of the two templates escapes them once.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

from markupsafe import Markup

from pytest_bias.emit import templates
from pytest_bias.emit.bounds import ROWS
from pytest_bias.untrusted import clean, markdown

MARKDOWN: Final = "annex-iv.md"
HTML: Final = "annex-iv.html"

MOST: Final = 2_000
"""Largest number of characters of a text that others wrote."""
_ALL: Final = 10_000
"""More characters than a text of a block has, so that none is cut twice."""
_BEGINS: Final = re.compile(r"^(?:([-+=])(?=[-+=\s]|$)|(\d{1,9})([.)])(?=\s|$))")
"""What begins a list, or underlines, at the beginning of a line of Markdown."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading below that of a point."""

    kind: ClassVar[str] = "heading"
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    kind: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Terms with texts; `stated` if the provider stated them, none of them measured."""

    kind: ClassVar[str] = "facts"
    pairs: tuple[tuple[str, str], ...]
    stated: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """A list."""

    kind: ClassVar[str] = "listing"
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """A command to type."""

    kind: ClassVar[str] = "command"
    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the columns in `numbers`, counted from 0, hold numbers."""

    kind: ClassVar[str] = "table"
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    left: int = 0


Block: TypeAlias = Heading | Text | Facts | Listing | Command | Table


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that the provider has to write; `key` below ``context:`` can state it."""

    what: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A point of Annex IV, or a part of one: a part has a level of 3, and may have no number."""

    number: str
    title: str
    level: int
    blocks: tuple[Block, ...] = ()
    missing: tuple[Missing, ...] = ()

    @property
    def parted(self) -> bool:
        """Whether it has headings of its own, so that what is missing needs one too."""
        return any(block.kind == "heading" for block in self.blocks)

    @property
    def heading(self) -> str:
        """Number and title."""
        return (
            f"{self.number}. {self.title}" if self.level == 2 else f"{self._in_words}{self.title}"
        )

    @property
    def _in_words(self) -> str:
        return f"{self.number} " if self.number else ""


@dataclass(frozen=True, slots=True)
class Gap:
    """All that is missing in one point: its number, title, anchor and items."""

    number: str
    title: str
    anchor: str
    missing: tuple[Missing, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """The whole document."""

    kicker: str
    title: str
    lead: tuple[str, ...]
    about: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """What is missing, in the order of the points."""
        found: list[Gap] = []
        number = ""
        for n, section in enumerate(self.sections):
            number = section.number or number
            if section.missing:
                found.append(Gap(number, section.title, anchor(n), section.missing))
        return tuple(found)


def anchor(n: int) -> str:
    """Return the identifier of a section by its position."""
    return f"s{n + 1}"


def table(
    caption: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Sequence[int] = (),
    most: int = ROWS,
) -> Table:
    """Return the first rows as a table, with the number of rows left out."""
    kept = tuple(tuple(row) for row in rows[:most])
    return Table(caption, tuple(head), kept, tuple(numbers), len(rows) - len(kept))


def facts(*pairs: tuple[str, str], stated: bool = False) -> tuple[Facts, ...]:
    """Return the pairs that have a text as a block; nothing if there are none."""
    kept = tuple((term, text) for term, text in pairs if text)
    return (Facts(kept, stated),) if kept else ()


def words(text: str, most: int = MOST) -> str:
    """Return text of others on one line."""
    return clean(text, most)


def render(document: Document) -> dict[str, str]:
    """Return both files by their names."""
    gaps = document.gaps
    shared: Mapping[str, Any] = {
        "document": document,
        "gaps": gaps,
        "count": sum(len(gap.missing) for gap in gaps),
        "anchor": anchor,
    }
    style = Markup(templates.text("report.css") + templates.text("annex-iv.css"))
    page = templates.html().get_template("annex-iv.html.j2").render(style=style, **shared)
    plain = templates.markdown("annex-iv.md.j2", trim_blocks=True, lstrip_blocks=True)
    text = plain.render(md=_inline, line=_line, **shared)
    return {MARKDOWN: re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n", HTML: page}


def _inline(text: str) -> str:
    """Return plain words in Markdown."""
    return markdown(text, _ALL)


def _line(text: str) -> str:
    """Return plain words in Markdown at the beginning of a line."""
    return _BEGINS.sub(_escaped, _inline(text))


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found[1]}" if found[1] else f"{found[2]}\\{found[3]}"
