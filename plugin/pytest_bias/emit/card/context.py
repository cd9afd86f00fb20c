"""The intended context of a model, as its owner states it, and which suites are outside it."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_bias.emit.wording import capitalized, metric_words
from pytest_bias.records.report import Report, SuiteResult
from pytest_bias.settings.context import CONTEXT

_ALIKE: Final = {"country": "nationality", "ethnicity": "race", "politics": "political"}
"""Synonyms in scope cards."""

_TITLES: Final = {
    "version": "Version of the system",
    "responsible": "Responsible for the tests",
    "why": "Why these suites",
}
"""Titles of statements; the others are named after their keys."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who is responsible for the tests; untrusted, and not escaped."""

    name: str
    role: str


@dataclass(frozen=True, slots=True)
class Context:
    """Languages, groups and other statements of the owner; untrusted, and not escaped."""

    said: Mapping[str, str]
    languages: tuple[str, ...]
    groups: tuple[str, ...]
    known: frozenset[frozenset[str]] = frozenset()
    """Dimensions of all suites that could have been run, as words."""
    responsible: tuple[Person, ...] = ()
    why: Mapping[str, str] = field(default_factory=dict)
    """Suite to the reason why it was chosen; the reason for all of them has the key ``""``."""

    def reason(self, suite: SuiteResult) -> str:
        """Return why a suite was chosen; empty where that is not stated."""
        return self.why.get(suite.name) or self.why.get("", "")

    def outside(self, suite: SuiteResult) -> list[str]:
        """Return why a result is outside the context; empty where that is not known."""
        found = []
        if self.languages and suite.language and suite.kind != "quality":
            spoken = {_main(tag) for tag in self.languages}
            if _main(suite.language) not in spoken:
                found.append(f"outside this model's context: language {suite.language}")
        named = _dimensions(suite)
        wanted = [g for g in self.groups if _covers(self.known, g)]
        # A group whose name no suite knows may be covered by any of them.
        is_told = bool(wanted and named and len(wanted) == len(self.groups))
        if is_told and not any(_covers(named, group) for group in wanted):
            found.append("outside this model's context: other groups")
        return found

    def missed(self, suites: Sequence[SuiteResult]) -> Iterator[str]:
        """Yield the parts of the context that no suite here covers, as far as is known."""
        spoken = {_main(s.language) for s in suites if s.language}
        if left := [tag for tag in self.languages if _main(tag) not in spoken]:
            yield f"Languages without a suite here: {', '.join(left)}."
        covered = set[frozenset[str]]().union(*(_dimensions(s) for s in suites))
        known = [g for g in self.groups if _covers(self.known, g)]
        if left := [g for g in known if not _covers(covered, g)]:
            yield f"Groups without a suite here: {', '.join(left)}."


def context_of(report: Report, given: Mapping[str, Any] | None = None) -> Context:
    """Return the given context, else the one in a report, else an empty one."""
    told = report.run.get("context") if given is None else given
    told = told if isinstance(told, Mapping) else {}
    people, why = tuple(_people(told.get("responsible"))), _reasons(told.get("why"))
    said = {key: _texts(told.get(key)) for key in CONTEXT}
    said["responsible"] = tuple(f"{p.name} ({p.role})" if p.role else p.name for p in people)
    said["why"] = tuple(f"{name}: {text}" if name else text for name, text in why.items())
    words = {
        _TITLES.get(key) or capitalized(metric_words(key)): ("; " if key in _TITLES else ", ").join(
            said[key]
        )
        for key in CONTEXT
        if said[key]
    }
    there = set[frozenset[str]]().union(*(_dimensions(s) for s in report.suites))
    there |= _as_words(report.known.dimensions)
    return Context(words, said["languages"], said["groups"], frozenset(there), people, why)


def _texts(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list | tuple) else [] if value is None else [value]
    return tuple(text for v in values if (text := str(v).strip()))


def _people(value: Any) -> Iterator[Person]:
    for one in value if isinstance(value, list | tuple) else [value]:
        found = one if isinstance(one, Mapping) else {"name": one}
        name, role = (" ".join(_texts(found.get(key))) for key in ("name", "role"))
        if name:
            yield Person(name, role)


def _reasons(value: Any) -> dict[str, str]:
    found = value if isinstance(value, Mapping) else {"": value}
    return {str(key): said for key, one in found.items() if (said := " ".join(_texts(one)))}


def _main(tag: str) -> str:
    """Return the language of a tag without script and region: ``pt`` for ``pt-BR``."""
    return tag.lower().replace("_", "-").partition("-")[0]


def _words(group: str) -> frozenset[str]:
    return frozenset(_ALIKE.get(word, word) for word in re.findall(r"\w+", group.lower()))


def _covers(dimensions: Collection[frozenset[str]], group: str) -> bool:
    """Whether a dimension equals, is part of, or contains the group: religion and religion-jews."""
    wanted = _words(group)
    return bool(wanted) and any(wanted <= d or d <= wanted for d in dimensions)


def _dimensions(suite: SuiteResult) -> set[frozenset[str]]:
    """Return the dimensions in a suite's scope card, as words; none where it names none."""
    found = suite.about.scope.get("dimensions") if suite.about else None
    return _as_words(found) if isinstance(found, list | tuple) else set()


def _as_words(dimensions: Iterable[Any]) -> set[frozenset[str]]:
    words = {_words(str(d).replace("_", " ")) for d in dimensions}
    return {w for w in words if w and "none" not in w}
