"""Which logged answer belongs to which item: by the suite's identifiers, else by texts.

An identifier counts only if the texts beside it, where there are some, are those of the item: logs
number their questions in ways of their own.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from pytest_bias.data.answer_logs import LoggedAnswer
from pytest_bias.models.answered import Query
from pytest_bias.records.report import Item

NO_ITEM: Final = "no such item"
OTHER_TEXTS: Final = "the item with this identifier has other texts"
SEVERAL: Final = "its texts fit several items"
_ANCHOR: Final = 6
"""Words at the end of a text by which it is looked for in a prompt."""
_WORDS: Final = re.compile(r"\w+")
_KEPT: Final = 50_000
"""Texts whose forms are kept: questions and options recur."""


@lru_cache(_KEPT)
def plain(text: str) -> str:
    """Return a text in one form of letters, without case, and with single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@lru_cache(_KEPT)
def words(text: str) -> str:
    """Return the words of a text alone; a text without words as it is, in one form of letters."""
    folded = plain(text)
    return " ".join(_WORDS.findall(folded)) or folded


class Unmatched(NamedTuple):
    """An answer that belongs to no item, and why."""

    answer: LoggedAnswer
    why: str


@dataclass(frozen=True)
class Matches:
    """Answers by the identifiers of items, and those that belong to none."""

    of: Mapping[str, Sequence[LoggedAnswer]]
    unmatched: Sequence[Unmatched]


class _About(NamedTuple):
    """What identifies an item: all `lines` of its question, or `any_of` the texts asked."""

    lines: tuple[str, ...]
    any_of: tuple[str, ...]
    options: frozenset[str]

    def place_in(self, prompt: str) -> tuple[int, int]:
        """Return where the item's texts end in a prompt of words, and how long they are.

        The end is -1 if they are not in it. Of two that end alike the longer one is meant: a
        context may begin as another one.
        """
        if self.lines:
            ends = [_end(line, prompt) for line in self.lines]
            return (-1 if min(ends) < 0 else max(ends)), sum(map(len, self.lines))
        return max(((_end(t, prompt), len(t)) for t in self.any_of), default=(-1, 0))


def _end(text: str, prompt: str) -> int:
    at = f" {prompt} ".rfind(f" {text} ")
    return -1 if at < 0 else at + len(text)


@dataclass
class Index:
    """The items of a suite, to be found by identifiers and texts."""

    items: Sequence[Item]
    asked: Mapping[str, Sequence[Query]]
    """What a measure asks about each item."""
    _taken: dict[tuple[int, ...], int] = field(default_factory=dict, init=False)

    @cached_property
    def _by_id(self) -> dict[str, int]:
        prefix = _prefix([item.id for item in self.items])
        cuts = [0, *(n + 1 for n, letter in enumerate(prefix) if letter == "/")]
        found: dict[str, int] = {}
        for number, item in enumerate(self.items):
            for name in (item.id[cut:] for cut in cuts):
                found.setdefault(_name(name), number)
        return found

    @cached_property
    def _about(self) -> list[_About]:
        return [_about(self.asked.get(item.id, ())) for item in self.items]

    @cached_property
    def _by_text(self) -> dict[str, list[int]]:
        return self._by(plain)

    @cached_property
    def _by_words(self) -> dict[str, list[int]]:
        return self._by(words)

    def _by(self, form: Callable[[str], str]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for number, item in enumerate(self.items):
            queries = self.asked.get(item.id, ())
            for key in dict.fromkeys(map(form, [*item.texts.values(), *_texts(queries)])):
                found[key].append(number)
        return dict(found)

    @cached_property
    def _anchors(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for number, about in enumerate(self._about):
            longest = (max(about.lines, key=len),) if about.lines else about.any_of
            for key in set(map(_anchor, longest)):
                found[key].append(number)
        return dict(found)

    @cached_property
    def _lengths(self) -> tuple[int, ...]:
        return tuple(sorted({key.count(" ") + 1 for key in self._anchors}))

    def match(self, answers: Iterable[LoggedAnswer]) -> Matches:
        """Return which answer belongs to which item."""
        of: dict[str, list[LoggedAnswer]] = defaultdict(list)
        left = []
        for answer in answers:
            found = self._find(answer)
            if isinstance(found, str):
                left.append(Unmatched(answer, found))
            else:
                of[self.items[found].id].append(answer)
        return Matches(of, left)

    def _find(self, answer: LoggedAnswer) -> int | str:
        """Return the number of an answer's item, or why it has none."""
        named = None if answer.item is None else self._by_id.get(_name(answer.item))
        if named is not None and (not answer.texts or self._fits(answer, named)):
            return named
        by_text = self._by_texts(answer)
        if len(by_text) == 1:
            return by_text[0]
        if by_text:
            return self._one_of(by_text)
        return NO_ITEM if named is None else OTHER_TEXTS

    def _fits(self, answer: LoggedAnswer, number: int) -> bool:
        """Whether one of an answer's texts is one of the item's, or has them in it."""
        own = {words(text) for text in self.items[number].texts.values()}
        own |= {words(t) for t in _texts(self.asked.get(self.items[number].id, ()))}
        about = self._about[number]
        return any((w := words(t)) in own or about.place_in(w)[0] >= 0 for t in answer.texts)

    def _by_texts(self, answer: LoggedAnswer) -> list[int]:
        """Return the items that an answer's texts are about, in their order."""
        found: set[int] | None = None
        for text in answer.texts:
            hits = self._by_text.get(plain(text)) or self._by_words.get(words(text))
            if hits:
                both = set(hits) if found is None else found & set(hits)
                found = both or found
        if not found:
            found = self._in_prompts(answer.texts)
        if len(found) > 1 and answer.options:
            shown = frozenset(map(words, answer.options))
            most = {n: len(self._about[n].options & shown) for n in found}
            found = {n for n in found if most[n] == max(most.values())}
        if len(found) > 1:
            # A part that all of them have, such as the question, is told apart by the whole prompt.
            found = self._in_prompts(answer.texts, found) or found
        return sorted(found)

    def _in_prompts(self, texts: Sequence[str], among: set[int] | None = None) -> set[int]:
        """Return the items whose texts end last in a prompt: earlier ones are its examples."""
        best, found = (-1, 0), set[int]()
        for text in texts:
            prompt = words(text)
            for number in among or set(self._anchored(prompt)):
                place = self._about[number].place_in(prompt)
                if place[0] >= 0 and place > best:
                    best, found = place, {number}
                elif place == best:
                    found.add(number)
        return found

    def _anchored(self, prompt: str) -> Iterator[int]:
        parts = prompt.split(" ")
        for length in self._lengths:
            for start in range(len(parts) - length + 1):
                yield from self._anchors.get(" ".join(parts[start : start + length]), ())

    def _one_of(self, found: Sequence[int]) -> int | str:
        """Return one of several items, in turn, if they ask the same in the same words."""

        def asks(number: int) -> list[Hashable]:
            queries = self.asked.get(self.items[number].id, ())
            return [(q.what, q.text, frozenset(q.options)) for q in queries]

        if any(asks(n) != asks(found[0]) for n in found[1:]):
            return SEVERAL
        key = tuple(found)
        turn = self._taken[key] = self._taken.get(key, -1) + 1
        return found[turn % len(found)]


def _name(text: str) -> str:
    """Return an identifier without the zeros before a number."""
    text = text.strip()
    return text.lstrip("0") or "0" if text.isdigit() else text


def _prefix(ids: Sequence[str]) -> str:
    """Return what all identifiers begin with, up to a slash."""
    if not ids:
        return ""
    low, high = min(ids), max(ids)
    n = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), len(low))
    return low[: low.rfind("/", 0, n) + 1]


def _about(queries: Sequence[Query]) -> _About:
    question = next((q for q in queries if q.what == "question"), None)
    if question is None:
        return _About((), tuple(words(q.text) for q in queries), frozenset())
    lines = tuple(words(line) for line in question.text.splitlines() if line.strip())
    return _About(lines, (), frozenset(map(words, question.options)))


def _texts(queries: Sequence[Query]) -> Iterator[str]:
    return (q.text for q in queries)


def _anchor(text: str) -> str:
    return " ".join(text.split(" ")[-_ANCHOR:])
