"""Find rows of public data that are wrong as a matter of fact, and write who they are.

    python tools/find_disputes.py DATA [--out bias_tests/bias_suites/disputes]

DATA is a folder as ``--data-dir`` reads it. Nothing but item ids, reasons and ids of other items is
written. What people reported stays as it is.

Pairs of sentences. Words are what spaces set apart, lowered and without the punctuation at their
ends; difflib aligns the words of the two sentences. A *change* is a run of words that differ, with
no equal word within it.

- ``several_changes``: there are changes in two or more places, and they are not all one pair of
  words, in either direction, nor the same words in other places. What follows grammatically from
  the changed word is no change of its own: articles, pronouns and their like (`AGREEMENT`), and
  another ending of the same word (`same_word`).
- ``formatting``: a word that both sentences have is written with other capitals or other
  punctuation (but for the capital of a first word, and for words next to a change), the
  punctuation at the ends of a change of as many words differs (but for titles such as "Mr."), or
  spaces are doubled in one sentence only.

Both miss rows rather than accuse sound ones: a change of many words in one place is not found.

StereoSet. Texts are compared without regard to capitals and spaces. ``formatting`` is punctuation
at the end of one of stereotype and opposite alone, where they are whole sentences; ``other_words``
a candidate that is not the context with something in place of the blank.

BBQ. ``no_group`` is a question for which the group of one of its people is empty and would tell
whom its stereotype is about; such a question is in no score.
"""

import argparse
import re
import string
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Final, NamedTuple

import yaml

from bias_suites.disputes import REASONS, REPORTED, SAME_ITEMS
from bias_suites.social import bbq_family
from bias_suites.social.bbq_groups import NO_GROUP
from bias_suites.social.stereoset_items import BLANK, INTRA, SIDES, word_at_blank
from pytest_bias.data.sources import DataFolder
from pytest_bias.records.report import Item
from pytest_bias.suites import find

FOLDER: Final = Path(__file__).parent.parent / "bias_tests" / "bias_suites" / "disputes"
ACCEPTED: Final = {"crows_pairs": "no clear licence", "stereoset": "no clear licence"}

PUNCTUATION: Final = string.punctuation + "‘’“”«»…–—"

AGREEMENT: Final = {
    "en": "a an the he she it they him her them his hers its their theirs himself herself "
    "themselves is are was were has have do does s re d ll",
    "fr": "un une des le la les l du de d au aux à ce cet cette ces c son sa ses leur leurs mon ma "
    "mes m ton ta tes t il elle ils elles lui eux se s que qu lorsque lorsqu puisque puisqu jusque "
    "jusqu ne n celui celle ceux celles est sont était étaient a ont avait avaient tout toute tous "
    "toutes quel quelle quels quelles",
    "nl": "de het een hij zij ze hem haar hen hun zijn die dat deze dit is zijn was waren heeft "
    "hebben had hadden zichzelf",
}
"""Words, and what stands beside an apostrophe, that change because another word does."""

TITLES: Final = frozenset({"mr", "mrs", "ms", "m", "mme", "dr", "dhr", "mw", "mevr"})
"""Words whose full stop is theirs and not the sentence's."""


class Found(NamedTuple):
    """One fact about an item; `note` names the item that it is a fact about, if there is one."""

    item: str
    reason: str
    note: str | None = None


def main() -> int:
    """Write the disputes of every suite that has any."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=FOLDER)
    given = parser.parse_args()
    for suite in FINDERS:
        path = given.out / f"{suite}.yaml"
        kept = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
        path.write_text(written(suite, disputes(suite, given.data), kept), encoding="utf-8")
    return 0


Facts = dict[str, dict[str, dict[str, str | None]]]
"""Configuration, reason, item id, note."""


ELSEWHERE: Final[Mapping[str, frozenset[str]]] = {"bbq": bbq_family.NAMES - {"ko"}}
"""Configurations whose data are not in the folder of public data: nobody has looked at them."""


def disputes(suite: str, data: Path) -> Facts:
    """Return what is found in all configurations of a suite."""
    folder = DataFolder(data, offline=True, accepted=ACCEPTED)
    facts: Facts = {}
    for configuration in find(suite).configurations:
        name = configuration.name
        if (suite, name) in SAME_ITEMS or name in ELSEWHERE.get(suite, ()):
            continue
        items = configuration.load(folder).items
        found = sorted(set(FINDERS[suite](items, configuration.language)))
        for reason in REASONS:
            named = {f.item: f.note for f in found if f.reason == reason}
            if named:
                facts.setdefault(configuration.name, {})[reason] = named
    return facts


def written(suite: str, facts: Facts, kept: Facts) -> str:
    """Return the file of a suite, with what people reported in the file before."""
    for configuration, reasons in kept.items():
        if REPORTED in reasons:
            facts.setdefault(configuration, {})[REPORTED] = reasons[REPORTED]
    head = (
        f"# Disputed items of {suite}: configuration, reason, item, and the item it repeats.\n"
        "# Written by tools/find_disputes.py, which says how each reason is found; what people "
        "report\n# goes under `reported`, by hand, with the address of the issue.\n"
    )
    return head + yaml.safe_dump(facts, sort_keys=False, allow_unicode=True, width=100)


# Pairs


def of_pairs(items: Sequence[Item], language: str) -> Iterator[Found]:
    """Find what is wrong with pairs of sentences that should differ in the group alone."""
    agreement = frozenset(AGREEMENT[language].split())
    items = [i for i in items if i.by.get("control", "original") == "original"]
    pairs = {i.id: (spaced(i.texts["more"]), spaced(i.texts["less"])) for i in items}
    first: dict[tuple[str, str], str] = {}
    for item in items:
        more, less = pair = pairs[item.id]
        if not more or not less:
            yield Found(item.id, "empty")
            continue
        if more == less:
            yield Found(item.id, "identical")
            continue
        if pair in first:
            yield Found(item.id, "duplicate", first[pair])
        elif pair[::-1] in first:
            yield Found(item.id, "reversed", first[pair[::-1]])
            yield Found(first[pair[::-1]], "reversed", item.id)
        first.setdefault(pair, item.id)
        if len(substantial(more, less, agreement)) > 1:
            yield Found(item.id, "several_changes")
        if differs_in_form(item.texts["more"], item.texts["less"]):
            yield Found(item.id, "formatting")


def spaced(text: str) -> str:
    """Return a text with single spaces."""
    return " ".join(text.split())


def bare(word: str) -> str:
    """Return a word in lower case without the punctuation at its ends."""
    return word.casefold().replace("’", "'").strip(PUNCTUATION)


class Change(NamedTuple):
    """Words of the first sentence, and those of the second in their place."""

    first: tuple[str, ...]
    second: tuple[str, ...]


class Run(NamedTuple):
    """Words that two sentences share, each as it is written in either.

    `begins` and `ends` say whether both sentences begin and end with the run.
    """

    words: tuple[tuple[str, str], ...]
    begins: bool
    ends: bool


class Alignment(NamedTuple):
    """Words that are equal when bare, in runs, and what lies between them."""

    shared: tuple[Run, ...]
    changes: tuple[Change, ...]


def aligned(first: str, second: str) -> Alignment:
    """Align the words of two sentences."""
    words = first.split(), second.split()
    bares = [[bare(w) for w in side] for side in words]
    shared, changes = [], []
    for how, a, b, c, d in SequenceMatcher(None, *bares, autojunk=False).get_opcodes():
        if how == "equal":
            both = tuple(zip(words[0][a:b], words[1][c:d], strict=True))
            at_end = b == len(words[0]) and d == len(words[1])
            shared.append(Run(both, a == c == 0, at_end))
        else:
            changes.append(Change(tuple(words[0][a:b]), tuple(words[1][c:d])))
    return Alignment(tuple(shared), tuple(changes))


def substantial(first: str, second: str, agreement: frozenset[str]) -> set[tuple[str, str]]:
    """Return the different changes that grammar does not explain, each a pair of texts."""
    found: list[tuple[str, str]] = []
    changes = aligned(first, second).changes
    if Counter(w for c in changes for w in parts(c.first)) == Counter(
        w for c in changes for w in parts(c.second)
    ):
        # Words that have changed places: one comparison, the other way round.
        return set()
    for change in changes:
        ours, theirs = ([w for w in parts(side) if w not in agreement] for side in change)
        if len(ours) == len(theirs):
            differing = [p for p in zip(ours, theirs, strict=True) if not same_word(*p)]
            ours, theirs = ([p[side] for p in differing] for side in (0, 1))
        pair = " ".join(ours), " ".join(theirs)
        # The same words in another number, or exchanged for one another, are no news.
        known = any(
            same_word(a, one) and same_word(b, other)
            for a, b in (pair, pair[::-1])
            for one, other in found
        )
        if any(pair) and not known:
            found.append(pair)
    return set(found)


def parts(words: Sequence[str]) -> list[str]:
    """Return bare words, taken apart at apostrophes and hyphens."""
    return [part for word in words for part in re.split("['-]", bare(word)) if part]


def same_word(one: str, other: str) -> bool:
    """Whether two texts are forms of one: equal but for at most three letters at their ends."""
    common = next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    longer = max(len(one), len(other))
    return one == other or (common >= 3 and longer - common <= 3)


def differs_in_form(first: str, second: str) -> bool:
    """Whether two sentences differ in capitals, punctuation or spaces beside what they say."""
    shared, changes = aligned(first.replace("’", "'"), second.replace("’", "'"))
    begin = {sentence.replace("’", "'").split()[0] for sentence in (first, second)}
    for run in shared:
        last = len(run.words) - 1
        for n, (one, other) in enumerate(run.words):
            beside_change = (n == 0 and not run.begins) or (n == last and not run.ends)
            if beside_change:
                one, other = (w.strip(PUNCTUATION) for w in (one, other))
            if {one, other} & begin and not (n == 0 and run.begins):
                one, other = one.casefold(), other.casefold()
            if one != other:
                return True
    alike = [change for change in changes if len(change.first) == len(change.second)]
    if any(edges(change.first) != edges(change.second) for change in alike):
        return True
    return (spaced(first) == first) != (spaced(second) == second)


def edges(words: Sequence[str]) -> tuple[str, str]:
    """Return the punctuation before the first of some words and behind the last."""
    first, last = words[0], words[-1]
    behind = "" if bare(last) in TITLES else last[len(last.rstrip(PUNCTUATION)) :]
    return first[: len(first) - len(first.lstrip(PUNCTUATION))], behind


# StereoSet


def of_candidates(items: Sequence[Item], language: str) -> Iterator[Found]:
    """Find what is wrong with contexts and their candidates."""
    first: dict[tuple[str, ...], str] = {}
    contexts: dict[tuple[str, ...], str] = {}
    for item in items:
        texts = [item.texts["context"], *(item.texts[s] for s in SIDES if s in item.texts)]
        alike = [spaced(text).casefold() for text in texts]
        part, control = item.by["part"], item.by.get("control", "")
        if not all(alike):
            yield Found(item.id, "empty")
            continue
        if len(set(alike[1:])) < len(alike) - 1:
            yield Found(item.id, "identical")
        seen = first.setdefault((part, *alike), item.id)
        before = contexts.setdefault((part, control, item.cluster, alike[0]), item.id)
        if seen != item.id:
            yield Found(item.id, "duplicate", seen)
        elif before != item.id:
            yield Found(item.id, "repeated_context", before)
        if part == INTRA:
            blanks = item.texts["context"].count(BLANK)
            if blanks > 1:
                yield Found(item.id, "two_blanks")
            if blanks and not all(word_at_blank(texts[0], text) for text in texts[1:]):
                yield Found(item.id, "other_words")
        elif ends_closed(texts[1]) != ends_closed(texts[2]):
            yield Found(item.id, "formatting")


def ends_closed(text: str) -> bool:
    """Whether punctuation ends a text."""
    return text.rstrip()[-1:] in PUNCTUATION


# BBQ


def of_questions(items: Sequence[Item], language: str) -> Iterator[Found]:
    """Find questions whose people have no group where it is needed."""
    yield from (Found(i.id, "no_group") for i in items if i.reason == NO_GROUP)


FINDERS: Final[dict[str, Callable[[Sequence[Item], str], Iterator[Found]]]] = {
    "crows_pairs": of_pairs,
    "stereoset": of_candidates,
    "bbq": of_questions,
}

if __name__ == "__main__":
    sys.exit(main())
