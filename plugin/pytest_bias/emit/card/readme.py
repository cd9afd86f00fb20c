"""Our part of a model's README.md: a section between markers, and scores as metadata.

All other content stays unchanged, byte for byte, so that the diff of a maintainer who publishes
scores shows nothing else. Merging the same again changes nothing.
"""

import math
import re
from collections.abc import Sequence
from typing import Any, Final

import yaml

from pytest_bias.emit.card.front_matter import KEY, with_results
from pytest_bias.emit.card.results import is_own
from pytest_bias.errors import UsageError

BEGIN: Final = "<!-- pytest-bias:begin -->"
END: Final = "<!-- pytest-bias:end -->"

_MARKER: Final = re.compile(
    r"(?:^|(?<=[\r\n]))[ ]{0,3}(<!--[ \t]*pytest-bias:(begin|end)[ \t]*-->)[ \t]*(?=[\r\n]|$)"
)
_BREAK: Final = re.compile(r"\r\n|\n|\r")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_BOM: Final = "\N{ZERO WIDTH NO-BREAK SPACE}"

# As the Hub and its client recognize it.
_FRONT: Final = re.compile(
    r"(\s*---(?:\r\n|\r|\n))([\S\s]*?)((?:\r\n|\r|\n)---[ \t]*(?:\r\n|\n|$))"
)
_EMPTY_FRONT: Final = re.compile(r"(\s*---(?:\r\n|\r|\n))(---[ \t]*(?:\r\n|\r|\n|$))")
_OPENED: Final = re.compile(r"\s*---[ \t]*(?:[\r\n]|$)")


def merged(readme: bytes, section: str, results: Sequence[Any], *, keeps: bool = False) -> bytes:
    """Return a README.md with our section and our scores in its metadata.

    The section replaces the one between the markers, wherever its owner has moved it; without
    markers it is appended. Line ends are those of the file.

    Parameters
    ----------
    readme : bytes
        The file as it is, in UTF-8; empty if there is none.
    section : str
        Markdown that begins and ends with the markers `BEGIN` and `END`.
    results : sequence
        Value of ``model-index``, as `emit.card.model_index.entries` returns it: one mapping with
        `name` and `results`. The scores of a result replace those for the same dataset type,
        configuration, split and metric type.
    keeps : bool
        Whether our results that are not in `results` are kept; otherwise they are removed. If there
        are no results at all, the front matter is not changed.

    Raises
    ------
    UsageError
        If the file is not UTF-8, if markers do not form one pair, or if the front matter cannot be
        changed without changing other content; the message names the line.
    ValueError
        If the section is not between markers, or a value is not finite.
    """
    if [m[2] for m in _MARKER.finditer(section)] != ["begin", "end"]:
        raise ValueError("the section must stand between one pair of markers")
    _require_finite(results)
    try:
        text = readme.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"README.md is not UTF-8: byte {error.start} is {readme[error.start]:#04x}.",
            "Save it as UTF-8; the Hub shows no other encoding.",
        ) from None
    bom, text = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    found = _BREAK.search(text)
    line_end = found[0] if found else "\n"
    text = _with_section(text, line_end.join(section.strip("\n").split("\n")), line_end)
    if results or any(map(is_own, results_of(readme))):
        text = _with_front_matter(text, results, line_end, keeps=keeps)
    return (bom + text).encode()


def section_of(readme: bytes) -> str | None:
    """Return the section between the markers, with our line ends; None if there is none."""
    text = readme.decode("utf-8", errors="replace")
    markers = list(_MARKER.finditer(text))
    if [m[2] for m in markers] != ["begin", "end"]:
        return None
    begin, end = markers
    return _BREAK.sub("\n", text[begin.start(1) : end.end(1)])


def outside_of(readme: bytes) -> list[tuple[int, str]]:
    """Return the texts before, between and after paired markers, each with its first line.

    If there are no pairs, that is the whole text.
    """
    text = _BREAK.sub("\n", readme.decode("utf-8", errors="replace"))
    markers = list(_MARKER.finditer(text))
    if [m[2] for m in markers] != ["begin", "end"]:
        return [(1, text)]
    end = markers[1].end()
    return [(1, text[: markers[0].start()]), (text.count("\n", 0, end) + 1, text[end:])]


def hides_section(readme: bytes) -> bool:
    """Whether the section is in a code block, where it is not rendered."""
    ((_, before), *_) = outside_of(readme)
    fence = ""
    for line in before.split("\n"):
        if found := _FENCE.match(line):
            if not fence:
                fence = found[1]
            elif found[1].startswith(fence) and not found[2].strip():
                fence = ""
    return bool(fence)


def results_of(readme: bytes) -> list[dict[str, Any]]:
    """Return the results in the metadata of a README.md; none if these cannot be read."""
    front = _FRONT.match(readme.decode("utf-8", errors="replace").removeprefix(_BOM))
    try:
        plain = yaml.safe_load(front[2]) if front else None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        return []
    index = plain.get(KEY) if isinstance(plain, dict) else None
    entries = index if isinstance(index, list) else []
    lists = [e.get("results") for e in entries if isinstance(e, dict)]
    return [r for found in lists if isinstance(found, list) for r in found if isinstance(r, dict)]


def _with_section(text: str, section: str, line_end: str) -> str:
    markers = list(_MARKER.finditer(text))
    if not markers:
        # One empty line between, as Markdown needs it.
        breaks = len(_BREAK.findall(text[len(text.rstrip()) :]))
        return text + line_end * (max(0, 2 - breaks) if text else 0) + section + line_end
    if [m[2] for m in markers] != ["begin", "end"]:
        lines = ", ".join(f"{m[2]} in line {_line(text, m.start(1))}" for m in markers)
        raise UsageError(
            f"the markers of pytest-bias in README.md do not form one pair: {lines}.",
            f"Leave one {BEGIN} and below it one {END}, or neither; what is between is replaced.",
        )
    begin, end = markers
    return text[: begin.start(1)] + section + text[end.end(1) :]


def _with_front_matter(text: str, results: Sequence[Any], line_end: str, *, keeps: bool) -> str:
    if front := _FRONT.match(text):
        start, end = front.span(2)
        first = _line(text, start)
        # A file may begin with empty front matter, and have a line of dashes further down.
        if not _EMPTY_FRONT.match(text) or re.match(r"---[ \t]*[\r\n]+[\w-]+:", text[start:]):
            ours = with_results(text[start:end], results, line_end, first, keeps=keeps)
            return text[:start] + ours + text[end:]
    ours = with_results("", results, line_end, 2)
    if empty := _EMPTY_FRONT.match(text):
        return empty[1] + ours + line_end + text[empty.start(2) :]
    if _OPENED.match(text):
        raise UsageError(
            f"README.md begins with --- in line {_line(text, text.index('---'))}, but no line of "
            "--- ends its front matter; the Hub accepts no other end, such as '...'.",
            "End the metadata with a line of three dashes, or begin the text with another line.",
        )
    front_matter = f"---{line_end}{ours}{line_end}---{line_end}"
    return front_matter + line_end + text


def _line(text: str, index: int) -> int:
    return len(_BREAK.findall(text, 0, index)) + 1


def _require_finite(value: Any) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a score")
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            _require_finite(part)
