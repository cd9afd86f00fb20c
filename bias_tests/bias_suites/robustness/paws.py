"""PAWS: does a paraphrase classifier use more than word overlap?

Zhang, Baldridge and He (NAACL 2019). Both sentences of a pair have nearly the same words, so that a
classifier that counts them calls all pairs paraphrases; the pairs that are not are the test.
Quora's question pairs, on which paraphrase classifiers are trained, are added as in distribution.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from bias_suites.robustness.mnli import GLUE, GLUE_COMMIT
from bias_suites.robustness.sentence_pairs import (
    IN,
    OUT,
    PARAPHRASE,
    WHERE,
    both,
    gap,
    is_out,
    pair,
    take,
)
from bias_suites.scope import scope_card
from pytest_bias.data import (
    DataFile,
    DataFolder,
    HubFile,
    Source,
    describe_files,
    parquet_rows,
    together,
)
from pytest_bias.errors import DataError
from pytest_bias.models import Capability
from pytest_bias.records import DataInfo, Item
from pytest_bias.scoring import Metric
from pytest_bias.suites import Configuration, LoadedData, Measure, Suite

SOURCE: Final = Source(
    "google-research-datasets/paws",
    "161ece9501cf0a11f3e48bd356eaa82de46d6a09",
    "free for any purpose (Google)",
)
FILE: Final = DataFile(
    "paws/test-00000-of-00001.parquet",
    None,
    None,
    HubFile(SOURCE.name, SOURCE.revision, "labeled_final/test-00000-of-00001.parquet"),
)
QUORA: Final = Source(
    f"Quora question pairs ({GLUE})", GLUE_COMMIT, "Quora non-commercial", consent=True
)
QUORA_FILE: Final = DataFile(
    "qqp/validation-00000-of-00001.parquet",
    None,
    None,
    HubFile(GLUE, GLUE_COMMIT, "qqp/validation-00000-of-00001.parquet"),
)

DIFFERENT, SAME = "not_paraphrase", "paraphrase"
GOLD: Final = (DIFFERENT, SAME)
"""The numbers of the labels, in both files."""


def load(data: DataFolder) -> LoadedData:
    """Read the test set of PAWS and the development set of Quora's pairs."""
    data.consent("paws", QUORA)
    ours, info = _pairs(data, SOURCE, FILE, ("sentence1", "sentence2"), OUT)
    theirs, beside = _pairs(data, QUORA, QUORA_FILE, ("question1", "question2"), IN)
    items = (*ours, *theirs)
    return LoadedData(items, together([info, beside], len(items)))


def _pairs(
    data: DataFolder, source: Source, file: DataFile, columns: tuple[str, str], where: str
) -> tuple[Sequence[Item], DataInfo]:
    found = data.find(file)
    rows = parquet_rows(found, (*columns, "label"))
    if not rows:
        raise DataError(f"{found.path} holds no pairs.")
    first, second = columns
    items = [
        pair(
            f"{file.path.partition('/')[0]}/{number:05d}",
            PARAPHRASE,
            (row[first], row[second]),
            GOLD[row["label"]] if row["label"] in (0, 1) else None,
            {WHERE: where},
        )
        for number, row in enumerate(rows)
    ]
    return items, describe_files(source, [found], len(items))


_METRICS: Final[tuple[Metric, ...]] = (
    *both(("label",), in_by=(("label",),)),
    gap("shortcut_gap", "label", SAME, DIFFERENT, where=is_out),
)

SUITE: Final = Suite(
    name="paws",
    version="1",
    title="PAWS",
    kind="robustness",
    configurations=(
        Configuration(
            "en",
            "en",
            load,
            files=(FILE, QUORA_FILE),
            consents=(QUORA,),
            needs=frozenset({Capability.OPEN_VOCABULARY}),
            clusters="pairs",
            note="PAWS-Wiki, final labels",
        ),
    ),
    measures=(
        Measure(
            "likelier answer to two sentences, paraphrase or not",
            frozenset({Capability.CLASSIFY}),
            partial(take, roles=PARAPHRASE),
            _METRICS,
            reads=PARAPHRASE.role,
        ),
    ),
    scope=scope_card("paws"),
    tags=("robustness", "shortcuts"),
    badge=(
        "right {accuracy} · at home {in_distribution_accuracy:percent} · "
        "{accuracy:floor_of} ≈ {accuracy:floor}",
    ),
)
