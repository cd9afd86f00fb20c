"""HANS: does an NLI classifier rely on word overlap only?

McCoy, Pavlick and Linzen (ACL 2019). In every pair the hypothesis is made of words of the premise:
any of them (lexical overlap), a stretch of it (subsequence), or a constituent. A classifier that
takes this for entailment is right in one half of the pairs and wrong in the other.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from bias_suites.robustness import mnli
from bias_suites.robustness.sentence_pairs import (
    NLI,
    NOT_ENTAILMENT,
    OUT,
    WHERE,
    accuracy,
    both,
    gap,
    is_out,
    pair,
    take,
)
from bias_suites.scope import scope_card
from pytest_bias.data import DataFile, DataFolder, Row, Source, csv_rows, describe_files, together
from pytest_bias.errors import DataError
from pytest_bias.models import Capability
from pytest_bias.records import Item, Record
from pytest_bias.scoring import Factor, Metric, Share, along
from pytest_bias.suites import Configuration, LoadedData, Measure, Suite

SOURCE: Final = Source("tommccoy1/hans", "7299f6f657089ce06a0f98e7e81f8d0f5b7741ce", "MIT")
FILE: Final = DataFile(
    "hans/heuristics_evaluation_set.txt",
    f"{SOURCE.raw}/heuristics_evaluation_set.txt",
    "c55b62feef9913070e88f38938dc2492018c945ac81f70139346472494124e79",
)
COLUMNS: Final = ("gold_label", "sentence1", "sentence2", "pairID", "heuristic", "subcase")

ENTAILMENT: Final = "entailment"
MERGED: Final[Mapping[str, str]] = dict.fromkeys(
    ("neutral", "contradiction", "not_entailment"), NOT_ENTAILMENT
)
"""Answers that count as non-entailment once the likeliest answer is known, as in the paper."""


def load(data: DataFolder) -> LoadedData:
    """Read HANS, and MultiNLI's matched development set with its labels merged the same way."""
    found = data.find(FILE)
    heuristics = csv_rows(found, COLUMNS, delimiter="\t", quoted=False)
    if not heuristics:
        raise DataError(f"{found.path} holds no pairs.")
    glue, rows = mnli.rows(data)
    items = [item(row) for row in heuristics]
    for number, row in enumerate(rows):
        label = mnli.gold(row)
        items.append(mnli.item(number, row, MERGED.get(label, label) if label else None))
    infos = [
        describe_files(SOURCE, [found], len(heuristics)),
        describe_files(mnli.SOURCE, [glue], len(rows)),
    ]
    return LoadedData(tuple(items), together(infos, len(items)))


def item(row: Row) -> Item:
    """Return the pair of a row of HANS."""
    label = row["gold_label"]
    return pair(
        f"hans/{row['pairID']}",
        NLI,
        (row["sentence1"], row["sentence2"]),
        label if label in (ENTAILMENT, NOT_ENTAILMENT) else None,
        {WHERE: OUT, "heuristic": str(row["heuristic"]), "subcase": str(row["subcase"])},
    )


def correct_summed(record: Record) -> float | None:
    """Percentage: 100 where the answer by summed probabilities is right.

    Entailment is the answer where it is likelier than all other answers together.
    """
    if record.value is None:
        return None
    own = float(record.detail["p_entailment"] or 0)
    rest = sum(float(record.detail[f"p_{c}"] or 0) for c in MERGED if f"p_{c}" in record.detail)
    answer = ENTAILMENT if own > rest else NOT_ENTAILMENT
    return 100.0 * (answer == record.detail["gold"])


_SUBCASES: Final = (Factor("subcases", along("subcase")),)
_BY: Final = (("heuristic",), ("label",), ("heuristic", "label"))
_METRICS: Final[tuple[Metric, ...]] = (
    *both(*_BY, ("subcase",), merged=MERGED, in_by=(("label",),), factors=_SUBCASES),
    gap(
        "shortcut_gap",
        "label",
        ENTAILMENT,
        NOT_ENTAILMENT,
        where=is_out,
        by=(("heuristic",),),
        whole=False,
        factors=_SUBCASES,
    ),
    accuracy(
        "accuracy_summed", estimate=Share(correct_summed, factors=_SUBCASES), by=_BY, where=is_out
    ),
)

SUITE: Final = Suite(
    name="hans",
    version="2",
    title="HANS",
    kind="robustness",
    configurations=(
        Configuration(
            "en",
            "en",
            load,
            files=(FILE, mnli.FILE),
            needs=frozenset({Capability.OPEN_VOCABULARY}),
            clusters="pairs",
        ),
    ),
    measures=(
        Measure(
            "likeliest answer to premise and hypothesis, entailment or not",
            frozenset({Capability.CLASSIFY}),
            partial(take, roles=NLI, merged=MERGED),
            _METRICS,
            reads=NLI.role,
        ),
    ),
    scope=scope_card("hans"),
    tags=("robustness", "shortcuts"),
    badge=(
        "right {accuracy} · at home {in_distribution_accuracy:percent} · "
        "{accuracy:floor_of} ≈ {accuracy:floor}",
    ),
)
