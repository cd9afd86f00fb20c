"""MultiNLI's matched development set, which is in distribution for NLI classifiers.

Williams, Nangia and Bowman (NAACL 2018), as GLUE has it. Texts are of the genres that classifiers
were trained on.
"""

from typing import Final

from bias_suites.robustness.sentence_pairs import IN, NLI, WHERE, pair
from pytest_bias.data import DataFile, DataFolder, FoundFile, HubFile, Row, Source, parquet_rows
from pytest_bias.errors import DataError
from pytest_bias.records import Item

GLUE: Final = "nyu-mll/glue"
GLUE_COMMIT: Final = "bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c"

SOURCE: Final = Source(f"MultiNLI ({GLUE})", GLUE_COMMIT, "OANC and CC-BY-3.0 and CC-BY-SA-3.0")
FILE: Final = DataFile(
    "mnli/validation_matched-00000-of-00001.parquet",
    None,
    None,
    HubFile(GLUE, GLUE_COMMIT, "mnli/validation_matched-00000-of-00001.parquet"),
)
LABELS: Final = ("entailment", "neutral", "contradiction")
"""The numbers of the labels, in the order of GLUE."""


def rows(data: DataFolder) -> tuple[FoundFile, list[Row]]:
    """Read the 9,815 pairs.

    Raises
    ------
    DataError
        If the file contains none.
    """
    found = data.find(FILE)
    read = parquet_rows(found, ("premise", "hypothesis", "label"))
    if not read:
        raise DataError(f"{found.path} holds no pairs.")
    return found, read


def gold(row: Row) -> str | None:
    """Return the meaning of a row's label, None where it is none of the three."""
    number = row["label"]
    return LABELS[number] if number in range(len(LABELS)) else None


def item(number: int, row: Row, label: str | None, **more: str) -> Item:
    """Return the pair of a row as one in distribution, with its label as merged."""
    name = f"mnli/{number:04d}"
    return pair(name, NLI, (row["premise"], row["hypothesis"]), label, {WHERE: IN, **more})
