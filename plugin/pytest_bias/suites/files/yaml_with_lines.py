"""YAML of a user's own, with the line of everything in it, so that a message can name the place.

Every scalar is a text: a word such as ``no`` or ``2024-01-01`` stays what was written, and what
reads a value says which kind it must be.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import yaml

from pytest_bias.errors import UsageError

Plain: TypeAlias = "str | list[Plain] | dict[str, Plain]"
Place: TypeAlias = tuple[str | int, ...]
"""Keys and numbers on the way from the whole to a value."""

NO_LINE_ENDS: Final = "\x85\u2028\u2029"
"""Letters of a text, which YAML 1.1 takes for the ends of lines and would fold into spaces."""
COLON: Final = 'A text that has a colon and a space in it stands in quotes: "like this: so".'
MOST_DEEP: Final = 20
"""Levels of lists and tables within one another; a suite needs five."""


@dataclass(frozen=True)
class Marked:
    """What a file says, and on which line, counted from 1, each value begins."""

    name: str
    value: Plain
    lines: Mapping[Place, int]

    def error(self, place: Place, message: str, hint: str | None = None) -> UsageError:
        """Return the error that something is wrong at a place, which need not be there."""
        where = ".".join(map(str, place))
        while place not in self.lines:
            place = place[:-1]
        said = f"{where}: {message}" if where else message
        return UsageError(f"{self.name}, line {self.lines[place]}: {said}", hint)


def read_marked(text: str, name: str) -> Marked:
    """Read YAML.

    Parameters
    ----------
    text : str
        One document.
    name : str
        The file, as messages name it.

    Raises
    ------
    UsageError
        If it is not well-formed, names a key twice, uses anchors, or is nested too deeply.
    """
    lines: dict[Place, int] = {}
    there, back = _stand_ins(text)
    text = text.translate(there)
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.BaseLoader)):
            raise UsageError(f"{name} uses anchors and aliases, which a suite cannot.")
        node = yaml.compose(text, yaml.BaseLoader)
        if node is None:
            raise UsageError(f"{name} is empty.")
        return Marked(name, _plain(node, (), lines, name, back), lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f", line {mark.line + 1}" if mark else ""
        hint = COLON if "mapping values" in str(error.problem) else None
        raise UsageError(f"{name}{at}: {error.problem or error.context}.", hint) from None
    except (yaml.YAMLError, RecursionError) as error:
        said = " ".join(str(error).split())
        raise UsageError(f"{name} is not well-formed YAML: {said}.") from None


def _stand_ins(text: str) -> tuple[dict[int, str], dict[int, str]]:
    """Return what stands for `NO_LINE_ENDS` while YAML is read, and the way back."""
    free = (c for c in map(chr, range(0xE000, 0xF8FF)) if c not in text)
    there = {ord(letter): next(free) for letter in NO_LINE_ENDS if letter in text}
    return there, {ord(c): chr(letter) for letter, c in there.items()}


def _plain(
    node: yaml.Node, place: Place, lines: dict[Place, int], name: str, back: Mapping[int, str]
) -> Plain:
    lines[place] = node.start_mark.line + 1
    if len(place) > MOST_DEEP:
        raise UsageError(f"{name}, line {lines[place]}: nested more than {MOST_DEEP} levels deep.")
    match node:
        case yaml.ScalarNode():
            return str(node.value).translate(back)
        case yaml.SequenceNode():
            return [_plain(one, (*place, n), lines, name, back) for n, one in enumerate(node.value)]
        case yaml.MappingNode():
            found: dict[str, Plain] = {}
            for key, value in node.value:
                line = key.start_mark.line + 1
                if not isinstance(key, yaml.ScalarNode):
                    raise UsageError(f"{name}, line {line}: a key must be a text.")
                if (said := str(key.value).translate(back)) in found:
                    raise UsageError(f"{name}, line {line}: {said} is given twice.")
                found[said] = _plain(value, (*place, said), lines, name, back)
                lines[*place, said] = line
            return found
    raise AssertionError(node)
