"""Forest plots: values with their intervals, as SVG that stands in a page.

matplotlib draws; what comes out takes fonts and colours from the page around it, has no ids and
loads nothing. A picture is 360 units wide, with each label above its line, so that it can be read
on a phone; the page scales it to its column.
"""

import io
import re
import unicodedata
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree

from markupsafe import Markup

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH: Final = 360
LEFT: Final = 8
RIGHT: Final = WIDTH - 8
SIZE: Final = 12.5
GAP: Final = 14
"""Units between a label and what stands at the right of its line."""

# Stand-ins that matplotlib takes for colours; the page's variables take their place.
INK: Final = "#000001"
MUTED: Final = "#000002"
LINE: Final = "#000003"
ACCENT: Final = "#000004"
PAPER: Final = "#000005"
_VARIABLES: Final = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    LINE: "var(--line)",
    ACCENT: "var(--accent)",
    PAPER: "var(--paper)",
}
_SVG: Final = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True, slots=True)
class Scale:
    """A line of numbers from `low` to `high`; `ideal` is marked, with `words` beside the mark."""

    low: float
    high: float
    ideal: float
    words: str = ""

    def at(self, value: float) -> float:
        """Return where a value stands in the picture; what lies outside stands at the end."""
        share = (value - self.low) / (self.high - self.low)
        return LEFT + min(1.0, max(0.0, share)) * (RIGHT - LEFT)


@dataclass(frozen=True, slots=True)
class Row:
    """One value: what it is called, how it is written, and where it stands.

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
    """Return a scale that shows all of some rows and the ideal.

    It is at least `least` wide, so that differences that mean nothing do not look large, and never
    leaves the bounds.
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
    return Scale(low, high if high > low else low + 1, ideal, words)


def forest(rows: Sequence[Row], alternative: str, shared: Scale | None = None) -> Markup:
    """Draw values with their intervals, one below the other.

    Parameters
    ----------
    rows : sequence of Row
        Top to bottom; each has a scale of its own unless there is a shared one.
    alternative : str
        What the picture says, in words.
    shared : Scale, optional
        One scale for all, whose ticks stand below and whose ideal is one line through the picture.

    Returns
    -------
    Markup
        An ``svg`` element for the middle of a page.
    """
    heights = [_height(row, shared is None) for row in rows]
    top = 24 if shared else 2
    height = top + sum(heights) + (20 if shared else 0)
    # matplotlib is slow to import, and only a page needs it.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    style: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": "pytest-bias",
        "text.parse_math": False,
        "text.usetex": False,
        "path.simplify": False,
    }
    file = io.StringIO()
    with rc_context(style), warnings.catch_warnings():
        # The page's own fonts draw the text; matplotlib only complains of those that it has.
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        # At 72 dots an inch a unit of the picture is a point.
        figure = Figure(figsize=(WIDTH / 72, height / 72), dpi=72)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, WIDTH), ylim=(height, 0))
        axes.axis("off")
        if shared:
            _ruler(axes, shared, height)
        for row, y in zip(rows, _starts(heights, top), strict=True):
            _row(axes, row, row.scale or shared, y)
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return _embedded(file.getvalue(), height, alternative)


def _height(row: Row, own_scale: bool) -> int:
    return 41 + (17 if row.about else 0) + (21 if own_scale else 0)


def _starts(heights: Sequence[int], top: int) -> list[int]:
    return [top + sum(heights[:i]) for i in range(len(heights))]


def _row(axes: "Axes", row: Row, scale: Scale | None, y: float) -> None:
    if scale is None:
        raise ValueError("a row needs a scale where there is no shared one")
    weight = "bold" if row.strong else "normal"
    room = RIGHT - LEFT - GAP - _wide(row.written)
    _text(axes, LEFT, y + 14, fitted(row.label, room / (1.08 if row.strong else 1)), weight=weight)
    _text(axes, RIGHT, y + 14, row.written, anchor="right", weight=weight)
    if row.about:
        y += 17
        _text(axes, LEFT, y + 14, fitted(row.about, RIGHT - LEFT), color=MUTED)
    y += 24
    _line(axes, (LEFT, y), (RIGHT, y), LINE, 1)
    ideal = scale.at(scale.ideal)
    _line(axes, (ideal, y - 6), (ideal, y + 6), MUTED, 1.2)
    if row.scale:
        _ends(axes, scale, y + 19)
    if row.floor is not None:
        # Of a signed value it is a distance from the ideal, so it stands on the value's side.
        off = abs(row.floor - scale.ideal)
        _diamond(axes, scale.at(scale.ideal + (off if row.value >= scale.ideal else -off)), y)
    if row.interval:
        low, high = (scale.at(end) for end in row.interval)
        _line(axes, (low, y), (high, y), ACCENT, 3)
    _dot(axes, scale.at(row.value), y)


def _ruler(axes: "Axes", scale: Scale, height: float) -> None:
    """Write what the marks stand for above, and numbers below."""
    from matplotlib.ticker import MaxNLocator

    x = scale.at(scale.ideal)
    _beside(axes, x, 12, scale.words)
    _line(axes, (x, 15), (x, 20), MUTED, 1.2)
    ticks = MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]).tick_values(scale.low, scale.high)
    inside = [t for t in ticks if scale.low <= t <= scale.high]
    for tick, words in zip(inside, _numerals(inside), strict=True):
        at = scale.at(tick)
        _line(axes, (at, height - 22), (at, height - 18), MUTED, 1)
        anchor = "left" if at < LEFT + 12 else "right" if at > RIGHT - 12 else "center"
        _text(axes, at, height - 5, words, anchor=anchor, color=MUTED)


def _ends(axes: "Axes", scale: Scale, y: float) -> None:
    """Write the ideal below its mark, and the ends of the scale where there is room."""
    at = scale.at(scale.ideal)
    start, end = _beside(axes, at, y, scale.words)
    low, high = (f"{end:.3g}" for end in (scale.low, scale.high))
    if start > LEFT + _wide(low) + GAP:
        _text(axes, LEFT, y, low, color=MUTED)
    if end < RIGHT - _wide(high) - GAP:
        _text(axes, RIGHT, y, high, anchor="right", color=MUTED)


def _beside(axes: "Axes", x: float, y: float, words: str) -> tuple[float, float]:
    """Write centred at `x`, or as near to it as there is room; returns where the words stand."""
    half = _wide(words) / 2
    if x - half < LEFT:
        _text(axes, LEFT, y, words, color=MUTED)
        return LEFT, LEFT + 2 * half
    if x + half > RIGHT:
        _text(axes, RIGHT, y, words, anchor="right", color=MUTED)
        return RIGHT - 2 * half, RIGHT
    _text(axes, x, y, words, anchor="center", color=MUTED)
    return x - half, x + half


def _numerals(values: Sequence[float]) -> list[str]:
    """Write numbers of one scale with as many decimals as tell them apart."""
    step = min((abs(b - a) for a, b in pairwise(values)), default=1.0)
    for decimals in range(4):
        if abs(round(step, decimals) - step) < 1e-3 * step:
            return [f"{v + 0.0:.{decimals}f}" for v in values]
    return [f"{v + 0.0:.3g}" for v in values]


def _text(
    axes: "Axes",
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "left",
    color: str = INK,
    weight: str = "normal",
) -> None:
    axes.text(x, y, words, ha=anchor, va="baseline", color=color, size=SIZE, weight=weight)


def _line(
    axes: "Axes", start: tuple[float, float], end: tuple[float, float], color: str, width: float
) -> None:
    from matplotlib.lines import Line2D

    xs, ys = zip(start, end, strict=True)
    # The broader a line, the further in front.
    axes.add_line(Line2D(xs, ys, color=color, linewidth=width, clip_on=False, zorder=width))


def _dot(axes: "Axes", x: float, y: float) -> None:
    from matplotlib.patches import Circle

    look: dict[str, Any] = {"facecolor": ACCENT, "edgecolor": PAPER, "linewidth": 1.2}
    axes.add_patch(Circle((x, y), 4.5, clip_on=False, zorder=5, **look))


def _diamond(axes: "Axes", x: float, y: float) -> None:
    from matplotlib.patches import Polygon

    corners = [(x - 3.5, y), (x, y - 6), (x + 3.5, y), (x, y + 6)]
    look: dict[str, Any] = {"facecolor": PAPER, "edgecolor": MUTED, "linewidth": 1.4}
    axes.add_patch(Polygon(corners, clip_on=False, zorder=4, **look))


# How wide characters are in the broader of the fonts that a page may have, in ems.
_EMS: Final = (
    ("ijl.,:;'|!I", 0.33),
    ("frt()[]/- ", 0.41),
    ("sczkvxyJ", 0.58),
    ("mwMWOQ@%&—…+<>=≈→", 0.98),
)


def _ems(char: str) -> float:
    if unicodedata.east_asian_width(char) in "WF":
        return 1.1
    if unicodedata.combining(char):
        return 0.0
    for chars, width in _EMS:
        if char in chars:
            return width
    return 0.76 if char.isupper() or not char.isascii() else 0.635


def _wide(words: str) -> float:
    return SIZE * sum(map(_ems, words))


def fitted(words: str, room: float) -> str:
    """Return words that are no wider than some units, cut with an ellipsis where they are."""
    if _wide(words) <= room:
        return words
    kept = words
    while kept and _wide(kept) + SIZE > room:
        kept = kept[:-1]
    return f"{kept.rstrip()}…"


def _embedded(svg: str, height: float, alternative: str) -> Markup:
    """Return a picture without ids, fonts and colours of its own."""
    root = ElementTree.fromstring(re.sub(r"<!DOCTYPE.*?>", "", svg, count=1, flags=re.DOTALL))
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.rpartition("}")[2] in ("metadata", "defs"):
                parent.remove(child)
    shapes = [e for e in root.iter() if e.tag in (f"{_SVG}path", f"{_SVG}text")]
    # The first path is the figure's own background.
    drawn = "".join(_shape(e) for e in shapes if "stroke" in e.get("style", "") or e.text)
    words = Markup.escape(alternative)
    return Markup(
        f'<svg class="forest" viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{words}">'
        f"{drawn}</svg>"
    )


def _shape(element: ElementTree.Element) -> str:
    style = element.get("style", "")
    for stand_in, variable in _VARIABLES.items():
        style = style.replace(stand_in, variable)
    if element.tag == f"{_SVG}path":
        path = re.sub(r"\s+", " ", re.sub(r"(\.\d\d)\d+", r"\1", element.get("d", ""))).strip()
        return f'<path d="{path}" style="{style}"/>'
    bold = "bold" in style or "700" in style
    style = re.sub(r"(^|; ?)font[^;]*", "", style).strip("; ")
    weight = ' font-weight="600"' if bold else ""
    x, y = element.get("x"), element.get("y")
    return (
        f'<text x="{x}" y="{y}"{weight} style="{style}">{Markup.escape(element.text or "")}</text>'
    )
