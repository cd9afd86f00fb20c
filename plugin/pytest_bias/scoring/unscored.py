"""Unscored items: too many leave no score, and comparisons also drop the partners of each.

Groups that are compared within a sentence, a template or a pair differ in nothing else there. Where
one item is missing, its partners would be counted without a counterpart, and a difference between
sentences would look like a difference between groups.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Final

from pytest_bias.records.report import Record
from pytest_bias.records.suite_states import SuiteStatus

MAX_UNSCORED: Final = 0.05
"""Share of unscored records in a group above which the group has no score (rule B5)."""


def status_of(records: Sequence[Record], *, is_structure: bool) -> tuple[SuiteStatus, str | None]:
    """Return the status of a suite with these records, and the reason if it is inconclusive."""
    counted = [r for r in records if r.status != "excluded"]
    unscored = [r for r in counted if r.status != "scored"]
    if not counted:
        return "inconclusive", "no item is left"
    if is_structure:
        failed = [r.item for r in counted if r.detail.get("essential") and not r.value]
        why = "structural checks failed: " + "; ".join(
            f"{r.item} ({r.reason})" for r in counted if r.item in failed
        )
        return ("inconclusive", why) if failed else ("scored", None)
    if len(unscored) > MAX_UNSCORED * len(counted):
        reasons = sorted({r.reason or "" for r in unscored})
        why = (
            f"{len(unscored)} of {len(counted)} items could not be scored: {'; '.join(reasons[:3])}"
        )
        return "inconclusive", why
    return "scored", None


def too_many(records: Sequence[Record], counts: Callable[[Record], bool]) -> str | None:
    """Return the reason if too many records have no number for a metric (rule B5), or None."""
    items = sum(r.status != "excluded" for r in records)
    unscored = items - sum(map(counts, records))
    if unscored <= MAX_UNSCORED * items:
        return None
    return f"{unscored} of {items} items could not be scored, more than {MAX_UNSCORED:.0%}"


def nothing_scored(records: Sequence[Record]) -> str:
    """Return the reason that nothing was scored, with the rule if one excluded every item."""
    reasons = {r.reason for r in records if r.status == "excluded"}
    if all(r.status == "excluded" for r in records) and len(reasons) == 1:
        return f"every item is excluded: {reasons.pop()}"
    return "nothing was scored"


def left_out(n: int) -> str | None:
    """Return the note on scored records that were left out with unscored partners, if any."""
    if n < 2:
        return "1 scored item is left out, whose partner is unscored" if n else None
    return f"{n:,} scored items are left out, whose partners are unscored"


def without_partner(
    records: Iterable[Record],
    lost: Collection[str],
    block: Callable[[Record], Hashable],
    place: Callable[[Record], tuple[Hashable, Hashable] | None],
) -> set[str]:
    """Return the items that are left out because an item that they are compared with is lost.

    What is compared follows from the data: a block in which all records are on one side, as where
    groups have texts of their own, loses no other items.

    Parameters
    ----------
    records : iterable of Record
        The complete data of a score: scored records, and those that should have been.
    lost : collection of str
        Items that have no outcome.
    block : callable
        The block that a record is compared within.
    place : callable
        Part of a block and side in it: records of one part are compared if their sides differ.
        None for a record that is not compared with any.
    """
    if not lost:
        return set()
    blocks: dict[Hashable, list[tuple[Hashable, str]]] = {}
    for record in records:
        if found := place(record):
            part, side = found
            blocks.setdefault((block(record), part), []).append((side, record.item))
    out = set[str]()
    for of_block in blocks.values():
        items = {item for _, item in of_block}
        if len({side for side, _ in of_block}) > 1 and not items.isdisjoint(lost):
            out |= items
    return out.difference(lost)
