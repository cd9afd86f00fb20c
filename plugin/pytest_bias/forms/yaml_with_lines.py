"""Parsing of a user's YAML with the line of every value, for messages.

Every scalar is a text: a word such as ``no`` or ``2024-01-01`` is kept as written, and the reader
of a value decides its type.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml
from yaml.composer import ComposerError

from pytest_bias.errors import UsageError

Plain: TypeAlias = "str | list[Plain] | dict[str, Plain] | None"
Place: TypeAlias = tuple[str | int, ...]
"""Path to a value: keys and indices from the top level."""

NO_LINE_ENDS: Final = "\x85\u2028\u2029"
"""Characters that YAML 1.1 treats as line breaks and would fold into spaces."""
COLON: Final = 'A text that contains a colon and a space must be quoted: "like this: so".'
MOST_DEEP: Final = 20
"""Maximum nesting of lists and tables; a suite needs five levels."""
MOST_REPEATED: Final = 10_000
"""Maximum number of values that aliases may add."""

_TAG: Final = "tag:yaml.org,2002:"
_NULL: Final = f"{_TAG}null"
_TAGS: Final = {
    _TAG + name for name in ("map", "seq", "str", "null", "bool", "int", "float", "timestamp")
}


@dataclass(frozen=True)
class Marked:
    """Content of a file, with the line, counted from 1, on which each value begins.

    `lines` is empty if they are not known, as for TOML, and `name` if there is no file. `bare` are
    the places of scalars without quotes, which in YAML may be numbers, true or false. `sha256` is
    the digest of the file of settings that it was read from.
    """

    name: str = ""
    value: Plain = None
    lines: Mapping[Place, int] = field(default_factory=dict)
    bare: frozenset[Place] = frozenset()
    sha256: str = field(default="", compare=False)

    def where(self, place: Place) -> str:
        """Return the file, and the line of a place, which need not exist."""
        above = (place[:n] for n in range(len(place), -1, -1))
        line = next((self.lines[p] for p in above if p in self.lines), None)
        return self.name if line is None else f"{self.name}, line {line}"

    def named(self, place: Place) -> str:
        """Return file, line and key of a place, which need not exist."""
        keys = (f"[{key + 1}]" if isinstance(key, int) else f".{key}" for key in place)
        return ": ".join(filter(None, (self.where(place), "".join(keys).removeprefix("."))))

    def error(self, place: Place, message: str, hint: str | None = None) -> UsageError:
        """Return an error about a place, which need not exist."""
        return UsageError(": ".join(filter(None, (self.named(place), message))), hint)

    @contextmanager
    def at(self, place: Place) -> Iterator[None]:
        """Prefix the message of a `UsageError` raised inside with file and line of a place."""
        try:
            yield
        except UsageError as error:
            said = ": ".join(filter(None, (self.where(place), error.message)))
            raise type(error)(said, error.hint) from None


def as_texts(value: Any) -> Plain:
    """Convert values of TOML or Python to the form in which `read_marked` returns YAML."""
    if isinstance(value, Mapping):
        return {str(key): as_texts(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [as_texts(one) for one in value]
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


def bare_in(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the places of values of TOML that are no texts."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from bare_in(one, (*place, str(key)))
    elif isinstance(value, list):
        for n, one in enumerate(value):
            yield from bare_in(one, (*place, n))
    elif not isinstance(value, str):
        yield place


def text_of(path: Path) -> str:
    """Return the text of a user's file; raises `UsageError` if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None


class _Texts(yaml.SafeLoader):
    """Loader that keeps every scalar as text and refuses duplicate keys."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        own: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _wrong(key, "a key must be a text")
            if key.value in own:
                raise _wrong(key, f"{key.value} is given twice")
            own.add(key.value)
        self.flatten_mapping(node)
        # Merged keys come first, so that the table's own keys override them.
        node.value = list({key.value: (key, value) for key, value in node.value}.values())
        return node


class _Full(_Texts):
    """Loader that also resolves null and merge keys."""


_Texts.yaml_implicit_resolvers = {}
_Full.yaml_implicit_resolvers = {
    first: [(tag, words) for tag, words in known if tag in (_NULL, f"{_TAG}merge")]
    for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _wrong(node: yaml.Node, message: str) -> yaml.MarkedYAMLError:
    return ComposerError(None, None, message, node.start_mark)


def read_marked(text: str, name: str, *, full: bool = False) -> Marked:
    """Read YAML.

    Parameters
    ----------
    text : str
        One document; an empty one yields None.
    name : str
        Name of the file, for messages.
    full : bool
        Whether null, aliases and merge keys have their meaning in YAML; otherwise null is a text,
        and aliases are refused.

    Raises
    ------
    UsageError
        If it is not well-formed, has a duplicate key, or is nested too deeply.
    """
    there, back = _stand_ins(text)
    lines: dict[Place, int] = {(): 1}
    bare: set[Place] = set()
    seen: set[int] = set()

    def plain(node: yaml.Node, place: Place, line: int) -> Plain:
        if len(place) > MOST_DEEP:
            raise _wrong(node, f"nested more than {MOST_DEEP} levels deep")
        if len(lines) > len(text) + MOST_REPEATED:
            raise _wrong(node, "aliases repeat too much")
        if id(node) in seen and not full:
            raise _wrong(node, "a suite cannot use anchors and aliases")
        if node.tag not in _TAGS:
            raise _wrong(node, f"the tag {node.tag} is not known")
        lines[place] = line
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            return [plain(one, (*place, n), _line(one)) for n, one in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            keys = ((str(key.value).translate(back), _line(key), of) for key, of in node.value)
            return {key: plain(of, (*place, key), line) for key, line, of in keys}
        if isinstance(node, yaml.ScalarNode) and node.style is None:
            bare.add(place)
        return None if node.tag == _NULL else str(node.value).translate(back)

    try:
        root = yaml.compose(text.translate(there), _Full if full else _Texts)
        value = None if root is None else plain(root, (), _line(root))
        return Marked(name, value, lines, frozenset(bare))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f", line {mark.line + 1}" if mark else ""
        hint = COLON if "mapping values" in str(error.problem) else None
        raise UsageError(f"{name}{at}: {error.problem or error.context}.", hint) from None
    except (yaml.YAMLError, RecursionError) as error:
        said = " ".join(str(error).split())
        raise UsageError(f"{name} is not well-formed YAML: {said}.") from None


def _stand_ins(text: str) -> tuple[dict[int, str], dict[int, str]]:
    """Return the substitutes for `NO_LINE_ENDS` while YAML is parsed, and the inverse map."""
    free = (c for c in map(chr, range(0xE000, 0xF8FF)) if c not in text)
    there = {ord(letter): next(free) for letter in NO_LINE_ENDS if letter in text}
    return there, {ord(c): chr(letter) for letter, c in there.items()}


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1
