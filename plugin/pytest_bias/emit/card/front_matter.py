"""Scores in the front matter of a README.md: edits only the block ``model-index``.

PyYAML gives the position of the block. Only the block is replaced, so that every other byte stays.
Entries of others are written from their YAML nodes and not from their values, so that a number such
as ``1e-5`` reads the same for every other YAML parser. The result is parsed again and compared with
the expected content.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml
from yaml.representer import SafeRepresenter

from pytest_bias.emit.card.results import Ours, Theirs, outcomes
from pytest_bias.errors import UsageError

KEY: Final = "model-index"
EXAMPLE: Final = f"{KEY}: [{{name: ..., results: [...]}}]"
"""Key that the Hub reads, for messages."""

_LINE: Final = re.compile(r"[^\r\n\x85\u2028\u2029]*(?:\r\n|[\n\r\x85\u2028\u2029]|$)")


def with_results(
    text: str,
    index: Sequence[Any],
    line_end: str,
    first_line: int = 1,
    *,
    keeps: bool = False,
) -> str:
    """Return front matter, without its delimiters, with our scores in it.

    Parameters
    ----------
    text : str
        The front matter.
    index : sequence
        Value of ``model-index`` with our results: one mapping with `name` and `results`, or none.
    line_end : str
        Line end of the inserted lines.
    first_line : int
        Line of the file on which the front matter begins, for messages.
    keeps : bool
        Whether our results from earlier reports only are kept.

    Raises
    ------
    UsageError
        If it is not YAML, is not a mapping, or cannot be changed without changing other content.
    """
    front = _FrontMatter(f"{text}{line_end}" if text else "", line_end, first_line)
    name, ours = (str(index[0]["name"]), index[0]["results"]) if index else ("", ())
    changed = front.with_ours(name, ours, keeps=keeps)
    return changed.removesuffix(line_end)


class _Representer(SafeRepresenter):
    """Converts our results to YAML nodes."""


def _text(representer: SafeRepresenter, text: str) -> yaml.ScalarNode:
    # Other parsers read more texts as numbers than PyYAML does, such as the revision 12e4567.
    is_plain = re.match(r"[A-Za-z]", text)
    return representer.represent_scalar("tag:yaml.org,2002:str", text, None if is_plain else "'")


_Representer.add_representer(str, _text)


class _Dumper(yaml.SafeDumper):
    ANCHOR_TEMPLATE = f"{KEY}-%d"

    def choose_scalar_style(self) -> str:
        style: str = super().choose_scalar_style()
        # Empty lines below the block would become part of a literal text at its end.
        return '"' if style in ("|", ">") else style


@dataclass(frozen=True)
class _FrontMatter:
    text: str
    line_end: str
    first_line: int

    def with_ours(self, name: str, ours: Sequence[Any], *, keeps: bool) -> str:
        root, data = self._root(), self._loaded()
        pairs = root.value if root else []
        found = [i for i, (key, _) in enumerate(pairs) if key.value == KEY]
        if len(found) > 1:
            lines = " and ".join(str(self._line(pairs[i][0])) for i in found)
            raise UsageError(f"README.md has {KEY} twice, in lines {lines}.", "Leave one of them.")
        if not found and KEY in data:
            raise self._refusal("it comes from a merged mapping (<<)")
        if found and not _is_empty(pairs[found[0]][1]):
            block = self._merged(pairs[found[0]][1], data[KEY], name, ours, keeps=keeps)
        else:
            block = _nodes([{"name": name, "results": list(ours)}]) if ours else None
        if block is None:
            return self.text
        lines = self._written(block, pairs[0][0].start_mark.column if pairs else 0, bool(found))
        changed = self._replaced(2 * found[0] + 1, lines) if found else self.text + lines
        return self._checked(changed, {**data, KEY: _values(block)})

    # Existing content

    def _root(self) -> Any:
        try:
            root = yaml.compose(self.text, yaml.SafeLoader)
        except yaml.YAMLError as error:
            raise self._not_yaml(error) from None
        if root is None:
            return None
        if not isinstance(root, yaml.MappingNode):
            raise UsageError(
                f"the front matter of README.md, from line {self.first_line}, is no mapping.",
                "Write it as key: value, or begin the text with something else than ---.",
            )
        if root.flow_style and root.value:
            raise self._refusal("the front matter is written in braces")
        return root

    def _loaded(self) -> Any:
        try:
            return yaml.safe_load(self.text) or {}
        except (yaml.YAMLError, ValueError) as error:
            raise self._not_yaml(error) from None

    def _merged(
        self, value: Any, entries: Any, name: str, ours: Sequence[Any], *, keeps: bool
    ) -> yaml.Node | None:
        """Return the list of entries with our results; None if nothing changes."""
        results = self._results(value, entries)
        names = [entry["name"] for entry in entries]
        last = names.index(name) if name in names else 0
        todo = outcomes(entries, ours, last, keeps=keeps)
        if todo == [[Theirs(i) for i in range(len(there))] for there in results]:
            return None
        new = _nodes(ours).value
        changed = []
        for node, there, parts in zip(value.value, results, todo, strict=True):
            kept = (
                new[p.at] if isinstance(p, Ours) else _without(there[p.at], p.metrics)
                for p in parts
            )
            changed.append(_with(node, "results", kept))
        return _list(changed)

    def _results(self, value: Any, entries: Any) -> list[list[Any]]:
        """Return the nodes of the results of every entry."""
        if not isinstance(entries, list):
            raise UsageError(
                f"{KEY} in line {self._line(value)} of README.md is no list.", f"{EXAMPLE}"
            )
        found = []
        for node, entry in zip(value.value, entries, strict=True):
            is_map = isinstance(node, yaml.MappingNode)
            lists = [v for k, v in node.value if k.value == "results"] if is_map else []
            results = entry.get("results") if isinstance(entry, dict) else None
            if len(lists) != 1 or not entry.get("name") or not isinstance(results, list | None):
                raise UsageError(
                    f"the entry of {KEY} in line {self._line(node)} of README.md needs one name "
                    "and one list of results.",
                    f"{EXAMPLE}; the Hub reads nothing else.",
                )
            found.append(list(lists[0].value) if results else [])
        return found

    # Changes

    def _written(self, block: yaml.Node, column: int, is_there: bool) -> str:
        """Return the block as lines with dashes in the given column, below its key if it is new."""
        text = yaml.serialize(block, Dumper=_Dumper, allow_unicode=True, width=float("inf"))
        lines = [*([] if is_there else [f"{KEY}:"]), *text.rstrip("\n").split("\n")]
        return "".join(f"{' ' * column}{line}{self.line_end}" for line in lines)

    def _replaced(self, place: int, lines: str) -> str:
        """Replace one value of the mapping by lines; `place` counts keys and values from 0."""
        start, end, is_block = _span(self.text, place)
        rest = _LINE.match(self.text, end)
        assert rest is not None
        # A comment after a list in brackets, or after null, belongs to the key.
        comment = "" if is_block else rest[0].rstrip()
        before, after = self.text[:start].rstrip(), self.text[rest.end() :]
        return f"{before}{comment}{self.line_end}{lines}{after}"

    def _checked(self, text: str, expected: Any) -> str:
        try:
            found = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError) as error:
            raise self._refusal(str(getattr(error, "problem", error))) from None
        # Compared as text, since NaN, which others may have, is not equal to itself.
        if repr(found) != repr(expected):
            raise self._refusal("other keys would change with it")
        return text

    # Messages

    def _line(self, node: Any) -> int:
        return int(node.start_mark.line) + self.first_line

    def _not_yaml(self, error: Exception) -> UsageError:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + self.first_line}" if mark else f"from line {self.first_line}"
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        return UsageError(
            f"the front matter of README.md is not well-formed YAML, {where}: {problem}.",
            "The Hub's client does not read it either; correct it first.",
        )

    def _refusal(self, why: str) -> UsageError:
        return UsageError(
            f"{KEY} in the front matter of README.md cannot be changed and all else left as it is: "
            f"{why}.",
            f"Write {KEY} in plain lines, one entry below the other, at the end of the metadata.",
        )


_EVENTS: Final = (yaml.NodeEvent, yaml.CollectionStartEvent, yaml.CollectionEndEvent)


def _span(text: str, place: int) -> tuple[int, int, bool]:
    """Return where a child node of the root begins and ends, and whether it is in block style.

    Found by events, since an aliased node has the marks of its anchor, and the marks of lists in
    block style extend to the next token.
    """
    depth, at, start, end, is_block = 0, -1, 0, 0, False
    event: Any
    for event in yaml.parse(text, yaml.SafeLoader):
        first, last = event.start_mark.index, event.end_mark.index
        is_node, opens, closes = (isinstance(event, kind) for kind in _EVENTS)
        if is_node and depth == 1:
            at += 1
            if at == place:
                start, is_block = first, opens and not event.flow_style
        depth += opens - closes
        if at == place and (is_node or (closes and first < last)):
            is_literal = getattr(event, "style", None) in ("|", ">")
            end = len(text[:last].rstrip()) if is_literal else last
    return start, end, is_block


def _is_empty(node: Any) -> bool:
    if isinstance(node, yaml.ScalarNode):
        return bool(node.tag == "tag:yaml.org,2002:null")
    return isinstance(node, yaml.SequenceNode) and not node.value


def _nodes(values: Sequence[Any]) -> Any:
    return _Representer(default_flow_style=False, sort_keys=False).represent_data(list(values))


def _values(node: yaml.Node) -> Any:
    return yaml.SafeLoader("").construct_document(node)


def _list(nodes: Iterable[yaml.Node]) -> yaml.SequenceNode:
    return yaml.SequenceNode("tag:yaml.org,2002:seq", list(nodes), flow_style=False)


def _with(node: Any, name: str, nodes: Iterable[yaml.Node]) -> yaml.MappingNode:
    """Return a mapping in block style with another list as the value of one key."""
    new = _list(nodes)
    pairs = [(key, new if key.value == name else value) for key, value in node.value]
    return yaml.MappingNode(node.tag, pairs, flow_style=False)


def _without(result: Any, metrics: frozenset[int]) -> Any:
    """Return a result without some of its metrics."""
    if not metrics:
        return result
    # Metrics may come from a merged mapping (<<).
    yaml.SafeLoader("").flatten_mapping(result)
    (*_, there) = (value.value for key, value in result.value if key.value == "metrics")
    return _with(result, "metrics", (m for i, m in enumerate(there) if i not in metrics))
