"""The rows of DiscrimEval: a question about a decision, with the person's age, gender and race."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from pytest_bias.data import DataFile, DataFolder, HubFile, Row, Source, describe_files, json_lines
from pytest_bias.errors import DataError
from pytest_bias.records import Item, sha256
from pytest_bias.suites import LoadedData

SOURCE: Final = Source(
    "Anthropic/discrim-eval", "6986d6ea802e019d01e94dd59597e94fbd8f8c4a", "CC-BY-4.0"
)
FILE: Final = DataFile(
    "discrim_eval/explicit.jsonl",
    None,
    "348f64457832056fa2601044c5107f42b50e8ff16c0428844c4b2d18ddd2d42a",
    HubFile(SOURCE.name, SOURCE.revision, "explicit.jsonl"),
)
COLUMNS: Final = ("filled_template", "decision_question_id", "age", "gender", "race")

AGES: Final = ("20", "30", "40", "50", "60", "70", "80", "90", "100")
GENDERS: Final = ("female", "male", "non-binary")
RACES: Final = ("white", "Black", "Asian", "Hispanic", "Native American")
GROUPS: Final[Mapping[str, Sequence[str]]] = {"age": AGES, "gender": GENDERS, "race": RACES}

_TAG: Final = re.compile(r"[<>{}]")
_SLOT: Final = re.compile(r"\[(?:[A-Z_]+|\d+ ?)\]")
_SAYS: Final = {
    "female": re.compile(r"female|\b(?:woman|she|her|hers|herself)\b", re.IGNORECASE),
    "male": re.compile(r"(?<!fe)male|\b(?:man|he|him|his|himself)\b", re.IGNORECASE),
    "non-binary": re.compile(r"non-?\s?binary", re.IGNORECASE),
}
"""Words that say a gender, also where the next word is glued to them."""


def load(data: DataFolder) -> LoadedData:
    """Read the questions, of which those that are broken are excluded."""
    found = data.find(FILE)
    rows = json_lines(found, COLUMNS)
    if not rows:
        raise DataError(f"{found.path} holds no questions.")
    items: dict[str, Item] = {}
    for number, row in enumerate(rows, start=1):
        item = _item(number, row)
        if item.id in items:
            raise DataError(f"{found.path} has {item.id} twice, the second time in row {number}.")
        items[item.id] = item
    return LoadedData(tuple(items.values()), describe_files(SOURCE, [found], len(items)))


def _item(number: int, row: Row) -> Item:
    text = " ".join(str(row["filled_template"] or "").split())
    by = {"age": _whole(row["age"]), "gender": str(row["gender"]), "race": str(row["race"])}
    question = _whole(row["decision_question_id"])
    other = next((k for k, v in by.items() if v not in GROUPS[k]), None)
    if other or not question.isdecimal():
        column = other or "decision_question_id"
        allowed = ", ".join(GROUPS[other]) if other else "a whole number"
        why = f"{column} is {str(row[column])[:40]!r}, not {'one of ' if other else ''}{allowed}"
        name = f"discrim_eval/row{number}"
        return Item(name, name, {"question": text}, status="unscored", reason=why)
    why_not = problem(text, by)
    return Item(
        f"discrim_eval/{question}/{'/'.join(by.values())}",
        f"discrim_eval/{question}",
        {"question": text},
        by,
        status="excluded" if why_not else None,
        reason=why_not,
    )


def _whole(value: object) -> str:
    """Return a number as text, without the decimal point that a whole one has in the data."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def problem(text: str, by: Mapping[str, str]) -> str | None:
    """Return why a question is not asked, such as that it does not say whom it is about; or None.

    Examples
    --------
    >>> by = {"age": "30", "gender": "male", "race": "white"}
    >>> problem("Should a 30-year-old white male driver be hired?", by)
    >>> problem("Should a 30-year-old white driver be hired?", by)
    'the text does not say the gender'
    """
    if not text:
        return "the text is empty"
    if _TAG.search(text):
        return "a tag of the template is left in the text"
    if _SLOT.search(text):
        return "a slot of the template is left in the text"
    if not text.rstrip(".").endswith("?"):
        return "the text does not end with a question"
    if not re.search(rf"(?<!\d){by['age']}[ -]*years?[ -]*old", text):
        return "the text does not say that the person is so many years old"
    if by["race"].casefold() not in text.casefold():
        return "the text does not say the race in the word of the data"
    said = {gender for gender, words in _SAYS.items() if words.search(text)}
    if by["gender"] not in said:
        return "the text does not say the gender"
    return "the text says another gender too" if len(said) > 1 else None


def in_short(item: Item) -> str | None:
    """Return the block that a short sample measures of each question, None for other items.

    Around one person of the question, drawn by its hash, all who differ from that one in a single
    attribute: every group and its reference, with the other two attributes equal.
    """
    centre = {
        key: groups[int(sha256(f"{item.cluster}/{key}")[:8], 16) % len(groups)]
        for key, groups in GROUPS.items()
    }
    return "around one person" if sum(item.by[k] != v for k, v in centre.items()) <= 1 else None
