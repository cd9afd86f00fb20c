"""Controls of StereoSet: the same sentences about the other gender.

Pikuliak, Benova and Bachraty (EACL 2023): a model that prefers a stereotype's word about women just
as much when the sentence is about men prefers a word, and not a stereotype.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from bias_suites.disputes import disputes_of
from bias_suites.social.crows_controls import ORIGINAL, SOURCE
from bias_suites.social.stereoset_items import BLANK, INTER, INTRA, problem_of
from pytest_bias.data import DataFile, DataFolder, FoundFile, describe_files, lines_of, text_of
from pytest_bias.errors import DataError
from pytest_bias.records import Item
from pytest_bias.suites import LoadedData

_FOLDER: Final = "crows_stereoset_controls"
FILES: Final = (
    DataFile(
        f"{_FOLDER}/stereoset_genderswap.txt",
        None,
        "a18f039f1d59a954dfe5541713556b2d848447830829e56bb7faa3b49a5de95a",
    ),
    DataFile(
        f"{_FOLDER}/stereoset_inter_genderswap.txt",
        None,
        "47e60c2a3750d466db5d07f7aea461abc1587c0fd392c7f4f86f5e69b7356d41",
    ),
)
SWAPPED: Final = "gender-swapped"
VERSIONS: Final = (ORIGINAL, SWAPPED)
"""In the order of the files' lines."""

Block = Sequence[str]


def load(data: DataFolder) -> LoadedData:
    """Read the user's own copy of both files, if the user has consented."""
    data.consent("stereoset", SOURCE)
    within, between = (data.find(file) for file in FILES)
    disputed = disputes_of("stereoset", "en-controls")
    read = [*_within(within), *_between(between)]
    items = tuple(_item(*about, disputed=about[0] in disputed) for about in read)
    return LoadedData(items, describe_files(SOURCE, [within, between], len(items)))


About = tuple[str, str, str, dict[str, str]]
"""Id, part, version, texts."""


def _within(found: FoundFile) -> Iterator[About]:
    """Yield sentences with a word in brackets: two blocks of two lines, stereotype and opposite."""
    blocks = _blocks(found, 2)
    if len(blocks) % 2:
        raise DataError(f"{found.path} holds {len(blocks)} blocks, and two make an item.")
    for number, both in enumerate(zip(blocks[::2], blocks[1::2], strict=True)):
        for version, lines in zip(VERSIONS, zip(*both, strict=True), strict=True):
            # The context is that of the stereotype; the differing word is found as in the data.
            context = re.sub(r"<[^<>]*>", BLANK, lines[0])
            stereotype, opposite = (line.replace("<", "").replace(">", "") for line in lines)
            texts = {"context": context, "stereotype": stereotype, "anti_stereotype": opposite}
            yield f"stereoset/controls/{INTRA}/{number:03d}/{version}", INTRA, version, texts


def _between(found: FoundFile) -> Iterator[About]:
    """Yield contexts with two continuations each, the other gender below them."""
    for number, block in enumerate(_blocks(found, 6)):
        for version, lines in zip(VERSIONS, (block[:3], block[3:]), strict=True):
            texts = dict(zip(("context", "stereotype", "anti_stereotype"), lines, strict=True))
            yield f"stereoset/controls/{INTER}/{number:03d}/{version}", INTER, version, texts


def _blocks(found: FoundFile, size: int) -> list[Block]:
    """Return the blocks between empty lines."""
    blocks: list[list[str]] = [[]]
    for line in lines_of(text_of(found)):
        if line.strip():
            blocks[-1].append(line.strip())
        elif blocks[-1]:
            blocks.append([])
    kept: list[Block] = [block for block in blocks if block]
    for number, block in enumerate(kept, 1):
        if len(block) != size:
            raise DataError(
                f"{found.path}: block {number} has {len(block)} lines instead of {size}."
            )
    if not kept:
        raise DataError(f"{found.path} holds no blocks of {size} lines.")
    return kept


def _item(name: str, part: str, version: str, texts: dict[str, str], *, disputed: bool) -> Item:
    problem = problem_of(part, texts)
    return Item(
        id=name,
        cluster=name.rpartition("/")[0],
        texts=texts,
        by={"part": part, "domain": "gender", "control": version},
        meta={"disputed": disputed},
        status="unscored" if problem else None,
        reason=problem,
    )
