"""The suites that a run or a report can use: installed ones, and those of user files."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Final

from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.suites.suite import SOCIAL, Configuration, Entry, Suite
from pytest_bias.suites.user_texts import none_named

ENTRY_POINTS: Final = "pytest_bias.suites"


@cache
def installed() -> tuple[Suite, ...]:
    """Return every installed suite, built-in ones first.

    Raises
    ------
    UsageError
        If a package's entry point cannot be loaded, or two packages define the same name.
    """
    found: dict[str, Suite] = {}
    points = entry_points(group=ENTRY_POINTS)
    for point in sorted(points, key=lambda p: (not p.value.startswith("bias_suites"), p.name)):
        try:
            suites: tuple[Suite, ...] = tuple(point.load())
            if not all(isinstance(s, Suite) for s in suites):
                raise TypeError("it must be a tuple of Suite")
        except Exception as error:
            raise UsageError(
                f"the suites of {point.value!r} cannot be loaded: {error!r}.",
                "Uninstall or update the package that brings them.",
            ) from error
        for suite in suites:
            if suite.name in found:
                raise UsageError(f"two installed packages bring a suite named {suite.name!r}.")
            found[suite.name] = suite
    return tuple(found.values())


@dataclass(frozen=True)
class Catalogue:
    """Suites by name: the installed ones, then those defined in user files.

    It is created once, at the start of a command, and passed to every function that needs a suite.
    Catalogues are independent of one another.

    Parameters
    ----------
    from_files : tuple of Suite
        Suites that are data (`suites.files`), with distinct names.
    """

    from_files: tuple[Suite, ...] = ()

    @property
    def suites(self) -> tuple[Suite, ...]:
        """All suites, installed ones first."""
        return (*installed(), *self.from_files)

    def with_suite(self, suite: Suite, file: str) -> "Catalogue":
        """Return a catalogue with the suite of a file, which replaces one with the same name.

        Raises
        ------
        UsageError
            If an installed suite has the same name.
        """
        if any(s.name == suite.name for s in installed()):
            message = f"{file}: a suite named {suite.name} is installed."
            raise UsageError(message, "suite: another_name")
        others = (s for s in self.from_files if s.name != suite.name)
        return Catalogue((*others, suite))

    def find(self, name: str) -> Suite:
        """Return a suite by name, or raise `UnknownName`."""
        if found := next((s for s in self.suites if s.name == name), None):
            return found
        raise UnknownName.among(
            "suite",
            name,
            [s.name for s in self.suites],
            "pytest-bias suites lists them; --suite FILE names a file of your own.",
        )

    def get(self, name: str) -> Suite | None:
        """Return a suite by name, or None."""
        return next((s for s in self.suites if s.name == name), None)

    def select(
        self,
        requested: Sequence[str],
        languages: Sequence[str],
        own_texts: Collection[str] = (),
        *,
        chat: bool = False,
    ) -> list[Entry]:
        """Turn the values of ``--suite`` into entries, each once, structure first.

        A value is a suite's name, a name with a configuration in brackets, or a tag after ``@``;
        none means every installed suite. Languages select among the configurations unless one is
        named; `own_texts` are the suites for which the settings name the user's own texts; `chat`
        says whether the model answers chat turns.
        """
        entries: dict[str, Entry] = {}

        def running(suite: Suite) -> list[Configuration]:
            return self._in(suite, languages, own_texts, chat=chat)

        for word in requested or [s.name for s in installed()]:
            found = self._entries(word, languages, own_texts, running, by_name=bool(requested))
            for entry in found:
                if entry.id not in entries or entry.named:
                    entries[entry.id] = entry
        order = {s.name: i for i, s in enumerate(self.suites)}
        return sorted(entries.values(), key=lambda e: (order[e.suite.name], not e.named))

    def social_entries(self, languages: Sequence[str], *, chat: bool = False) -> list[Entry]:
        """Return the entries in these languages that count for the badge Social Bias Evaluated."""
        return [
            e
            for e in self.select((), languages, chat=chat)
            if SOCIAL in e.suite.tags and e.configuration.control_of is None
        ]

    def every_entry(self, requested: Sequence[str], languages: Sequence[str]) -> list[Entry]:
        """Turn the values of ``--suite`` into all entries that they may refer to, each once.

        Unlike `select`, which gives what a run measures, this has every configuration of a suite:
        also those that run only when they are named, and all languages unless some are given.
        `named` are the configurations that were named, and the default ones of a named suite.
        """
        entries: dict[str, Entry] = {}
        for word in requested or [s.name for s in installed()]:
            name, bracket, configuration = word.partition("[")
            suites = self._tagged(word) if word.startswith("@") else [self.find(name)]
            chosen = configuration.rstrip("]")
            found = [
                Entry(
                    s, c, named=bool(bracket) or (word == s.name in requested and c in _defaults(s))
                )
                for s in suites
                for c in ([s.configuration(chosen)] if bracket else s.configurations)
                if bracket or not languages or c.language in languages
            ]
            if requested and not found and len(suites) == 1:
                raise _nothing_in(suites[0], languages)
            for entry in found:
                if entry.id not in entries or entry.named:
                    entries[entry.id] = entry
        if not entries:
            known = ", ".join(supported_languages(installed()))
            raise UsageError(f"no suite is in {', '.join(languages)}.", f"Known: {known}.")
        return list(entries.values())

    def _tagged(self, word: str) -> list[Suite]:
        tags = sorted({f"@{t}" for s in self.suites for t in s.tags})
        if word not in tags:
            raise UnknownName.among("tag", word, tags, "pytest-bias suites lists them.")
        return [s for s in self.suites if word[1:] in s.tags]

    def _entries(
        self,
        word: str,
        languages: Sequence[str],
        own_texts: Collection[str],
        running: Callable[[Suite], list[Configuration]],
        *,
        by_name: bool,
    ) -> list[Entry]:
        if word.startswith("@"):
            return [Entry(s, c, named=c.own_texts) for s in self._tagged(word) for c in running(s)]
        name, bracket, configuration = word.partition("[")
        suite = self.find(name)
        if bracket:
            chosen = [suite.configuration(configuration.rstrip("]"))]
            if chosen[0].own_texts and name not in own_texts:
                raise none_named(name)
            return [Entry(suite, chosen[0], named=True)]
        chosen = running(suite)
        if by_name and not chosen:
            raise _nothing_in(suite, languages)
        return [Entry(suite, c, named=c.own_texts or (by_name and c == chosen[0])) for c in chosen]

    def _in(
        self, suite: Suite, languages: Sequence[str], own_texts: Collection[str], *, chat: bool
    ) -> list[Configuration]:
        """Return the configurations that run in these languages without being named."""
        if suite.kind == "structure" or suite.name in {s.name for s in self.from_files}:
            return list(suite.configurations)
        found = [
            c
            for c in suite.configurations
            if (suite.name in own_texts if c.own_texts else c.language in languages)
        ]
        by_chat = {c.language for c in found if c.chat} if chat else set()
        return [
            c for c in found if not (c.draft or c.only_named) and c.chat == (c.language in by_chat)
        ]


INSTALLED: Final = Catalogue()
"""The installed suites, without any of a file."""


def _defaults(suite: Suite) -> list[Configuration]:
    """Return the first configuration of each language."""
    return list({c.language: c for c in reversed(suite.configurations)}.values())


def _nothing_in(suite: Suite, languages: Sequence[str]) -> UsageError:
    asked = ", ".join(languages)
    drafts = [c for c in suite.configurations if c.draft and c.language in languages]
    if drafts:
        return UsageError(
            f"{suite.name} in {asked} is a draft that no native reader has reviewed; it runs only "
            "when it is named, and earns no badge.",
            f"--suite '{suite.name}[{drafts[0].name}]'",
        )
    known = supported_languages([suite])
    if not known:
        return none_named(suite.name)
    return UsageError(
        f"{suite.name} has nothing in {asked}; it is in {', '.join(known)}.",
        f"--language {known[0]}",
    )


def supported_languages(suites: Sequence[Suite]) -> list[str]:
    """Return the languages with at least one reviewed configuration, sorted."""
    configurations = [c for s in suites for c in s.configurations]
    return sorted({c.language for c in configurations if not (c.draft or c.own_texts)})
