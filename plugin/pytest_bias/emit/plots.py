"""Forest plots: values with their intervals, as SVG to embed in a page.

Fonts, colours and the widths of lines are those of `report.css`, by class. A picture is 360 units
wide, with each label above its line, so that it can be read on a phone; the page scales it to its
column.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, floor, log10
from typing import Final

from markupsafe import Markup

WIDTH: Final = 360
LEFT: Final = 8
RIGHT: Final = WIDTH - 8
SIZE: Final = 12.5
"""The font size of `report.css`."""
GAP: Final = 12
"""Smallest distance in units between two texts on one line."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A scale from `low` to `high`; `ideal` is marked, with `words` beside the mark."""

    low: float
    high: float
    ideal: float
    words: str = ""

    def at(self, value: float) -> float:
        """Return the position of a value in the picture; values outside are placed at the end."""
        share = (value - self.low) / (self.high - self.low)
        return LEFT + min(1.0, max(0.0, share)) * (RIGHT - LEFT)


@dataclass(frozen=True, slots=True)
class Row:
    """One value: its label, its text, and its position.

    `about` is a second, quieter line. A row has a `scale` of its own where the rows of a picture
    are in different units.
    """

    label: str
    written: str
    value: float
    interval: tuple[float, float] | None = None
    floor: float | None = None
    about: str = ""
    strong: bool = False
    scale: Scale | None = None


def scale(
    rows: Sequence[Row],
    ideal: float,
    bounds: tuple[float | None, float | None],
    least: float,
    words: str = "",
) -> Scale:
    """Return a scale that shows all rows and the ideal.

    It is at least `least` wide, so that negligible differences do not look large, and stays within
    the bounds.
    """
    ends = [ideal, *(r.value for r in rows), *(e for r in rows for e in r.interval or ())]
    ends += [r.floor for r in rows if r.floor is not None]
    low, high = min(ends), max(ends)
    room = max(0.06 * (high - low), (least - (high - low)) / 2)
    low, high = low - room, high + room
    if bounds[0] is not None:
        low = min(max(low, bounds[0]), ideal)
    if bounds[1] is not None:
        high = max(min(high, bounds[1]), ideal)
    return Scale(low, high if high > low else low + max(1.0, abs(low)), ideal, words)


def ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return the round numbers between two values, and their texts.

    They are 1, 2, 2.5 or 5 times a power of ten apart, and at most six.
    """
    if not 1e-300 < high - low < 1e300:
        return []
    least = (high - low) / 5
    power = floor(log10(least))
    step, decimals = next(
        (times * 10.0**p, max(0, more - p))
        for p in (power, power + 1)
        for times, more in ((1, 0), (2, 0), (2.5, 1), (5, 0))
        if times * 10.0**p >= least
    )
    form = f".{decimals}f" if decimals < 6 and max(abs(low), abs(high)) < 1e6 else ".3g"
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [(i * step, f"{i * step:{form}}") for i in range(first, last + 1)]


def forest(rows: Sequence[Row], alternative: str, shared: Scale | None = None) -> Markup:
    """Draw values with their intervals, one below another.

    Parameters
    ----------
    rows : sequence of Row
        Rows from top to bottom; each has its own scale unless there is a shared one.
    alternative : str
        Text alternative of the picture.
    shared : Scale, optional
        One scale for all rows, with its ideal named above and its ticks below.

    Returns
    -------
    Markup
        An ``svg`` element to embed in a page.
    """
    shapes: list[Markup] = []
    bottom = 24 if shared else 2
    for row in rows:
        if (of := row.scale or shared) is None:
            raise ValueError("a row needs a scale where there is no shared one")
        line = bottom + (41 if row.about else 24)
        shapes += _row(row, of, line)
        bottom = line + (38 if row.scale else 17)
    if shared:
        shapes += _ruler(shared, bottom)
        bottom += 20
    return Markup(
        '<svg class="forest" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    ).format(WIDTH, bottom, alternative, Markup("").join(shapes))


def _row(row: Row, scale: Scale, line: float) -> Iterator[Markup]:
    """Draw a row; `line` is the vertical position of its line."""
    # Bold text is wider.
    kind, bold = ("strong", 1.1) if row.strong else ("label", 1)
    top = line - (27 if row.about else 10)
    written = fitted(row.written, (RIGHT - LEFT - GAP - 2 * SIZE) / bold)
    room = RIGHT - LEFT - GAP - bold * _width(written)
    yield _path("axis", f"M{LEFT} {line}H{RIGHT}")
    yield _path("ideal", f"M{scale.at(scale.ideal):.5g} {line - 6}v12")
    yield _text(LEFT, top, fitted(row.label, room / bold), "start", kind)
    yield _text(RIGHT, top, written, "end", kind)
    if row.about:
        yield _text(LEFT, line - 10, fitted(row.about, RIGHT - LEFT), "start", "quiet")
    if row.scale:
        yield from _ends(scale, line + 19)
    if row.interval:
        low, high = map(scale.at, row.interval)
        yield _path("interval", f"M{low:.5g} {line}H{high:.5g}")
    if row.floor is not None:
        # For a signed value it is a distance from the ideal, so it is drawn on the value's side.
        off = abs(row.floor - scale.ideal)
        x = scale.at(scale.ideal + (off if row.value >= scale.ideal else -off))
        yield _path("floor", f"M{x - 3.5:.5g} {line}l3.5 -6 3.5 6 -3.5 6z")
    yield Markup('<circle class="value" cx="{:.5g}" cy="{}" r="4.5"/>').format(
        scale.at(row.value), line
    )


def _ruler(scale: Scale, bottom: float) -> Iterator[Markup]:
    """Write the label of the ideal's mark above, and the numbers below."""
    x = scale.at(scale.ideal)
    yield _beside(x, 12, scale.words)[0]
    yield _path("ideal", f"M{x:.5g} 15v5")
    right = 0.0
    for value, words in ticks(scale.low, scale.high):
        x = scale.at(value)
        yield _path("tick", f"M{x:.5g} {bottom - 2}v4")
        text, start, end = _beside(x, bottom + 15, words)
        if start >= right:
            yield text
            right = end + GAP


def _ends(scale: Scale, y: float) -> Iterator[Markup]:
    """Write the ideal below its mark, and the ends of the scale where they fit."""
    text, start, end = _beside(scale.at(scale.ideal), y, scale.words)
    yield text
    low, high = (f"{end:.3g}" for end in (scale.low, scale.high))
    if start > LEFT + _width(low) + GAP:
        yield _text(LEFT, y, low, "start", "quiet")
    if end < RIGHT - _width(high) - GAP:
        yield _text(RIGHT, y, high, "end", "quiet")


def _beside(x: float, y: float, words: str) -> tuple[Markup, float, float]:
    """Write a text centred at `x`, or as near as it fits; also return where the text is."""
    words = fitted(words, RIGHT - LEFT)
    width = _width(words)
    if x - width / 2 < LEFT:
        return _text(LEFT, y, words, "start", "quiet"), LEFT, LEFT + width
    if x + width / 2 > RIGHT:
        return _text(RIGHT, y, words, "end", "quiet"), RIGHT - width, RIGHT
    return _text(x, y, words, "middle", "quiet"), x - width / 2, x + width / 2


def _text(x: float, y: float, words: str, anchor: str, kind: str) -> Markup:
    made = Markup('<text class="{}" text-anchor="{}" x="{:.5g}" y="{}">{}</text>')
    return made.format(kind, anchor, x, y, words)


def _path(kind: str, drawn: str) -> Markup:
    return Markup('<path class="{}" d="{}"/>').format(kind, drawn)


# Widths of characters in ems, in the wider of the fonts that a page may use.
_EMS: Final = {
    char: width
    for chars, width in (
        ("ijl.,:;'|/\\I· ", 0.34),
        ("frt()[]-!", 0.42),
        ("sczkvxyJ–°*?^_", 0.6),
        ("w+<>=#~×−≈→≤≥", 0.84),
        ("mMWOQ@%&—…", 1.0),
    )
    for char in chars
}


def _ems(char: str) -> float:
    if char in _EMS:
        return _EMS[char]
    if unicodedata.east_asian_width(char) in "WF":
        return 1.1
    if unicodedata.combining(char):
        return 0.0
    return 0.76 if char.isupper() or not char.isascii() else 0.635


def _width(words: str) -> float:
    return SIZE * sum(map(_ems, words))


def fitted(words: str, room: float) -> str:
    """Return words cut with an ellipsis if they are wider than some units."""
    if _width(words) <= room:
        return words
    kept = sum(SIZE * (end + 1) <= room for end in accumulate(map(_ems, words)))
    return f"{words[:kept].rstrip()}…"
