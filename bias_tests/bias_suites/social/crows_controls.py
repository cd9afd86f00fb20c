"""Controls of CrowS-Pairs: the same gender pairs, negated or as antistereotypes.

Pikuliak, Benova and Bachraty (EACL 2023): a model that prefers one group's sentence when it states
the stereotype, and again when it denies it, prefers a word and not a stereotype. All versions of a
pair name the same group first, so the comparison is how often that group's sentence is likelier: in
the originals, in their negations, in their antistereotypes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from bias_suites.disputes import disputes_of
from pytest_bias.data import DataFile, DataFolder, FoundFile, Source, cells, describe_files
from pytest_bias.errors import DataError
from pytest_bias.records import Item, Record
from pytest_bias.scoring import Metric, Share, own_value
from pytest_bias.suites import LoadedData

SOURCE: Final = Source(
    "kinit-sk/bias-methodology",
    "b740019f7f42389258b3901f4a4188c8fe56aea0",
    "no clear licence",
    consent=True,
)
_FOLDER: Final = "crows_stereoset_controls"
FILES: Final = (
    DataFile(
        f"{_FOLDER}/crows_negation.csv",
        None,
        "3b943973ae42a3870642bdb48ac0da1633bf3e1c967881ceac34aa9d2acef4c9",
    ),
    DataFile(
        f"{_FOLDER}/crows_antistereotype.csv",
        None,
        "86c3d3be0b98e30c3d1868608189aad6320ef531c80f54011bb6a785da110e2b",
    ),
)
ORIGINAL: Final = "original"
CONTROLS: Final = ("negated", "antistereotypical")
"""The controls that each file adds to the originals, in their order."""

Pair = tuple[str, str]


def load(data: DataFolder) -> LoadedData:
    """Read the user's own copy of both files, if the user has consented."""
    data.consent("crows_pairs", SOURCE)
    found = [data.find(file) for file in FILES]
    columns = [_columns(file) for file in found]
    if len(columns[0]) != len(columns[1]):
        counts = " and ".join(f"{len(c)} in {f.path}" for c, f in zip(columns, found, strict=True))
        raise DataError(f"the files of the controls hold different pairs: {counts}.")
    disputed = disputes_of("crows_pairs", "en-controls")
    items: list[Item] = []
    for number, both in enumerate(zip(*columns, strict=True)):
        items += _items(f"crows/controls/{number:03d}", both)
    items = [replace(i, meta={"disputed": i.id in disputed}) for i in items]
    return LoadedData(tuple(items), describe_files(SOURCE, found, len(items)))


def _columns(found: FoundFile) -> list[list[Pair]]:
    """Transpose a file: each column holds a pair and its controls, one below the other."""
    rows = cells(found)
    if not rows or len(rows) % 2 or len({len(row) for row in rows}) > 1:
        raise DataError(
            f"{found.path} holds no pairs in columns: it needs an even number of rows, all of the "
            f"same length, and has {len(rows)}."
        )
    return [list(zip(c[::2], c[1::2], strict=True)) for c in zip(*rows, strict=True)]


def _items(name: str, both: Sequence[Sequence[Pair]]) -> Iterator[Item]:
    (original, *_), *_ = both
    yield _item(name, ORIGINAL, original)
    for control, (own, *versions) in zip(CONTROLS, both, strict=True):
        for number, texts in enumerate(versions, start=1):
            if any(text.strip() for text in texts):
                item = _item(name, control, texts, number)
                if own != original:
                    reason = "its file writes the original pair in another way"
                    item = replace(item, status="excluded", reason=reason)
                yield item


def _item(name: str, control: str, texts: Pair, number: int = 0) -> Item:
    problem = None
    if not all(text.strip() for text in texts):
        problem = "empty sentence"
    elif texts[0].strip() == texts[1].strip():
        problem = "the two sentences are identical"
    return Item(
        id=f"{name}/{control}" + (f"/{number}" if number else ""),
        cluster=name,
        texts={"more": texts[0], "less": texts[1]},
        by={"control": control},
        status="unscored" if problem else None,
        reason=problem,
    )


def beside_originals(items: Sequence[Item], records: Sequence[Record]) -> list[Record]:
    """Give the record of each control the outcome of the pair that it was made from.

    A cluster holds one original and is never split, so the original is among the items unless it
    could not be scored.
    """
    originals: Mapping[str, float | None] = {
        item.cluster: record.value
        for item, record in zip(items, records, strict=True)
        if item.by.get("control") == ORIGINAL
    }
    return [
        replace(r, detail={**r.detail, "original": originals.get(r.cluster)})
        if r.status == "scored" and is_control(r)
        else r
        for r in records
    ]


def is_original(record: Record) -> bool:
    """Whether a record is about a pair as published."""
    return record.by.get("control", ORIGINAL) == ORIGINAL


def is_control(record: Record) -> bool:
    """Whether a record is about a pair made from another one."""
    return not is_original(record)


def is_of_controls(record: Record) -> bool:
    """Whether a record belongs to the configuration of the controls."""
    return "control" in record.by


def value_of_original(record: Record) -> float | None:
    """Preference in percent for a control's original pair; None where that was not scored."""
    value = record.detail["original"]
    return None if value is None else float(value)


def metrics(*by: tuple[str, ...]) -> tuple[Metric, ...]:
    """Return the preference among the controls, and among their originals."""
    found = (
        ("control_preference", own_value, is_of_controls),
        ("original_preference", value_of_original, is_control),
    )
    return tuple(
        Metric(
            name,
            Share(of),
            ideal=50,
            bounds=(0, 100),
            unit="%",
            tolerance=0.5,
            by=by,
            where=where,
            whole=False,
        )
        for name, of, where in found
    )
