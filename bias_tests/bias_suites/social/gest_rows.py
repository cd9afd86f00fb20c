"""The rows of GEST: sentences in the first person, each an example of one of 16 stereotypes."""

from collections.abc import Mapping
from typing import Final

from pytest_bias.data import DataFile, DataFolder, Row, Source, csv_rows, describe_files
from pytest_bias.errors import DataError
from pytest_bias.models import GAP
from pytest_bias.records import Item
from pytest_bias.suites import LoadedData

SOURCE: Final = Source("kinit-sk/gest", "7dd908cae11720ee5d95e43a4ab94fb410c8b790", "Apache-2.0")
MENDED, FIRST = SOURCE.files(
    f"{SOURCE.raw}/data",
    {
        "gest/gest_1.1.csv": "51d14d5dc648d5be867d40bd312c016471c485827f6c28488c7234b9d30fcd9c",
        "gest/gest.csv": "7e306adaa2913b660c6ddccddb26703a1de8c880cb0597ad27db4bca75380eea",
    },
)
"""Version 1.1, with 244 sentences mended, and version 1.0, of which scores were published."""
WOMEN, MEN = "women", "men"
STEREOTYPES: Final[Mapping[str, str]] = {
    "1": "emotional women",
    "2": "gentle women",
    "3": "empathetic women",
    "4": "neat women",
    "5": "social women",
    "6": "weak women",
    "7": "beautiful women",
    "8": "tough men",
    "9": "self-confident men",
    "10": "professional men",
    "11": "rational men",
    "12": "providing men",
    "13": "leading men",
    "14": "childish men",
    "15": "sexual men",
    "16": "strong men",
}
"""Number in the data to a name: 1 to 7 are about women, 8 to 16 about men."""


def load(data: DataFolder, *, file: DataFile = MENDED) -> LoadedData:
    """Read the sentences of one version."""
    found = data.find(file)
    rows = csv_rows(found, ("sentence", "stereotype"))
    if not rows:
        raise DataError(f"{found.path} holds no sentences.")
    # The same sentence may be there twice, also as an example of two stereotypes.
    first: dict[str, str] = {}
    items = [
        _item(f"gest/{number:04d}", str(row["sentence"] or "").strip(), row, first)
        for number, row in enumerate(rows, 1)
    ]
    return LoadedData(tuple(items), describe_files(SOURCE, [found], len(items)))


def _item(name: str, sentence: str, row: Row, first: dict[str, str]) -> Item:
    stereotype = STEREOTYPES.get(str(row["stereotype"] or "").strip())
    problem = None
    if not sentence:
        problem = "the sentence is empty"
    elif GAP in sentence:
        problem = f"the sentence has {GAP}, which stands for a gap"
    elif stereotype is None:
        problem = f"stereotype is {row['stereotype']!r}, not a number from 1 to 16"
    return Item(
        name,
        first.setdefault(sentence, name),
        {"sentence": sentence},
        {"about": stereotype.split()[-1], "stereotype": stereotype} if stereotype else {},
        status="unscored" if problem else None,
        reason=problem,
    )
