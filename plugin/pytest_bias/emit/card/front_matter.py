"""Scores in the front matter of a README.md: ``model-index``, changed where it has to be.

The text is never written anew from what it says: PyYAML tells where each entry stands, and only our
entries are cut out and put in. So comments, anchors, quotes, the order of keys and the indentation
of everybody else stay. The outcome is read again and compared with what it should say.
"""

import copy
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import yaml

from pytest_bias.emit.card.results import Plan, outcome, plans
from pytest_bias.errors import UsageError

KEY: Final = "model-index"
EXAMPLE: Final = f"{KEY}: [{{name: ..., results: [...]}}]"
"""What the Hub reads, for messages."""

Edit: TypeAlias = tuple[int, int, str]
"""Characters from, to, and what takes their fate."""

_BREAK: Final = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")


def with_results(
    text: str,
    index: Sequence[Any],
    line_end: str,
    first_line: int = 1,
    *,
    keeps: bool = False,
) -> str:
    """Return front matter, without its lines of dashes, with our scores in it.

    Parameters
    ----------
    text : str
        The front matter.
    index : sequence
        Value of ``model-index`` with our results: one mapping with `name` and `results`, or none.
    line_end : str
        What ends the lines that are put in.
    first_line : int
        Line of the file that the front matter begins with, for messages.
    keeps : bool
        Whether results of ours stay that are of earlier reports alone.

    Raises
    ------
    UsageError
        If it is not YAML, no mapping, or cannot be changed without changing what is not ours.
    """
    front = _FrontMatter(f"{text}{line_end}" if text else "", line_end, first_line)
    name, ours = (str(index[0]["name"]), index[0]["results"]) if index else ("", ())
    changed = front.with_ours(name, ours, keeps=keeps)
    return changed.removesuffix(line_end)


class _Loader(yaml.SafeLoader):
    """Composes nodes whose marks say where they stand, also where an alias stands for them."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        node: Any = super().compose_node(parent, index)
        if not isinstance(event, yaml.AliasEvent):
            return node
        node = copy.copy(node)
        node.start_mark, node.end_mark = event.start_mark, event.end_mark
        if isinstance(node, yaml.CollectionNode):
            # As one in brackets, it ends where its mark says.
            node.flow_style = True
        return node


class _Dumper(yaml.SafeDumper):
    """Writes lists as lines, with their dashes below the key or indented."""

    indented = False

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless and not self.indented)


class _Indented(_Dumper):
    indented = True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # Other readers take more for a number than PyYAML does: a revision such as 12e4567.
    is_plain = re.match(r"[A-Za-z]", text)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, None if is_plain else "'")


_Dumper.add_representer(str, _text)


@dataclass(frozen=True)
class _FrontMatter:
    text: str
    line_end: str
    first_line: int

    def with_ours(self, name: str, ours: Sequence[Any], *, keeps: bool) -> str:
        root = self._root()
        data = self._loaded(self.text) or {}
        found = [pair for pair in root.value if pair[0].value == KEY] if root else []
        if len(found) > 1:
            lines = " and ".join(str(self._line(key)) for key, _ in found)
            raise UsageError(f"README.md has {KEY} twice, in lines {lines}.", "Leave one of them.")
        if not found and KEY in data:
            raise self._refusal("it comes from a merged mapping (<<)")
        column = root.value[0][0].start_mark.column if root and root.value else 0
        if not ours and (not found or _is_empty(found[0][1])):
            return self.text
        if not found:
            expected = [{"name": name, "results": list(ours)}]
            lines = self._list(expected, column)
            changed = f"{self.text}{' ' * column}{KEY}:{self.line_end}{lines}"
        elif _is_empty(found[0][1]):
            expected = [{"name": name, "results": list(ours)}]
            changed = _edited(self.text, self._filled(found[0][0], found[0][1], expected))
        else:
            key, value = found[0]
            entries = self._entries(value, data[KEY])
            names = [entry["name"] for entry in data[KEY]]
            last = names.index(name) if name in names else 0
            todo = plans(data[KEY], ours, last, keeps=keeps)
            if not any(plan.changes for plan in todo):
                return self.text
            if self._needs_lines(value, entries, todo):
                return self._in_lines(key, value).with_ours(name, ours, keeps=keeps)
            changed = _edited(self.text, list(self._edits(entries, todo, ours)))
            expected = [
                {**entry, "results": outcome(entry["results"] or [], plan, ours)}
                for entry, plan in zip(data[KEY], todo, strict=True)
            ]
        return self._checked(changed, {**data, KEY: expected})

    # What is there

    def _root(self) -> Any:
        try:
            root = _Loader(self.text).get_single_node()
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

    def _loaded(self, text: str) -> Any:
        try:
            return yaml.safe_load(text)
        except (yaml.YAMLError, ValueError) as error:
            raise self._not_yaml(error) from None

    def _entries(self, value: Any, plain: Any) -> list[tuple[Any, Any, Any]]:
        """Return node, key and value of the results of every entry."""
        if not isinstance(plain, list):
            raise UsageError(
                f"{KEY} in line {self._line(value)} of README.md is no list.", f"{EXAMPLE}"
            )
        found = []
        for node, entry in zip(value.value, plain, strict=True):
            keys = [p for p in node.value if p[0].value == "results"] if _is_map(node) else []
            results = entry.get("results") if isinstance(entry, dict) else None
            is_whole = len(keys) == 1 and entry.get("name") and isinstance(results, list | None)
            if not is_whole:
                raise UsageError(
                    f"the entry of {KEY} in line {self._line(node)} of README.md needs one name "
                    "and one list of results.",
                    f"{EXAMPLE}; the Hub reads nothing else.",
                )
            found.append((node, *keys[0]))
        return found

    # What changes

    def _needs_lines(self, value: Any, entries: Sequence[Any], todo: Sequence[Plan]) -> bool:
        """Whether a list or mapping that has to change is in brackets."""
        if value.flow_style:
            return True
        for (node, _, results), plan in zip(entries, todo, strict=True):
            if not plan.changes:
                continue
            if node.flow_style or (not _is_empty(results) and results.flow_style):
                return True
            for group, fate in zip(plan.fates and results.value, plan.fates, strict=True):
                if fate.cut and not fate.whole:
                    metrics = _metrics(group)
                    if group.flow_style or metrics is None or metrics.flow_style:
                        return True
        return False

    def _in_lines(self, key: Any, value: Any) -> "_FrontMatter":
        """Return the same with ``model-index`` in lines instead of brackets, if that is all."""
        start, last = value.start_mark.index, self._end(value)
        end = _after_line(self.text, last)
        bare = list(self.text[start:end])
        for token in yaml.scan(self.text):
            at, to = token.start_mark.index, token.end_mark.index
            if start <= at < end:
                if isinstance(token, yaml.AnchorToken | yaml.AliasToken | yaml.TagToken):
                    raise self._refusal("it has anchors, aliases or tags and is in brackets")
                if isinstance(token, yaml.ScalarToken):
                    bare[at - start : to - start] = " " * (to - at)
        if "#" in bare:
            raise self._refusal("it has comments and is in brackets")
        for node in _nodes(value):
            if isinstance(node, yaml.CollectionNode):
                node.flow_style = False
        lines = yaml.serialize(value, Dumper=_Dumper, allow_unicode=True, width=float("inf"))
        column = key.start_mark.column
        block = self.line_end.join(" " * column + line for line in lines.rstrip("\n").split("\n"))
        text = self.text[:start].rstrip() + self.line_end + block + self.text[last:]
        changed = _FrontMatter(text, self.line_end, self.first_line)
        self._checked(text, self._loaded(self.text))
        return changed

    def _edits(
        self, entries: Sequence[Any], todo: Sequence[Plan], ours: Sequence[Any]
    ) -> Iterator[Edit]:
        for (_, key, results), plan in zip(entries, todo, strict=True):
            if _is_empty(results):
                if plan.more:
                    groups = [ours[i] for i in plan.more]
                    yield from self._filled(key, results, groups)
                continue
            if all(f.whole and not f.ours for f in plan.fates) and not plan.more:
                # A list without items is written in brackets.
                colon = self.text.index(":", key.end_mark.index)
                yield colon + 1, self._end(results), " []"
                continue
            column = results.start_mark.column
            indented = column > key.start_mark.column
            for group, fate in zip(results.value, plan.fates, strict=True):
                new = [ours[i] for i in fate.ours]
                after = _after_line(self.text, self._end(group))
                if fate.whole and new:
                    inner = group.start_mark.column
                    text = self._list(new[:1], inner - 2, indented)[inner:]
                    if new[1:]:
                        yield after, after, self._list(new[1:], column, indented)
                    yield group.start_mark.index, self._end(group), text.removesuffix(self.line_end)
                elif fate.whole:
                    yield self._cut(group)
                elif fate.cut:
                    metrics = _metrics(group).value
                    yield from (self._cut(metrics[m]) for m in sorted(fate.cut))
                    if new:
                        yield after, after, self._list(new, column, indented)
            if plan.more:
                after = _after_line(self.text, self._end(results))
                yield after, after, self._list([ours[i] for i in plan.more], column, indented)

    def _filled(self, key: Any, value: Any, entries: Sequence[Any]) -> list[Edit]:
        """Put entries in the place of an empty list or of nothing."""
        start, end = value.start_mark.index, value.end_mark.index
        after = _after_line(self.text, max(end, key.end_mark.index))
        lines = self._list(entries, key.start_mark.column)
        return [(_start_of_blank(self.text, start), end, ""), (after, after, lines)]

    def _cut(self, node: Any) -> Edit:
        """Take an item of a list out, with its dash, to the end of its last line."""
        start = node.start_mark.index
        dash = re.search(r"(?:^|(?<=[\r\n]))[ ]*-[ \t]+$", self.text[:start])
        if dash is None:
            raise self._refusal(f"the entry in line {self._line(node)} shares its line")
        return dash.start(), _after_line(self.text, self._end(node)), ""

    def _list(self, entries: Sequence[Any], column: int, indented: bool = False) -> str:
        """Return entries as items of a list whose dashes stand in a column."""
        lines = yaml.dump(
            list(entries),
            Dumper=_Indented if indented else _Dumper,
            sort_keys=False,
            allow_unicode=True,
            width=float("inf"),
            default_flow_style=False,
        )
        return "".join(
            f"{' ' * column}{line}{self.line_end}" for line in lines.rstrip("\n").split("\n")
        )

    def _checked(self, text: str, expected: Any) -> str:
        try:
            found = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError) as error:
            raise self._refusal(str(getattr(error, "problem", error))) from None
        if not _same(found, expected):
            raise self._refusal("other keys would change with it")
        return text

    def _end(self, node: Any) -> int:
        """Return where the last character of a node stands, without what follows it."""
        if isinstance(node, yaml.CollectionNode) and not node.flow_style:
            last = node.value[-1]
            return self._end(last[1] if isinstance(last, tuple) else last)
        end = int(node.end_mark.index)
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
            return len(self.text[:end].rstrip())
        return end

    # What is said

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


def _metrics(group: Any) -> Any:
    return next((value for key, value in group.value if key.value == "metrics"), None)


def _is_map(node: Any) -> bool:
    return isinstance(node, yaml.MappingNode)


def _is_empty(node: Any) -> bool:
    if isinstance(node, yaml.ScalarNode):
        return bool(node.tag == "tag:yaml.org,2002:null")
    return isinstance(node, yaml.SequenceNode) and not node.value


def _nodes(node: Any) -> Iterator[Any]:
    yield node
    if isinstance(node, yaml.CollectionNode):
        for part in node.value:
            for inner in part if isinstance(part, tuple) else (part,):
                yield from _nodes(inner)


def _after_line(text: str, index: int) -> int:
    found = _BREAK.search(text, index)
    return found.end() if found else len(text)


def _start_of_blank(text: str, index: int) -> int:
    return len(text[:index].rstrip(" \t"))


def _edited(text: str, edits: Sequence[Edit]) -> str:
    found, at = "", 0
    for start, end, new in sorted(edits, key=lambda e: e[:2]):
        found += text[at:start] + new
        at = end
    return found + text[at:]


def _same(one: Any, other: Any) -> bool:
    # By what is written, since NaN, which others may have, equals nothing.
    return repr(one) == repr(other)
