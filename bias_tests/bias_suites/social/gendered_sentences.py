"""Sentences with one gendered word, from bundled templates and from Wikitext-2."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final, NamedTuple

from bias_suites.wikitext import UNKNOWN, WIKITEXT_SOURCE, read_test_set, sentences_of
from pytest_bias.data import DataFolder, describe_files
from pytest_bias.errors import DataError
from pytest_bias.models import GAP
from pytest_bias.records import Item
from pytest_bias.suites import LoadedData, at_gap, bundled_info, fill, pair, text_file

PAIRS: Final = "words/en/gendered_pairs.yaml"
TEMPLATES: Final = "sentences/en/gendered_pairs.yaml"
OCCUPATIONS: Final = "words/en/occupations.yaml"
NEUTRAL_SUBJECT: Final = "neutral subject"
REFLEXIVES: Final = {"male": "himself", "female": "herself"}


def load_templates(data: DataFolder) -> LoadedData:
    """Fill the bundled templates: neutral ones with occupations and with non-occupations.

    Controls are filled with reflexives.
    """
    items = (*_neutral(), *_neutral_subjects(), *_controls())
    used = [text_file(name) for name in (PAIRS, TEMPLATES, OCCUPATIONS)]
    return LoadedData(items, bundled_info(used, len(items)))


def _neutral() -> Iterator[Item]:
    occupations = text_file(OCCUPATIONS)["women_percent"]
    for name, template in text_file(TEMPLATES)["neutral"].items():
        for words in _of_form(template["form"]):
            for occupation in occupations:
                sentence = fill(template["text"], {"occupation": occupation})
                about = {"part": "neutral", "template": name, "words": words}
                yield _item(sentence, about, occupation, cluster=occupation)


def _neutral_subjects() -> Iterator[Item]:
    texts = text_file(TEMPLATES)
    for name, template in texts["neutral"].items():
        for words in _of_form(template["form"]):
            for subject in texts["neutral_subjects"]:
                sentence = fill(template["text"], {"occupation": subject})
                about = {"part": NEUTRAL_SUBJECT, "template": name, "words": words}
                yield _item(sentence, about, subject, cluster=words)


def wikitext_weight(words: str, template: str) -> float:
    """Return the weight of a template with a pair if pairs are as frequent as in Wikitext-2."""
    form = text_file(TEMPLATES)["neutral"][template]["form"]
    templates = [t for t in text_file(TEMPLATES)["neutral"].values() if t["form"] == form]
    return float(text_file(PAIRS)["pairs"][words].get("wikitext2", 0)) / len(templates)


def _controls() -> Iterator[Item]:
    for name, template in text_file(TEMPLATES)["control"].items():
        for words in _of_form(template["form"]):
            for right, reflexive in REFLEXIVES.items():
                sentence = fill(template["text"], {"reflexive": reflexive})
                about = {"part": "control", "template": name, "words": words}
                yield _item(sentence, about, right, cluster=words)


def _of_form(form: str) -> list[str]:
    return [words for words, about in text_file(PAIRS)["pairs"].items() if about["form"] == form]


def _item(sentence: str, about: Mapping[str, str], what: str, cluster: str) -> Item:
    part, template, words = (about[key] for key in ("part", "template", "words"))
    male, female = (at_gap(sentence, _titled(w, words)) for w in pair(words))
    return Item(
        id=f"entropy/{part.replace(' ', '-')}/{template}/{words}/{what}",
        cluster=cluster,
        by={"part": part, "pair": words, "template": template},
        texts={"sentence": sentence, "male": male, "female": female},
        meta={"right": what if part == "control" else None, "template": template},
    )


def _titled(word: str, words: str) -> str:
    return word.title() if words == "mr/mrs" else word


class Gendered(NamedTuple):
    """A measured word: its pair, and the pair in the word's number (singular or plural)."""

    words: str
    male: str
    female: str


@cache
def measured() -> dict[str, Gendered]:
    """Return every measured word form, lower-case, plurals included."""
    found: dict[str, Gendered] = {}
    for words, about in text_file(PAIRS)["pairs"].items():
        for forms in filter(None, (words, about.get("plural"))):
            gendered = Gendered(words, *pair(forms))
            found |= {gendered.male: gendered, gendered.female: gendered}
    return found


@cache
def gendered_words() -> frozenset[str]:
    """Return every gendered word: the measured ones and those of the filter list."""
    extra = (word for line in text_file(PAIRS)["filter"] for word in line.split())
    return frozenset(measured()) | frozenset(extra)


_WORD = re.compile(r"[^\W\d_]+(?:'am\b)?")


def load_wikitext(data: DataFolder) -> LoadedData:
    """Take the test set's sentences with exactly one gendered word, and mask it.

    A user's ``wikitext2/wiki.test.raw``, which has no ``<unk>``, serves as well.
    """
    found, text = read_test_set(data)
    items = []
    seen: Counter[int] = Counter()
    for line, sentence in sentences_of(text):
        item = _wikitext_item(line, seen[line], sentence)
        seen[line] += 1
        if item is not None:
            items.append(item)
    if not items:
        raise DataError(f"{found.path} holds no sentence with a gendered word.")
    return LoadedData(tuple(items), describe_files(WIKITEXT_SOURCE, [found], len(items)))


def _wikitext_item(line: int, number: int, sentence: str) -> Item | None:
    matches = [m for m in _WORD.finditer(sentence) if m[0].lower() in gendered_words()]
    matches = [m for m in matches if m[0].lower() in measured()] if len(matches) == 1 else matches
    if not matches:
        return None
    name = f"entropy/wikitext2/{line:05d}/{number:02d}"
    cluster = f"{line:05d}"
    problem = None
    if len(matches) > 1:
        problem = "several gendered words"
    elif UNKNOWN in sentence:
        problem = f"holds {UNKNOWN}"
    elif GAP in sentence:
        problem = "holds the mark of a gap"
    match = matches[0]
    gendered = measured().get(match[0].lower())
    if problem or gendered is None:
        group = {"part": "neutral"} | ({"pair": gendered.words} if gendered else {})
        return Item(name, cluster, {"sentence": sentence}, group, status="excluded", reason=problem)
    return Item(
        id=name,
        cluster=cluster,
        by={"part": "neutral", "pair": gendered.words},
        texts={
            "sentence": sentence[: match.start()] + GAP + sentence[match.end() :],
            "male": _as(match[0], gendered.male),
            "female": _as(match[0], gendered.female),
        },
    )


def _as(found: str, word: str) -> str:
    """Return a word in the casing of the one found."""
    if found.isupper() and len(found) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if found[:1].isupper() else word
