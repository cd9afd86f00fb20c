"""FEVER-Symmetric: does a fact checker read the evidence, or only the claim?

Schuster, Shah, Yeo, Filizzola, Santus and Barzilay (EMNLP 2019). Every pair of claim and evidence
of FEVER was given a counterpart of each, written so that each claim is right with one evidence and
wrong with the other. In such a set of four the claim alone is uninformative.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from bias_suites.robustness.sentence_pairs import (
    FACT_CHECKING,
    IN,
    OUT,
    WHERE,
    accuracy,
    both,
    guessing,
    is_out,
    pair,
    take,
)
from bias_suites.robustness.sets_of_pairs import Consistency
from bias_suites.scope import scope_card
from pytest_bias.data import (
    DataFile,
    DataFolder,
    HubFile,
    Row,
    Source,
    describe_files,
    json_lines,
    together,
)
from pytest_bias.errors import DataError
from pytest_bias.models import Capability
from pytest_bias.records import Item, Record, sha256
from pytest_bias.scoring import EVEN, Floor, Metric, Share, own_value
from pytest_bias.suites import Configuration, LoadedData, Measure, Suite

SOURCE: Final = Source(
    "TalSchuster/FeverSymmetric", "fa25d17e73ea0694edc78133ec654b9f32f6db73", "CC-BY-SA-3.0"
)


def _file(version: str, name: str, digest: str) -> DataFile:
    url = f"{SOURCE.raw}/symmetric_{version}/{name}.jsonl"
    return DataFile(f"fever_symmetric/{name}.jsonl", url, digest)


FIRST: Final[Mapping[str, DataFile]] = {
    "v0.1": _file(
        "v0.1",
        "fever_symmetric_full",
        "6edf8b5bdc3f2fe470b98e94297ed31200a241c98b0318f905bf324345cf6897",
    ),
}
SECOND: Final[Mapping[str, DataFile]] = {
    "dev": _file(
        "v0.2",
        "fever_symmetric_dev",
        "1d43d016da9264de2139cd10edd459ffbeac84f1fd85d60b70ab6ef63d283f81",
    ),
    "test": _file(
        "v0.2",
        "fever_symmetric_test",
        "b2ff560615bd3337c858bc5b09256d04f39aaa034aaae2351bb2d6345c110f83",
    ),
}
"""Part to its file, of either version."""

FEVER: Final = Source(
    "copenlu/fever_gold_evidence",
    "a6b8d891d393e97a4efac791afffb2d7de5e57c6",
    "CC-BY-SA-3.0 and GPL-3.0",
)
FEVER_FILE: Final = DataFile(
    "fever/valid.jsonl", None, None, HubFile(FEVER.name, FEVER.revision, "valid.jsonl")
)

GOLD: Final[Mapping[str, str]] = {"SUPPORTS": "supports", "REFUTES": "refutes"}
NOT_ENOUGH: Final = "NOT ENOUGH INFO"
ORIGINAL: Final = "original"
WRITTEN: Final = re.compile(r"(\d+)000000([234])")
"""Identifiers of newly written pairs: that of the original, and which of the three it is."""

SET: Final = 4
"""Pairs of a set: both claims with both evidences."""


def load(data: DataFolder, *, parts: Mapping[str, DataFile], fever: bool) -> LoadedData:
    """Read one version; with `fever`, FEVER's development claims take the place of the originals.

    Raises
    ------
    DataError
        If a file contains no pairs.
    """
    found = [data.find(file) for file in parts.values()]
    items: list[Item] = []
    for part, file in zip(parts, found, strict=True):
        column = "evidence_sentence" if part == "v0.1" else "evidence"
        rows = json_lines(file, ("id", "claim", "label", column))
        if not rows:
            raise DataError(f"{file.path} holds no pairs.")
        items += [item(part, row, column, ORIGINAL if fever else IN) for row in rows]
    info = describe_files(SOURCE, found, len(items))
    if not fever:
        return LoadedData(tuple(items), info)
    claims = data.find(FEVER_FILE)
    beside = list(_fever(json_lines(claims, ("claim", "label", "evidence"))))
    items += beside
    infos = [info, describe_files(FEVER, [claims], len(beside))]
    return LoadedData(tuple(items), together(infos, len(items)))


def item(part: str, row: Row, evidence: str, original: str) -> Item:
    """Return the pair of a row; the pairs of a set are one cluster."""
    number = str(row["id"])
    written = WRITTEN.fullmatch(number)
    base = written[1] if written else number
    return pair(
        f"fever/{part}/{number}",
        FACT_CHECKING,
        (row["claim"], row[evidence]),
        GOLD.get(str(row["label"])),
        {WHERE: OUT if written else original, "part": part},
        cluster=f"fever/{part}/{base}",
    )


def _fever(rows: Sequence[Row]) -> Iterator[Item]:
    for number, row in enumerate(rows):
        name, claim = f"fever/development/{number:05d}", str(row["claim"] or "").strip()
        cluster = f"fever/claim/{sha256(claim)[:16]}"
        if row["label"] == NOT_ENOUGH:
            reason = "the symmetric sets have no claim without enough evidence"
            yield Item(name, cluster, {"claim": claim}, {WHERE: IN}, {}, "excluded", reason)
            continue
        sentences = " ".join(str(of[2]) for of in row["evidence"])
        gold = GOLD.get(str(row["label"]))
        yield pair(name, FACT_CHECKING, (claim, sentences), gold, {WHERE: IN}, cluster=cluster)


def correct_of_two(record: Record) -> float | None:
    """Percentage: 100 where the right one of "supports" and "refutes" is the likelier one."""
    if record.value is None:
        return None
    supports, refutes = (float(record.detail[f"p_{c}"] or 0) for c in GOLD.values())
    return 100.0 * (("supports" if supports >= refutes else "refutes") == record.detail["gold"])


def all_guessed(records: Sequence[Record]) -> float | None:
    """Percentage of sets in which a classifier that guesses is right on all pairs."""
    one = guessing().at(records)
    return None if one is None else 100.0 * (one / 100.0) ** SET


def _in_a_set(record: Record) -> bool:
    return "part" in record.by


_BY: Final = (("part",), ("label",), ("part", "label"))
_METRICS: Final[tuple[Metric, ...]] = (
    *both(*_BY, in_by=(("part",), ("label",)), gap_by=(("part",),)),
    accuracy("accuracy_with_originals", by=_BY[:1], where=_in_a_set, floor=guessing()),
    accuracy(
        "accuracy_of_two",
        estimate=Share(correct_of_two),
        by=_BY[:1],
        where=is_out,
        floor=Floor("guessing", lambda records: EVEN),
    ),
    accuracy(
        "consistency",
        estimate=Consistency(own_value, SET),
        by=_BY[:1],
        where=_in_a_set,
        floor=Floor("guessing", all_guessed),
    ),
)


def _configuration(
    name: str, parts: Mapping[str, DataFile], *, fever: bool = False, **more: Any
) -> Configuration:
    files = tuple(parts.values())
    return Configuration(
        name,
        "en",
        partial(load, parts=parts, fever=fever),
        files=(*files, FEVER_FILE) if fever else files,
        needs=frozenset({Capability.OPEN_VOCABULARY}),
        clusters="claims" if fever else "sets of four pairs",
        **more,
    )


SUITE: Final = Suite(
    name="fever_symmetric",
    version="2",
    title="FEVER-Symmetric",
    kind="robustness",
    configurations=(
        _configuration("en", SECOND, note="version 0.2, beside the pairs it was made from"),
        _configuration("en-v0.1", FIRST, note="version 0.1, beside the pairs it was made from"),
        _configuration(
            "en-fever",
            SECOND,
            fever=True,
            only_named=True,
            note="version 0.2, beside FEVER's development claims with gold evidence",
        ),
    ),
    measures=(
        Measure(
            "likeliest answer to claim and evidence",
            frozenset({Capability.CLASSIFY}),
            partial(take, roles=FACT_CHECKING),
            _METRICS,
            reads=FACT_CHECKING.role,
        ),
    ),
    scope=scope_card("fever_symmetric"),
    tags=("robustness", "shortcuts"),
    badge=(
        "right {accuracy} · originals {in_distribution_accuracy:percent} · "
        "{accuracy:floor_of} ≈ {accuracy:floor}",
    ),
)
